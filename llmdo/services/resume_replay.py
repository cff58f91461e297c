"""`resume`, `replay` and `test`: past runs resumed, repeated, and repeated against the present workspace."""

from __future__ import annotations

import asyncio
import math
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.request_fields import argument, option
from llmdo.base.values import also_in_json, in_json
from llmdo.graph.keys import names_of
from llmdo.graph.limits import Limits
from llmdo.journal import SUFFIX, read_journal
from llmdo.journal.opening import claimed, read_run
from llmdo.journal.questions import waiting
from llmdo.journal.rejudging import flips
from llmdo.journal.summary import ending, require_place
from llmdo.services.basis import Basis, BegunRun, Origin, of_run, to_repeat
from llmdo.services.plan import EndedRun, completed, continuation, execute, once_more
from llmdo.services.root import PROJECT, SOURCES, root_folder
from llmdo.services.soundness import require_sound, resolved, tell_nobody
from llmdo.toolsets.processes import hide_from_children
from llmdo.workspace import personal
from llmdo.workspace import project as projects
from llmdo.workspace.evals import RECORDINGS
from llmdo.workspace.trust import Consent, UntrustedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from llmdo.graph.resolved import Graph
    from llmdo.journal.rejudging import Flip
    from llmdo.runtime.telemetry.events import Sink
    from llmdo.services.plan import Host, ResumeRequest, RunPlan
    from llmdo.services.root import Tell
    from llmdo.workspace.project import Project

    Watching = Callable[[str, str], AbstractContextManager[Sink]]
    """Given the id of a run and its entry: the receiver of its events while it lasts."""


def resume(request: ResumeRequest, host: Host) -> EndedRun:
    """The end of a run that went on; of a complete one, its end then. Nothing is asked or executed twice.

    Raises:
        InvalidTeamError: `check` finds errors that hinder it.
        LlmdoError: It cannot go on, or needs a decision about a tool or a change.
    """
    with claimed(request.root, request.run, request.environ) as journal:
        if (ended := completed(journal)) is not None:
            host.tell(f"run {journal.run} is complete; this is what it said")
            return ended
        personal.read(request.environ)  # first: what it might forbid must not begin
        plan = continuation(journal, request, host.tell, host.consent)
        answering = host.approving(plan.basis.graph)
        return execute(plan.saying(limits=request.limits, debug=request.debug), answering, host)


def limits_of(texts: Sequence[str]) -> dict[str, float]:
    """The limits that `texts` set, `NAME=N` each.

    Raises:
        LlmdoError: One is no limit, or not set to a number above 0.
    """
    known = names_of(Limits, "lock")
    limits: dict[str, float] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if name not in known:
            raise LlmdoError(f"`{name}` is not a limit", hint=did_you_mean(name, known))
        is_whole = name not in ("cost-usd", "seconds")
        try:
            value = int(number) if is_whole else float(number)
        except ValueError:
            value = 0
        if not 0 < value < math.inf:
            kind = "a whole number" if is_whole else "a number"
            raise LlmdoError(f"`--limit {text}` does not set `{name}` to {kind} above 0")
        limits[name] = value
    return limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """Which run is repeated, and how far."""

    run: str = field(metadata=argument("RUN|FILE", "A run's id, or an exported run."))
    root: Path = field(default_factory=Path.cwd)
    """The workspace; of an exported run only if code of it runs."""
    until: str | None = field(
        default=None,
        metadata=option("Stop before a tool's PATH, or before PATH@N, a request.", metavar="STEP"),
    )
    rerun_tools: bool = field(default=False, metadata=option("Run the tools that only read, and compare."))
    sources: Origin = field(default="workspace", metadata=SOURCES)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def replay(
    request: ReplayRequest, watching: Watching, tell: Tell = tell_nobody, consent: Consent | None = None
) -> EndedRun:
    """The end of the repeated run: the same, or a stop at the first different action.

    Raises:
        UntrustedError: `consent` refuses its code.
        LlmdoError: It cannot be repeated.
    """
    from llmdo.runtime.recording.replay_mode import ReplayMode  # which takes a second

    root, reruns = request.root, request.rerun_tools
    with (
        read_run(root, request.run, request.environ, whole=True) as journal,
        TemporaryDirectory(prefix="llmdo-") as folder,  # for the code that the run brings
    ):
        begun = BegunRun.of(journal, request.environ)
        if request.until is not None:
            require_place(journal, request.until)
        basis = to_repeat(begun, root, Path(folder), tell, sources=request.sources, reruns=reruns)
        plan = once_more(begun, basis, root, ReplayMode(live=False, until=request.until, reruns=reruns))
        tightening = personal.read(request.environ).rules if reruns else ()
        plan = plan.saying(tightening=tightening).trusted_by(consent or Consent(request.environ))
        if reruns:
            hide_from_children()
        with watching(journal.run, plan.entry) as sink:
            outcome = asyncio.run(plan.saying(on_event=sink).outcome())
        return EndedRun(
            outcome=outcome,
            differences=tuple(plan.recorder.differences),
            is_there=plan.recorder.is_there,
            questions=waiting(journal, ending(journal)) if outcome.status == "waiting" else {},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingsRequest:
    """The recordings to repeat against the workspace, and the kind of comparison."""

    files: tuple[str, ...] = field(
        default=(), metadata=argument("[FILE...]", "Exported runs; those in recordings/ otherwise.")
    )
    decisions: bool = field(
        default=False, metadata=option("Judge the recorded calls by today's rules instead.")
    )
    sources: Origin = field(default="workspace", metadata=SOURCES)
    project: str | None = field(default=None, metadata=PROJECT)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """The result of one recording."""

    file: str
    run: str | None = None
    """None, as is `entry`, if it cannot be read."""
    entry: str | None = None
    problem: str | None = field(default=None, metadata=in_json("error"))
    """Why it could not be repeated."""
    divergences: tuple[str, ...] = ()
    """The difference of the workspace from the recording, in a sentence: at most one, as the run stops there."""
    flips: tuple[Flip, ...] = ()

    @property
    @also_in_json(after="entry")
    def status(self) -> str:
        """In a word."""
        if self.problem:
            return "error"
        return "failed" if self.divergences or self.flips else "passed"


def repeat(request: RecordingsRequest, tell: Tell, consent: Consent | None = None) -> tuple[Repeated, ...]:
    """The result of each recording, without a key and without effects.

    Raises:
        UntrustedError: `consent` refuses code that would be executed.
        InvalidTeamError: `check` finds errors that hinder it.
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
    from llmdo.runtime.recording.replay_mode import ReplayMode

    root = project.workspace.root
    try:
        with read_journal(file, whole=True) as journal, TemporaryDirectory(prefix="llmdo-") as folder:
            begun = BegunRun.of(journal, request.environ)
            shown = Repeated(file=file.name, run=journal.run, entry=begun.binding.entry)
            if request.decisions:
                return replace(shown, flips=tuple(flips(journal, graph, begun.binding.entry)))
            basis = Basis(graph=graph, prompts=project.prompts)
            if request.sources == "run":
                basis = of_run(journal, begun.binding, project, Path(folder), tell)
                consent.require(basis.graph, root, basis.code)
            plan = once_more(begun, basis, root, ReplayMode(live=False, shows_tools=True))
            return replace(shown, divergences=tuple(_diverged(plan.saying(consent=consent))))
    except UntrustedError:
        raise
    except LlmdoError as error:
        return Repeated(file=file.name, problem=error.message)


def _diverged(plan: RunPlan) -> Iterator[str]:
    """The differences of the planned run from its recording."""
    from llmdo.runtime.recording.replay_mode import EndedError

    try:
        outcome = asyncio.run(plan.outcome())
    except LlmdoError as error:
        yield f"it cannot begin: {error.message}"
        return
    journal, reason = plan.recorder.journal, plan.recorder.brake.reason
    last = journal.last("end")
    if reason is not None and not isinstance(reason, EndedError):
        yield reason.message
    elif last and (outcome.status, outcome.output) != (last.outcome, journal.whole(last)["output"]):
        yield f"it ends differently: {outcome.status}, it was {last.outcome}"
