"""`llmdo test`: exported runs against the workspace as it is now, without a key and without effects."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo import project as projects
from llmdo.cli.console import FINDINGS, FINE, root_folder, say, shown_lines
from llmdo.cli.run import graph_of, hindered
from llmdo.diagnostic import LlmdoError
from llmdo.journal.binding import binding_of
from llmdo.journal.rejudging import flips
from llmdo.journal.store import SUFFIX, read_journal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.graph import Graph
    from llmdo.journal import Journal
    from llmdo.project import Project

FOLDER = "recordings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `llmdo test` was asked for."""

    files: tuple[str, ...] = ()
    project: str | None = None
    decisions: bool = False
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def test(options: Options) -> int:
    """Prints what each recording shows, and returns whether all are as they were."""
    root = root_folder(options.project)
    files = [Path(one) for one in options.files] or sorted((root / FOLDER).glob(f"*{SUFFIX}"))
    if not files:
        raise LlmdoError(
            f"there is no recording in `{FOLDER}/`", hint=f"`llmdo runs export RUN {FOLDER}/NAME{SUFFIX}`"
        )
    project = projects.read(root)
    if (code := hindered(project, root, locked=False)) is not None:
        return code
    graph = graph_of(project)
    failed = 0
    for file in files:
        with read_journal(file) as journal:
            found = list(
                _flipped(journal, graph)
                if options.decisions
                else _diverged(journal, graph, root, project, options)
            )
        failed += bool(found)
        print(f"{file.name}: {'failed' if found else 'as it was'}")
        for line in found:
            print(f"  {shown_lines(line)}")
    say(f"{len(files)} recordings, {failed} failed")
    return FINDINGS if failed else FINE


def _flipped(journal: Journal, graph: Graph) -> Iterator[str]:
    """The decisions that the rules of today would make otherwise, a sentence each."""
    for flip in flips(journal, graph, binding_of(journal).entry):
        why = f": {'; '.join(flip.reasons)}" if flip.reasons else ""
        yield f"{flip.path}: `{flip.tool}` was {flip.before} and is {flip.after}{why}"


def _diverged(
    journal: Journal, graph: Graph, root: Path, project: Project, options: Options
) -> Iterator[str]:
    """Where the workspace of today does something else than the recorded one did."""
    from llmdo import runtime
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.runtime.recording.terms import Terms
    from llmdo.runtime.telemetry.redaction import Redaction

    binding = binding_of(journal)
    recorder = Recorder(journal, Redaction.of(options.environ), Terms(live=False, shows_tools=True))
    said = runtime.RunOptions(
        run=journal.run,
        input=binding.input,
        paths=binding.paths,
        models=runtime.ModelChoice(by_worker=binding.models),
        max_depth=binding.max_depth,
        recorder=recorder,
    )
    try:
        outcome = asyncio.run(
            runtime.run(graph, root=root, prompts=project.prompts, entry=binding.entry, options=said)
        )
    except LlmdoError as error:
        yield f"it cannot begin: {error.message}"
        return
    last = journal.last("end")
    if recorder.brake.reason is not None:
        yield recorder.brake.reason.message
    elif last is not None and (outcome.status, outcome.output) != (last.outcome, last.data["output"]):
        yield f"it ends otherwise: {outcome.status}, it was {last.outcome}"
