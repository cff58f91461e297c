"""The evaluations of a workspace: one file each, written before anything is run, and again with the results."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.evaluation.document import document, parse
from llmdo.journal.disk import force_folder, private_folder
from llmdo.journal.naming import Named, match

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmdo.features.evaluation.outcome import Evaluated

PLACE = (".llmdo", "evals")
SUFFIX = ".json"

EVALUATIONS = Named(
    "evaluation", "evaluations", "`llmdo eval list` lists them", "there is none in this workspace"
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
