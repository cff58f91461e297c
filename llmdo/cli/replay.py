"""`llmdo replay`: a run again, from its journal alone. No model is asked, no tool is executed, nothing is written."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from llmdo.cli.console import FINDINGS, FINE, root_folder, say
from llmdo.cli.outcome import report
from llmdo.cli.watch import WatchOptions, watching
from llmdo.journal import Runs
from llmdo.journal.binding import binding_of
from llmdo.journal.questions import waiting
from llmdo.journal.store import SUFFIX, read_journal
from llmdo.journal.summary import ending, require_place
from llmdo.services import basis as bases
from llmdo.workspace import personal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.journal import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
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


def replay(options: ReplayRequest) -> int:
    """Repeats the run, prints its output and returns the exit code."""
    if options.run.endswith(SUFFIX):
        path, root = Path(options.run), Path.cwd()
    else:
        root = root_folder(options.project)
        runs = Runs(root)
        path = runs.path(runs.find(options.run))
    with read_journal(path, whole=True) as journal, TemporaryDirectory(prefix="llmdo-") as folder:
        return _replay(root, journal, Path(folder), options)


def _replay(root: Path, journal: Journal, folder: Path, options: ReplayRequest) -> int:
    """`folder` is for the code that the run brings."""
    from llmdo import runtime
    from llmdo.runtime.telemetry.redaction import Redaction
    from llmdo.services.past import options_of, repeating

    redaction = Redaction.of(options.environ)
    journal.know(redaction.known)
    binding = binding_of(journal)
    if options.until is not None:
        require_place(journal, options.until)
    basis = bases.to_repeat(
        root, journal, binding, folder, say, sources=options.sources, reruns=options.rerun_tools
    )
    recorder = repeating(journal, options.until, redaction, reruns=options.rerun_tools)
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
                    options_of(binding, basis, recorder), on_event=watch.sink, tightening=tightening
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
