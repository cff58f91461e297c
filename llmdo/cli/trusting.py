"""Asking at a terminal whether a workspace's code may be executed: only a whole word is an answer."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, cast

from llmdo.base.typed import drop_typed_ahead, read_line
from llmdo.cli.console import say
from llmdo.workspace.trust import Consent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.workspace.trust import TrustAnswer, TrustQuestion

PROMPT = "trust? [no] "
USUAL_COLUMNS = 80  # where a terminal does not know

_WORDS = {
    "content": "this content, wherever it lies; when it changes, you are asked again",
    "folder": "this folder, whatever becomes of it, until `llmdo trust --forget`",
    "show": "show all of it",
    "no": "execute nothing of it",
}


def consent_here(environ: Mapping[str, str] | None = None) -> Consent:
    """Who answers for the code that this command would execute: a person if there is a terminal."""
    is_here = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
    return Consent(os.environ if environ is None else environ, tell=say, ask=ask if is_here else None)


def ask(question: TrustQuestion) -> TrustAnswer:
    """The answer of the person at the terminal; the end of input is a no."""
    words = [word for word in _WORDS if word != "folder" or question.may_keep_folder]
    _show(question, words, folded=True)
    while True:
        try:
            drop_typed_ahead(sys.stdin)
            _put(PROMPT)
            line = read_line(sys.stdin)
        except OSError:
            return "no"
        typed = line.strip()
        if not line.endswith("\n") or typed in ("", "no"):
            return "no"
        if typed == "show":
            _show(question, words, folded=False)
        elif typed in words:
            return cast("TrustAnswer", typed)
        else:
            say("" if typed == "?" else f"`{typed[:40]}` is not an answer; type one of these words:")
            say("\n".join(f"  {word:<7}  {_WORDS[word]}" for word in words))


def _show(question: TrustQuestion, words: list[str], *, folded: bool) -> None:
    from llmdo.render import trust as render  # what draws it takes a second

    for row in render.described(question, _columns(), folded=folded):
        _put(f"{row}\n")
    _put(f"{' '.join(words)}   ? explains\n")


def _put(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or USUAL_COLUMNS
    except (OSError, ValueError):
        return USUAL_COLUMNS
