"""A client at a terminal, before a person who reads the screen and answers its questions."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyte

from bench.clients.process import SECONDS, ClientEndedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.clients.script import Script

_COLUMNS, _ROWS = 200, 60
_RESTING = 3
"""The seconds without a request after which a turn is over that a person ended with a no."""
_UNHEARD = 5
"""The seconds after which a question that is still there is answered once more."""
_STUCK = 60
"""The seconds without a request after which any turn is over."""


class _Screen(pyte.Screen):
    """A screen for programs that ask more of it than the emulator knows."""

    def select_graphic_rendition(self, *attrs: int, **more: Any) -> None:
        if not more.get("private"):
            super().select_graphic_rendition(*attrs)

    def report_device_attributes(self, *_: Any, **__: Any) -> None:
        """Nothing: no program waits for it."""

    def report_device_status(self, *_: Any, **__: Any) -> None:
        """Nothing: no program waits for it."""


class Person:
    """A person at a terminal."""

    def __init__(self, script: Script, question: str) -> None:
        self._script = script
        self._question = re.compile(question, re.DOTALL)
        """A question on the screen: 1 says yes, and no the key in the group `no`, or else escape."""
        self._screen = _Screen(_COLUMNS, _ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self._answered, self._since = "", 0.0
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))

    def type(self, text: str) -> None:
        """Types a line."""
        os.write(self.master, text.encode())
        self._read(0.5)  # what comes at once is taken for pasted
        os.write(self.master, b"\r")

    def watch(self, agent: str) -> None:
        """Answers questions until an agent has ended its turn.

        Raises:
            ClientEndedError: The client ended.
        """
        self._script.at_rest.discard(agent)
        last, seen, is_no = time.monotonic(), self._script.requests, False
        while agent not in self._script.at_rest:
            self._read(0.1)
            if self._script.requests != seen:
                last, seen, is_no = time.monotonic(), self._script.requests, False
            if (answer := self._answer()) is not None:
                last, is_no = time.monotonic(), answer == "no"
            if time.monotonic() - last > (_RESTING if is_no else _STUCK):
                return

    def _answer(self) -> str | None:
        """The answer to a question that is on the screen, and was not before."""
        text = "\n".join(line.strip() for line in self._screen.display)
        match = self._question.search(text)
        call = self._script.pending
        if match is None or call is None:
            self._answered = ""
            return None
        question, now = f"{call} {match[0]}", time.monotonic()
        if question == self._answered and now - self._since < _UNHEARD:
            return None
        self._read(0.3)  # until all of it is drawn, and keys are heard
        self._answered, self._since = question, now
        is_fine = self._script.permits(call)
        key = "1" if is_fine else match.groupdict().get("no") or "\x1b"
        os.write(self.master, key.encode())
        self._read(0.5)
        return "yes" if is_fine else "no"

    def _read(self, seconds: float) -> None:
        """Reads what comes within a time."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                return
            try:
                self._stream.feed(os.read(self.master, 65536))
            except OSError as error:
                raise ClientEndedError("it ended before its turn") from error


def work(
    words: Sequence[str], environ: Mapping[str, str], script: Script, session: str, person: Person
) -> None:
    """Lets the session of a client work in the project of a script; its words are followed by the first prompt."""
    prompts = script.prompts(session)
    child = subprocess.Popen(
        [*words, next(prompts)],
        env={**environ, "TERM": "xterm-256color"},
        cwd=script.project,
        stdin=person.slave,
        stdout=person.slave,
        stderr=person.slave,
        start_new_session=True,
    )
    os.close(person.slave)
    until = time.monotonic() + SECONDS
    try:
        person.watch(session)
        for text in prompts:
            if time.monotonic() > until:
                raise ClientEndedError("it took too long")
            person.type(text)
            person.watch(session)
    finally:
        child.kill()
        child.wait()
        with suppress(OSError):
            os.close(person.master)
