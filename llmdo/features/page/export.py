"""The page as one file: the same shell, with the answers that its views need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.page import changes, runs, shell, team
from llmdo.services.diff import sides_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.features.page.endpoints import KeptAnswer
    from llmdo.features.page.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class PageExport:
    """The content of a file."""

    subject: Subject
    path: str
    run: str | None = None
    """A run to show as well, by its id, the start or the end of that, or `last`."""
    revisions: str | None = None
    """`A..B` to compare as well."""


def export(request: PageExport) -> int:
    """Writes the file, and returns its size in bytes.

    Raises:
        LlmdoError: A part cannot be read, or the file cannot be written.
    """
    answers = tuple(_kept(request))
    content = shell.document(answers, first=_first(request, answers)).html.encode("utf-8")
    try:
        Path(request.path).write_bytes(content)
    except OSError as error:
        raise LlmdoError(f"cannot write `{request.path}`: {(error.strerror or 'error').lower()}") from error
    return len(content)


def _kept(request: PageExport) -> Iterator[KeptAnswer]:
    yield from team.exported(request.subject)
    if request.revisions is not None:
        yield from changes.exported(request.subject, *sides_of(request.revisions))
    if request.run is not None:
        yield from runs.exported(request.subject, request.run)


def _first(request: PageExport, answers: Iterable[KeptAnswer]) -> str:
    """The first address that the file shows."""
    if request.run is not None:  # by its whole id, of which a part may have been given
        return next(f"#/run/{each.parameters['run']}" for each in answers if each.path == runs.ONE)
    if request.revisions is not None:
        return f"#/diff/{quote('..'.join(sides_of(request.revisions)), safe='')}"
    return "#/"
