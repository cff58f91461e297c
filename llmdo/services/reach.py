"""`reach` and `suggest`: questions about a workspace or a foreign project, answered from its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo import checks
from llmdo.base.diagnostic import LlmdoError, near_or_all
from llmdo.base.request_fields import argument, option
from llmdo.base.values import dataclass, field, in_json, replace, unenforced
from llmdo.diff import revision
from llmdo.foreign import Foreign
from llmdo.graph.enforcement import enforcement_of
from llmdo.graph.resolved import Entry
from llmdo.reach import depth_of, selectors
from llmdo.reach.flows import after_strangers
from llmdo.reach.paths import every_path, origins_of, rows_to, target_of
from llmdo.services import foreign, soundness
from llmdo.services.invalid import require_extensions
from llmdo.services.root import ENTRY, ORIGIN, PROJECT, SELECT, root_folder
from llmdo.workspace import lock
from llmdo.workspace import project as projects

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from llmdo.graph.enforcement import Enforcement
    from llmdo.graph.resolved import Graph
    from llmdo.graph.start import Start
    from llmdo.graph.worker import Worker
    from llmdo.journal.needs import Needs
    from llmdo.policy.authority import Capability, Rule
    from llmdo.reach import Analysis, Depth, Row
    from llmdo.reach.flows import FlowRow
    from llmdo.reach.paths import CallPath, Target
    from llmdo.reach.selectors import Selection
    from llmdo.reach.suggest import Suggestion, UsedCeiling
    from llmdo.services.root import Tell
    from llmdo.workspace.project import Project

    Opened = Project | Foreign


TO = option(
    "In a drawing, mark the way to the worst of it; after a stranger's words, the way in and the way out.",
    metavar="CAPABILITY|TOOLSET|WORKER|TOOL",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachRequest:
    """The project and the selected entries."""

    entry: str | None = field(default=None, metadata=ENTRY)
    """None: all of them."""
    select: tuple[str, ...] = field(default=(), metadata=SELECT)
    """Selectors, of which an entry has to meet one."""
    project: str | None = field(default=None, metadata=PROJECT)
    origin: tuple[str, str] | None = field(default=None, metadata=ORIGIN)
    """Format and folder of a foreign project."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRequest(ReachRequest):
    """The same for a graph, in which a way may be marked."""

    to: str | None = field(default=None, metadata=TO)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestRequest:
    """The entries for which something is suggested, and from what."""

    entry: str | None = field(default=None, metadata=ENTRY)
    from_runs: bool = field(
        default=False, metadata=option("Suggest what past runs needed, instead of what is declared.")
    )
    from_sessions: bool = field(
        default=False,
        metadata=option("Suggest ceilings of another tool's agents by what recorded sessions used."),
    )
    sessions: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "Transcripts, or folders of them, instead of those in the clients' own folders.", metavar="PATH"
        ),
    )
    project: str | None = field(default=None, metadata=PROJECT)


def _after_strangers(after: tuple[FlowRow, ...] | None) -> object:
    return {} if after is None else {"after_strangers": after}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryReach:
    """The reach of one entry."""

    name: str
    depth: Depth
    starts: tuple[Start, ...] = field(default=(), metadata=in_json(sparse=True))
    """The events that start it without a command of a person."""
    enforcement: Enforcement | None = field(default=None, metadata=in_json(sparse=True))
    """How far the decisions are obeyed, if another tool runs it."""
    rows: tuple[Row, ...]
    after: tuple[FlowRow, ...] | None = field(default=None, metadata=in_json(by=_after_strangers, flat=True))
    """Its abilities once something below it has read a stranger's words; None if nothing states flows."""


def _format_of(project: Foreign | None) -> object:
    return unenforced(project.team.format if project else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachOutcome:
    """The reach of the selected entries."""

    entries: tuple[EntryReach, ...]
    files_of: str | None = field(default=None, metadata=in_json("root", sparse=True, after=None))
    """The folder that tools work on, if it is not the workspace."""
    foreign: Foreign | None = field(default=None, metadata=in_json(by=_format_of, flat=True, after=None))
    """The project, if it is of another tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyRequest:
    """The origin and the target of the requested ways."""

    name: str = field(
        default="",
        metadata=argument(
            "[NAME]", "An entry; with a target also a worker or a toolset. All entries where left out."
        ),
    )
    target: tuple[str, ...] = field(
        default=(),
        metadata=argument(
            "[CAPABILITY|TOOLSET|WORKER|TOOL]",
            "Such as proc.exec, fs.write:reports/**, shell or helper; as reach prints it, `elsewhere` included.",
        ),
    )
    """Its words."""
    plugin: str | None = field(
        default=None,
        metadata=option(
            "Instead, say what a plugin would add before it is installed: a folder, or an entry of a marketplace.",
            "--with",
            metavar="FOLDER[:NAME]",
        ),
    )
    all_paths: bool = field(
        default=False, metadata=option("Show every path, not only a shortest one.", "--all")
    )
    project: str | None = field(default=None, metadata=PROJECT)
    origin: tuple[str, str] | None = field(default=None, metadata=ORIGIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """The ways of one worker or entry to the target."""

    rows: tuple[Row, ...]
    paths: tuple[CallPath, ...] = ()
    """Every path, if all were asked for."""
    after: tuple[FlowRow, ...] = ()
    """The same after a stranger's words, of an entry and if flows are stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyOutcome:
    """The ways to the target; no reason if it cannot be reached."""

    target: Target
    reasons: tuple[Ways, ...]
    read_from: str | None = None
    """The format of a foreign project."""
    files_of: str | None = None
    """The folder that tools work on, if it is not the workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOutcome:
    """The graph to draw."""

    analysis: Analysis
    entries: tuple[Entry, ...]
    workers: frozenset[str] | None = None
    """None: all of them."""
    to: tuple[tuple[str, Row | FlowRow], ...] = ()
    """The worst row to the target of each entry that reaches it; if possible, the row after a stranger's words."""


def reach(request: ReachRequest, tell: Tell) -> ReachOutcome:
    """The reach of each of the entries through delegation."""
    return reach_of(_opened(request.project, request.origin, tell), request)


def reach_of(read: Opened, request: ReachRequest) -> ReachOutcome:
    """The same of a project that was read."""
    has_flows = states_flows(read.graph)
    adoption = None if isinstance(read, Foreign) else read.workspace.adoption
    granted = {
        name: [grant.tool for grant in agent.grants]
        for name, agent in (adoption.agents if adoption else {}).items()
    }
    entries = tuple(
        EntryReach(
            name=entry.name,
            depth=depth_of(read.analysis, entry),
            starts=entry.started_by,
            enforcement=enforcement_of(read.graph, entry, granted),
            rows=read.analysis.of(entry),
            after=after_strangers(read.analysis, entry) if has_flows else None,
        )
        for entry in _chosen(read, request)
    )
    return ReachOutcome(
        entries=entries,
        files_of=read.graph.settings.files_of,
        foreign=read if isinstance(read, Foreign) else None,
    )


def why(request: WhyRequest, tell: Tell) -> WhyOutcome:
    """The ways of a worker, an entry or a toolset to a capability, a toolset, a tool or a worker.

    Raises:
        LlmdoError: Something of it is missing or not known.
    """
    if not request.name or not request.target:
        raise LlmdoError("NAME and what it reaches are missing", hint="llmdo reach --help says what it takes")
    read = _opened(request.project, request.origin, tell)
    graph = read.graph
    origins = origins_of(graph, request.name)
    wanted = meant = target_of(graph, " ".join(request.target))
    if request.name not in (graph.entries.keys() | graph.workers.keys()):
        origins = origins if wanted.toolset in (None, request.name) and wanted.worker is None else ()
        meant = replace(wanted, toolset=request.name)
    reasons = (
        Ways(
            rows=_with_rules(read, rows),
            paths=tuple(every_path(read.analysis, origin, meant)) if request.all_paths else (),
            after=tuple(_after(read.analysis, origin, {row.capability for row in rows})),
        )
        for origin in origins
        if (rows := rows_to(read.analysis, origin, meant))
    )
    return WhyOutcome(
        target=wanted,
        reasons=tuple(reasons),
        read_from=graph.read_from,
        files_of=graph.settings.files_of,
    )


def _with_rules(read: Opened, rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows, of another tool's project with the rule that lets a tool bring a stranger's words."""
    if not isinstance(read, Foreign):
        return tuple(rows)
    from llmdo.foreign.bringing import with_rule_of_words  # what only such projects need

    return tuple(with_rule_of_words(read, row) for row in rows)


def _after(analysis: Analysis, origin: Entry | Worker, wanted: Collection[Capability]) -> Iterator[FlowRow]:
    """The abilities of an entry among `wanted` after a stranger's words, if flows are stated."""
    if isinstance(origin, Entry) and states_flows(analysis.graph):
        yield from (row for row in after_strangers(analysis, origin) if row.capability in wanted)


def states_flows(graph: Graph) -> bool:
    """Whether any rule is about calls after a read, or about who wrote the text read."""
    return bool(graph.all_flows or graph.sources)


def graph(request: GraphRequest, tell: Tell) -> GraphOutcome:
    """The delegation below the selected entries, and the way to something."""
    return graph_of(_opened(request.project, request.origin, tell), request, tell)


def graph_of(read: Opened, request: GraphRequest, tell: Tell) -> GraphOutcome:
    """The same of a project that was read."""
    to = request.to
    workers = selected(read, request.select).workers if request.select else None
    entries = tuple(_chosen(read, request))
    ways = tuple(_ways(read.analysis, entries, target_of(read.graph, to))) if to else ()
    if to and not ways:
        tell(f"nothing that is drawn can reach `{to}`")
    return GraphOutcome(analysis=read.analysis, entries=entries, workers=workers, to=ways)


def _ways(
    analysis: Analysis, entries: Sequence[Entry], wanted: Target
) -> Iterator[tuple[str, Row | FlowRow]]:
    for entry in entries:
        if rows := rows_to(analysis, entry, wanted):
            after = [*_after(analysis, entry, {row.capability for row in rows})]
            yield entry.name, (after or rows)[0]


def suggest_used(request: SuggestRequest, tell: Tell) -> tuple[UsedCeiling, ...]:
    """The smallest ceilings of another tool's agents for what recorded sessions used."""
    from llmdo.services import sessions

    if request.from_runs:
        raise LlmdoError("`--from-runs` and `--from-sessions` cannot be combined")
    return sessions.suggested(_own(request.project, tell), request.entry, request.sessions, tell)


def suggest(request: SuggestRequest, tell: Tell) -> tuple[Suggestion, ...]:
    """The smallest ceilings and rules for the workers' declarations, or for the needs of runs."""
    from llmdo.reach import suggest as suggesting

    read = _own(request.project, tell)
    chosen = _chosen(read, ReachRequest(entry=request.entry))
    if not request.from_runs:
        return tuple(_placed(suggesting.suggest(read.analysis, entry), read.graph) for entry in chosen)
    from llmdo.journal.needs import needs
    from llmdo.journal.opening import runs_of  # what only few questions need

    runs = runs_of(root_folder(request.project))
    of_all = {name: needs(runs.each(), name) for name in read.graph.entries}
    suggestions = []
    for entry in chosen:
        needed = of_all[entry.name]
        if not needed.runs:
            tell(f"entry `{entry.name}` has no runs, so nothing is suggested for it")
            continue
        suggested = suggesting.suggest_for(read.analysis, entry, needed.raised, needed.asked_about)
        suggestions.append(_placed(_with_runs(suggested, read.graph, needed, of_all.values()), read.graph))
    return tuple(suggestions)


def _placed(suggestion: Suggestion, graph: Graph) -> Suggestion:
    """`suggestion`, with the manifest to write it into."""
    entry = graph.entries[suggestion.entry]
    worker = entry.worker.name if entry.worker and not entry.declared else None
    return replace(suggestion, worker=worker, manifest=graph.manifest)


def _with_runs(suggestion: Suggestion, graph: Graph, needed: Needs, of_all: Collection[Needs]) -> Suggestion:
    """`suggestion`, with the needs of runs for each worker, each rule and the ceilings.

    `of_all` is the needs of every entry's runs: a rule of the workspace or of a worker may decide in any of them.
    """
    from llmdo.policy.vocabulary import OUTSIDE_CEILINGS
    from llmdo.reach.suggest import smallest

    entry = graph.entries[suggestion.entry]
    workers = [graph.workers[name] for name in sorted(needed.by_worker) if name in graph.workers]
    ceilings = [(f"entry `{entry.name}`", entry.may, needed.raised)]
    ceilings += [(f"worker `{worker.name}`", worker.may, needed.by_worker[worker.name]) for worker in workers]
    shared = (*graph.rules, *(rule for worker in workers for rule in worker.approvals))
    idle = [
        *((rule, sum(each.runs for each in of_all)) for rule in shared if not _decided(rule, of_all)),
        *((rule, needed.runs) for rule in entry.approvals if not _decided(rule, [needed])),
    ]
    return replace(
        suggestion,
        runs=needed.runs,
        workers=tuple(
            (name, smallest(each for each in raised if each.name not in OUTSIDE_CEILINGS))
            for name, raised in sorted(needed.by_worker.items())
        ),
        idle=tuple(idle),
        unused=tuple(
            (owner, grant)
            for owner, may, raised in ceilings
            for grant in may or ()
            if not any(grant.touches(each) for each in raised)
        ),
    )


def _decided(rule: Rule, of: Collection[Needs]) -> bool:
    """Whether a call was decided on by this rule."""
    return any(f": {rule} (" in reason for needed in of for reason in needed.reasons)


def selected(read: Opened, select: Sequence[str], unread: Collection[str] = ()) -> Selection:
    """The meaning of selectors, which may also select the `unread` files."""
    revisions = {at for text in select for at in selectors.revisions_in(text)}
    if not revisions:
        return selectors.select(read.analysis, select, {}, unread)
    if isinstance(read, Foreign):
        raise LlmdoError(
            f"`{selectors.MODIFIED}` compares with a lock, and a project of {read.graph.read_from} has none"
        )
    modified = {at: _modified(read, at) for at in revisions}
    return selectors.select(read.analysis, select, modified, unread)


def _modified(read: Project, at: str) -> frozenset[str]:
    """The workers that differ from those of the lock at a revision; all if there is none."""
    workers = frozenset(read.graph.workers)
    before = revision.locked_graph(read.workspace.root, at)
    if before is None:
        return workers
    return workers & {drift.name for drift in lock.drift(before, read.graph) if drift.kind == "worker"}


def _opened(project: str | None, origin: tuple[str, str] | None, tell: Tell) -> Opened:
    """The project, read. A warning says if errors in its files may leave something out of the answer."""
    if origin:
        if project:
            raise LlmdoError("`--project` applies to llmdo workspaces and cannot be combined with `--from`")
        return foreign.opened(origin, tell)
    read = _own(project, tell)
    return soundness.shown_as_unknown(read)


def _own(project: str | None, tell: Tell) -> Project:
    """The workspace, read, without what nobody has seen: no one should allow that."""
    read = projects.read(root_folder(project))
    require_extensions(read.workspace.problems)
    errors = sum(finding.severity == "error" for finding in checks.check(read))
    if errors:
        tell(
            f"warning: the workspace has {errors} error{'s' * (errors != 1)}, so this may be incomplete (`llmdo check` "
            "shows why)"
        )
    for note in soundness.notes_on(read):
        tell(note)
    return read


def _chosen(read: Opened, request: ReachRequest) -> list[Entry]:
    """The entries that are asked about."""
    graph = read.graph
    if request.entry is not None and request.entry not in graph.entries:
        hint = near_or_all(request.entry, graph.entries, "entry")
        raise LlmdoError(f"there is no entry `{request.entry}`", hint=hint)
    names = set(graph.entries) if request.entry is None else {request.entry}
    if request.select:
        names &= set(selectors.entries_of(graph, selected(read, request.select)))
    return [graph.entries[name] for name in sorted(names)]
