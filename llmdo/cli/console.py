"""Where the command line finds its workspace and how it talks: results on stdout, everything else on stderr."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO

from llmdo.base import colour
from llmdo.base.diagnostic import LlmdoError, shown, unsteering

FINE = 0
FINDINGS = 1
CANNOT_GO_ON = 2
WAITING = 3
INTERRUPTED = 130


def root_folder(project: str | None) -> Path:
    """The workspace's root: `--project`, else `LLMDO_PROJECT`, else found by walking up from here.

    Raises:
        LlmdoError: there is none.
    """
    from llmdo.workspace.reading import (  # what reads workspaces, which not every command does
        MANIFEST,
        find_root,
    )

    given = project or os.environ.get("LLMDO_PROJECT")
    if not given:
        return find_root(Path.cwd())
    folder = Path(given)
    if not (folder / MANIFEST).is_file():
        raise LlmdoError(f"`{given}` has no `{MANIFEST}`", hint="`--project` names the folder that holds it")
    return folder.absolute()


def has_colour(stream: TextIO) -> bool:
    """Whether `stream` is a terminal that wants colour."""
    return colour.has_colour(stream, os.environ)


def screen() -> colour.Screen:
    """What results are drawn on."""
    return colour.screen_of(sys.stdout, os.environ)


def put(text: str, *, end: str = "\n", as_json: bool = False, is_drawn: bool = False) -> None:
    """Prints a result: as it is where a program reads it, on a terminal with all that would steer it spelled out.

    `as_json` says that it is JSON, which it stays; `is_drawn` that it was drawn for a screen, with colours of ours.
    """
    if sys.stdout.isatty() and not is_drawn:
        text = unsteering(text, in_json=as_json)
    print(text, end=end)


def say(text: str) -> None:
    """Tells the person something that is not the result; what is invisible in it is spelled out."""
    print("\n".join(map(shown, text.split("\n"))), file=sys.stderr, flush=True)


def say_error(error: LlmdoError) -> None:
    """Tells the person why the command cannot go on, and what to do about it."""
    at = error.at
    where = (
        f" ({at.path}:{at.span.line}:{at.span.column})" if at and at.span else f" ({at.path})" if at else ""
    )
    say(f"error: {error.message}{where}")
    if error.hint:
        say(f"  hint: {error.hint}")
