"""llmdo from Python: entries of a workspace, or of a few files alone, run as by the command line."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import math
import os
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, ParamSpec, TypeAlias, TypedDict, TypeVar, cast

from llmdo.base.diagnostic import LlmdoError, did_you_mean, near_or_all
from llmdo.base.values import fields, replace
from llmdo.graph import offers
from llmdo.graph.keys import Reference
from llmdo.graph.limits import Limits
from llmdo.graph.offers import require_ours
from llmdo.runtime import ModelChoice
from llmdo.runtime.attached import attached_of
from llmdo.runtime.listening import listening
from llmdo.runtime.models.choice import named
from llmdo.runtime.outcome import told_to_programs
from llmdo.runtime.recording.history import require_messages
from llmdo.runtime.recording.keeping import aside
from llmdo.runtime.telemetry.events import discard, each
from llmdo.services import locking
from llmdo.services.basis import Basis
from llmdo.services.continuing import continuing
from llmdo.services.implied_entry import with_entry
from llmdo.services.invalid import InvalidTeamError
from llmdo.services.own_policy import policy_for
from llmdo.services.plan import RunPlan
from llmdo.services.soundness import require_sound, resolved
from llmdo.syntax.globs import is_pattern
from llmdo.workspace import personal
from llmdo.workspace import project as projects
from llmdo.workspace.root import MANIFEST, WORKER_ENDINGS, Folders, find_root, is_workspace, manifest_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence

    from pydantic_ai.messages import BinaryContent, ModelMessage
    from pydantic_ai.models import Model
    from typing_extensions import Unpack

    from llmdo.base.values import Json
    from llmdo.graph.offers import Offer
    from llmdo.graph.resolved import Entry, Graph
    from llmdo.runtime import Approver, RunOutcome, RunPolicy, Stop
    from llmdo.runtime.attached import AttachmentResolver
    from llmdo.runtime.telemetry.events import Event, Sink

    ModelNamed: TypeAlias = str | Model | dict[str, str | Model] | None

P = ParamSpec("P")
R = TypeVar("R")
Kind = Literal["worker", "function", "tool"]
Files = str | os.PathLike[str]


class RunSettings(TypedDict, total=False):
    """The settings of a run. None of them lifts a block."""

    message_history: Sequence[ModelMessage] | None
    """Earlier messages of the entry's worker, such as the `messages` of an earlier outcome."""
    continue_from: str | None
    """The run that it goes on from: its id, a unique start or end of that, or `last`. It keeps a journal."""
    untrusted_input: bool
    """Whether a stranger may have written the input, if its entry does not say: flow rules then count it so."""
    locked: bool
    """Whether a missing or stale lock refuses the run."""
    approver: Approver | None
    """Without one nobody is asked, and calls that need approval are refused."""
    policy: RunPolicy | None
    paths: Mapping[str, str] | None
    """They replace or add to those of the manifest."""
    attachments: Sequence[Files | BinaryContent]
    """Paths of the workspace, through the path map, and content of pydantic-ai, for the entry's worker."""
    attachment_resolver: AttachmentResolver | None
    """Gives the content of passed files, at the start and by delegation; by default the workspace does."""
    limits: Limits | None
    """Limits that may only lower those of the files, as `max_depth` may."""
    max_depth: int | None
    on_event: Sink
    stream: bool
    """Whether `on_event` gets answers piece by piece, as they arrive. By default it does."""
    journal: bool
    """Whether the run keeps a journal, as by the command line: to be resumed, replayed and audited."""


def naming(settings: type | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: an error about an unknown argument names the nearest known one.

    `settings` is the type of `**settings`; inspecting the function shows them one by one.
    """

    def named(function: Callable[P, R]) -> Callable[P, R]:
        signature = _spelled_out(function, settings)
        known = [name for name in signature.parameters if name != "self"]

        def require_known(names: Iterable[str]) -> None:
            if unknown := next((name for name in names if name not in known), None):
                meant = did_you_mean(unknown, known) or f"it has {', '.join(f'`{name}`' for name in known)}"
                raise TypeError(f"`{function.__name__}` has no argument `{unknown}`: {meant}")

        @wraps(function)
        async def start(*args: P.args, **options: P.kwargs) -> object:
            require_known(options)
            return await cast("Callable[P, Awaitable[object]]", function)(*args, **options)

        @wraps(function)
        def call(*args: P.args, **options: P.kwargs) -> R:
            require_known(options)
            return function(*args, **options)

        wrapper = cast("Callable[P, R]", start) if inspect.iscoroutinefunction(function) else call
        wrapper.__dict__["__signature__"] = signature
        return wrapper

    return named


def _spelled_out(function: Callable[P, R], settings: type | None) -> inspect.Signature:
    """The signature of a function with each of its `**settings` as a parameter."""
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    keys = settings.__annotations__.items() if settings else ()
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=..., annotation=annotation)
        for name, annotation in keys
    ]
    return signature.replace(parameters=[*own, *more])


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamEntry:
    """An entry, checked and resolved, with all that it needs, which is the same for every run of it."""

    name: str
    kind: Kind
    root: Path
    graph: Graph = field(repr=False)
    prompts: Mapping[str, str] = field(repr=False)
    models: ModelChoice = field(default_factory=ModelChoice, repr=False)

    @naming(RunSettings)
    async def run(
        self,
        input: str | Mapping[str, Json] | None = None,  # noqa: A002
        **settings: Unpack[RunSettings],
    ) -> RunOutcome:
        """The outcome of a run of the entry; with None it takes its own input.

        Raises:
            LlmdoError: The run cannot start; no model was asked.
        """
        return await self._run(input, settings)

    @naming(RunSettings)
    def run_stream(
        self,
        input: str | Mapping[str, Json] | None = None,  # noqa: A002
        **settings: Unpack[RunSettings],
    ) -> AsyncGenerator[Event | RunOutcome]:
        """The events of a run of the entry as they happen, answers piece by piece, and its outcome as the last.

        Closing the iterator early ends the run as interrupted.

        Raises:
            LlmdoError: As `run`, when it is iterated.
        """
        return listening(lambda tell, stop: self._run(input, _with_sink(tell, settings), stop))

    async def _run(
        self,
        input: str | Mapping[str, Json] | None,  # noqa: A002
        settings: RunSettings,
        stop: Stop | None = None,
    ) -> RunOutcome:
        usual = options_of(settings, self.graph, None, "reject-all")
        folders = Folders(self.root, self.graph.settings.root)
        graph = _limited(self.graph, self.name, settings.get("limits"))
        history, run = settings.get("message_history"), settings.get("continue_from")
        plan = RunPlan.begin(
            *(Basis(graph=graph, prompts=self.prompts), self.root, self.name),
            input=input if input is None or isinstance(input, str) else json.dumps(input),
            untrusted_input=settings.get("untrusted_input", False),
            history=require_messages(history or ()),
            paths=settings.get("paths") or {},
            attachments=attached_of(settings.get("attachments", ()), folders.root),
            attachment_resolver=settings.get("attachment_resolver"),
            models=self.models,
            max_depth=settings.get("max_depth"),
            stop=stop,
            locked=settings.get("locked", False),
            **usual,
        )
        keeps = settings.get("journal", run is not None)
        if run is not None:
            if history is not None:
                raise LlmdoError(
                    "`continue_from` brings the messages of that run; leave out `message_history`"
                )
            plan = await asyncio.to_thread(continuing, plan, run, os.environ, keeps=keeps)
        if keeps and not is_workspace(self.root):
            raise LlmdoError(
                "a run of files alone keeps no journal", hint=f"write an `{MANIFEST}`, or leave out `journal`"
            )
        async with aside(plan.with_journal(os.environ)) if keeps else nullcontext(plan) as journaled:
            return told_to_programs(await journaled.outcome())


class BuiltEntry(NamedTuple):
    """An entry that `build_entry` made of a few files."""

    entry: TeamEntry
    workers: tuple[str, ...]
    """The workers that an entry in Python may call; none for a worker, whose header names them."""
    tools: tuple[Offer, ...]
    """Every tool that an entry in Python could call, its own and those of its workers."""


@naming(RunSettings)
def run(
    workspace: Files | Iterable[Files] = ".",
    entry: str | None = None,
    input: str | Mapping[str, Json] | None = None,  # noqa: A002
    *,
    model: ModelNamed = None,
    **settings: Unpack[RunSettings],
) -> RunOutcome:
    """As `run_async`, for callers without an event loop.

    Raises:
        LlmdoError: As there; or an event loop is running.
    """
    require_no_loop("`await llmdo.run_async(...)`")
    return asyncio.run(run_async(workspace, entry, input, model=model, **settings))


@naming(RunSettings)
async def run_async(
    workspace: Files | Iterable[Files] = ".",
    entry: str | None = None,
    input: str | Mapping[str, Json] | None = None,  # noqa: A002
    *,
    model: ModelNamed = None,
    **settings: Unpack[RunSettings],
) -> RunOutcome:
    """The outcome of a run of `entry`, which may be left out if there is only one, or a `main`.

    `workspace` is a folder in or below a workspace, or the files of a team alone. `model` is one for all workers
    that name none, or one for each worker by its name: references as files have them, or models of pydantic-ai.

    Raises:
        InvalidTeamError: `check` finds errors, or there is no such entry.
        LlmdoError: The run cannot start; no model was asked.
    """
    locked = settings.get("locked", False)
    opened = await asyncio.to_thread(open_entry, workspace, entry, model=model, locked=locked)
    return await opened.run(input, **settings)


@naming(RunSettings)
async def run_stream(
    workspace: Files | Iterable[Files] = ".",
    entry: str | None = None,
    input: str | Mapping[str, Json] | None = None,  # noqa: A002
    *,
    model: ModelNamed = None,
    **settings: Unpack[RunSettings],
) -> AsyncGenerator[Event | RunOutcome]:
    """The events of a run as they happen, answers piece by piece, and its outcome as the last.

    The arguments are those of `run_async`. Closing the iterator early ends the run as interrupted.

    Raises:
        InvalidTeamError: As `run_async`, when it is iterated.
        LlmdoError: The same.
    """
    locked = settings.get("locked", False)
    opened = await asyncio.to_thread(open_entry, workspace, entry, model=model, locked=locked)
    async with aclosing(opened.run_stream(input, **settings)) as events:
        async for event in events:
            yield event


def _with_sink(tell: Sink, settings: RunSettings) -> RunSettings:
    """`settings`, with all events going to `tell` first."""
    sinks = [tell, settings["on_event"]] if "on_event" in settings else [tell]
    return {**settings, "on_event": each(sinks)}


def options_of(
    settings: Mapping[str, Any], graph: Graph, otherwise: Approver | None, mode: str
) -> dict[str, object]:
    """The options about questions, rules and events, by name; `otherwise` answers as `mode` if no approver is given.

    Raises:
        LlmdoError: The approver may not answer here.
    """
    approver = settings.get("approver")
    listens = "on_event" in settings and settings.get("stream", True)
    return {
        "approver": otherwise if approver is None else approver,
        "mode": mode if approver is None else f"{type(approver).__name__}, from Python",
        "tightening": policy_for(approver, graph).rules,
        "policy": settings.get("policy"),
        "on_event": settings.get("on_event", discard),
        "streams": "everything" if listens else "nothing",
    }


@naming()
def open_entry(
    workspace: Files | Iterable[Files] = ".",
    entry: str | None = None,
    *,
    model: ModelNamed = None,
    locked: bool = False,
) -> TeamEntry:
    """An entry of a workspace, checked and ready for any number of runs.

    Raises:
        InvalidTeamError: As `run_async`.
    """
    personal.read(os.environ)  # first: what it might forbid must not begin
    if isinstance(workspace, str | os.PathLike):
        root = find_root(Path(workspace))
        project = projects.read(root)
    else:
        root, paths = _placed(workspace)
        project = projects.read(root, manifest_of(paths))
    require_sound(project, locked=locked and project.workspace.has_lock)
    graph = resolved(project)
    name = _only(graph) if entry is None else _known(graph, entry)
    return _entry_of(graph, root, project.prompts, name, choice_of(model))


@naming()
async def build_entry(
    worker_files: Iterable[Files],
    python_files: Iterable[Files] = (),
    model: str | Model | None = None,
    entry_name: str = "main",
    *,
    models: Mapping[str, str | Model] | None = None,
) -> BuiltEntry:
    """The entry of that name among some files: a worker, an async function, or the tool of a toolset.

    The folder that holds all of them is the workspace, and its manifest lists only these files. A function or a
    tool may call every worker among them. `model` is for the entry alone, not for its delegates: for the worker, or
    for the workers that a function calls and that name none; `models` are those of workers by name.

    Raises:
        InvalidTeamError: There is no such entry or more than one, or `check` finds errors, such as two workers of
            one name or a name that is neither a toolset nor a worker.
    """
    by_worker = dict(models or {})
    return await asyncio.to_thread(_build, [*worker_files, *python_files], model, by_worker, entry_name)


def _build(
    files: Sequence[Files], model: str | Model | None, models: Mapping[str, str | Model], name: str
) -> BuiltEntry:
    root, paths = _placed(files)
    manifest = manifest_of(paths)
    project = projects.read(root, manifest)
    require_sound(project)
    project = with_entry(project, root, manifest, name)
    require_sound(project)
    graph = locking.derive(project)
    entry = graph.entries[name]
    choice = choice_of(model)
    if model is not None and entry.worker is not None:
        choice = dataclasses.replace(
            choice, by_worker={entry.worker.name: choice.default or ""}, default=None
        )
    elif choice.default is not None:
        entry = replace(entry, model=Reference(choice.default, entry.at))
        graph = replace(graph, entries={**graph.entries, name: entry})
        choice = dataclasses.replace(choice, default=None)
    references = {worker: named for worker, named in models.items() if isinstance(named, str)}
    choice = dataclasses.replace(choice, by_worker={**choice.by_worker, **references})
    choice = choice.with_instances(
        {worker: instance for worker, instance in models.items() if not isinstance(instance, str)}
    )
    built = _entry_of(graph, root, project.prompts, name, choice)
    if built.kind == "worker":
        return BuiltEntry(built, (), ())
    return BuiltEntry(built, tuple(call.name for call in entry.delegates), offers.list_tools(graph, entry))


def _placed(files: Iterable[Files]) -> tuple[Path, list[str]]:
    """The folder that holds all of some files, and their paths in it.

    Raises:
        InvalidTeamError: There are none, one does not exist, or one is of no kind that a team is made of.
    """
    absolute = list(dict.fromkeys(Path(file).absolute() for file in files))
    if not absolute:
        raise InvalidTeamError("no files were given")
    for path in absolute:
        if not path.is_file():
            raise InvalidTeamError(f"there is no file `{path.name}`")
        if not path.name.endswith((*WORKER_ENDINGS, ".py")):
            raise InvalidTeamError(f"`{path.name}` is neither a worker file nor a Python file")
    root = Path(os.path.commonpath([path.parent for path in absolute]))
    paths = [path.relative_to(root).as_posix() for path in absolute]
    if odd := next((path for path in paths if is_pattern(path) or ".." in path.split("/")), None):
        raise InvalidTeamError(f"`{odd}` cannot be run by its path", hint="rename it")
    return root, paths


def _only(graph: Graph) -> str:
    own = [name for name, entry in graph.entries.items() if not entry.format]
    if len(own) == 1:
        return own[0]
    if "main" in graph.entries:
        return "main"
    known = ", ".join(f"`{name}`" for name in graph.entries) or "none"
    raise InvalidTeamError("several entries exist; name one", hint=f"there are {known}")


def _known(graph: Graph, name: str) -> str:
    if name not in graph.entries:
        raise InvalidTeamError(f"there is no entry `{name}`", hint=near_or_all(name, graph.entries, "entry"))
    require_ours(graph.entries[name])
    return name


def _entry_of(
    graph: Graph, root: Path, prompts: Mapping[str, str], name: str, models: ModelChoice
) -> TeamEntry:
    if unknown := next((worker for worker in models.by_worker if worker not in graph.workers), None):
        raise InvalidTeamError(
            f"`model` names `{unknown}`, which is not a worker", hint=did_you_mean(unknown, graph.workers)
        )
    entry = graph.entries[name]
    return TeamEntry(name=name, kind=_kind_of(entry), root=root, graph=graph, prompts=prompts, models=models)


def _kind_of(entry: Entry) -> Kind:
    return "worker" if entry.worker else "tool" if entry.tool else "function"


def choice_of(model: ModelNamed) -> ModelChoice:
    """The caller's choice of models; a model object goes by a reference of its own."""
    by_name = model if isinstance(model, dict) else {}
    instances: dict[str, Model] = {}

    def reference(value: str | Model) -> str:
        return value if isinstance(value, str) else named(value, instances)

    by_worker = {worker: reference(model) for worker, model in by_name.items()}
    default = None if model is None or isinstance(model, dict) else reference(model)
    return ModelChoice(
        by_worker=by_worker,
        default=default,
        environment=os.environ.get("LLMDO_MODEL") or None,
        instances=instances,
    )


def require_no_loop(hint: str) -> None:
    """Check that no event loop runs; `hint` names the function to call otherwise.

    Raises:
        LlmdoError: One runs.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise LlmdoError("cannot be called from a running event loop", hint=hint)


def limits_set(limits: Limits | None) -> dict[str, float]:
    """The limits that are set, by their names in the manifest.

    Raises:
        TypeError: `limits` is of another type.
        LlmdoError: One is not a number above 0.
    """
    if not isinstance(limits, Limits | None):
        raise TypeError("`limits` is a `llmdo.Limits`, such as `llmdo.Limits(requests=10)`")
    values = {} if limits is None else {each.name: getattr(limits, each.name) for each in fields(Limits)}
    for name, value in values.items():
        if value is not None and not 0 < value < math.inf:
            raise LlmdoError(f"`limits` does not set `{name}` to a number above 0")
    return {name.replace("_", "-"): value for name, value in values.items() if value is not None}


def _limited(graph: Graph, name: str, limits: Limits | None) -> Graph:
    """The graph with the limits of an entry lowered to `limits`; lower ones stay."""
    if not limits_set(limits):
        return graph
    entry, lower = graph.entries[name], {}
    for limit in fields(Limits):
        both = (getattr(entry.limits, limit.name), getattr(limits, limit.name))
        lower[limit.name] = min((value for value in both if value is not None), default=None)
    entry = replace(entry, limits=Limits(**lower))
    return replace(graph, entries={**graph.entries, name: entry})
