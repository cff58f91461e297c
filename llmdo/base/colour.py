"""Colour on a terminal: whether it is wanted, and coloured words."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` alone would cost a fifth of an answer from memory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal, TextIO

    Shade = Literal["bad", "asks", "good", "note", "gutter", "dim", "strong"]
    Paint = Callable[[Shade, str], str]

_CODES = {
    "bad": "31;1",
    "asks": "33;1",
    "good": "32",
    "note": "36;1",
    "gutter": "34;1",
    "dim": "2",
    "strong": "1",
}


def has_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether `stream` is a terminal that wants colour: `NO_COLOR` is not set, and `TERM` is not `dumb`."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def painted(shade: Shade, words: str) -> str:
    """`words` in a shade, for a terminal; they must hold nothing that would steer it."""
    return f"\x1b[{_CODES[shade]}m{words}\x1b[0m" if words else words


def plain(_shade: Shade, words: str) -> str:
    """`words` as they are."""
    return words


class Screen:
    """The colours and the number of columns for drawing; `PAPER` is no terminal at all."""

    __slots__ = ("columns", "paint")

    def __init__(self, paint: Paint, columns: int | None) -> None:
        """`columns` is None for lines of any length."""
        self.paint = paint
        self.columns = columns


PAPER = Screen(plain, None)


def screen_of(stream: TextIO, environ: Mapping[str, str]) -> Screen:
    """The terminal that `stream` is, if it is one."""
    if not stream.isatty():
        return PAPER
    import shutil  # not for an answer from memory

    columns = shutil.get_terminal_size().columns
    return Screen(painted if has_colour(stream, environ) else plain, columns)
