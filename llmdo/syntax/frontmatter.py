"""A worker file to `WorkerText`: the YAML header between two `---` lines, and the prompt below it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import Diagnostic, Related, excerpt, finding
from llmdo.base.source import Span
from llmdo.base.values import dataclass
from llmdo.syntax import plain
from llmdo.syntax.document import Document, LazyPlaces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.base.source import Location, Source
    from llmdo.syntax.document import Route

FENCE = "---"
"""The line before and the line after a header."""
OF_AGENTS = frozenset({"description", "mode", "model", "name", "tools"})
"""The keys of a header by which it is that of an agent."""
_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:")
_CODE = ("```", "~~~")
_OPENED = re.compile(r"`{3,}|~{3,}")
"""The signs that open a block of code, of which it takes as many to close it."""
MOVE_DOWN = "move what stands above the header below it"
"""The hint for a header that does not begin its file."""
OPEN = f"write a line `{FENCE}` above it"
"""The hint for a header that lacks its first line."""


_DASHES = re.compile(r"(?:--?|-{4,})[ \t]*")


class LateHeader(NamedTuple):
    """A header that is none, as something stands above it, blank lines, other dashes than three, or a header."""

    above: Location
    """The first line of what stands there; its own first line if that is a header, or if nothing does."""
    keys: frozenset[str]
    is_misspelt: bool = False
    """Whether what stands there is a line of dashes, meant as the first of the header."""
    is_second: bool = False
    """Whether what stands there is a header, which then counts alone."""
    is_below_blanks: bool = False
    """Whether nothing but blank lines stands there."""
    is_wrapped: bool = False
    """Whether what stands there opens a block of code that the last line closes."""
    is_unopened: bool = False
    """Whether nothing stands there but its own first line, which lacks the `---` above it."""

    @property
    def fault(self) -> str:
        """The reason why it is none, with its line as the place."""
        if self.is_second:
            return "the header above this one counts alone"
        if self.is_below_blanks:
            return "blank lines stand above the `---`"
        if self.is_unopened:
            return "no `---` stands above this line"
        return "this is not the `---`" if self.is_misspelt else "this stands above the `---`"

    @property
    def hint(self) -> str:
        """The change that makes it a header."""
        if self.is_second:
            return "make one header of the two"
        if self.is_below_blanks:
            return "delete the blank lines above it"
        if self.is_unopened:
            return OPEN
        if self.is_wrapped:
            return "take the first line and the last one out"
        return "write `---` as the first line" if self.is_misspelt else MOVE_DOWN


@dataclass(frozen=True, slots=True)
class WorkerText:
    """A worker file in its two parts."""

    document: Document
    """The header."""
    start: int
    """The offset of the prompt in the text: the text's end if the header has no beginning or no end."""

    @property
    def body(self) -> str:
        """The prompt, unchanged."""
        return self.document.source.text[self.start :]


def parse(source: Source) -> WorkerText:
    """The header and the prompt of a worker file; the readable part of the header if it has problems."""
    text = source.text
    if text != FENCE and not text.startswith(f"{FENCE}\n"):
        return _without_header(source, _no_header(source))
    end = _end(text)
    if end < 0:
        return _without_header(source, _no_end(source))
    return WorkerText(_document(source, end + 1), end + len(FENCE) + 2)


def prompt(source: Source) -> str:
    """The prompt of a worker file whose header begins and ends."""
    return source.text[_end(source.text) + len(FENCE) + 2 :]


def _end(text: str) -> int:
    """The offset of the line break before the closing fence; -1 if there is none."""
    end = text.find(f"\n{FENCE}\n", len(FENCE))
    return len(text) - len(FENCE) - 1 if end < 0 and text.endswith(f"\n{FENCE}") else end


def _document(source: Source, end: int) -> Document:
    header = source.text[len(FENCE) + 1 : end]
    if data := plain.read(header, is_plain=source.is_plain):
        return Document(source, data, _Places(source))
    from llmdo.syntax import header as in_yaml  # slow to load, and most headers are plain

    return in_yaml.parse(source, header)


@dataclass(frozen=True, slots=True)
class _Places(LazyPlaces):
    """The finder of a plain header's places. There may be thousands, and a `partial` is four times as large."""

    source: Source

    def __call__(self) -> Mapping[Route, tuple[Span, Span]]:
        from llmdo.syntax import header as in_yaml

        return in_yaml.places(self.source, self.source.text[len(FENCE) + 1 : _end(self.source.text) + 1])

    def quickly(self, route: Route, part: int) -> Span | None:
        """The place of a key at the top without quotes, or of the plain text behind it: no other line begins so."""
        if len(route) != 1 or not isinstance(name := route[0], str):
            return None
        text = self.source.text
        before = text.find(f"\n{name}:", 0, _end(text))
        if before < 0:
            return None
        line, behind = text.count("\n", 0, before) + 2, before + len(f"\n{name}:")
        if part == 0:
            return Span(line, 1, line, behind - before - 1)
        rest = text[behind : text.index("\n", behind)]
        words = rest.strip(" ")
        if not words[:1].isalpha() or " #" in words:
            return None
        column = behind - before + rest.index(words)
        return Span(line, column, line, column + len(words))


def _without_header(source: Source, problem: Diagnostic) -> WorkerText:
    return WorkerText(Document(source, {}, dict, (problem,)), len(source.text))


def late_header(source: Source) -> LateHeader | None:
    """The header with keys of an agent below a comment, a title or blank lines, or without its first line.

    None without one, and in a sample.
    """
    lines = source.text.split("\n")
    fences = [number for number, line in enumerate(lines) if line.rstrip() == FENCE]
    start, end, *_ = [*fences, 0, 0]
    if _DASHES.fullmatch(lines[0]) and (keys := _keys_between(lines, 0, start)):
        return LateHeader(source.location(Span(1, 1, 1, len(lines[0]) + 1)), keys, is_misspelt=True)
    if keys := _keys_above(lines, start):
        return LateHeader(source.location(Span(1, 1, 1, len(lines[0]) + 1)), keys, is_unopened=True)
    first = next((number for number, line in enumerate(lines[:start]) if line.strip()), None)
    is_wrapped = first is not None and first == start - 1 and _is_wrapped(lines, first)
    if not start or (not is_wrapped and any(line.lstrip().startswith(_CODE) for line in lines[:start])):
        return None
    keys, above = _keys_between(lines, start, end), first or 0
    at = source.location(Span(above + 1, 1, above + 1, len(lines[above]) + 1))
    return LateHeader(at, keys, is_below_blanks=first is None, is_wrapped=is_wrapped) if keys else None


def _keys_above(lines: Sequence[str], end: int) -> frozenset[str]:
    """The keys of a header from the first line on; none if anything else stands there."""
    if not all(_KEY.match(line) or line[:1] in ("", " ", "\t", "#", "-") for line in lines[:end]):
        return frozenset()
    return _keys_between(lines, -1, end) if _KEY.match(lines[0]) else frozenset()


def _is_wrapped(lines: Sequence[str], first: int) -> bool:
    """Whether a line opens a block of code around the whole file: each within it has a language where it opens.

    A block within it may have none if its signs are fewer, as they then close nothing.
    """
    opened = _OPENED.match(lines[first])
    last = next((number for number in range(len(lines) - 1, first, -1) if lines[number].strip()), first)
    if opened is None or first:
        return False
    mark = opened[0]
    is_within = False
    for number in range(first + 1, last + 1):
        line = lines[number].strip()
        if line.startswith(mark):
            is_closing = not line.strip(mark[0])
            if is_closing and not is_within:
                return number == last
            is_within = not is_closing
    return False


def second_header(source: Source) -> LateHeader | None:
    """The header that follows that of a file with nothing between them; None without one.

    One of comments alone may end where the keys begin, which then have an end of their own.
    """
    lines = source.text.split("\n")
    fences = [number for number, line in enumerate(lines) if line.rstrip() == FENCE]
    first, end, start, close, *_ = [*fences, *[0] * 4]
    if len(fences) < 3 or first > 0:
        return None
    if not any(line.strip() for line in lines[end + 1 : start]):
        keys = _keys_of(lines, start, close)
    elif not any(_written(lines[1:end])):
        start, keys = end, _keys_between(lines, end, start)
    else:
        return None
    at = source.location(Span(start + 1, 1, start + 1, len(lines[start]) + 1))
    return LateHeader(at, keys, is_second=True) if keys else None


def _keys_between(lines: Sequence[str], start: int, end: int) -> frozenset[str]:
    """The keys of a header between two lines; none if it is not that of an agent."""
    keys = _keys_of(lines, start, end)
    return keys if keys & OF_AGENTS else frozenset()


def _keys_of(lines: Sequence[str], start: int, end: int) -> frozenset[str]:
    """The keys between two lines; none if the text there begins with none."""
    header = [*_written(lines[start + 1 : end])]
    keys = frozenset(match[1] for line in header if (match := _KEY.match(line)))
    return keys if keys and _KEY.match(header[0]) else frozenset()


def _written(lines: Iterable[str]) -> Iterator[str]:
    """The lines that are no comments, and not blank."""
    return (line for line in lines if line.strip() and not line.startswith("#"))


def _no_header(source: Source) -> Diagnostic:
    if (late := late_header(source)) and not late.is_below_blanks:
        fault = "this is not its `---`" if late.is_misspelt else "this stands above it"
        fault = late.fault if late.is_unopened else fault
        message = f"a worker starts with a header, and {fault}"
        return finding("LDO109", late.above, message, hint=late.hint)
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
