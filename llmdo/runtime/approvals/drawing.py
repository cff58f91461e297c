"""A question as the lines that a person reads: complete, and nothing that comes from the call can hide or pretend."""

from __future__ import annotations

import json
import re
import unicodedata
from itertools import chain, islice
from typing import TYPE_CHECKING

from pydantic_core import to_jsonable_python

from llmdo import digest
from llmdo.diagnostic import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.runtime.approvals.approver import Question

MARGIN = "  | "
"""Before every row of what comes from the call, so that none can pass for a row of ours."""

NARROWEST = 20  # columns: in a narrower terminal our own rows would break as well
FOLDED_ROWS = 12  # of one value: what it is shows in the first rows, and `show` has the rest
FOLDED_ITEMS = 40  # arguments, capabilities or reasons
LONGEST_LINE = 60  # characters of JSON
FOLDED_TEXT = FOLDED_ROWS * 500  # characters: as many as fit into the rows of any terminal

_NAMED = {"\\": "\\\\", "\t": "\\t", "\r": "\\r"}
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Characters that count as letters or symbols and draw nothing."""
_PROSE = frozenset("\u2018\u2019\u201c\u201d\u2026\u00ab\u00bb\u00bf\u00a1\u00b0\u00a7\u20ac\u00a3")
"""Quotation marks and other signs of plain text, none of which passes for what a command or a path is made of."""
_CONFUSING_LATIN = frozenset("\u0131\u0138\u0140\u0149\u017f")


def visible(text: str, *, prose: bool = False) -> str:
    r"""One line as it may be shown, every character that hides, moves or passes for another as `\u{..}`.

    No two texts look alike: a word that has ASCII letters or digits keeps no letter that could be mistaken for one,
    and unless this is `prose`, a text of a single word, such as a path or a host, nothing beyond ASCII.
    """
    words = text.split(" ")
    is_name = len(words) == 1 and not prose
    drawn = " ".join(_word(word, is_name=is_name) for word in words)
    return drawn[:-1] + "\\u{20}" if drawn.endswith(" ") else drawn


def _word(word: str, *, is_name: bool) -> str:
    if word.isascii() and word.isprintable():
        return word.replace("\\", "\\\\")
    is_mixed = any(one.isascii() and one.isalnum() for one in word)
    return "".join(
        _drawn(one, keep=not is_mixed or (not is_name and (one in _PROSE or _is_plain_latin(one))))
        for one in word
    )


def _drawn(character: str, *, keep: bool) -> str:
    if " " <= character <= "~" and character != "\\":
        return character
    if named := _NAMED.get(character):
        return named
    if not keep or _hides(character) or _stands_for_ascii(character):
        return f"\\u{{{ord(character):x}}}"
    return character


def _hides(character: str) -> bool:
    """Whether it draws nothing, moves what stands beside it, or is drawn over it."""
    joins = (
        "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7ff"
    )  # parts of Korean syllables
    return unicodedata.category(character)[0] in "CMZ" or character in _BLANK or joins


def _stands_for_ascii(character: str) -> bool:
    """Whether it is another form of an ASCII letter or digit: full width, bold, in a circle."""
    return character.isalnum() and any(one < "\x7f" for one in unicodedata.normalize("NFKC", character))


def _is_plain_latin(character: str) -> bool:
    return "\u00c0" <= character <= "\u017f" and character.isalpha() and character not in _CONFUSING_LATIN


def scripts(drawn: str) -> tuple[str, ...]:
    """The scripts, beside plain Latin, of the letters in what `visible` kept: whole words can look alike too."""
    beyond = {one for one in drawn if not one.isascii() and one.isalpha() and not _is_plain_latin(one)}
    return tuple(sorted({unicodedata.name(one, "unknown").split(" ")[0].capitalize() for one in beyond}))


def describe(question: Question, columns: int, *, folded: bool = True) -> Iterator[str]:
    """The rows that put `question` to a person: complete, where `folded` with the digests of what is left out."""
    room = max(columns, NARROWEST) - len(MARGIN)
    sections: tuple[tuple[str, Iterable[str]], ...] = (
        ("who asks", [visible(question.path)]),
        ("tool", [f"{visible(question.tool)} of {visible(question.toolset)}"]),
        ("arguments", _arguments(question, room, folded=folded)),
        ("it raises", _several([str(one) for one in question.capabilities] or ["nothing"], folded=folded)),
        ("asked because", _several(question.reasons, folded=folded)),
        ("to ask no more", map(shown, question.advice)),
    )
    yield "approval needed"
    for title, lines in sections:
        yield f"  {title}"
        for line in lines:
            for row in rows(line, room):
                yield MARGIN + row


def _several(texts: Iterable[str], *, folded: bool) -> Iterator[str]:
    waiting = iter(texts)
    for text in islice(waiting, FOLDED_ITEMS) if folded else waiting:
        yield visible(text)
    if rest := list(waiting):
        yield f"... {len(rest):,} more; `show` shows them"


def _arguments(question: Question, room: int, *, folded: bool) -> Iterator[str]:
    """The lines of all arguments."""
    waiting = iter(question.arguments.items())
    for name, value in islice(waiting, FOLDED_ITEMS) if folded else waiting:
        # A tool may take any name at all: one must not read as a name with its value.
        named = name if name.isascii() and name.isidentifier() else json.dumps(name)
        if isinstance(value, str):
            yield from _text(named, value, room, folded=folded)
        else:
            yield from _data(named, value, room, folded=folded)
    if rest := dict(waiting):
        yield f"... {len(rest):,} more arguments; `show` shows them"
        yield f"sha256 {_digest(_as_json(rest))}"
    if not question.arguments:
        yield "none"


def _text(name: str, text: str, room: int, *, folded: bool) -> Iterator[str]:
    lines = (text[:FOLDED_TEXT] if folded else text).split("\n")
    if len(lines) == 1 and (not folded or len(text) <= FOLDED_ROWS * room):
        drawn = [visible(text)]
        yield f'{name}: "{drawn[0]}"'
    else:
        number = text.count("\n") + 1
        yield f"{name}: {f'{number:,} lines, ' if number > 1 else ''}{_size(text):,} bytes"
        drawn = [visible(line, prose=len(lines) > 1) for line in lines]
        yield from _block(text, drawn, room, folded=folded)
    if found := scripts("".join(drawn)):
        yield f"(letters of another script: {', '.join(found)})"


def _data(name: str, value: object, room: int, *, folded: bool) -> Iterator[str]:
    """The lines of anything but a text: JSON in ASCII alone, which needs nothing made visible."""
    kind = "" if isinstance(value, int | float | list | dict | None) else f" ({type(value).__name__})"
    text = _as_json(value)
    if "\n" not in text:
        yield f"{name}{kind}: {text}"
    else:
        yield f"{name}{kind}: {_size(text):,} bytes of JSON"
        yield from _block(text, text.split("\n"), room, folded=folded)


def _block(text: str, lines: Iterable[str], room: int, *, folded: bool) -> Iterator[str]:
    """A long value in rows, each a little to the right of its name; `lines` is the text made visible."""
    drawn = chain.from_iterable(rows(line, room - 2) for line in lines)
    for row in islice(drawn, FOLDED_ROWS) if folded else drawn:
        yield f"  {row}"
    if folded and (len(text) > FOLDED_TEXT or next(drawn, None) is not None):
        yield "... and more; `show` shows all of it"
        yield f"sha256 {_digest(text)}"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _digest(text: str) -> str:
    return digest.of_text(text).removeprefix("sha256:")


def _as_json(value: object) -> str:
    """`value` in ASCII alone, where it is long an item a line."""
    line = json.dumps(value, default=_plain)
    return line if len(line) <= LONGEST_LINE else json.dumps(value, default=_plain, indent=2)


def _plain(value: object) -> object:
    """An object of the workspace's own as something that JSON has."""
    return to_jsonable_python(value, by_alias=True, bytes_mode="base64", fallback=repr)


def rows(line: str, room: int) -> Iterator[str]:
    """`line` in pieces of at most `room` columns, since a terminal would wrap it to the first column."""
    if line.isascii():
        yield from re.findall(f".{{1,{room}}}", line) or [""]
        return
    piece, used = "", 0
    for character in line:
        width = 2 if unicodedata.east_asian_width(character) in "WFA" else 1
        if used + width > room:
            yield piece
            piece, used = "", 0
        piece, used = piece + character, used + width
    yield piece
