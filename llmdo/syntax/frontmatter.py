"""A worker file to `WorkerText`: the YAML header between two `---` lines, and the prompt below it."""

from __future__ import annotations

import re
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.diagnostic import Diagnostic, Related, excerpt, finding
from llmdo.source import Span
from llmdo.syntax import plain
from llmdo.syntax.document import Document
from llmdo.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.source import Source
    from llmdo.syntax.document import Route

FENCE = "---"
"""The line before and the line after a header."""


@dataclass(frozen=True, slots=True)
class WorkerText:
    """A worker file in its two parts."""

    document: Document
    """The header."""
    start: int
    """Where in the text the prompt begins: its end where the header has no beginning or no end."""

    @property
    def body(self) -> str:
        """The prompt, unchanged."""
        return self.document.source.text[self.start :]


def parse(source: Source) -> WorkerText:
    """The header and the prompt of a worker file; what could be read of the header where it has problems."""
    text = source.text
    if text != FENCE and not text.startswith(f"{FENCE}\n"):
        return _without_header(source, _no_header(source))
    end = text.find(f"\n{FENCE}\n", len(FENCE))
    if end < 0 and text.endswith(f"\n{FENCE}"):
        end = len(text) - len(FENCE) - 1
    if end < 0:
        return _without_header(source, _no_end(source))
    return WorkerText(_document(source, end + 1), end + len(FENCE) + 2)


def _document(source: Source, end: int) -> Document:
    header = source.text[len(FENCE) + 1 : end]
    if data := plain.read(header):
        return Document(source, data, partial(_places, source, end))
    from llmdo.syntax import header as in_yaml  # slow to load, and most headers are plain

    return in_yaml.parse(source, header)


def _places(source: Source, end: int) -> Mapping[Route, tuple[Span, Span]]:
    from llmdo.syntax import header as in_yaml

    return in_yaml.places(source, source.text[len(FENCE) + 1 : end])


def _without_header(source: Source, problem: Diagnostic) -> WorkerText:
    return WorkerText(Document(source, {}, dict, (problem,)), len(source.text))


def _no_header(source: Source) -> Diagnostic:
    first = re.match(r"\s*(\S[^\n]*)?", source.text)
    line = (first[1] or "") if first else ""
    if line.rstrip() != FENCE:
        name = excerpt(PurePosixPath(source.path).name.split(".")[0])
        hint = f"start the file with the three lines `---`, `name: {name}` and `---`"
        return finding(
            "LDO109", source.location(Span(1, 1, 1, 1)), "a worker starts with a header", hint=hint
        )
    at = source.text.index(FENCE)
    return finding(
        "LDO109",
        source.location(source.span_between(at, at + len(FENCE))),
        "the `---` that opens the header is not alone at the very start of the file",
        hint="delete every blank and empty line around it",
    )


def _no_end(source: Source) -> Diagnostic:
    related = [
        Related(source.location(Span(number, 1, number, len(line) + 1)), "not exactly `---`")
        for number, line in enumerate(source.text.split("\n"), 1)
        if number > 1 and line.strip() == FENCE
    ]
    return finding(
        "LDO109",
        source.location(Span(1, 1, 1, len(FENCE) + 1)),
        "the header that starts here is never closed",
        hint="end it with a line that is exactly `---`",
        related=related[:1],
    )
