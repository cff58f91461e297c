"""A question as lines for a person: complete, and no content of the call can hide or pretend."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import deque
from itertools import chain, groupby, islice, repeat
from typing import TYPE_CHECKING

from pydantic_core import to_jsonable_python

from llmdo.base import digest
from llmdo.base.diagnostic import shown
from llmdo.base.visible import scripts, visible, without_runs
from llmdo.policy.authority import Capability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.runtime.approvals.approver import Question

MARGIN = "  | "
"""Starts every row of the call's content, so that none passes for one of ours."""

HEADING = "approval needed"
TITLES = ("caller", "tool", "args", "raises", "why", "advice")
TITLED = max(map(len, TITLES))
WIDE = 60  # columns: from here on a title stands before its first row, and takes no row of its own
NARROWEST = 20  # columns: in a narrower terminal our own rows would break as well
FIRST_ROWS, LAST_ROWS = 8, 4  # of one value that is folded
FIRST_ITEMS, LAST_ITEMS = 30, 10  # of arguments, capabilities, reasons or advice
LONGEST_LINE = 60  # characters of JSON
FOLDED_TEXT = 20_000  # characters at either end of a text: more than fit into the rows of any terminal
MOST_ALIKE = 3  # rows

RUNS = Capability("proc.exec")
"""Raised by commands, of which nothing may be left out."""

_TOKEN = re.compile(r"\\u\{[0-9a-f]+\}|\\\{[0-9,]+ blanks\}|\\.|.")


class LeftOut(str):
    """A row in place of hidden ones."""

    __slots__ = ()


def describe(question: Question, columns: int, *, folded: bool = True) -> Iterator[str]:
    """The rows that put `question` to a person: complete, or if `folded`, with a `LeftOut` for missing ones.

    A folded value shows its first and last rows, and a digest of all. A command is never folded. The call's content is
    to the right of a margin that holds only our titles.
    """
    is_wide = columns >= WIDE
    margin = f"{'':<{TITLED}} | " if is_wide else MARGIN
    room = max(columns, NARROWEST) - len(margin)
    runs = any(RUNS.contains(capability) for capability in question.capabilities)
    raised = [visible(str(capability)) for capability in question.capabilities] or ["nothing"]
    sections: tuple[Iterable[str], ...] = (
        [visible(question.path)],
        [f"{visible(question.tool)} of {visible(question.toolset)}"],
        _arguments(question, room, folded=folded and not runs),
        some_of(raised, folded=folded),
        some_of([visible(reason) for reason in question.reasons], folded=folded),
        some_of([shown(advice) for advice in question.advice], folded=folded),
    )
    yield HEADING
    for title, lines in zip(TITLES, sections, strict=True):
        before = f"{title:<{TITLED}} | " if is_wide else margin
        if not is_wide:
            yield f"  {title}"
        for line in lines:
            kind = LeftOut if isinstance(line, LeftOut) else str
            for row in indented(line, room):
                yield kind(before + row)
                before = margin


def some_of(lines: Sequence[str], *, folded: bool) -> Iterator[str]:
    """The lines; if `folded`, of very many the first and the last."""
    missing = len(lines) - FIRST_ITEMS - LAST_ITEMS
    if not folded or missing <= 0:
        yield from lines
        return
    yield from lines[:FIRST_ITEMS]
    yield LeftOut(f"... {missing:,} more; `show` shows them")
    yield from lines[-LAST_ITEMS:]


def _arguments(question: Question, room: int, *, folded: bool) -> Iterator[str]:
    pairs = [*question.arguments.items()]
    missing = pairs[FIRST_ITEMS:-LAST_ITEMS] if folded else []
    for name, value in pairs[:FIRST_ITEMS] if missing else pairs:
        yield from drawn_argument(name, value, room, folded=folded)
    if missing:
        yield LeftOut(f"... {len(missing):,} more arguments; `show` shows them")
        yield f"sha256 {_digest(_as_json(dict(missing)))}"
        for name, value in pairs[-LAST_ITEMS:]:
            yield from drawn_argument(name, value, room, folded=folded)
    if not pairs:
        yield "none"


def drawn_argument(name: str, value: object, room: int, *, folded: bool) -> Iterator[str]:
    """The lines of an argument; one in place of those that are left out of a long one, if `folded`."""
    # A tool may take any name at all: one must not read as a name with its value.
    named = name if name.isascii() and name.isidentifier() else json.dumps(name)
    if isinstance(value, str):
        yield from _text(named, value, room, folded=folded)
    else:
        yield from _data(named, value, room, folded=folded)


def _text(name: str, text: str, room: int, *, folded: bool) -> Iterator[str]:
    number = text.count("\n") + 1
    if number == 1 and len(text) <= (FIRST_ROWS + LAST_ROWS) * room:
        parts = [[without_runs(visible(text))]]
        yield f'{name}: "{parts[0][0]}"'
    else:
        yield f"{name}: {f'{number:,} lines, ' if number > 1 else ''}{_size(text):,} bytes"
        parts = [
            [without_runs(visible(line, prose=number > 1)) for line in part.split("\n")]
            for part in _ends(text, folded=folded)
        ]
        yield from _block(text, parts, room, folded=folded)
    if letters := scripts("".join(chain.from_iterable(parts))):
        yield f"(letters of another script: {', '.join(letters)})"


def _data(name: str, value: object, room: int, *, folded: bool) -> Iterator[str]:
    """The lines of anything but a text: JSON in ASCII, with nothing to make visible."""
    kind = "" if isinstance(value, int | float | list | dict | None) else f" ({type(value).__name__})"
    text = _as_json(value)
    if "\n" not in text:
        yield f"{name}{kind}: {without_runs(text)}"
    else:
        yield f"{name}{kind}: {_size(text):,} bytes of JSON"
        parts = [[*map(without_runs, part.split("\n"))] for part in _ends(text, folded=folded)]
        yield from _block(text, parts, room, folded=folded)


def _ends(text: str, *, folded: bool) -> tuple[str, ...]:
    """All of a text, or if it is long and folded, its start and end."""
    if not folded or len(text) <= 2 * FOLDED_TEXT:
        return (text,)
    return text[:FOLDED_TEXT], text[-FOLDED_TEXT:]


def _block(text: str, parts: Sequence[Iterable[str]], room: int, *, folded: bool) -> Iterator[str]:
    """The rows of `parts`, all of `text` or its ends: to the right of all that is ours."""
    drawn = [
        _counted(f"  {row}" for line in lines for row in rows(line, room - len("  "))) for lines in parts
    ]
    if not folded:
        yield from drawn[0]
        return
    first, last = [*islice(drawn[0], FIRST_ROWS)], deque(drawn[-1], LAST_ROWS + 1)
    if len(parts) == 1 and len(last) <= LAST_ROWS:
        yield from chain(first, last)
        return
    yield from first
    yield LeftOut("... more is left out; `show` shows all of it")
    yield from [*last][-LAST_ROWS:]
    yield f"sha256 {_digest(text)}"


def _counted(drawn: Iterable[str]) -> Iterator[str]:
    """The rows of `drawn`; many alike become one and their number, so that others stay in sight."""
    for row, alike in groupby(drawn):
        number = sum(1 for _ in alike)
        if number <= MOST_ALIKE:
            yield from repeat(row, number)
        else:
            yield f"... {number:,} times this row:"
            yield row


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _digest(text: str) -> str:
    return digest.of_text(text).removeprefix("sha256:")


def _as_json(value: object) -> str:
    """`value` in ASCII, an item a line if long."""
    line = json.dumps(value, default=_plain)
    return line if len(line) <= LONGEST_LINE else json.dumps(value, default=_plain, indent=2)


def _plain(value: object) -> object:
    """An object of the workspace's own as JSON data."""
    return to_jsonable_python(value, by_alias=True, bytes_mode="base64", fallback=repr)


def rows(line: str, room: int) -> Iterator[str]:
    """`line` in pieces of at most `room` columns, as a terminal would wrap it to the first column."""
    if line.isascii() and "\\" not in line:
        yield from re.findall(f".{{1,{room}}}", line) or [""]
        return
    piece, used = "", 0
    for token in _TOKEN.findall(line):
        # What stands for one character stays in one row, or its end would read as something else.
        for part in (token,) if len(token) <= room else token:
            width = sum(2 if unicodedata.east_asian_width(character) in "WFA" else 1 for character in part)
            if used + width > room:
                yield piece
                piece, used = "", 0
            piece, used = piece + part, used + width
    yield piece


def indented(line: str, room: int) -> Iterator[str]:
    """`line` in rows, all but the first indented, so that none passes for the beginning of a line."""
    first = next(rows(line, room))
    yield first
    if rest := line[len(first) :]:
        yield from (f"  {row}" for row in rows(rest, room - len("  ")))
