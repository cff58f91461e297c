"""The terminal of a person who is asked: its width, its colours, and lines typed after the prompt alone."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from llmdo.base.colour import has_colour, painted, plain
from llmdo.base.typed import drop_typed_ahead, read_line
from llmdo.runtime.approvals.approver import GoneError
from llmdo.runtime.approvals.drawing import HEADING, LeftOut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

USUAL_COLUMNS = 80  # where a terminal does not know

_GONE = "the terminal was closed while a question waited there"


class AskingScreen:
    """Two streams of one terminal; it is gone where one of them is."""

    def __init__(self, source: TextIO, display: TextIO, environ: Mapping[str, str] | None = None) -> None:
        """`environ` permits colour, and says whether the terminal has a title."""
        self._source, self._display = source, display
        self._has_title = display.isatty() and (environ or {}).get("TERM", "dumb") != "dumb"
        self.paint = painted if has_colour(display, environ or {"NO_COLOR": "1"}) else plain

    @property
    def columns(self) -> int:
        """The number of its columns."""
        try:
            return os.get_terminal_size(self._display.fileno()).columns or USUAL_COLUMNS
        except (OSError, ValueError):
            return USUAL_COLUMNS

    def count(self, number: int) -> None:
        """Puts the number of questions into the title of the terminal; of none, takes it out.

        Raises:
            GoneError: The terminal is gone.
        """
        if self._has_title:
            self.say(f"\x1b]2;{f'llmdo: {number:,} waiting' if number else ''}\x07")

    def say(self, text: str) -> None:
        """Shows `text` as it is.

        Raises:
            GoneError: The terminal is gone.
        """
        with _present():
            self._display.write(text)
            self._display.flush()

    def draw(self, rows: Iterable[str]) -> None:
        """Shows rows of a question, in colour: our own words left of the margin step back.

        Raises:
            GoneError: The terminal is gone.
        """
        self.say("".join(f"{self._painted(row)}\n" for row in rows))

    def _painted(self, row: str) -> str:
        if row == HEADING:
            return self.paint("asks", row)
        title, bar, content = row.partition("| ")
        return self.paint("gutter", title + bar) + (
            self.paint("asks", content) if isinstance(row, LeftOut) else content
        )

    def answer(self, prompt: str, is_cancelled: Callable[[], bool] = lambda: False) -> str:
        """The next line, with its end: of several that were pasted at once, none but the first is an answer to this.

        Raises:
            GoneError: The terminal is gone.
        """
        with _present():
            drop_typed_ahead(self._source)
        self.say(prompt)
        return self.line(is_cancelled)

    def line(self, is_cancelled: Callable[[], bool] = lambda: False) -> str:
        """The next line that the person types, with its end.

        Raises:
            GoneError: The input ended because the terminal is gone.
        """
        with _present():
            line = read_line(self._source, is_cancelled)
        if not (line.endswith("\n") or is_cancelled() or self._source.isatty()):
            raise GoneError(_GONE)
        return line


@contextmanager
def _present() -> Iterator[None]:
    """A block that needs the terminal.

    Raises:
        GoneError: It is gone.
    """
    try:
        yield
    except OSError as error:
        raise GoneError(_GONE) from error
