"""`llmdo resume`: a run that stopped goes on, with nothing asked or executed twice."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.values import replace
from llmdo.cli.approving import ApprovalOptions, approving
from llmdo.cli.auditing import auditing
from llmdo.cli.console import root_folder, say
from llmdo.cli.interruption import run_interruptibly
from llmdo.cli.outcome import report, report_recorded
from llmdo.cli.run import graph_of, hindered
from llmdo.cli.watch import WatchOptions, watching
from llmdo.graph.keys import names_of
from llmdo.graph.resolved import Limits
from llmdo.journal import Runs
from llmdo.journal.binding import binding_of
from llmdo.journal.commands import require_ended
from llmdo.journal.questions import waiting
from llmdo.journal.secrets import Known
from llmdo.services import basis as bases
from llmdo.toolsets.processes import hide_from_children
from llmdo.workspace import personal
from llmdo.workspace import project as projects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from llmdo.journal import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRequest:
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


def resume(options: ResumeRequest) -> int:
    """Goes on with the run, prints its output and returns the exit code."""
    limits = _limits(options.limits)
    root = root_folder(options.project)
    runs = Runs(root)
    run = runs.find(options.run)
    with runs.claim(run), runs.open(run) as journal:
        last = journal.last("end")
        if last is not None and last.outcome == "completed":
            say(f"run {run} is complete; this is what it said")
            journal.know(Known.of(options.environ))
            return report_recorded(journal.said(last), as_json=options.json)
        require_ended(journal)
        given = options.approvals
        if not (given.approve_all or given.reject_all or (sys.stdin.isatty() and sys.stderr.isatty())):
            # A no that nobody gave would be in the journal for good; a question can wait there.
            options = replaced(options, approvals=replace(given, later=True))
        return _go_on(root, journal, options, limits)


def _go_on(root: Path, journal: Journal, options: ResumeRequest, limits: Mapping[str, float]) -> int:
    from llmdo import runtime
    from llmdo.runtime.telemetry.redaction import Redaction
    from llmdo.services.past import going_on, options_of

    personal.read(options.environ)  # first: what it might forbid must not begin
    redaction = Redaction.of(options.environ)
    journal.know(redaction.known)
    binding = binding_of(journal)
    project = projects.read(root)
    if options.sources == "run":
        bases.require_no_drift(options.allow_drift)
        basis = bases.of_run(journal, binding, project, Runs(root).sources(journal.run), say)
    else:
        if (code := hindered(project, root, locked=False)) is not None:
            return code
        graph = graph_of(project)
        basis = bases.to_go_on(journal, binding, project, graph, options.allow_drift, "{flags}", say)
    bases.require_said(journal, options.again, options.given_up)
    hide_from_children()
    answering = approving(options.approvals, basis.graph, options.environ)
    mode, environ = answering.mode, options.environ
    recorder = going_on(journal, basis, options.again, options.given_up, redaction)
    with (
        auditing(recorder),
        watching(
            options.watch, run=journal.run, entry=binding.entry, approvals=mode, environ=environ
        ) as watch,
    ):
        stop = runtime.Stop()
        said = replaced(
            options_of(binding, basis, recorder),
            limits=limits,
            approver=answering.approver,
            mode=answering.mode,
            tightening=answering.tightening,
            on_event=watch.sink,
            instruments=watch.instruments,
            stop=stop,
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
