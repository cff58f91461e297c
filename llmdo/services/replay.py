"""`replay`: a run repeated from its journal alone."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from llmdo.journal import SUFFIX, read_journal
from llmdo.journal.binding import binding_of
from llmdo.journal.opening import runs_of
from llmdo.journal.questions import waiting
from llmdo.journal.summary import ending, require_place
from llmdo.services import basis as bases
from llmdo.services.resume import once_more
from llmdo.services.soundness import tell_nobody
from llmdo.workspace import personal
from llmdo.workspace.trust import Consent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from llmdo.journal.questions import Waiting
    from llmdo.journal.stored import JournalStore
    from llmdo.runtime import RunOutcome
    from llmdo.runtime.telemetry.events import Sink
    from llmdo.services.basis import Origin
    from llmdo.services.root import Tell

    Watching = Callable[[str, str], AbstractContextManager[Sink]]
    """Given the id of a run and its entry: where its events go while it lasts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """Which run is repeated, and how far."""

    run: str
    """An id, or the file of an exported run."""
    root: Path
    """The workspace; of an exported run only where code of it runs."""
    until: str | None = None
    """A tool's call path, or `PATH@N`, a request: before that it stops."""
    rerun_tools: bool = False
    sources: Origin = "workspace"
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOutcome:
    """How a run ended that was repeated."""

    outcome: RunOutcome
    differences: tuple[str, ...] = ()
    """Where a tool that ran once more did not end as it did."""
    is_there: bool = False
    """Whether it stopped where it was asked to."""
    questions: Mapping[str, Waiting] = field(default_factory=dict)
    """Those that wait for an answer."""


def is_exported(run: str) -> bool:
    """Whether this names the file of an exported run."""
    return run.endswith(SUFFIX)


def replay(
    request: ReplayRequest, watching: Watching, tell: Tell = tell_nobody, consent: Consent | None = None
) -> ReplayOutcome:
    """How the run ends that is repeated: as it ended, or where it comes to do something else.

    Raises:
        UntrustedError: It would execute what `consent` does not let through.
        LlmdoError: It cannot be repeated.
    """
    if is_exported(request.run):
        read: JournalStore = read_journal(Path(request.run), whole=True)
    else:
        runs = runs_of(request.root, request.environ)
        read = runs.read(runs.find(request.run), whole=True)
    with read as journal, TemporaryDirectory(prefix="llmdo-") as folder:
        return _replay(journal, Path(folder), request, watching, tell, consent or Consent(request.environ))


def _replay(
    journal: JournalStore,
    folder: Path,
    request: ReplayRequest,
    watching: Watching,
    tell: Tell,
    consent: Consent,
) -> ReplayOutcome:
    """`folder` is for the code that the run brings."""
    from llmdo.runtime.recording.recorder import Recorder  # which takes a second
    from llmdo.runtime.recording.replay_mode import ReplayMode
    from llmdo.runtime.telemetry.redaction import Redaction

    redaction = Redaction.of(request.environ)
    journal.know(redaction.known)
    binding = binding_of(journal)
    if request.until is not None:
        require_place(journal, request.until)
    reruns = request.rerun_tools
    basis = bases.to_repeat(
        request.root, journal, binding, folder, tell, sources=request.sources, reruns=reruns
    )
    recorder = Recorder(journal, redaction, ReplayMode(live=False, until=request.until, reruns=reruns))
    tightening = personal.read(request.environ).rules if reruns else ()
    plan = once_more(binding, basis, request.root, recorder).saying(tightening=tightening, consent=consent)
    plan.require_consent()
    with watching(journal.run, binding.entry) as sink:
        outcome = asyncio.run(plan.saying(on_event=sink).outcome())
    return ReplayOutcome(
        outcome=outcome,
        differences=tuple(recorder.differences),
        is_there=recorder.is_there,
        questions=waiting(journal, ending(journal)) if outcome.status == "waiting" else {},
    )
