"""Asking a person at a terminal: what is shown cannot hide anything, and only a whole word is an answer."""

from __future__ import annotations

import asyncio
import json
import os
import select
import shutil
import sys
import threading
import unicodedata
from typing import TYPE_CHECKING, TextIO

from pydantic_core import to_jsonable_python

from llmdo.runtime.approvals import Answer, RejectAll

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.runtime.approvals import Approver, Question

MARGIN = "    | "
"""Before every line of a payload, so that none can pass for a line of ours."""

NARROWEST = 20  # columns of payload a line, however narrow the terminal says it is
POLL_SECONDS = 0.1  # how long a cancelled question may still hold its thread

_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Characters that count as letters or symbols and draw nothing."""


def approver_at(source: TextIO, screen: TextIO) -> Approver:
    """Who answers where `source` and `screen` are: a person if both are a terminal, else nobody."""
    return AskOnTerminal(source, screen) if source.isatty() and screen.isatty() else RejectAll()


def visible(text: str) -> str:
    r"""`text` with each character that draws nothing or moves others as `\u{..}`; no two texts look alike."""
    return "".join(_drawn(character) for character in text)


def _drawn(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if " " <= character <= "~":
        return character
    if unicodedata.category(character)[0] in "CMZ" or character in _BLANK:
        return f"\\u{{{ord(character):x}}}"
    return character


def describe(question: Question, columns: int) -> Iterator[str]:
    """The lines that put `question` to a person: complete, all that comes from the call behind `MARGIN`."""
    yield f"{visible(question.path)} wants to call `{visible(question.tool)}`"
    for name, value in question.arguments.items():
        yield from _fold(f"{visible(name)}:", columns)
        text = value if isinstance(value, str) else _as_json(value)
        for line in text.split("\n"):
            yield from _fold(f"  {visible(line)}", columns)
    for title, lines in (
        ("it raises", [str(capability) for capability in question.capabilities] or ["nothing"]),
        ("it is asked because", question.reasons),
        ("to be asked no more", question.advice),
    ):
        yield f"  {title}:"
        for line in lines:
            yield from _fold(visible(line), columns)


def _as_json(value: object) -> str:
    plain = to_jsonable_python(value, bytes_mode="base64", fallback=repr)
    return json.dumps(plain, ensure_ascii=False, indent=2)


def _fold(line: str, columns: int) -> Iterator[str]:
    """`line` in pieces that fit behind the margin, since a terminal would wrap it to the first column."""
    room = max(columns - len(MARGIN), NARROWEST)
    piece, used = "", 0
    for character in line:
        width = 2 if unicodedata.east_asian_width(character) in "WFA" else 1
        if used + width > room:
            yield MARGIN + piece
            piece, used = "", 0
        piece, used = piece + character, used + width
    yield MARGIN + piece


class AskOnTerminal:
    """Asks a person, one question at a time; what was typed before a question is shown does not answer it."""

    def __init__(self, source: TextIO, screen: TextIO) -> None:
        self._source = source
        self._screen = screen
        self._one_at_a_time = asyncio.Lock()

    async def ask(self, question: Question) -> Answer:
        """What the person answers; the end of input is a no."""
        async with self._one_at_a_time:
            cancelled = threading.Event()
            try:
                return await asyncio.to_thread(self._converse, question, cancelled)
            finally:
                cancelled.set()

    def _converse(self, question: Question, cancelled: threading.Event) -> Answer:
        columns = shutil.get_terminal_size().columns
        self._say("".join(f"{line}\n" for line in describe(question, columns)))
        _drop_typed_ahead(self._source)
        while True:
            self._say("allow this call? `once` or `no` [no]: ")
            line = _read_line(self._source, cancelled)
            match line.strip():
                case "once" if line.endswith("\n"):
                    return Answer(allowed=True, by="a person at the terminal", at_terminal=True)
                case "no":
                    return _no("the answer was no")
                case "":
                    return _no("there was no answer")
                case _ if not line.endswith("\n"):
                    return _no("the input ended")

    def _say(self, text: str) -> None:
        self._screen.write(text)
        self._screen.flush()


def _no(reason: str) -> Answer:
    return Answer(allowed=False, by="a person at the terminal", reason=reason, at_terminal=True)


def _drop_typed_ahead(source: TextIO) -> None:
    if sys.platform != "win32":
        import termios

        termios.tcflush(source.fileno(), termios.TCIFLUSH)


def _read_line(source: TextIO, cancelled: threading.Event) -> str:
    """The next line with its end; what there is of it where the input ends or the question is cancelled."""
    if sys.platform == "win32":
        return source.readline()
    while not cancelled.is_set():
        if select.select([source], [], [], POLL_SECONDS)[0]:
            return os.read(source.fileno(), 4096).decode(errors="replace")
    return ""
