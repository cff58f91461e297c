"""`run`: from an entry of a workspace, or of a few files alone, to the end of its run."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import LlmdoError, did_you_mean, near_or_all, nearest
from llmdo.base.missing import exists, is_file, is_folder, missing_file
from llmdo.base.nearest import TEAM_FILES
from llmdo.base.request_fields import argument, option
from llmdo.graph import offers
from llmdo.graph.models import near_provider, problem_of, such_as
from llmdo.services.basis import Basis
from llmdo.services.continuing import continuing, entry_of
from llmdo.services.implied_entry import with_entry
from llmdo.services.plan import RunPlan, execute
from llmdo.services.requirements import require_attachable, require_input, require_models
from llmdo.services.root import (
    DEBUG,
    LOCKED,
    MAX_DEPTH,
    MODELS,
    PROJECT,
    TEAM_SUFFIXES,
    root_folder,
    team_folder,
)
from llmdo.services.soundness import require_sound, resolved_with_lock
from llmdo.syntax.globs import is_pattern
from llmdo.workspace import personal
from llmdo.workspace import project as projects
from llmdo.workspace.root import LOCK, WORKER_ENDINGS, Folders, is_workspace, manifest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llmdo.base.source import Source
    from llmdo.graph.offers import Offer
    from llmdo.graph.resolved import Graph
    from llmdo.runtime import ModelChoice
    from llmdo.runtime.attached import Attached
    from llmdo.services.basis import Origin
    from llmdo.services.plan import EndedRun, Host
    from llmdo.services.relocking import StaleLock
    from llmdo.services.root import Tell
    from llmdo.workspace.trust import Consent


FILES = (*WORKER_ENDINGS, ".py")
RUNNABLE = (*FILES, *TEAM_FILES)
"""The endings of all files that can be run."""


@dataclass(frozen=True, slots=True)
class EntryRequest:
    """The entry to start, and its input."""

    words: tuple[str, ...] = field(
        default=(),
        metadata=argument("[NAME | FILE... [INPUT]]", "An entry; or team.yaml; or worker and Python files."),
    )
    """The entry's name; or files, then perhaps the input."""
    entry: str | None = field(
        default=None,
        metadata=option("What to start, also of files alone: then any worker.", metavar="NAME"),
    )
    """The entry's name, if all words that are not files are the input."""
    project: str | None = field(default=None, metadata=PROJECT)
    input: str | None = field(
        default=None, metadata=option("The input, or - for standard input.", metavar="TEXT")
    )
    of_files: bool = True
    """Whether files alone may be meant, which have no lock."""
    locked: bool = field(default=False, metadata=LOCKED)
    """Whether an existing lock has to be current."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    otherwise: str | None = None
    """The entry's name, if no word is the name of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The run to start, and its settings."""

    start: EntryRequest = field(default_factory=EntryRequest)
    continues: str | None = field(
        default=None,
        metadata=option(
            "Go on from an earlier run, with what was said in it; or from the last.",
            "--continue",
            metavar="RUN",
        ),
    )
    paths: tuple[str, ...] = field(
        default=(),
        metadata=option("A path map for this run; may be repeated.", "--path", metavar="ALIAS=FILE"),
    )
    attachments: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "A file, or its alias, for the entry's worker; may be repeated.", "--attach", metavar="FILE"
        ),
    )
    models: tuple[str, ...] = field(default=(), metadata=MODELS)
    max_depth: int | None = field(default=None, metadata=MAX_DEPTH)
    run: str | None = field(
        default=None, metadata=option("The id of the new run.", metavar="ID", hidden=True)
    )
    """From `new_run`, if who starts it has to know it; None: a new one."""
    later: bool = False
    """Whether questions wait in the journal."""
    no_journal: bool = field(
        default=False,
        metadata=option("Keep no journal: the run cannot be resumed, replayed or audited."),
    )
    paged: bool = field(
        default=False,
        metadata=option("Show the run in a browser as it goes on, and take answers there as well.", "--page"),
    )
    debug: bool = field(default=False, metadata=DEBUG)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRun:
    """An entry that may be started."""

    root: Path
    graph: Graph
    prompts: Mapping[str, str]
    entry: str
    input: str | None
    """None if the entry's own holds."""
    locked: bool
    code: Path | None = None
    """The folder that Python is loaded from; None: the workspace."""
    sources: Origin = "workspace"
    """The sources for going on with its runs that stop on the way."""
    stale: StaleLock | None = None
    """The lock, if it differs from the graph to run."""

    @property
    def folders(self) -> Folders:
        """The workspace, and the folders that its tools work on."""
        return Folders(self.root, self.graph.settings.root)

    def take_lock_in(self, tell: Tell, environ: Mapping[str, str]) -> None:
        """Brings the lock up to date with the graph to run, if allowed; called once somebody has answered for it."""
        if self.stale:
            self.stale.take_in_or_run_without(tell, environ)

    def plan(self, **options: object) -> RunPlan:
        """A run of it that begins, with these options of `RunOptions`, by name."""
        basis = Basis(graph=self.graph, prompts=self.prompts, code=self.code)
        usual = {"input": self.input, "locked": self.locked}
        return RunPlan.begin(basis, self.root, self.entry, **{**usual, **options})


def run(request: RunRequest, host: Host) -> EndedRun:
    """The end of the run of the entry.

    Raises:
        InvalidTeamError: `check` finds errors that hinder it.
        LlmdoError: It cannot be started.
    """
    start, environ = request.start, request.start.environ
    if request.continues is not None and start.entry is None:
        start = replace(start, otherwise=entry_of(root_folder(start.project), request.continues))
    prepared = prepare(start, host.tell, host.consent, partial(_require_all, request))
    keeps = is_workspace(prepared.root) and not request.no_journal
    paths, attached = _files(request, prepared.folders.root)
    plan = prepared.plan(
        models=chosen_models(prepared.graph, request.models, environ),
        paths=paths,
        attachments=attached,
        max_depth=request.max_depth,
        debug=request.debug,
        **({"run": request.run} if request.run is not None else {}),
    )
    if request.continues is not None:
        plan = continuing(plan, request.continues, environ, keeps=keeps)
    answering = host.approving(prepared.graph)
    if request.no_journal:
        host.tell("no journal is kept: this run cannot be resumed, replayed or audited")
    if request.later and not keeps:
        raise LlmdoError("`--approvals later` needs a journal, in which the questions wait")
    if request.paged and not keeps:
        raise LlmdoError("`--page` needs a journal, which the page reads")
    plan = plan.trusted_by(host.consent)
    prepared.take_lock_in(host.tell, environ)
    with plan.with_journal(environ, keeps=keeps) as journaled:
        return execute(journaled, answering, host)


def _require_all(request: RunRequest, prepared: PreparedRun) -> None:
    """Check that the run has all that it needs, as far as can be known without running anything.

    Raises:
        LlmdoError: A file that is passed, or a key of a model, is missing.
    """
    graph, folder, environ = prepared.graph, prepared.folders.root, request.start.environ
    paths, attached = _files(request, folder)
    entry = graph.entries[prepared.entry]
    require_attachable(graph, entry, attached, paths, folder)
    if not attached:
        require_input(entry, prepared.input)
    require_models(graph, prepared.entry, chosen_models(graph, request.models, environ), environ)


def list_tools(request: EntryRequest, tell: Tell, consent: Consent | None = None) -> tuple[Offer, ...]:
    """Every tool that the run could call; nothing is run."""
    prepared = prepare(request, tell, consent)
    if prepared.stale:
        tell(prepared.stale.note)
    return offers.list_tools(prepared.graph, prepared.graph.entries[prepared.entry])


def prepare(
    request: EntryRequest,
    tell: Tell,
    consent: Consent | None = None,
    judge: Callable[[PreparedRun], None] = lambda _: None,
) -> PreparedRun:
    """The requested entry, with all that is needed to start it.

    `judge` raises for other problems, such as a missing file, before anything of the workspace is imported, so that
    nobody is asked for trust in vain.

    Raises:
        InvalidTeamError: `check` finds errors that hinder it.
        UntrustedError: `consent` refuses an import.
        LlmdoError: There is no such entry, or it is not clear which is meant.
    """
    personal.read(request.environ)  # first: what it might forbid must not begin
    root, manifest, words, of_files = _opened(request)
    project = projects.read(root, manifest)
    locked = request.locked and project.workspace.has_lock
    require_sound(project, tell, locked=locked)
    if manifest and (named := _wanted(project.graph, request)):
        project, request = with_entry(project, root, manifest, named), replace(request, entry=named)
    name, text = _entry(project.graph, words, request, of_files=of_files)
    prepared = PreparedRun(
        root=root, graph=project.graph, prompts=project.prompts, entry=name, input=text, locked=locked
    )
    judge(prepared)
    graph, stale = resolved_with_lock(project, consent)
    return replace(prepared, graph=graph, stale=stale)


class _OpenedRun(NamedTuple):
    """The words of a run, of which the first may be files."""

    root: Path
    manifest: Source | None
    """Of files alone."""
    words: tuple[str, ...]
    """Those that are not files."""
    of_files: bool
    """Whether files were named, so that the first of the other words need not name an entry."""


def _opened(request: EntryRequest) -> _OpenedRun:
    words = request.words
    if words and _names_team(words[0], request):
        if not is_file(words[0]):
            raise missing_file(words[0], endings=RUNNABLE)
        return _OpenedRun(team_folder(Path(words[0])), None, words[1:], of_files=True)
    files = [word for word in words if word.endswith(FILES) and is_file(word)]
    if words and words[0].endswith(FILES) and (missing := _misspelt(words[0])):
        raise missing
    if not files or words[0] not in files:
        try:
            return _OpenedRun(root_folder(request.project), None, words, of_files=False)
        except LlmdoError as error:
            raise (words and _misspelt(words[0])) or error from None
    if not request.of_files:
        raise LlmdoError("`--locked` needs a workspace", hint=f"a run of files alone has no `{LOCK}`")
    cwd = Path.cwd()
    try:
        paths = [Path(file).absolute().relative_to(cwd).as_posix() for file in files]
    except ValueError as error:
        raise LlmdoError(
            "the files lie outside this folder", hint="go to the folder that holds them"
        ) from error
    if odd := next((path for path in paths if is_pattern(path) or ".." in path.split("/")), None):
        raise LlmdoError(f"`{odd}` cannot be run by its path", hint="rename it, or write an llmdo.toml")
    rest = tuple(word for word in words if word not in files)
    if missing := next(filter(None, map(_misspelt, rest)), None):
        raise missing
    return _OpenedRun(cwd, manifest_of(paths), rest, of_files=True)


def _names_team(word: str, request: EntryRequest) -> bool:
    """Whether the first word is a team in one file, or meant as one: no entry has such a name."""
    if word.endswith(FILES) or not word.endswith(TEAM_SUFFIXES):
        return False
    return Path(word).name in TEAM_FILES or not (request.entry or request.otherwise or re.search(r"\s", word))


def _misspelt(word: str) -> LlmdoError | None:
    """The error of a word that looks like a file to run and is none, such as `main.workr`; None of any other word."""
    path = Path(word)
    if re.search(r"\s", word) or not path.suffix or exists(word):
        return None
    others = [each.name for each in path.parent.iterdir()] if is_folder(path.parent) else []
    is_like_one = nearest(path.name, [each for each in others if each.endswith(RUNNABLE)])
    return missing_file(word, endings=RUNNABLE) if is_like_one or word.endswith(FILES) else None


def _wanted(graph: Graph, request: EntryRequest) -> str | None:
    """The entry that a run of files alone starts: the named one, the only worker, or `main`.

    None if the files declare entries themselves, or leave it open.
    """
    if request.entry or graph.entries:
        return request.entry
    if len(graph.workers) == 1:
        return next(iter(graph.workers))
    return "main" if "main" in graph.workers else None


def _entry(
    graph: Graph, words: tuple[str, ...], request: EntryRequest, *, of_files: bool
) -> tuple[str, str | None]:
    """The entry's name and its input, None if the entry's own holds."""
    rest = list(words)
    is_named = not of_files and request.otherwise is None
    comes_first = bool(rest) and (rest[0] in graph.entries or is_named)
    name = request.entry or (rest.pop(0) if comes_first else request.otherwise)
    name = name or _only_entry(graph, of_files=of_files)
    if name not in graph.entries:
        raise _misspelt(name) or LlmdoError(
            f"there is no entry `{name}`", hint=near_or_all(name, graph.entries, "entry")
        )
    offers.require_ours(graph.entries[name])
    if len(rest) > 1 or (rest and request.input is not None):
        raise LlmdoError("there is more than one input", hint="put it in quotes")
    text = rest[0] if rest else request.input
    return name, _standard_input() if text == "-" else text


def _standard_input() -> str:
    text = sys.stdin.read()
    if not text.strip():
        raise LlmdoError(
            "standard input is empty", hint="`-` reads the input from it: pipe a text into llmdo"
        )
    return text


def _only_entry(graph: Graph, *, of_files: bool) -> str:
    """The entry to start if none is named: the only one, or `main`."""
    if len(graph.entries) == 1:
        return next(iter(graph.entries))
    if "main" in graph.entries:
        return "main"
    if not graph.entries and not (of_files and graph.workers):
        raise LlmdoError("nothing here can be started", hint="set `entry: true` in a worker's header")
    names = ", ".join(graph.entries or graph.workers)
    raise LlmdoError("which entry?", hint=f"one of: {names}" + (", with `--entry NAME`" if of_files else ""))


def chosen_models(graph: Graph, models: Sequence[str], environ: Mapping[str, str]) -> ModelChoice:
    """The models that `models`, MODEL or WORKER=MODEL each, and the environment name.

    Raises:
        LlmdoError: One cannot be a model, or is for no worker.
    """
    from llmdo.runtime import ModelChoice

    by_worker = dict(_pair(model, "--model") for model in models if "=" in model)
    environment = environ.get("LLMDO_MODEL") or None
    if unknown := next((worker for worker in by_worker if worker not in graph.workers), None):
        raise LlmdoError(
            f"`--model` names `{unknown}`, which is not a worker", hint=did_you_mean(unknown, graph.workers)
        )
    named = [(f"--model {text}", text.partition("=")[2] or text) for text in models]
    if environment:
        named.append((f"LLMDO_MODEL={environment}", environment))
    for where, reference in named:
        if problem := problem_of(reference, graph.models):
            hint = did_you_mean(reference, graph.models) or near_provider(reference) or such_as(reference)
            raise LlmdoError(f"`{where}`: {problem}", hint=hint)
    default = next((model for model in reversed(models) if "=" not in model), None)
    return ModelChoice(by_worker=by_worker, default=default, environment=environment)


def _pair(text: str, flag: str) -> tuple[str, str]:
    left, equals, right = text.partition("=")
    if not (left and equals and right):
        raise LlmdoError(f"`{flag} {text}` is not of the form NAME=VALUE")
    return left, right


def _files(request: RunRequest, root: Path) -> tuple[dict[str, str], tuple[Attached, ...]]:
    """The path maps to files of the workspace, which hold for the whole run, and the files passed to the entry.

    A path map to a file elsewhere is only for the files passed to the entry.

    Raises:
        LlmdoError: There is no such file, or one lies outside of the workspace and is not passed by a path map.
    """
    inside: dict[str, str] = {}
    outside: dict[str, Path] = {}
    for alias, file in (_pair(text, "--path") for text in request.paths):
        path = Path(os.path.normpath(root.absolute() / file))
        if not path.exists():
            raise LlmdoError(
                f"`--path {alias}={file}`: there is no `{file}`", hint="its path is relative to the workspace"
            )
        if path.is_relative_to(root.absolute()):
            inside[alias] = file
        elif path.is_file():
            outside[alias] = path
        else:
            raise LlmdoError(f"`--path {alias}={file}` lies outside of the workspace, and is not a file")
    if unused := next((alias for alias in outside if alias not in request.attachments), None):
        raise LlmdoError(
            f"`--path {unused}={outside[unused]}`: the file lies outside of the workspace, where only what is attached "
            "may",
            hint=f"add `--attach {unused}`",
        )
    if not request.attachments:
        return inside, ()
    from llmdo.runtime.attached import Attached, in_workspace  # only for what does run

    return inside, tuple(
        Attached(name=name, kind="outside", outside=outside[name])
        if name in outside
        else Attached(name=name if name in inside else in_workspace(_from_here(name, root), root))
        for name in request.attachments
    )


def _from_here(name: str, root: Path) -> str:
    """The path of a workspace file that is named from a folder below the root, as a shell completes names."""
    cwd = Path.cwd()
    if cwd != root.absolute() and (cwd / name).is_file() and not (root / name).is_file():
        return str(cwd / name)
    return name
