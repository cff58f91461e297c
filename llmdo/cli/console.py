"""How the command line talks: results on stdout, everything else on stderr."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

from llmdo.base import colour
from llmdo.base.diagnostic import shown, unsteering

if TYPE_CHECKING:
    from llmdo.base.diagnostic import LlmdoError

FINE = 0
FINDINGS = 1
CANNOT_GO_ON = 2
WAITING = 3
INTERRUPTED = 130


def has_colour(stream: TextIO) -> bool:
    """Whether `stream` is a terminal that wants colour."""
    return colour.has_colour(stream, os.environ)


def screen() -> colour.Screen:
    """The screen that results are drawn on."""
    return colour.screen_of(sys.stdout, os.environ)


def put(text: str, *, end: str = "\n", as_json: bool = False, is_drawn: bool = False) -> None:
    """Prints a result: unchanged for a program, on a terminal with all that would steer it spelled out.

    `as_json` says that it is JSON, which it stays; `is_drawn` that it was drawn for a screen, with colours of ours.
    """
    if sys.stdout.isatty() and not is_drawn:
        text = unsteering(text, in_json=as_json)
    print(text, end=end)


def say(text: str) -> None:
    """Tells the person something that is not the result; invisible characters in it are spelled out."""
    print("\n".join(map(shown, text.split("\n"))), file=sys.stderr, flush=True)


def say_error(error: LlmdoError) -> None:
    """Tells the person why the command cannot go on, and the remedy."""
    at = error.at
    where = (
        f" ({at.path}:{at.span.line}:{at.span.column})" if at and at.span else f" ({at.path})" if at else ""
    )
    say(f"error: {error.message}{where}")
    if error.hint:
        say(f"  hint: {error.hint}")
