"""The lines that a person types in a chat, with editing and a history."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from llmdo.base.diagnostic import LlmdoError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MARK = "> "
"""The prompt before a line."""


class Lines(Protocol):
    """A source of lines."""

    def next(self) -> str:
        """The next line.

        Raises:
            EOFError: There is none any more.
            KeyboardInterrupt: Ctrl-C was pressed.
        """


def lines_at_terminal(before: Iterable[str], words: Iterable[str]) -> Lines:
    """The lines of the person at this terminal; `before` are earlier ones, `words` the tab completions.

    Raises:
        LlmdoError: There is no terminal, or the library is not installed.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise LlmdoError(
            "a chat needs a terminal", hint="`llmdo run ENTRY --continue last INPUT` goes on from a program"
        )
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.history import InMemoryHistory
    except ImportError as error:
        raise LlmdoError(
            "`llmdo chat` needs a library that is not installed", hint="`pip install 'llmdo-workspace[chat]'`"
        ) from error
    session: PromptSession[str] = PromptSession(
        history=InMemoryHistory(list(before)),
        completer=WordCompleter(list(words), sentence=True),
        complete_while_typing=False,
    )
    return _Typed(lambda: session.prompt(MARK))


class _Typed:
    """Lines that are asked for one by one."""

    def __init__(self, ask: Callable[[], str]) -> None:
        self._ask = ask

    def next(self) -> str:
        """The next line."""
        return self._ask()
