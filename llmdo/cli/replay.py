"""`llmdo replay`: a run again, from its journal alone. No model is asked, no tool is executed, nothing is written."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from llmdo import personal
from llmdo import project as projects
from llmdo.cli import basis as bases
from llmdo.cli.console import FINDINGS, FINE, root_folder, say
from llmdo.cli.outcome import report
from llmdo.cli.watch import WatchOptions, watching
from llmdo.diagnostic import LlmdoError, did_you_mean
from llmdo.journal import Runs
from llmdo.journal.binding import binding_of
from llmdo.journal.questions import waiting
from llmdo.journal.store import SUFFIX, read_journal
from llmdo.journal.summary import ending

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.graph import Graph
    from llmdo.journal import Journal
    from llmdo.journal.binding import Binding
    from llmdo.runtime import RunOptions
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.runtime.telemetry.events import Sink

LONGEST = 9  # digits of a number in `--until`


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `llmdo replay` was asked for."""

    run: str
    """An id, or the file of an exported run."""
    project: str | None = None
    until: str | None = None
    rerun_tools: bool = False
    sources: bases.Origin = "workspace"
    json: bool = False
    watch: WatchOptions = field(default_factory=WatchOptions)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def replay(options: Options) -> int:
    """Repeats the run, prints its output and returns the exit code."""
    if options.run.endswith(SUFFIX):
        path, root = Path(options.run), Path.cwd()
    else:
        root = root_folder(options.project)
        runs = Runs(root)
        path = runs.path(runs.find(options.run))
    with read_journal(path, whole=True) as journal, TemporaryDirectory(prefix="llmdo-") as folder:
        return _replay(root, journal, Path(folder), options)


def _replay(root: Path, journal: Journal, folder: Path, options: Options) -> int:
    """`folder` is for the code that the run brings."""
    from llmdo import runtime
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.runtime.recording.terms import Terms
    from llmdo.runtime.telemetry.redaction import Redaction

    binding = binding_of(journal)
    if options.until is not None:
        _require_place(journal, options.until)
    basis = bases.Basis(graph=binding.graph, prompts=binding.prompts)
    if options.sources == "run":
        basis = bases.of_run(journal, binding, projects.read(root), folder)
    elif options.rerun_tools or _has_code(binding.graph, binding.entry):
        project = projects.read(root)
        others = ["`--sources run` runs the code that the run began with"] * bases.brings_sources(
            journal, binding
        )
        bases.of_workspace(binding, project, project.graph, (), others)
        # A lock names what it reviewed by toolset and entry; which files that is, only the workspace tells.
        now = project.graph
        basis = replace(basis, graph=replace(basis.graph, code=now.code, importable=now.importable))
    recorder = Recorder(
        journal,
        Redaction.of(options.environ),
        Terms(live=False, until=options.until, reruns=options.rerun_tools),
    )
    tightening = personal.read(options.environ).rules if options.rerun_tools else ()
    with watching(
        options.watch, run=journal.run, entry=binding.entry, approvals="recorded", environ=options.environ
    ) as watch:
        outcome = asyncio.run(
            runtime.run(
                basis.graph,
                root=root,
                prompts=basis.prompts,
                entry=binding.entry,
                options=replace(
                    _said(journal, binding, recorder, watch.sink), code=basis.code, tightening=tightening
                ),
            )
        )
    if recorder.is_there:
        say(f"stopped before {options.until}, as asked")
        return FINE
    for difference in recorder.differences:
        say(f"error: {difference}")
    questions = waiting(journal, ending(journal)) if outcome.status == "waiting" else {}
    code = report(outcome, as_json=options.json, unasked=False, questions=questions)
    return FINDINGS if recorder.differences else code


def _require_place(journal: Journal, until: str) -> None:
    """Nothing, where a replay can stop at that place.

    Raises:
        LlmdoError: The run made no such request and executed no such tool.
    """
    path, _, number = until.partition("@")
    if number.isdecimal() and len(number) < LONGEST and journal.get(path, "request", int(number)):
        return
    if not number and (journal.get(path, "started") or journal.get(path, "finished")):
        return
    places = [
        f"{one.path}@{one.step}" if one.kind == "request" else one.path
        for one in journal.entries("request", "finished")
    ]
    raise LlmdoError(
        f"the run has no place `{until}`",
        hint=did_you_mean(until, places) or "`llmdo runs show` lists its calls",
    )


def _said(journal: Journal, binding: Binding, recorder: Recorder, sink: Sink) -> RunOptions:
    from llmdo import runtime

    return runtime.RunOptions(
        run=journal.run,
        input=binding.input,
        paths=binding.paths,
        models=runtime.ModelChoice(by_worker=binding.models),
        max_depth=binding.max_depth,
        on_event=sink,
        recorder=recorder,
    )


def _has_code(graph: Graph, entry: str) -> bool:
    """Whether code of the workspace decides what the run does, beside models and tools."""
    started = graph.entries[entry]
    return bool(started.function or started.use or graph.schema_sources)
