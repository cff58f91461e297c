"""`llmdo run`: from words on the command line to a run and its outcome."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo import checks
from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.checks.acceptance import ACCEPTABLE
from llmdo.cli.approving import ApprovalOptions, approving
from llmdo.cli.auditing import auditing
from llmdo.cli.check import rendered
from llmdo.cli.console import FINDINGS, FINE, put, root_folder, say
from llmdo.cli.interruption import run_interruptibly
from llmdo.cli.outcome import report
from llmdo.cli.quick import is_locked
from llmdo.cli.watch import WatchOptions, watching
from llmdo.graph import inventory
from llmdo.graph.models import near_provider, problem_of
from llmdo.journal.questions import waiting
from llmdo.services import locking
from llmdo.syntax.globs import is_pattern
from llmdo.toolsets.processes import hide_from_children
from llmdo.workspace import personal
from llmdo.workspace import project as projects
from llmdo.workspace.reading import LOCK, MANIFEST, WORKER_ENDINGS, manifest_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.source import Source
    from llmdo.graph.resolved import Graph
    from llmdo.workspace.project import Project

FILES = (*WORKER_ENDINGS, ".py")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What `llmdo run` was asked for."""

    words: tuple[str, ...] = ()
    """The entry's name; or files, then perhaps the input."""
    entry: str | None = None
    """The entry's name, where all words that are not files are the input."""
    project: str | None = None
    input: str | None = None
    paths: tuple[str, ...] = ()
    """ALIAS=FILE each."""
    models: tuple[str, ...] = ()
    """MODEL or WORKER=MODEL each."""
    max_depth: int | None = None
    locked: bool = False
    approvals: ApprovalOptions = field(default_factory=ApprovalOptions)
    all_tools: bool = False
    no_journal: bool = False
    json: bool = False
    debug: bool = False
    """Whether a failure in code tells all its frames."""
    watch: WatchOptions = field(default_factory=WatchOptions)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def run(options: RunRequest) -> int:
    """Runs the entry, prints its output and returns the exit code."""
    personal.read(options.environ)  # first: what it might forbid must not begin
    opened = _opened(options)
    root, project = opened.root, opened.project
    locked = _is_locked(project, options)
    if (code := hindered(project, root, locked=locked)) is not None:
        return code
    if opened.manifest and (wanted := _wanted(project.graph, options)):
        from llmdo.services import embedding

        project = embedding.with_entry(project, root, opened.manifest, wanted)
        options = replace(options, entry=wanted)
    graph = graph_of(project)
    name, text = _entry(graph, opened, options)
    if options.all_tools:
        return _list_tools(graph, name)
    return _run(graph, root, project, name, text, options)


def hindered(project: Project, root: Path, *, locked: bool) -> int | None:
    """The exit code where findings hinder a run, which are printed; None where it may begin."""
    errors = [one for one in checks.check(project, locked=locked) if one.severity == "error"]
    if hindering := [one for one in errors if one.code not in ACCEPTABLE]:
        sys.stderr.write(rendered(hindering, root, "text"))
        return FINDINGS
    for one in errors:
        say(f"warning: {one.message} [{one.code}]: the run blocks it")
    return None


@dataclass(frozen=True, slots=True)
class _Opened:
    """What is to be run."""

    root: Path
    project: Project
    words: tuple[str, ...]
    """Those that are not files."""
    manifest: Source | None = None
    """Of a run of files alone: it names them."""


def _opened(options: RunRequest) -> _Opened:
    files = [word for word in options.words if word.endswith(FILES) and Path(word).is_file()]
    if options.words and options.words[0].endswith(FILES) and options.words[0] not in files:
        raise LlmdoError(f"there is no file `{options.words[0]}`")
    if not files or options.words[0] not in files:
        root = root_folder(options.project)
        return _Opened(root, projects.read(root), options.words)
    if options.locked:
        raise LlmdoError("`--locked` needs a workspace", hint=f"a run of files alone has no `{LOCK}`")
    here = Path.cwd()
    try:
        paths = [Path(file).absolute().relative_to(here).as_posix() for file in files]
    except ValueError as error:
        raise LlmdoError(
            "the files lie outside this folder", hint="go to the folder that holds them"
        ) from error
    if odd := next((path for path in paths if is_pattern(path) or ".." in path.split("/")), None):
        raise LlmdoError(f"`{odd}` cannot be run by its path", hint="rename it, or write an llmdo.toml")
    rest = tuple(word for word in options.words if word not in files)
    manifest = manifest_of(paths)
    return _Opened(here, projects.read(here, manifest), rest, manifest)


def _wanted(graph: Graph, options: RunRequest) -> str | None:
    """The entry that a run of files alone starts: the one that is named, the only worker, or `main`.

    None where the files say themselves what can be started, or leave it open.
    """
    if options.entry or graph.entries:
        return options.entry
    if len(graph.workers) == 1:
        return next(iter(graph.workers))
    return "main" if "main" in graph.workers else None


def graph_of(project: Project) -> Graph:
    """The graph to run: the locked one where it is current, else the sources resolved anew, and said so."""
    if project.is_current:
        return project.graph
    if project.workspace.has_lock:
        state = (
            "out of date"
            if project.locked.graph
            else "missing"
            if project.locked.state == "missing"
            else "unusable"
        )
        say(f"llmdo.lock is {state}: running what the sources say now (`llmdo lock` records it)")
    return locking.derive(project)


def _entry(graph: Graph, opened: _Opened, options: RunRequest) -> tuple[str, str | None]:
    """The entry's name and its input, None where the entry's own holds."""
    rest = list(opened.words)
    named = bool(rest) and (rest[0] in graph.entries or opened.manifest is None)
    name = options.entry or (
        rest.pop(0) if named else _only_entry(graph, of_files=opened.manifest is not None)
    )
    if name not in graph.entries:
        known = ", ".join(f"`{one}`" for one in graph.entries) or "none"
        raise LlmdoError(
            f"there is no entry `{name}`",
            hint=did_you_mean(name, graph.entries) or f"the entries of this workspace are {known}",
        )
    if len(rest) > 1 or (rest and options.input is not None):
        raise LlmdoError("there is more than one input", hint="put it in quotes")
    text = rest[0] if rest else options.input
    return name, _standard_input() if text == "-" else text


def _standard_input() -> str:
    text = sys.stdin.read()
    if not text.strip():
        raise LlmdoError(
            "standard input is empty", hint="`-` reads the input from it: pipe a text into llmdo"
        )
    return text


def _only_entry(graph: Graph, *, of_files: bool) -> str:
    """The entry to start where none is named: the only one, or `main`."""
    if len(graph.entries) == 1:
        return next(iter(graph.entries))
    if "main" in graph.entries:
        return "main"
    if not graph.entries and not (of_files and graph.workers):
        raise LlmdoError("nothing here can be started", hint="say `entry: true` in a worker's header")
    names = ", ".join(graph.entries or graph.workers)
    raise LlmdoError("which entry?", hint=f"one of: {names}" + (", with `--entry NAME`" if of_files else ""))


def _list_tools(graph: Graph, name: str) -> int:
    for offer in inventory.list_tools(graph, graph.entries[name]):
        capabilities = ", ".join(map(str, offer.capabilities)) or "nothing"
        put(f"{offer.worker} > {offer.toolset} > {offer.tool}: {capabilities}")
    return FINE


def _run(graph: Graph, root: Path, project: Project, name: str, text: str | None, options: RunRequest) -> int:
    from llmdo import runtime
    from llmdo.runtime.recording.keeping import keeping

    hide_from_children()
    by_worker = dict(_pair(model, "--model") for model in options.models if "=" in model)
    unknown = next((worker for worker in by_worker if worker not in graph.workers), None)
    if unknown:
        raise LlmdoError(
            f"`--model` names `{unknown}`, which is not a worker", hint=did_you_mean(unknown, graph.workers)
        )
    _require_models(graph, options)
    paths = _mapped(root, options)
    answering = approving(options.approvals, graph, options.environ)
    run_id = runtime.new_run()
    if options.no_journal:
        say("no journal is kept: this run cannot be resumed, replayed or audited")
    keeps = (root / MANIFEST).is_file() and not options.no_journal
    if options.approvals.later and not keeps:
        raise LlmdoError("`--approvals later` needs a journal, in which the questions wait")
    with (
        keeping(root, run_id, options.environ) if keeps else nullcontext() as recorder,
        auditing(recorder),
        watching(
            options.watch, run=run_id, entry=name, approvals=answering.mode, environ=options.environ
        ) as watch,
    ):
        stop = runtime.Stop()
        said = runtime.RunOptions(
            run=run_id,
            input=text,
            paths=paths,
            models=runtime.ModelChoice(
                by_worker=by_worker,
                default=next((model for model in reversed(options.models) if "=" not in model), None),
                environment=options.environ.get("LLMDO_MODEL") or None,
            ),
            max_depth=options.max_depth,
            locked=_is_locked(project, options),
            approver=answering.approver,
            mode=answering.mode,
            tightening=answering.tightening,
            on_event=watch.sink,
            instruments=watch.instruments,
            recorder=recorder,
            stop=stop,
            debug=options.debug,
        )
        outcome = run_interruptibly(
            runtime.run(graph, root=root, prompts=project.prompts, entry=name, options=said),
            watch.display.abandon,
            stop,
        )
        questions = waiting(recorder.journal) if recorder else {}
    return report(outcome, as_json=options.json, unasked=answering.unasked, questions=questions)


def _require_models(graph: Graph, options: RunRequest) -> None:
    """Refuses a model that `--model` or the environment names and that cannot be one."""
    given = [(f"--model {text}", text.partition("=")[2] or text) for text in options.models]
    if environment := options.environ.get("LLMDO_MODEL"):
        given.append((f"LLMDO_MODEL={environment}", environment))
    for where, reference in given:
        if problem := problem_of(reference, graph.models):
            raise LlmdoError(
                f"`{where}`: {problem}",
                hint=did_you_mean(reference, graph.models) or near_provider(reference),
            )


def _mapped(root: Path, options: RunRequest) -> dict[str, str]:
    """The path maps of `--path`, each to something that is there."""
    paths = dict(_pair(path, "--path") for path in options.paths)
    for alias, file in paths.items():
        if not (root / file).exists():
            raise LlmdoError(
                f"`--path {alias}={file}`: there is no `{file}`", hint="its path is relative to the workspace"
            )
    return paths


def _is_locked(project: Project, options: RunRequest) -> bool:
    return is_locked(flag=options.locked, environ=options.environ) and project.workspace.has_lock


def _pair(text: str, flag: str) -> tuple[str, str]:
    left, equals, right = text.partition("=")
    if not (left and equals and right):
        raise LlmdoError(f"`{flag} {text}` is not of the form NAME=VALUE")
    return left, right
