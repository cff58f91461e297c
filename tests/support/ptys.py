"""A person at a real pseudo-terminal: reads what a terminal emulator shows, and types."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, TextIO

import pyte

from tests.support import forking

PATIENCE = 40.0  # seconds: a whole program may have to start on a busy machine
PROMPT = "allow? [no]"

Reaction = str | Callable[["Person"], None]


class Person:
    """Types one of `answers` whenever a new prompt stands on the screen."""

    def __init__(self, *answers: Reaction, columns: int = 80, rows: int = 50, prompt: str = PROMPT) -> None:
        self._prompt = prompt
        self._answers = list(answers)
        self._seen = ""
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen = pyte.HistoryScreen(columns, rows, history=5_000, ratio=1)
        self._stream = pyte.ByteStream(self.screen)
        self.prompts: list[list[str]] = []
        """The whole screen, with what scrolled off, at each prompt."""
        self._programs: list[subprocess.Popen[bytes]] = []
        self._drawing = threading.Lock()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self.source: TextIO = os.fdopen(os.dup(self.slave), encoding="utf-8")
        self.display: TextIO = os.fdopen(os.dup(self.slave), "w", encoding="utf-8")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            error.add_note(f"The terminal shows:\n{self.text()}")
            for program in self._programs:
                error.add_note(f"{program.args} had the exit code {program.poll()}")
                program.kill()
                program.wait()
        self.display.close()
        self.source.close()
        os.close(self.slave)
        self._thread.join(PATIENCE)
        os.close(self.master)

    def type(self, text: str) -> None:
        """Types `text` as it is."""
        os.write(self.master, text.encode())

    def lines(self) -> list[str]:
        """All that can be seen, from the first line on, without the blanks at the ends."""
        with self._drawing:
            above = [
                "".join(line[column].data for column in range(self.screen.columns)).rstrip()
                for line in self.screen.history.top
            ]
            return [*above, *(line.rstrip() for line in self.screen.display)]

    def text(self) -> str:
        return "\n".join(self.lines())

    def start(self, words: Sequence[str], cwd: Path, environ: dict[str, str]) -> subprocess.Popen[bytes]:
        """A program whose terminal this is: Ctrl-C reaches it as a signal."""
        program = forking.Popen(
            words,
            cwd=cwd,
            env=environ,
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            terminal=True,
        )
        self._programs.append(program)
        return program

    def _live(self) -> None:
        while True:
            try:
                read = os.read(self.master, 65_536)
            except OSError:
                return
            if not read:
                return
            with self._drawing:
                self._stream.feed(read)
            self._seen += read.decode(errors="replace")
            if self._seen.endswith(f"{self._prompt} ") and self._answers:
                self._seen = ""
                self.prompts.append(self.lines())
                answer = self._answers.pop(0)
                if isinstance(answer, str):
                    self.type(answer)
                else:
                    answer(self)


def wait_for(child: subprocess.Popen[bytes]) -> int:
    """The exit code of a program, which ends within our patience."""
    try:
        return child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        raise AssertionError("the program did not end") from None
