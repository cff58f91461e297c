"""The observers of a run that was started from the command line: the display, the log and the trace."""

from __future__ import annotations

import sys
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.request_fields import option
from llmdo.cli.console import say
from llmdo.services.plan import Watch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.journal.run_item import RunItem
    from llmdo.runtime.telemetry.redaction import Redaction
    from llmdo.runtime.telemetry.trace import TraceChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """The outputs and logs that `llmdo run` was asked for."""

    verbose: int = field(
        default=0,
        metadata=option(
            "Show how it was started and audited, and workers; twice, every call and request.",
            "--verbose",
            "-v",
            counted=True,
        ),
    )
    quiet: bool = field(
        default=False,
        metadata=option("Show the answer, questions, warnings and errors alone.", "--quiet", "-q"),
    )
    log_events: str | None = field(
        default=None, metadata=option("Append every event to a file, as JSON lines.", metavar="FILE")
    )
    trace_dir: str | None = field(
        default=None, metadata=option("Write OpenTelemetry spans to a file, as JSON lines.", metavar="DIR")
    )
    trace_content: bool = field(
        default=False, metadata=option("Put prompts, answers and results into the trace.")
    )
    trace_binary: bool = field(
        default=False, metadata=option("The same, and put attachments into the trace as well.")
    )
    as_text: bool = False
    """Whether the answer is printed as it is, and may be shown as it arrives."""

    @property
    def detail(self) -> int:
        """The level of detail of what stands around the answer: -1 is none."""
        return -1 if self.quiet else self.verbose


@contextmanager
def watching(
    options: WatchOptions,
    *,
    run: str,
    entry: str,
    approvals: str | None,
    environ: Mapping[str, str],
    title: str = "",
    item: RunItem | None = None,
) -> Iterator[Watch]:
    """Everything that watches the run of that id while the block runs; all of it is closed however that ends.

    `approvals` says who answers; None omits the beginning of the run. `title` is the uncut text of its title.

    Raises:
        LlmdoError: The log or the trace cannot be written.
    """
    from llmdo.render.live import Display
    from llmdo.render.voice import SpokenAnswer
    from llmdo.runtime.telemetry.events import each
    from llmdo.runtime.telemetry.log import open_log
    from llmdo.runtime.telemetry.redaction import Redaction
    from llmdo.runtime.telemetry.trace import tracing

    redaction = Redaction.of(environ)
    choice = _traced(options, environ, redaction)
    answer = SpokenAnswer(sys.stdout) if options.as_text and sys.stdout.isatty() else None
    with ExitStack() as stack:
        log = (
            stack.enter_context(open_log(Path(options.log_events), redaction)) if options.log_events else None
        )
        instruments = stack.enter_context(tracing(choice, run=run, entry=entry, title=title, item=item))
        shown = Display(
            sys.stderr, detail=options.detail, approvals=approvals, redaction=redaction, answer=answer
        )
        display = stack.enter_context(shown)
        stack.enter_context(_spoken_warnings())
        sink = each([log, display] if log else [display])
        yield Watch(
            sink=sink,
            abandon=display.abandon,
            instruments=instruments,
            streams="everything" if log or options.verbose else "entry" if answer else "nothing",
            has_shown=answer.has_shown if answer else lambda _: False,
        )
    if log and log.failure:
        _warn(f"the log `{options.log_events}` is not complete: {log.failure}")


def _traced(options: WatchOptions, environ: Mapping[str, str], redaction: Redaction) -> TraceChoice:
    from llmdo.runtime.telemetry.trace import TraceChoice  # which takes a second

    return TraceChoice(
        environ=environ,
        redaction=redaction,
        say=_warn,
        folder=Path(options.trace_dir) if options.trace_dir else None,
        content=options.trace_content or options.trace_binary,
        binary=options.trace_binary,
    )


@contextmanager
def _spoken_warnings() -> Iterator[None]:
    """Prints the warnings of libraries, such as about an unknown model setting, without the place in their code."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: _warn(" ".join(str(message).split()))
        yield


def _warn(text: str) -> None:
    say(f"warning: {text}")
