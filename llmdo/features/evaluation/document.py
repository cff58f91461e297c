"""An evaluation as the document `llmdo.evaluation/1`, and the way back; one file each in the folder of evaluations."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.jsonable import record
from llmdo.features.evaluation.outcome import IN_FULL, Evaluated, Held, Judgement, Missed, Trial, Variant
from llmdo.features.evaluation.regression import Regression
from llmdo.features.evaluation.statistics import VariantComparison
from llmdo.journal.disk import force_folder, private_folder
from llmdo.journal.naming import Named, match

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

SCHEMA = "llmdo.evaluation/1"


def document(evaluated: Evaluated) -> dict[str, object]:
    """The document, with computed figures for programs that only show it."""
    return {"schema": SCHEMA, **record(evaluated, IN_FULL)}


def parse(text: str, name: str) -> Evaluated:
    """The evaluation in the text of a document.

    Raises:
        LlmdoError: `name` is no such document.
    """
    try:
        data = json.loads(text)
        if data["schema"] != SCHEMA:
            raise LlmdoError(
                f"`{name}` is not an evaluation that this llmdo can read",
                hint="`llmdo eval --format json` writes one",
            )
        return _evaluated(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LlmdoError(
            f"`{name}` is not an evaluation", hint="`llmdo eval --format json` writes one"
        ) from error


def _evaluated(data: Mapping[str, Any]) -> Evaluated:
    return Evaluated(
        id=str(data["id"]),
        name=str(data["name"]),
        entry=str(data["entry"]),
        digest=str(data["digest"]),
        began=datetime.fromisoformat(data["began"]).timestamp(),
        repeat=int(data["repeat"]),
        records=bool(data["records"]),
        cases=tuple(str(case["name"]) for case in data["cases"]),
        expected=data.get("expected"),
        variants=tuple(map(_variant_of, data["variants"])),
        reason=data["reason"],
        interrupted=bool(data["interrupted"]),
        held=None if data["held"] is None else _held_of(data["held"]),
    )


def _held_of(data: Mapping[str, Any]) -> Held:
    names = {each.name for each in fields(VariantComparison)}
    return Held(
        baseline=data["baseline"],
        missed=tuple(Missed(**missed) for missed in data["missed"]),
        regressions=tuple(map(_regression_of, data.get("regressions", ()))),
        lacking=tuple(data["lacking"]),
        comparisons=tuple(
            VariantComparison(**{name: compared[name] for name in names}) for compared in data["comparisons"]
        ),
        fail_under=data["fail_under"],
        below=tuple(data["below"]),
    )


def _regression_of(data: Mapping[str, Any]) -> Regression:
    values = {each.name: data[each.name] for each in fields(Regression)}
    return Regression(**{**values, "lost": tuple(data["lost"])})


def _variant_of(data: Mapping[str, Any]) -> Variant:
    return Variant(
        label=str(data["label"]),
        models=tuple(map(str, data["models"])),
        revision=data["revision"],
        runs_code=bool(data["runs_code"]),
        batch=str(data["batch"]),
        recording=data["recording"],
        judges={str(judge): str(batch) for judge, batch in data["judges"].items()},
        trials=tuple(map(_trial_of, data["trials"])),
    )


def _trial_of(data: Mapping[str, Any]) -> Trial:
    judgements = tuple(
        Judgement(
            evaluator=str(each["evaluator"]), value=each["value"], reason=each["reason"], run=each["run"]
        )
        for each in data["judgements"]
    )
    names = {each.name for each in fields(Trial)} - {"judgements", "title"}
    title = str(data.get("title", ""))  # which earlier ones lack
    return Trial(judgements=judgements, title=title, **{name: data[name] for name in names})


PLACE = (".llmdo", "evals")
SUFFIX = ".json"

EVALUATIONS = Named(
    "evaluation", "evaluations", "`llmdo eval list` lists them", "`llmdo eval NAME` starts one"
)


@dataclass(frozen=True, slots=True)
class Evaluations:
    """The evaluations of one workspace."""

    root: Path

    @property
    def folder(self) -> Path:
        """Their folder."""
        return self.root.joinpath(*PLACE)

    def names(self) -> list[str]:
        """The ids of all, which sort by time."""
        if not self.folder.is_dir():
            return []
        return sorted(path.name.removesuffix(SUFFIX) for path in self.folder.glob(f"*{SUFFIX}"))

    def find(self, reference: str) -> str:
        """The only id that equals, ends or begins with `reference`; `last` is the latest.

        Raises:
            LlmdoError: No id matches, or several do.
        """
        return match(reference, self.names(), EVALUATIONS)

    def read(self, name: str) -> Evaluated:
        """The evaluation of that id.

        Raises:
            LlmdoError: It cannot be read.
        """
        path = self.folder / f"{name}{SUFFIX}"
        try:
            return parse(path.read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise LlmdoError(f"cannot read `{path}`: {getattr(error, 'strerror', error)}") from error

    def each(self) -> Iterator[Evaluated]:
        """All, the latest first."""
        yield from (self.read(name) for name in reversed(self.names()))

    def keep(self, evaluated: Evaluated) -> None:
        """Writes the evaluation to disk, in place of its earlier state.

        Raises:
            LlmdoError: It cannot be written.
        """
        try:
            folder = private_folder(self.root, PLACE)
            path = folder / f"{evaluated.id}{SUFFIX}"
            unfinished = folder / f"{evaluated.id}.{os.getpid()}.new"
            with unfinished.open("w", encoding="utf-8", newline="\n") as file:
                json.dump(document(evaluated), file, indent=1, ensure_ascii=False)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
            force_folder(folder)
        except OSError as error:
            raise LlmdoError(f"no evaluation can be kept: {error.strerror}: `{error.filename}`") from error
