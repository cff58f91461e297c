"""Cases made of past runs, without secrets, for a person to review before they judge anything."""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, near_or_all
from llmdo.base.values import dataclass
from llmdo.features.evaluation.run_facts import run_facts_of
from llmdo.journal import JournalError
from llmdo.journal.opening import runs_of
from llmdo.journal.summary import ending
from llmdo.scaffold.files import yaml
from llmdo.workspace import project as projects
from llmdo.workspace.evals import FOLDER, SUFFIX, path_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmdo.features.evaluation.run_facts import RunFacts
    from llmdo.journal.stored import JournalStore
    from llmdo.runtime.telemetry.redaction import Redaction
    from llmdo.services.root import Tell

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")

HEAD = """\
# Made of past runs of the entry `{entry}`, for review: what is `expected` is what a run said, right or wrong.
# Known secrets were taken out, and what looks like a token. What people wrote was not: read it before you share it.
schema: 1
entry: {entry}

evaluators:
  requests_at_most: {requests}
  delegates_at_most: {delegates}
  # contains_expected: true

cases:
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastCases:
    """An eval that was written."""

    path: Path
    cases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _PastCase:
    run: str
    input: str
    attachments: tuple[str, ...]
    output: str
    facts: RunFacts


def write_new(root: Path, name: str, entry: str, most: int, tell: Tell) -> PastCases:
    """Writes `evals/NAME.yaml` with a case for each of the last completed runs of an entry.

    Raises:
        LlmdoError: The file exists, the entry does not, or no run of it completed.
    """
    if not _NAME.fullmatch(name):
        raise LlmdoError(
            f"`{name}` cannot be the name of an eval", hint="a letter, then letters, digits, `_` and `-`"
        )
    entries = projects.read(root).graph.entries
    if entry not in entries:
        hint = near_or_all(entry, entries, "entry")
        raise LlmdoError(f"there is no entry `{entry}`", hint=hint)
    cases = list(islice(_cases(root, entry, tell), most))
    if not cases:
        raise LlmdoError(f"no run of entry `{entry}` completed", hint="`llmdo runs` lists the runs there are")
    folder = root / FOLDER
    path = folder / f"{name}{SUFFIX}"
    try:
        folder.mkdir(exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(_text(entry, cases))
    except FileExistsError as error:
        raise LlmdoError(f"`{path_of(name)}` exists already", hint="choose another name") from error
    except OSError as error:
        raise LlmdoError(f"cannot write `{path}`: {error.strerror}") from error
    return PastCases(path=path, cases=len(cases))


def _cases(root: Path, entry: str, tell: Tell) -> Iterator[_PastCase]:
    """The cases, the last run first, one for each distinct input."""
    from llmdo.runtime.telemetry.redaction import Redaction  # which takes a second

    redaction = Redaction.of(os.environ)
    runs = runs_of(root)
    known: set[tuple[str, tuple[str, ...]]] = set()
    for run in reversed(runs.names()):
        try:
            with runs.read(run) as journal:
                case = _case(journal, entry, redaction)
        except JournalError as error:
            tell(f"warning: {error.message}")
            continue
        if case and (case.input, case.attachments) not in known:
            known.add((case.input, case.attachments))
            yield case


def _case(journal: JournalStore, entry: str, redaction: Redaction) -> _PastCase | None:
    """The case of a run; None if it is of another entry, did not complete, or continues another."""
    first, last = next(journal.entries("run"), None), ending(journal)
    if first is None or first.path != entry or last is None or last.outcome != "completed":
        return None
    began, ended = first.data, last.data
    if began.get("continues") is not None:
        return None
    return _PastCase(
        run=journal.run,
        input=redaction.text(str(began["input"])),
        attachments=tuple(str(name) for name, kind in began.get("attachments") or () if kind == "file"),
        output=redaction.text(str(ended.get("output") or "")),
        facts=run_facts_of(journal),
    )


def _text(entry: str, cases: list[_PastCase]) -> str:
    head = HEAD.format(
        entry=yaml(entry),
        requests=max(case.facts.requests for case in cases),
        delegates=max(case.facts.delegates for case in cases),
    )
    return head + "".join(line for number, case in enumerate(cases, 1) for line in _lines(number, case))


def _lines(number: int, case: _PastCase) -> Iterator[str]:
    yield f"  - name: case-{number}  # run {case.run}\n"
    yield f"    input: {yaml(case.input)}\n"
    if case.attachments:
        yield f"    attachments: {yaml(list(case.attachments))}\n"
    yield f"    expected: {yaml(case.output)}\n"
