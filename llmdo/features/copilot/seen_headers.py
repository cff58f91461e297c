"""Headers of which VS Code reads a part alone: what it sees of them, and the findings about the rest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import finding
from llmdo.base.source import Span
from llmdo.base.values import dataclass, replace
from llmdo.features.copilot import FEW_TOOLS
from llmdo.features.copilot.editor_yaml import stop
from llmdo.foreign import headers, reading
from llmdo.foreign.team import Unread
from llmdo.syntax.document import LazyPlaces
from llmdo.syntax.header_problems import UNKNOWN_ESCAPE, dedented, unknown_escapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location, Source
    from llmdo.foreign.files import Files
    from llmdo.syntax.document import Document, Route

_FIRST = 2  # the line in which a header begins
_MOST = 20  # lines that are indented too deep: each takes a reading of the header
_FENCED = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
"""A file with a header as VS Code finds it, at its very start."""
_TOOLS = re.compile(r"^tools[ \t]*:", re.MULTILINE)


class SeenHeader(NamedTuple):
    """A file of which VS Code does not read the whole header."""

    source: Source
    """The file with blanks in place of what it does not read."""
    at: Location
    """The first line of that."""
    original: Source
    names_tools: bool
    """Whether what it does not read names tools."""
    is_mended: bool
    """Whether it would read them if it were not for that line."""

    @property
    def line(self) -> int:
        """The number of that line."""
        return line_of(self.at)

    def rest(self, other: Location) -> str:
        """What VS Code does, as the end of a sentence about a place."""
        where = "from here on" if line_of(other) == self.line else f"from line {self.line} on"
        return f"reads nothing of its header {where}"


def as_seen(text: reading.Text) -> SeenHeader | None:
    """A file as VS Code reads it; None if it reads all of the header, or finds none."""
    source = text.document.source
    header = _FENCED.match(source.text) if text.document.data else None
    if header is None or (end := stop(header[1])) is None or headers.yaml_fault(source) is None:
        return None
    start = header.start(1) + end
    lost = source.text[start : header.end(1)]
    # Blanks, so that every place stays.
    seen_text = source.text[:start] + re.sub(r"[^\n]", " ", lost) + source.text[header.end(1) :]
    line = source.text.count("\n", 0, start) + 1
    at = source.location(Span(line, 1, line, len(source.text.split("\n")[line - 1]) + 1))
    names_tools = _TOOLS.search(lost) is not None
    mended = header[1][:end] + lost[max(lost.find("\n"), 0) :]
    left = mended[: stop(mended)] if lost.partition("\n")[1] else ""
    is_mended = _TOOLS.match(lost) is not None or _TOOLS.search(left) is not None
    seen = replace(source, text=seen_text, is_plain=False)
    return SeenHeader(seen, at, source, names_tools, is_mended)


def unread(seen: SeenHeader, source: Source) -> Diagnostic | None:
    """The finding about a file of VS Code alone of which it does not read the whole header."""
    first = headers.yaml_fault(source)
    message = f"{first.message}, so VS Code {seen.rest(first.at)}" if first else ""
    return finding("LDO150", first.at, message, hint=first.hint) if first else None


def below(seen: SeenHeader, problems: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The guesses about what else is no YAML in a header, as findings about lines that VS Code does not read."""
    for each in problems:
        if line_of(each.at) > seen.line and " was read " in each.message:
            message = f"{each.message.rpartition(', so ')[0]}, below where VS Code stops reading"
            yield replace(each, message=message)


def unread_tools(seen: SeenHeader, noted: Diagnostic) -> Unread:
    """What keeps VS Code from reading the tools of such a file, by the finding about it."""
    first = headers.yaml_fault(seen.original)
    top = f"write `{FEW_TOOLS}` at the top of its header, and what else it needs; it loses the rest"
    if first is None or not seen.names_tools:
        return Unread(None, "", top)
    is_tools = first.message.endswith("`tools:`")
    why = first.message if is_tools else f"VS Code {seen.rest(first.at)}"
    is_mended = first.hint and noted.hint and seen.is_mended and line_of(first.at) == seen.line
    return Unread(first.at, why, f"{noted.hint}: then its `tools` counts" if is_mended else top)


class _Edit(NamedTuple):
    """A change of lines: what stands behind a column there stood by `shift` further to the right."""

    lines: range
    column: int
    shift: int


@dataclass(frozen=True, slots=True)
class _StraightPlaces(LazyPlaces):
    """The places of a document before it was edited, the last edit being undone first."""

    document: Document
    edits: Sequence[_Edit]

    def __call__(self) -> Mapping[Route, tuple[Span, Span]]:
        places = self.document.index()
        return {route: (self._moved(key), self._moved(value)) for route, (key, value) in places.items()}

    def quickly(self, route: Route, part: int) -> Span | None:
        """No place: each takes a search for all."""
        del route, part
        return None

    def _moved(self, span: Span) -> Span:
        start, end = self._column(span.line, span.column), self._column(span.end_line, span.end_column)
        return Span(span.line, start, span.end_line, end)

    def _column(self, line: int, column: int) -> int:
        for edit in reversed(self.edits):
            if line in edit.lines and column > edit.column:
                column += edit.shift
        return column


def straight(text: reading.Text, keys: Iterable[str]) -> reading.Text | None:
    """A file whose keys are indented too deep, or whose quotes have unknown escapes, as VS Code reads it; else None."""
    source, edits = text.document.source, list[_Edit]()
    for _ in range(_MOST if text.document.problems else 0):
        header = _FENCED.match(source.text)
        first = headers.yaml_fault(source) if header else None
        mended = _straightened(source.text, header, first) if header and first else None
        if mended is None:
            break
        edits.extend(mended[1])
        source = replace(source, text=mended[0], is_plain=False)
    read = reading.text(source, keys) if edits else None
    if read is None:
        return None
    document = read.document
    places = _StraightPlaces(document, edits)
    return replace(read, document=replace(document, index=places, problems=()))


def _straightened(text: str, header: re.Match[str], first: Diagnostic) -> tuple[str, list[_Edit]] | None:
    """A text with a header whose first fault is mended as VS Code takes it, and the edits; None if it takes it not."""
    line = line_of(first.at)
    if first.at.span and first.message == UNKNOWN_ESCAPE:
        start = sum(len(each) + 1 for each in text.split("\n")[: line - 1]) + first.at.span.column - 1
        edits = []
        for at in reversed(unknown_escapes(text, start)):
            # It keeps both signs.
            text = f"{text[:at]}\\{text[at:]}"
            number = text.count("\n", 0, at) + 1
            edits.append(_Edit(range(number, number + 1), at - text.rfind("\n", 0, at), -1))
        return (text, edits) if edits else None
    less = dedented(header[1], line - _FIRST)
    if less is None:
        return None
    lines, shift, end = less
    return text[: header.start(1)] + lines + text[header.end(1) :], [
        _Edit(range(line, end + _FIRST), 0, shift)
    ]


def note(
    files: Files, text: reading.Text, fault: Diagnostic, seen: SeenHeader | None, *, is_straight: bool
) -> None:
    """Notes what keeps an agent unloaded, or a part of its header unread, in place of guesses about that."""
    own = text.document.problems
    guesses = [each for each in own if seen or is_straight or each.at in fault.places]
    more = below(seen, (each for each in own if each.at not in fault.places)) if seen else ()
    files.problems[:] = [each for each in files.problems if each not in guesses]
    files.problems.extend((fault, *more))


def note_straight(files: Files, text: reading.Text) -> None:
    """Notes of a file that VS Code alone loads what is no YAML there and is read as meant, in place of guesses."""
    own = text.document.problems
    files.problems[:] = [
        replace(each, message=f"{each.message.rpartition(', so ')[0]}, which VS Code reads all the same")
        if each in own and " was read " in each.message
        else each
        for each in files.problems
    ]


def text_of(seen: SeenHeader, keys: Iterable[str]) -> reading.Text:
    """Such a file as VS Code reads it."""
    text = reading.text(seen.source, keys) or reading.prompt_alone(seen.source)
    return straight(text, keys) or text


def line_of(at: Location) -> int:
    """The line of a place."""
    return at.span.line if at.span else 1
