"""`resume`: a run that stopped goes on, with nothing asked or executed twice."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.graph.keys import names_of
from llmdo.graph.resolved import Limits
from llmdo.journal import JournalError
from llmdo.journal.binding import binding_of
from llmdo.journal.cancelling import require_going
from llmdo.journal.commands import require_ended
from llmdo.journal.location import require_here
from llmdo.journal.opening import runs_of
from llmdo.journal.secrets import Known
from llmdo.services import basis as bases
from llmdo.services.host import EndedRun, carry_out
from llmdo.services.plan import RunPlan
from llmdo.services.soundness import require_sound, resolved
from llmdo.toolsets.processes import hide_from_children
from llmdo.workspace import personal
from llmdo.workspace import project as projects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from llmdo.journal.binding import Binding
    from llmdo.journal.stored import JournalStore
    from llmdo.runtime import RunOutcome
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.services.basis import Basis, Origin
    from llmdo.services.host import Host
    from llmdo.services.root import Tell
    from llmdo.workspace.trust import Consent


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRequest:
    """Which run goes on, and how what stopped it is answered."""

    root: Path
    run: str
    allow_drift: tuple[str, ...] = ()
    """What differs from what the run began with, and may."""
    sources: Origin = "workspace"
    again: tuple[str, ...] = ()
    """Calls that did not finish, or that ended the run, to run once more; `*` stands for any text."""
    retried: tuple[str, ...] = ()
    """Calls that ended the run, to run once more unless a probe says that they took effect."""
    give_up: tuple[str, ...] = ()
    """Calls that did not finish, of which nobody knows what they did; `*` stands for any text."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """Set anew for the rest of the run, by their names in the manifest."""
    accepting: str = "{flags}"
    """How a difference is accepted, in words for the person."""
    debug: bool = False
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def resume(request: ResumeRequest, host: Host) -> EndedRun:
    """How the run ended that went on; of one that is complete, how it did.

    Raises:
        InvalidTeamError: `check` finds errors that stand in the way.
        LlmdoError: It cannot go on, or not without a word about a tool or about something that changed.
    """
    runs = runs_of(request.root, request.environ)
    run = runs.find(request.run)
    with runs.claim(run), runs.open(run) as journal:
        if (outcome := completed(journal, request)) is not None:
            host.tell(f"run {run} is complete; this is what it said")
            return EndedRun(outcome=outcome, is_recorded=True)
        personal.read(request.environ)  # first: what it might forbid must not begin
        plan = going_on(journal, request, host.tell, host.consent)
        hide_from_children()
        answering = host.approving(plan.basis.graph)
        return carry_out(plan.saying(limits=request.limits, debug=request.debug), answering, host)


def completed(journal: JournalStore, request: ResumeRequest) -> RunOutcome | None:
    """How the run ended, where it is complete."""
    last = journal.last("end")
    if last is None or last.outcome != "completed":
        return None
    from llmdo.runtime.recording.history import history_of, new_messages
    from llmdo.runtime.recording.keeping import outcome_in  # which takes a second

    known = Known.of(request.environ)
    journal.know(known)
    outcome = outcome_in(last, journal.for_output(last))
    new = new_messages(journal, known)
    try:
        history = history_of(journal, known)
    except JournalError:  # what it said is known all the same
        return replace(outcome, new_messages=new)
    return replace(outcome, messages=(*history, *new), new_messages=new)


def going_on(
    journal: JournalStore, request: ResumeRequest, tell: Tell, consent: Consent | None = None
) -> RunPlan:
    """The run as it goes on, once its commands have ended.

    Raises:
        InvalidTeamError: `check` finds errors that stand in the way.
        UntrustedError: Something would be imported that `consent` does not let through.
        LlmdoError: It cannot go on, or not without a word about a tool or about something that changed.
    """
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.runtime.recording.replay_mode import ReplayMode
    from llmdo.runtime.telemetry.redaction import Redaction

    require_going(journal)
    require_ended(journal)
    redaction = Redaction.of(request.environ)
    journal.know(redaction.known)
    binding = binding_of(journal)
    project = projects.read(request.root)
    if request.sources == "run":
        bases.require_no_drift(request.allow_drift)
        basis = bases.of_run(
            journal, binding, project, runs_of(request.root, request.environ).sources(journal.run), tell
        )
    else:
        require_sound(project, tell)
        graph = resolved(project, tell, consent)
        basis = bases.to_go_on(journal, binding, project, graph, request.allow_drift, request.accepting, tell)
    if not project.graph.settings.shared:
        require_here(journal, request.root, basis.graph)
    word = bases.word_on(journal, request.again, request.give_up)
    mode = ReplayMode(
        drifted=bool(basis.accepted),
        again=word.again,
        retried=frozenset(request.retried),
        given_up=word.given_up,
    )
    basis = replace(basis, graph=replace(basis.graph, notify=project.graph.notify))
    return once_more(binding, basis, request.root, Recorder(journal, redaction, mode))


def once_more(binding: Binding, basis: Basis, root: Path, recorder: Recorder) -> RunPlan:
    """The run that began so, for whoever goes on with it or repeats it.

    Raises:
        LlmdoError: The messages that it started from are not there any more.
    """
    from llmdo.runtime import ModelChoice, RunOptions
    from llmdo.runtime.attached import Attached
    from llmdo.runtime.recording.history import history_of

    options = RunOptions(
        run=recorder.journal.run,
        input=binding.input,
        history=history_of(recorder.journal, recorder.encoding.redaction.known),
        continues=binding.continues,
        attachments=tuple(Attached(name=name, kind=kind) for name, kind in binding.attachments),
        paths=binding.paths,
        models=ModelChoice(by_worker=binding.models, source="journal"),
        max_depth=binding.max_depth,
        recorder=recorder,
    )
    return RunPlan(basis=basis, root=root, entry=binding.entry, options=options)


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
