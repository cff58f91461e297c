"""`llmdo reach`, `why`, `graph` and `suggest`: questions that the files answer."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Optional, cast

import typer

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.cli.console import FINDINGS, FINE, put, root_folder, say, screen

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from llmdo.foreign import Foreign
    from llmdo.graph.resolved import Entry
    from llmdo.reach import Analysis
    from llmdo.reach.selectors import Selection
    from llmdo.reach.suggest import Suggestion
    from llmdo.workspace.project import Project as Ours

    Opened = Ours | Foreign

Project = Annotated[
    Optional[str],  # noqa: UP045  # typer reads annotations at run time
    typer.Option(
        "--project", metavar="DIR", help="The workspace's folder, instead of looking upwards from here."
    ),
]
EntryName = Annotated[
    Optional[str],  # noqa: UP045
    typer.Argument(metavar="[ENTRY]", help="One entry; all where left out."),
]
Select = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--select",
        metavar="SELECTOR",
        help="NAME, +NAME, NAME+, 2+NAME, toolset:NAME, cap:CAPABILITY, path:GLOB, state:modified; a comma intersects.",
    ),
]
Origin = Annotated[
    Optional[tuple[str, str]],  # noqa: UP045
    typer.Option(
        "--from",
        metavar="FORMAT DIR",
        help="A project of another tool, read as it is: claude, docker-agent, gh-aw, llm-do, mcp, opencode or auto.",
    ),
]
Base = Annotated[str, typer.Option("--base", metavar="REV", help="What state:modified compares with.")]


class ReachFormat(StrEnum):
    """How reach is printed."""

    text = "text"
    json = "json"
    markdown = "markdown"


class GraphFormat(StrEnum):
    """How the graph is printed."""

    text = "text"
    mermaid = "mermaid"
    dot = "dot"
    json = "json"


def opened(project: str | None, origin: tuple[str, str] | None) -> Opened:
    """The project, read. Where its files have errors, the answer may leave something out, and that is said."""
    if origin:
        from llmdo.cli import foreign

        if project:
            raise LlmdoError("`--project` is about workspaces of llmdo, so it does not go with `--from`")
        return foreign.opened(origin)
    from llmdo import checks
    from llmdo.workspace import project as projects

    read = projects.read(root_folder(project))
    errors = sum(one.severity == "error" for one in checks.check(read))
    if errors:
        say(
            f"warning: the workspace has {errors} errors, so this may be incomplete (`llmdo check` shows them)"
        )
    return read


def chosen(read: Opened, entry: str | None, select: Sequence[str], base: str) -> list[Entry]:
    """The entries that are asked about."""
    from llmdo.reach import selectors

    graph = read.graph
    if entry is not None and entry not in graph.entries:
        raise LlmdoError(f"there is no entry `{entry}`", hint=did_you_mean(entry, graph.entries))
    names = set(graph.entries) if entry is None else {entry}
    if select:
        names &= set(selectors.entries_of(graph, selected(read, select, base)))
    return [graph.entries[name] for name in sorted(names)]


def selected(read: Opened, select: Sequence[str], base: str, unread: Collection[str] = ()) -> Selection:
    """What selectors mean, which may also mean the `unread` files."""
    from llmdo.diff import revision
    from llmdo.reach import selectors
    from llmdo.workspace import lock

    modified: set[str] = set()
    if any(selectors.MODIFIED in expression for expression in select):
        if read.graph.read_from:
            raise LlmdoError(
                f"`{selectors.MODIFIED}` compares with a lock, and a project of {read.graph.read_from} has none"
            )
        before = revision.locked_graph(cast("Ours", read).workspace.root, base)
        drifted = lock.drift(before, read.graph) if before else ()
        modified = {item.name for item in drifted if item.kind == "worker"} & set(read.graph.workers)
        modified |= set() if before else set(read.graph.workers)
    return selectors.select(read.analysis, select, modified, unread)


def reach(
    entry: EntryName = None,
    select: Select = None,
    base: Base = "HEAD",
    format: Annotated[ReachFormat, typer.Option(help="How it is printed.")] = ReachFormat.text,  # noqa: A002
    project: Project = None,
    origin: Origin = None,
) -> int:
    """Show what each entry can reach through delegation, by which path and behind which gate."""
    from llmdo.reach import depth_of
    from llmdo.render import reach as render

    read = opened(project, origin)
    asked = chosen(read, entry, select or (), base)
    if read.graph.read_from and format is not ReachFormat.json:
        from llmdo.cli import foreign

        reached = [(one.name, read.analysis.of(one)) for one in asked]
        put(
            foreign.reach(cast("Foreign", read), reached, format.value),
            end="",
            as_json=format.value == "json",
        )
        return FINE
    found = [(one.name, depth_of(read.analysis, one), read.analysis.of(one)) for one in asked]
    if format is ReachFormat.json:
        put(render.to_json(found, read.graph.read_from), end="", as_json=True)
    elif format is ReachFormat.markdown:
        put("\n".join(render.markdown(*one) for one in found), end="")
    else:
        put("\n".join(render.text(*one, screen()) for one in found), end="", is_drawn=True)
    return FINE


def why(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A worker, an entry or a toolset.")],
    target: Annotated[
        list[str],
        typer.Argument(
            metavar="CAPABILITY|TOOLSET",
            help="Such as proc.exec, fs.write:reports/** or shell; as reach prints it, `elsewhere` included.",
        ),
    ],
    all_paths: Annotated[bool, typer.Option("--all", help="Every path, not only a shortest one.")] = False,
    project: Project = None,
    origin: Origin = None,
) -> int:
    """Show how a worker or an entry comes to a capability or a toolset: paths with file and line of each edge."""
    from llmdo.base.values import replace
    from llmdo.reach.paths import every_path, origins_of, rows_to, target_of
    from llmdo.render import reach as render

    read = opened(project, origin)
    origins = origins_of(read.graph, name)
    wanted = meant = target_of(read.graph, " ".join(target))
    if name not in (read.graph.entries.keys() | read.graph.workers.keys()):
        origins = origins if wanted.toolset in (None, name) else ()
        meant = replace(wanted, toolset=name)
    answers = [(each, rows) for each in origins if (rows := rows_to(read.analysis, each, meant))]
    if not answers:
        say(f"`{name}` cannot reach `{wanted}`")
        return FINDINGS
    if read.graph.read_from:
        from llmdo.foreign import not_enforced

        put(f"{not_enforced(read.graph.read_from)}\n")
    for number, (each, rows) in enumerate(answers):
        put(("\n" if number else "") + "\n".join(map(render.why, rows)), end="")
        if all_paths:
            put(f"\n{render.all_paths(every_path(read.analysis, each, meant))}", end="")
    return FINE


def graph(
    entry: EntryName = None,
    select: Select = None,
    base: Base = "HEAD",
    format: Annotated[GraphFormat, typer.Option(help="How it is printed.")] = GraphFormat.text,  # noqa: A002
    project: Project = None,
    origin: Origin = None,
) -> int:
    """Draw who delegates to whom and which toolsets they use, with what is decided about each and its scopes."""
    from llmdo.render import graph as render

    read = opened(project, origin)
    only = selected(read, select, base).workers if select else None
    drawn = render.drawing(read.analysis, chosen(read, entry, select or (), base), only)
    draw = {"text": render.tree, "mermaid": render.mermaid, "dot": render.dot, "json": render.to_json}
    put(draw[format.value](drawn), end="", as_json=format.value == "json")
    return FINE


def suggest(
    entry: EntryName = None,
    project: Project = None,
    from_runs: Annotated[
        bool,
        typer.Option("--from-runs", help="What the runs of the past needed, instead of what is declared."),
    ] = False,
) -> int:
    """Print the smallest ceiling and rules under which an entry can do all that its workers declare."""
    from llmdo.reach.suggest import suggest as suggestion_for
    from llmdo.render import reach as render

    read = opened(project, None)
    for number, one in enumerate(chosen(read, entry, (), "HEAD")):
        found = _from_runs(read.analysis, project, one) if from_runs else suggestion_for(read.analysis, one)
        put(("\n" if number else "") + render.suggestion(found), end="")
    return FINE


def _from_runs(analysis: Analysis, project: str | None, entry: Entry) -> Suggestion:
    from llmdo.journal import Runs
    from llmdo.journal.needs import needs
    from llmdo.reach.suggest import suggest_for

    found = needs(Runs(root_folder(project)).each(), entry.name)
    return suggest_for(analysis, entry, found.raised, found.asked)
