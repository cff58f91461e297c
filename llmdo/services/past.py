"""Runs of the past, from Python as from the command line: gone on with, repeated, and their questions answered."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from llmdo.base.values import fields
from llmdo.journal import Runs
from llmdo.journal.answers import WEEK, Answers, give, waiting_so_far
from llmdo.journal.binding import binding_of
from llmdo.journal.commands import require_ended
from llmdo.journal.questions import waiting
from llmdo.journal.secrets import Known
from llmdo.journal.store import SUFFIX, read_journal
from llmdo.journal.summary import require_place
from llmdo.runtime import AskLater, ModelChoice, RunOptions
from llmdo.runtime import run as run_entry
from llmdo.runtime.recording.keeping import outcome_in
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.replay_mode import ReplayMode
from llmdo.runtime.telemetry.events import discard
from llmdo.runtime.telemetry.redaction import Redaction
from llmdo.services import basis as bases
from llmdo.services.embedding import (
    choice_of,
    mode_of,
    naming,
    policy_for,
    require_limits,
    require_no_loop,
    require_sound,
)
from llmdo.workspace import project as projects
from llmdo.workspace.reading import find_root

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from pydantic_ai.models import Model

    from llmdo.graph.resolved import Graph, Limits
    from llmdo.journal import Journal
    from llmdo.journal.binding import Binding
    from llmdo.journal.questions import Waiting
    from llmdo.runtime import Approver, RunOutcome, RunPolicy
    from llmdo.runtime.telemetry.events import Sink
    from llmdo.services.basis import Basis, Origin
    from llmdo.services.embedding import Files
    from llmdo.workspace.project import Project

    Names = str | Iterable[str]
    """One, or several."""


def going_on(
    journal: Journal,
    basis: Basis,
    again: Collection[str],
    given_up: Collection[str],
    redaction: Redaction,
) -> Recorder:
    """What records a run that goes on, in which these calls run again or are given up."""
    replay_mode = ReplayMode(
        drifted=bool(basis.accepted), again=frozenset(again), given_up=frozenset(given_up)
    )
    return Recorder(journal, redaction, replay_mode)


def repeating(journal: Journal, until: str | None, redaction: Redaction, *, reruns: bool = False) -> Recorder:
    """What serves a replay."""
    return Recorder(journal, redaction, ReplayMode(live=False, until=until, reruns=reruns))


def options_of(binding: Binding, basis: Basis, recorder: Recorder) -> RunOptions:
    """What a run was started with, for whoever goes on with it or repeats it."""
    return RunOptions(
        run=recorder.journal.run,
        input=binding.input,
        paths=binding.paths,
        models=ModelChoice(by_worker=binding.models),
        max_depth=binding.max_depth,
        recorder=recorder,
        code=basis.code,
    )


@naming
def resume(
    workspace: Files = ".",
    run: str = "last",
    *,
    again: Names = (),
    give_up: Names = (),
    allow_drift: Names = (),
    sources: Origin = "workspace",
    limits: Limits | None = None,
    models: Iterable[Model] = (),
    approver: Approver | None = None,
    policy: RunPolicy | None = None,
    on_event: Sink = discard,
) -> RunOutcome:
    """As `resume_async`, for callers without an event loop.

    Raises:
        LlmdoError: As there; or it was called where an event loop runs.
    """
    require_no_loop("`await llmdo.resume_async(...)`")
    return asyncio.run(
        resume_async(
            workspace,
            run,
            again=again,
            give_up=give_up,
            allow_drift=allow_drift,
            sources=sources,
            limits=limits,
            models=models,
            approver=approver,
            policy=policy,
            on_event=on_event,
        )
    )


@naming
async def resume_async(
    workspace: Files = ".",
    run: str = "last",
    *,
    again: Names = (),
    give_up: Names = (),
    allow_drift: Names = (),
    sources: Origin = "workspace",
    limits: Limits | None = None,
    models: Iterable[Model] = (),
    approver: Approver | None = None,
    policy: RunPolicy | None = None,
    on_event: Sink = discard,
) -> RunOutcome:
    """How a run ended that went on where it stopped; of one that is complete, how it did. Nothing is done twice.

    `run` is an id, what only its id begins or ends with, or `last`. `again` and `give_up` are the call paths of tools
    that did not finish, or of some that ended the run; `limits` are set anew for the rest of the run. Models of
    pydantic-ai that the run was given as such have to be given again. Without an `approver` questions wait.

    Raises:
        InvalidTeamError: `check` finds errors.
        LlmdoError: It cannot go on, or not without a word about a tool or about something that changed.
    """
    person = policy_for(approver)
    if limits is not None:
        require_limits(limits)
    repeated, given_up, accepted = _several(again), _several(give_up), _several(allow_drift)
    root = find_root(Path(workspace))
    runs = Runs(root)
    name = runs.find(run)
    with runs.claim(name), runs.open(name) as journal:
        redaction = Redaction.of(os.environ)
        journal.know(redaction.known)
        last = journal.last("end")
        if last is not None and last.outcome == "completed":
            return outcome_in(last, journal.said(last))
        await asyncio.to_thread(require_ended, journal)
        binding = binding_of(journal)
        project, graph = await asyncio.to_thread(_read, root, sources)
        if graph is None:
            bases.require_no_drift(accepted)
            basis = bases.of_run(journal, binding, project, runs.sources(name), _tell_nobody)
        else:
            accepting = "`allow_drift={names}`"
            basis = bases.to_go_on(journal, binding, project, graph, accepted, accepting, _tell_nobody)
        bases.require_said(journal, repeated, given_up)
        options = options_of(binding, basis, going_on(journal, basis, repeated, given_up, redaction))
        made = {reference: model for one in models for reference, model in choice_of(one).made.items()}
        options = dataclasses.replace(
            options,
            models=dataclasses.replace(options.models, made=made),
            limits=_named(limits),
            approver=approver or AskLater(),
            mode="later" if approver is None else mode_of(approver),
            tightening=person.rules,
            policy=policy,
            on_event=on_event,
        )
        return await run_entry(
            basis.graph, root=root, prompts=basis.prompts, entry=binding.entry, options=options
        )


@naming
def replay(
    workspace: Files = ".",
    run: str = "last",
    *,
    until: str | None = None,
    sources: Origin = "workspace",
    on_event: Sink = discard,
) -> RunOutcome:
    """How a run ends that is repeated from its journal alone: as it ended, or where it comes to do something else.

    `run` may be the file of an exported run as well, which needs no workspace. With `until` it stops, as interrupted,
    before the call path of a tool or before `PATH@N`, a request.

    Raises:
        LlmdoError: It cannot be repeated, or it was called where an event loop runs.
    """
    require_no_loop("`await asyncio.to_thread(llmdo.replay, ...)`")
    if run.endswith(SUFFIX):
        path, root = Path(run), Path(workspace)
    else:
        root = find_root(Path(workspace))
        runs = Runs(root)
        path = runs.path(runs.find(run))
    with read_journal(path, whole=True) as journal, TemporaryDirectory(prefix="llmdo-") as folder:
        redaction = Redaction.of(os.environ)
        journal.know(redaction.known)
        binding = binding_of(journal)
        if until is not None:
            require_place(journal, until)
        basis = bases.to_repeat(
            root, journal, binding, Path(folder), _tell_nobody, sources=sources, reruns=False
        )
        options = options_of(binding, basis, repeating(journal, until, redaction))
        options = dataclasses.replace(options, on_event=on_event)
        return asyncio.run(
            run_entry(basis.graph, root=root, prompts=basis.prompts, entry=binding.entry, options=options)
        )


@naming
def approve(
    workspace: Files = ".",
    run: str = "last",
    *,
    yes: Names = (),
    no: Names = (),
    reason: str = "",
    by: str | None = None,
    hours: float = WEEK,
) -> tuple[Waiting, ...]:
    """The questions of a run that wait, once those at the call paths `yes` and `no` are answered.

    `reason` tells the model why not, `by` says who answers, and `hours` how long the answers count. What only a person
    at a terminal may allow, this does not. A run that goes on is only looked at.

    Raises:
        LlmdoError: An answer does not fit, or the run goes on or is complete.
    """
    answers = Answers(yes=_several(yes), no=_several(no), reason=reason, by=by, hours=hours)
    runs = Runs(find_root(Path(workspace)))
    name = runs.find(run)
    if (so_far := waiting_so_far(runs, name, answers)) is not None:
        return tuple(so_far.values())
    with runs.claim(name), runs.open(name) as journal:
        journal.know(Known.of(os.environ))
        give(journal, answers)
        return tuple(waiting(journal).values())


def _read(root: Path, sources: Origin) -> tuple[Project, Graph | None]:
    """The workspace, and its graph where that is what runs.

    Raises:
        InvalidTeamError: `check` finds errors in what runs.
    """
    project = projects.read(root)
    if sources == "run":
        return project, None
    require_sound(project)
    return project, bases.resolved(project)


def _tell_nobody(line: str) -> None:
    """Nothing: a program asks what it wants to know."""


def _several(said: Names) -> tuple[str, ...]:
    return (said,) if isinstance(said, str) else tuple(said)


def _named(limits: Limits | None) -> dict[str, float]:
    """The limits that are set, by their names in the manifest."""
    if limits is None:
        return {}
    values = {one.name.replace("_", "-"): getattr(limits, one.name) for one in fields(type(limits))}
    return {name: value for name, value in values.items() if value is not None}
