"""`replay` and `test`: runs repeated from their journals alone, as they were or against the workspace of today."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal import SUFFIX, read_journal
from llmdo.journal.binding import binding_of
from llmdo.journal.opening import runs_of
from llmdo.journal.questions import waiting
from llmdo.journal.rejudging import flips
from llmdo.journal.summary import ending, require_place
from llmdo.services import basis as bases
from llmdo.services.resume import once_more
from llmdo.services.root import root_folder
from llmdo.services.soundness import require_sound, resolved, tell_nobody
from llmdo.workspace import personal
from llmdo.workspace import project as projects
from llmdo.workspace.evals import RECORDINGS
from llmdo.workspace.trust import Consent, UntrustedError

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
    from collections.abc import Iterator

    from llmdo.graph.resolved import Graph
    from llmdo.journal.binding import Binding
    from llmdo.journal.rejudging import Flip
    from llmdo.runtime.telemetry.redaction import Redaction
    from llmdo.workspace.project import Project


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingsRequest:
    """Which recordings are held against the workspace, and what is compared."""

    files: tuple[str, ...] = ()
    """None: those of the workspace's folder for them."""
    project: str | None = None
    decisions: bool = False
    """Whether the recorded calls are judged by the rules of today, instead of repeated."""
    sources: bases.Origin = "workspace"
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """What one recording showed."""

    file: str
    run: str | None = None
    """None, as is `entry`, where it cannot be read."""
    entry: str | None = None
    problem: str | None = None
    """Why it could not be repeated."""
    divergences: tuple[str, ...] = ()
    """Where the workspace does something else than was recorded, a sentence each: the first is the last."""
    flips: tuple[Flip, ...] = ()

    @property
    def status(self) -> str:
        """In a word."""
        if self.problem:
            return "error"
        return "failed" if self.divergences or self.flips else "passed"


def repeat(request: RecordingsRequest, tell: Tell, consent: Consent | None = None) -> tuple[Repeated, ...]:
    """What each recording shows.

    Raises:
        UntrustedError: Something would be executed that `consent` does not let through.
        InvalidTeamError: `check` finds errors that stand in the way.
        LlmdoError: There is no recording.
    """
    root = root_folder(request.project)
    files = [Path(file) for file in request.files] or sorted((root / RECORDINGS).glob(f"*{SUFFIX}"))
    if request.decisions and request.sources == "run":
        raise LlmdoError(
            "`--decisions` judges by the rules of the workspace, and `--sources run` leaves those out"
        )
    if not files:
        raise LlmdoError(
            f"there is no recording in `{RECORDINGS}/`",
            hint=f"`llmdo runs export RUN {RECORDINGS}/NAME{SUFFIX}`",
        )
    project = projects.read(root)
    require_sound(project, tell)
    policy = personal.path_of(request.environ)
    if policy.exists():
        tell(f"`{policy}` is left out: what a recording shows is the same for everybody")
    consent = consent or Consent(request.environ)
    graph = resolved(project, tell, consent)
    if not request.decisions and request.sources == "workspace":
        consent.require(graph, root)
    return tuple(_repeated(file, graph, project, request, tell, consent) for file in files)


def _repeated(
    file: Path, graph: Graph, project: Project, request: RecordingsRequest, tell: Tell, consent: Consent
) -> Repeated:
    from llmdo.runtime.telemetry.redaction import Redaction  # which takes a second

    try:
        with read_journal(file, whole=True) as journal, TemporaryDirectory(prefix="llmdo-") as folder:
            redaction = Redaction.of(request.environ)
            journal.know(redaction.known)
            binding = binding_of(journal)
            flipped = flips(journal, graph, binding.entry) if request.decisions else ()
            diverged: Iterator[str] = iter(())
            if not request.decisions:
                basis = bases.Basis(graph=graph, prompts=project.prompts)
                if request.sources == "run":
                    basis = bases.of_run(journal, binding, project, Path(folder), tell)
                    consent.require(basis.graph, project.workspace.root, basis.code)
                diverged = _diverged(journal, binding, basis, project.workspace.root, redaction, consent)
            return Repeated(
                file=file.name,
                run=journal.run,
                entry=binding.entry,
                divergences=tuple(diverged),
                flips=tuple(flipped),
            )
    except UntrustedError:
        raise
    except LlmdoError as error:
        return Repeated(file=file.name, problem=error.message)


def _diverged(
    journal: JournalStore,
    binding: Binding,
    basis: bases.Basis,
    root: Path,
    redaction: Redaction,
    consent: Consent,
) -> Iterator[str]:
    """Where what runs does something else than it did when it was recorded."""
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.runtime.recording.replay_mode import EndedError, ReplayMode

    recorder = Recorder(journal, redaction, ReplayMode(live=False, shows_tools=True))
    plan = once_more(binding, basis, root, recorder).saying(consent=consent)
    try:
        outcome = asyncio.run(plan.outcome())
    except LlmdoError as error:
        yield f"it cannot begin: {error.message}"
        return
    last, reason = journal.last("end"), recorder.brake.reason
    if reason is not None and not isinstance(reason, EndedError):
        yield reason.message
    elif last is not None and (outcome.status, outcome.output) != (
        last.outcome,
        journal.whole(last)["output"],
    ):
        yield f"it ends differently: {outcome.status}, it was {last.outcome}"
