"""`llmdo resume`: a run that stopped goes on, with nothing asked or executed twice."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from typing import TYPE_CHECKING

from llmdo import personal
from llmdo import project as projects
from llmdo.cli import basis as bases
from llmdo.cli.approving import ApprovalOptions, approving
from llmdo.cli.auditing import auditing
from llmdo.cli.console import root_folder, say
from llmdo.cli.interruption import run_interruptibly
from llmdo.cli.outcome import report, report_recorded
from llmdo.cli.run import graph_of, hindered
from llmdo.cli.watch import WatchOptions, watching
from llmdo.diagnostic import LlmdoError, did_you_mean
from llmdo.formats import Limits
from llmdo.journal import Runs
from llmdo.journal.binding import binding_of
from llmdo.journal.commands import doubt, require_ended
from llmdo.journal.questions import waiting
from llmdo.journal.summary import failed, unfinished
from llmdo.toolsets.processes import hide_from_children
from llmdo.values import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from llmdo.journal import Journal
    from llmdo.journal.binding import Binding
    from llmdo.project import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `llmdo resume` was asked for."""

    run: str
    project: str | None = None
    allow_drift: tuple[str, ...] = ()
    sources: bases.Origin = "workspace"
    again: tuple[str, ...] = ()
    given_up: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    """`NAME=N` each."""
    approvals: ApprovalOptions = field(default_factory=ApprovalOptions)
    json: bool = False
    debug: bool = False
    watch: WatchOptions = field(default_factory=WatchOptions)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def resume(options: Options) -> int:
    """Goes on with the run, prints its output and returns the exit code."""
    limits = _limits(options.limits)
    root = root_folder(options.project)
    runs = Runs(root)
    run = runs.find(options.run)
    with runs.claim(run), runs.open(run) as journal:
        last = journal.last("end")
        if last is not None and last.outcome == "completed":
            say(f"run {run} is complete; this is what it said")
            return report_recorded(last.data, as_json=options.json)
        require_ended(journal)
        given = options.approvals
        if not (given.approve_all or given.reject_all or (sys.stdin.isatty() and sys.stderr.isatty())):
            # A no that nobody gave would be in the journal for good; a question can wait there.
            options = replaced(options, approvals=replace(given, later=True))
        return _go_on(root, journal, options, limits)


def _go_on(root: Path, journal: Journal, options: Options, limits: Mapping[str, float]) -> int:
    from llmdo import runtime
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.runtime.recording.terms import Terms
    from llmdo.runtime.telemetry.redaction import Redaction

    personal.read(options.environ)  # first: what it might forbid must not begin
    binding = binding_of(journal)
    project = projects.read(root)
    if options.sources == "run":
        basis = _of_run(root, journal, binding, project, options)
    else:
        if (code := hindered(project, root, locked=False)) is not None:
            return code
        basis = _of_workspace(journal, binding, project, options)
    _require_finished(journal, options)
    hide_from_children()
    terms = Terms(
        drifted=bool(basis.accepted), again=frozenset(options.again), given_up=frozenset(options.given_up)
    )
    answering = approving(options.approvals, basis.graph, options.environ)
    mode, environ = answering.mode, options.environ
    recorder = Recorder(journal, Redaction.of(options.environ), terms)
    with (
        auditing(recorder),
        watching(
            options.watch, run=journal.run, entry=binding.entry, approvals=mode, environ=environ
        ) as watch,
    ):
        stop = runtime.Stop()
        said = runtime.RunOptions(
            run=journal.run,
            input=binding.input,
            paths=binding.paths,
            models=runtime.ModelChoice(by_worker=binding.models),
            max_depth=binding.max_depth,
            limits=limits,
            approver=answering.approver,
            mode=mode,
            tightening=answering.tightening,
            on_event=watch.sink,
            instruments=watch.instruments,
            recorder=recorder,
            stop=stop,
            code=basis.code,
            debug=options.debug,
        )
        outcome = run_interruptibly(
            runtime.run(basis.graph, root=root, prompts=basis.prompts, entry=binding.entry, options=said),
            watch.display.abandon,
            stop,
        )
        questions = waiting(journal)
    return report(outcome, as_json=options.json, unasked=answering.unasked, questions=questions)


def _limits(texts: Sequence[str]) -> dict[str, float]:
    """The limits that `texts` name, each with its number.

    Raises:
        LlmdoError: One is no limit, or not set to a number above 0.
    """
    limits: dict[str, float] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if name not in Limits.__annotations__:
            raise LlmdoError(f"`{name}` is not a limit", hint=did_you_mean(name, Limits.__annotations__))
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


def _of_run(
    root: Path, journal: Journal, binding: Binding, project: Project, options: Options
) -> bases.Basis:
    if options.allow_drift:
        raise LlmdoError("`--allow-drift` is about the workspace, and `--sources run` goes on without it")
    return bases.of_run(journal, binding, project, Runs(root).sources(journal.run))


def _of_workspace(journal: Journal, binding: Binding, project: Project, options: Options) -> bases.Basis:
    others = ["accept it: {flags}"]
    if bases.brings_sources(journal, binding):
        others.append(
            "`--sources run` runs the code that it began with, which you should have read where it was brought"
        )
    basis = bases.of_workspace(binding, project, graph_of(project), options.allow_drift, others)
    for drift in basis.accepted:
        say(f"warning: accepted: {drift}")
    return basis


def _require_finished(journal: Journal, options: Options) -> None:
    """Refuses to go on over a tool that may or may not have taken effect, unless something is said about it."""
    open_calls = unfinished(journal)
    said = {*options.again, *options.given_up}
    if unknown := sorted({*options.given_up} - open_calls.keys()):
        raise LlmdoError(f"`{unknown[0]}` is no call that was started and did not finish")
    if unknown := sorted({*options.again} - open_calls.keys() - failed(journal).keys()):
        raise LlmdoError(
            f"`{unknown[0]}` is no call that was started and did not finish, or that ended the run with an error",
            hint="what a caller was told of has failed for good",
        )
    if both := sorted({*options.again} & {*options.given_up}):
        raise LlmdoError(f"`{both[0]}` cannot both run again and be given up")
    if waiting := {path: tool for path, tool in open_calls.items() if path not in said}:
        calls = ", ".join(f"`{tool}` at {path}" for path, tool in waiting.items())
        path = next(iter(waiting))
        raise LlmdoError(
            f"{calls}: started and not finished when the run stopped, so it may have taken effect",
            hint=f"{doubt(journal, waiting.values())}look, then say `--again {path}` to run it again, or "
            f"`--give-up {path}` to tell its model that nobody knows what it did",
        )
