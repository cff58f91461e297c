"""`llmdo test`: exported runs against the workspace as it is now, without a key and without effects."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli.console import FINDINGS, FINE, put, root_folder, say
from llmdo.cli.run import graph_of, hindered
from llmdo.journal.binding import binding_of
from llmdo.journal.rejudging import flips
from llmdo.journal.store import SUFFIX, read_journal
from llmdo.render import recordings as render
from llmdo.render.amounts import counted
from llmdo.services import basis as bases
from llmdo.workspace import personal
from llmdo.workspace import project as projects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.graph.resolved import Graph
    from llmdo.journal import Journal
    from llmdo.journal.binding import Binding
    from llmdo.runtime.telemetry.redaction import Redaction
    from llmdo.workspace.project import Project

FOLDER = "recordings"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingsRequest:
    """What `llmdo test` was asked for."""

    files: tuple[str, ...] = ()
    project: str | None = None
    decisions: bool = False
    sources: bases.Origin = "workspace"
    format: Literal["text", "json", "junit"] = "text"
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def test(options: RecordingsRequest) -> int:
    """Prints what each recording shows, and returns whether all are as they were."""
    root = root_folder(options.project)
    files = [Path(one) for one in options.files] or sorted((root / FOLDER).glob(f"*{SUFFIX}"))
    if options.decisions and options.sources == "run":
        raise LlmdoError(
            "`--decisions` judges by the rules of the workspace, and `--sources run` leaves those out"
        )
    if not files:
        raise LlmdoError(
            f"there is no recording in `{FOLDER}/`", hint=f"`llmdo runs export RUN {FOLDER}/NAME{SUFFIX}`"
        )
    project = projects.read(root)
    if (code := hindered(project, root, locked=False)) is not None:
        return code
    policy = personal.path_of(options.environ)
    if policy.exists():
        say(f"`{policy}` is left out: what a recording shows is the same for everybody")
    graph = graph_of(project)
    found = [_repeated(file, graph, root, project, options) for file in files]
    write = {"text": render.as_text, "json": render.as_json, "junit": render.as_junit}[options.format]
    text = write(found, "decisions" if options.decisions else "requests")
    put(text, end="", as_json=options.format == "json")
    failed = sum(one.status != "passed" for one in found)
    say(f"{counted(len(files), 'recording')}, {failed} failed")
    return FINDINGS if failed else FINE


def _repeated(
    file: Path, graph: Graph, root: Path, project: Project, options: RecordingsRequest
) -> render.Repeated:
    from llmdo.runtime.telemetry.redaction import Redaction

    try:
        with read_journal(file, whole=True) as journal, TemporaryDirectory(prefix="llmdo-") as made:
            folder = Path(made)
            redaction = Redaction.of(options.environ)
            journal.know(redaction.known)
            binding = binding_of(journal)
            flipped = flips(journal, graph, binding.entry) if options.decisions else ()
            diverged: Iterator[str] = iter(())
            if not options.decisions:
                basis = bases.Basis(graph=graph, prompts=project.prompts)
                if options.sources == "run":
                    basis = bases.of_run(journal, binding, project, folder, say)
                diverged = _diverged(journal, binding, basis, root, redaction)
            return render.Repeated(
                file=file.name,
                run=journal.run,
                entry=binding.entry,
                divergences=tuple(diverged),
                flips=tuple(flipped),
            )
    except LlmdoError as error:
        return render.Repeated(file=file.name, problem=error.message)


def _diverged(
    journal: Journal, binding: Binding, basis: bases.Basis, root: Path, redaction: Redaction
) -> Iterator[str]:
    """Where what runs does something else than it did when it was recorded."""
    from llmdo import runtime
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.runtime.recording.replay_mode import EndedError, ReplayMode

    recorder = Recorder(journal, redaction, ReplayMode(live=False, shows_tools=True))
    said = runtime.RunOptions(
        run=journal.run,
        input=binding.input,
        paths=binding.paths,
        models=runtime.ModelChoice(by_worker=binding.models),
        max_depth=binding.max_depth,
        recorder=recorder,
        code=basis.code,
    )
    try:
        outcome = asyncio.run(
            runtime.run(basis.graph, root=root, prompts=basis.prompts, entry=binding.entry, options=said)
        )
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
        yield f"it ends otherwise: {outcome.status}, it was {last.outcome}"
