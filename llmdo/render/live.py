"""The display of a run on stderr: on a terminal a tree that lives as long as the run, elsewhere only lines."""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from contextlib import contextmanager
from errno import EIO
from typing import TYPE_CHECKING, Self, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from llmdo.base.diagnostic import shown
from llmdo.render import narration
from llmdo.render.amounts import counted, money
from llmdo.render.progress import Progress, nodes
from llmdo.render.voice import OverheardText
from llmdo.runtime.telemetry.events import (
    UNPAID,
    Decided,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    RequestDelayed,
    RunStarted,
    ToolCalled,
    WorkerStarted,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from rich.console import RenderableType

    from llmdo.render.progress import Mood, ProgressNode, Tally
    from llmdo.render.voice import SpokenAnswer
    from llmdo.runtime.telemetry.events import Event
    from llmdo.runtime.telemetry.redaction import Redaction

REFRESHES = 5  # a second
TALLEST = 30  # lines: a taller tree is not read any more
SPARED = 3  # lines of the terminal that stay free
_GOING_ON = (Decided, ModelFailed, ModelRequested, RequestDelayed, ToolCalled, WorkerStarted)
"""After these there is something to wait for."""

SHOW_CURSOR = b"\x1b[?25h"

_STYLES: dict[Mood, str] = {
    "working": "",
    "waiting": "cyan",
    "asking": "bold yellow",
    "done": "green",
    "failed": "red",
}


class Display:
    """Shows a run as it happens. While a person is asked it draws nothing, and keeps its lines."""

    def __init__(
        self,
        stream: TextIO,
        *,
        detail: int,
        approvals: str | None,
        redaction: Redaction,
        answer: SpokenAnswer | None = None,
    ) -> None:
        """`detail` below 0 draws nothing; `approvals` says who answers, and None leaves out how a run begins."""
        self._detail = detail
        self._approvals = approvals
        self._redaction = redaction
        self._stream = stream
        self._answer = answer
        self._overheard = OverheardText(redaction)
        self._lock = threading.RLock()
        self._progress = Progress(time.monotonic(), redact=redaction.text)
        self._priced: set[str] = set()
        self._kept: list[str] = []
        self._live: Live | None = None
        if detail >= 0 and is_alive(stream):
            self._console = Console(file=stream, markup=False, highlight=False, emoji=False)
            self._live = self._new()

    def _new(self) -> Live:
        return Live(
            console=self._console,
            get_renderable=self._draw,
            refresh_per_second=REFRESHES,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
        )

    def __enter__(self) -> Self:
        with self._outliving():
            if self._live:
                self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._outliving():
            if self._live:
                self._live.stop()
            self._flush()
            if self._live and self._progress.has_delegated:
                self._console.print(self._draw())

    def __call__(self, event: Event) -> None:
        """Takes in an event, and prints it if the level of detail has a line for it."""
        with self._outliving():
            self._take(event)

    @contextmanager
    def _outliving(self) -> Iterator[None]:
        """Drawing that survives a closed terminal, as under `nohup`, without ending the run."""
        try:
            yield
        except OSError as error:
            if error.errno != EIO:
                raise
            self._live = None
            silence(self._stream, sys.stdout)

    def _take(self, event: Event) -> None:
        answer = self._answer
        with self._lock:
            was_asked = bool(self._progress.waiting)
            self._progress.apply(event, time.monotonic())
            is_asked = bool(self._progress.waiting)
            self._kept.extend(self._lines(event))
        if self._live and (is_asked or (answer and answer.hears(event))):
            self._live.stop()
        if answer:
            answer.take(event)
        if is_asked or (answer and answer.is_under_way):
            return
        self._flush()
        if self._live and not self._live.is_started and (was_asked or isinstance(event, _GOING_ON)):
            # A new one: the old one would draw over as many lines as its tree had, which now hold something else.
            self._live = self._new()
            self._live.start()

    def abandon(self) -> None:
        """Leaves the terminal usable at once: the program is about to end."""
        if self._live:
            os.write(self._stream.fileno(), SHOW_CURSOR)

    def _lines(self, event: Event) -> list[str]:
        line = narration.line(event, self._detail, self._redaction)
        if self._detail < 0:
            return [line] if line and line.startswith("warning: ") else []
        lines = []
        if isinstance(event, RunStarted):
            if self._approvals is not None:
                lines.append(narration.beginning(event, self._approvals))
            lines += narration.written_models(event)
        if isinstance(event, ModelResponded) and self._is_unpriced(event):
            self._priced.add(event.model)
            lines.append(narration.unpriced(event.model))
        if self._detail:
            lines += self._overheard.take(event)
        return [*lines, line] if line else lines

    def _is_unpriced(self, event: ModelResponded) -> bool:
        return (
            event.cost_usd is None and event.model not in self._priced and not event.model.startswith(UNPAID)
        )

    def _flush(self) -> None:
        """Prints the kept lines, above the tree if there is one."""
        lines, self._kept = self._kept, []
        for line in lines:
            if self._live and self._live.is_started:
                self._console.print(Text(line))
            else:
                print(line, file=self._stream, flush=True)

    def _draw(self) -> RenderableType:
        with self._lock:
            return draw(self._progress, time.monotonic(), self._console.height, self._console.width)


def silence(*streams: TextIO) -> None:
    """Discards from now on all output to those of `streams` that are closed terminals."""
    for stream in streams:
        try:
            descriptor = stream.fileno()
        except OSError:  # none of the operating system's
            continue
        if stat.S_ISCHR(os.fstat(descriptor).st_mode) and not os.isatty(descriptor):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


def is_alive(stream: TextIO) -> bool:
    """Whether `stream` is a terminal on which lines can be drawn again."""
    return stream.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")


def draw(progress: Progress, now: float, height: int, width: int) -> Group:
    """The present tree, in no more lines than a terminal of that size can spare."""
    room = max(min(height - SPARED, TALLEST) - 2, 1)
    shown_nodes, hidden = nodes(progress, room)
    lines = [_line(depth, node, now, width) for depth, node in shown_nodes]
    if hidden:
        lines.append(_text(f"... and {counted(hidden, 'call')} more", "dim"))
    lines.append(_total(progress, now))
    return Group(*lines)


def _line(depth: int, node: ProgressNode, now: float, width: int) -> Text:
    line = _text(" " * min(2 * depth, width // 3), "")
    line.append(shown(node.label), style="bold" if node.used.requests or node.children else "")
    if node.subject:
        line.append(f"  {shown(node.subject)}")
    if node.state:
        line.append(f"  {shown(node.state)}", style=_STYLES[node.mood])
    if node.mood in ("waiting", "asking"):
        line.append(f" {now - node.since:.0f} s", style="dim")
    elif node.model:
        taken = (node.since if node.is_over else now) - node.began
        line.append(f"  {taken:.0f} s", style="dim")
    if spent := _spent(node.used):
        line.append(f"  {', '.join(spent)}", style="dim")
    if node.forgotten:
        line.append(f"  {counted(node.forgotten, 'earlier call')}", style="dim")
    if node.model and node.mood not in ("waiting", "asking"):
        line.append(f"  {shown(node.model)}", style="dim")
    return line


def _spent(used: Tally) -> list[str]:
    tokens = [] if used.tokens is None else [f"{used.tokens:,} tokens"]
    return [*tokens, *([money(used.cost)] if used.cost else [])]


def _total(progress: Progress, now: float) -> Text:
    used = progress.used
    spent = [counted(used.requests, "request"), *_spent(used)]
    return _text(", ".join([*spent, f"{now - progress.started:.0f} s"]), "dim")


def _text(text: str, style: str) -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")
