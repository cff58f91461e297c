"""2xx: every name resolves, and no two things share one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.checking import reports
from llmdo.base.diagnostic import Related, did_you_mean, excerpt, finding, only_match
from llmdo.checks import adopted, code, scripts
from llmdo.checks.model_names import models_named
from llmdo.checks.naming import declared_capabilities, entry_collisions, named_capabilities
from llmdo.graph import builtin, servers, toolkit
from llmdo.policy.authority import BUILT_IN, Capability
from llmdo.policy.vocabulary import VOCABULARY, has_paths, members_of
from llmdo.syntax.document import Place
from llmdo.workspace.references import located, python_file
from llmdo.workspace.toolset_names import toolset_references

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic, Fix
    from llmdo.graph.keys import Reference
    from llmdo.graph.resolved import Graph
    from llmdo.graph.worker import Use, Worker
    from llmdo.workspace.project import Project


@reports("LDO201", "error")
def name_collision(project: Project) -> Iterator[Diagnostic]:
    """Two things have one name.

    Workers and toolsets share one flat namespace, so that a name means one thing everywhere. Rename one of them;
    a toolset gets another name under `[toolsets.NAME] python = "FILE.py:ATTRIBUTE"`.

    Fails: `workers/a.worker` and `workers/b.worker` both say

        name: reviewer
    """
    names = Counter([holder.name for holder in project.workspace.workers])
    names.update([name for name, _, _ in _toolsets(project)])
    holders: dict[str, list[tuple[str, Place]]] = {}
    if len(names) < names.total() or not names.keys().isdisjoint(builtin.NAMES):
        for name, kind, place in _holders(project):
            if names[name] > 1 or name in builtin.NAMES:
                holders.setdefault(name, []).append((kind, place))
    for name, places in sorted(holders.items()):
        if name in builtin.NAMES:
            for kind, place in places:
                yield finding(
                    "LDO201",
                    place.location,
                    f"the {kind} `{name}` has the name of a built-in toolset",
                    hint="give it another name",
                )
        for kind, place in places[1:]:
            yield finding(
                "LDO201",
                place.location,
                f"the {kind} `{name}` has the name of another {places[0][0]}",
                hint="rename one of them: workers and toolsets share one namespace",
                related=[Related(places[0][1].location, f"the other `{name}`")],
            )
    yield from entry_collisions(project.graph)
    yield from adopted.collisions(project)


def _holders(project: Project) -> Iterator[tuple[str, str, Place]]:
    """Each name of the flat namespace, of what kind it is, and where it is given."""
    for file in project.workspace.workers:
        yield file.name, "worker", Place(file.document, ("name",))
    yield from _toolsets(project)


def _toolsets(project: Project) -> Iterator[tuple[str, str, Place]]:
    """The same of the toolsets alone."""
    for name, _, place in toolset_references(project.workspace):
        yield name, "toolset", place
    for name, toolset in project.graph.toolsets.items():
        if toolset.kind == "mcp":
            yield name, "toolset", toolset.at


@reports("LDO202", "error")
def unknown_toolset(project: Project) -> Iterator[Diagnostic]:
    """A worker uses a name that is neither a toolset nor a worker, or an entry a toolset that does not exist.

    A class of the workspace may be named by its path, `tools/calc.py:Calculator` or `tools.calc.Calculator`. A header
    brings in no other code: an installed class is a toolset where the manifest says so.

    Fails:

        toolsets: [filesytem]

    Fixed:

        toolsets: [filesystem]
    """
    if project.gaps.names:
        return
    graph = project.graph
    known = {*graph.toolsets, *builtin.NAMES, builtin.PROVIDER_SIDE}
    known |= code.unreadable_paths(project)
    unknown = {
        name for lines in graph.kinds_of_lines for name, _ in lines if name not in graph.workers
    } - known
    if unknown:
        known |= graph.workers.keys()
    for worker in graph.workers.values() if unknown else ():
        for use in worker.uses:
            if use.name in unknown:
                known_as, shown_by = (
                    code.unread(project, use.name)
                    or code.unresolved(project, use.name)
                    or (
                        "is neither a toolset nor a worker",
                        did_you_mean(use.name, known) or _unmatched(project),
                    )
                )
                yield finding(
                    "LDO202",
                    use.at.location,
                    f"`{worker.name}` uses `{use.name}`, which {known_as}",
                    hint=shown_by,
                    fix=_respelt(use.at, use.name, known),
                )
    yield from adopted.used_by_ours(project)
    yield from _entries_without_toolset(graph)
    yield from code.unknown_toolsets(graph)
    yield from _tables_without_toolset(project)


def _unmatched(project: Project) -> str | None:
    """The hint that the file which defines a name may be one that a glob was to match."""
    return next((problem.message for problem in project.workspace.problems if problem.code == "LDO111"), None)


def _entries_without_toolset(graph: Graph) -> Iterator[Diagnostic]:
    """The entries that call a tool of what is no toolset."""
    known = {*graph.toolsets, *builtin.NAMES}
    for entry in graph.entries.values():
        if entry.use and entry.use.name not in known:
            is_worker = entry.use.name in graph.workers
            yield finding(
                "LDO202",
                entry.use.at.location,
                f"the entry `{entry.name}` calls a tool of `{entry.use.name}`, which is not a toolset",
                hint=f'a worker is started by `worker = "{entry.use.name}"`'
                if is_worker
                else did_you_mean(entry.use.name, known),
            )


def _tables_without_toolset(project: Project) -> Iterator[Diagnostic]:
    """The tables of the manifest whose toolset no module shows."""
    graph = project.graph
    for name, table in project.workspace.tables("toolsets").items():
        is_built_in = name in builtin.NAMES and builtin.BUILT_IN[name].has_table
        if "python" not in table and "mcp" not in table and name not in graph.toolsets and not is_built_in:
            yield finding(
                "LDO202",
                project.workspace.document.key("toolsets", name),
                f"`[toolsets.{name}]` configures a toolset that no listed module has",
                hint=did_you_mean(name, graph.toolsets) or 'say where it is: `python = "FILE.py:ATTRIBUTE"`',
            )


def _respelt(place: Place, name: str, known: Iterable[str]) -> Fix | None:
    """The edit that spells an unknown name as the only known one like it.

    It is safe: a toolset or worker that comes into use by it gives no permission, since every rule and every
    ceiling judges what it does as before.
    """
    meant = only_match(name, known)
    return place.respelt(name, meant, safe=True) if meant else None


@reports("LDO203", "error")
def unknown_worker(project: Project) -> Iterator[Diagnostic]:
    """An entry, or a script in the place of a model, names a worker that does not exist.

    Fails:

        [entries.pitchdeck]
        worker = "mian"

    Fixed:

        [entries.pitchdeck]
        worker = "main"
    """
    graph = project.graph
    known, kinds = adopted.startable(project)
    for entry in graph.entries.values():
        for started in entry.starts:
            if started.name not in known and not project.gaps.names:
                yield finding(
                    "LDO203",
                    started.at.location,
                    f"the entry `{entry.name}` calls `{started.name}`, which is not {kinds}",
                    hint=did_you_mean(started.name, known) or _unmatched(project),
                    fix=_respelt(started.at, started.name, known),
                )
    yield from adopted.started_by_ours(project)
    yield from scripts.unknown_workers(project)


@reports("LDO205", "error")
def missing_attribute(project: Project) -> Iterator[Diagnostic]:
    """A Python file does not have the name that is asked of it.

    The file is read, never run, so a name that only running it would make is not seen: bind it plainly at the top
    level of the module. The `probe` of a tool is such a name as well.

    Fails: `tools/calc.py` binds `calc_tools`.

        [toolsets.calc]
        python = "tools/calc.py:calc_tool"

    Fixed:

        [toolsets.calc]
        python = "tools/calc.py:calc_tools"
    """
    for text, place in _python_references(project):
        path, _, name = text.rpartition(":")
        module = project.workspace.modules.get(python_file(text) or "")
        if module is None or module.outline.open or module.outline.problems:
            continue
        if name not in module.outline.names:
            yield finding(
                "LDO205",
                place.location,
                f"`{path}` has no `{name}`",
                hint=did_you_mean(name, module.outline.names),
            )
    yield from _missing_probes(project)


def _missing_probes(project: Project) -> Iterator[Diagnostic]:
    """Findings about probes that are no function of the module of their tool, nor a method of its toolset."""
    for module in project.workspace.modules.values():
        for toolset in module.outline.toolsets.values():
            for tool, outline in toolset.tools.items():
                # What else a toolset is made of may have methods of its own.
                if outline.probe is None or not toolset.complete or module.outline.open:
                    continue
                if outline.probe[0] in module.outline.names:
                    continue
                name, span = outline.probe
                yield finding(
                    "LDO205",
                    module.source.location(span),
                    f"`{module.source.path}` has no `{excerpt(name)}`, the probe of the tool `{tool}`",
                    hint=did_you_mean(name, module.outline.names),
                )


def _python_references(project: Project) -> Iterator[tuple[str, Place]]:
    graph = project.graph
    for toolset in graph.toolsets.values():
        if toolset.python:
            yield toolset.python, Place(toolset.at.document, (*toolset.at.route, "python"))
    for _, python, place in project.workspace.class_paths:
        yield located(python, project.workspace.modules), place
    for entry in graph.entries.values():
        if entry.function:
            yield entry.function.name, entry.function.at
    for worker in graph.workers.values():
        yield from ((named.name, named.at) for named in worker.code)
    for model in models_named(project):
        if model.name.startswith("python:"):
            yield model.name.removeprefix("python:"), model.at


@reports("LDO206", "error")
def tool_collision(project: Project) -> Iterator[Diagnostic]:
    """Two tools of one worker have the same name.

    A model could not tell them apart, and the run would fail at its first request. A delegate is a tool as well:
    its name is the worker's, and a worker with a `schema_out_ref` gives its output by a tool `final_result`.
    `prefix` gives the tools of a toolset other names, the same for all workers.

    Fixed: `tools/files.py` and the built-in toolset both have a `read_file`; the worker now has `drive_read_file`.

        [toolsets.drive]
        prefix = "drive"
    """
    graph = project.graph
    offered: dict[int, tuple[frozenset[str], bool]] = {}
    for worker, lines, delegates in zip(
        graph.workers.values(), graph.lines.values(), graph.edges.values(), strict=True
    ):
        if (known := offered.get(id(lines))) is None:
            uses = [graph.use(worker.name, name) for name, _ in lines]
            names = [tool for use in uses for tool in _tool_names(graph, use)]
            known = offered[id(lines)] = frozenset(names), len(names) > len(set(names))
        tools, is_colliding = known
        is_output = builtin.OUTPUT_TOOL in tools or builtin.OUTPUT_TOOL in delegates
        typed = worker.schema_out if is_output else None
        if not is_colliding and tools.isdisjoint(delegates) and not typed:
            continue
        first: dict[str, Use] = {}
        for use in worker.uses:
            for tool in _tool_names(graph, use):
                other = first.setdefault(tool, use)
                if other is not use:
                    yield finding(
                        "LDO206",
                        use.at.location,
                        f"`{worker.name}` has two tools called `{tool}`, of `{other.name}` and of `{use.name}`",
                        hint=_prefix_hint(graph, use, other),
                        related=[Related(other.at.location, f"`{other.name}` is used here")],
                    )
        if typed:
            yield _taken_output(graph, worker, first[builtin.OUTPUT_TOOL], typed)


def _taken_output(graph: Graph, worker: Worker, use: Use, typed: Reference) -> Diagnostic:
    return finding(
        "LDO206",
        use.at.location,
        f"`{use.name}` has a tool called `{builtin.OUTPUT_TOOL}`, by which `{worker.name}` gives its typed output",
        hint=_prefix_hint(graph, use) or "rename the worker",
        related=[Related(typed.at.location, "the output is typed here")],
    )


def _prefix_hint(graph: Graph, *uses: Use) -> str | None:
    own = next((use.name for use in uses if use.name in graph.toolsets), None)
    return f"set a `prefix` in [toolsets.{own}] of llmdo.toml" if own else None


def _tool_names(graph: Graph, use: Use) -> Iterable[str]:
    if use.name in graph.workers:
        return (use.name,)
    return [
        tool for tool in toolkit.tools_of(graph, None, use) if "*" not in tool and tool not in toolkit.START
    ]


def _of_toolsets_there(project: Project) -> Iterator[tuple[Capability, Place]]:
    """The named capabilities but those of toolsets that a worker uses and that are not there."""
    graph = project.graph
    used = {use.name for worker in graph.workers.values() for use in worker.uses}
    unresolved = tuple(f"x.{name}." for name in used - graph.toolsets.keys() - graph.workers.keys())
    yield from (each for each in named_capabilities(project) if not each[0].name.startswith(unresolved))


@reports("LDO207", "error")
def unknown_capability(project: Project) -> Iterator[Diagnostic]:
    """A capability that the vocabulary does not have.

    A misspelt rule would never fire, so it is an error wherever it is written: in rules, ceilings and
    declarations. A project's own capabilities are called `x.TOOLSET.NAME`, where the toolset exists and one of
    its tools declares the name; `reads` of a toolset names its own alone. The scope of `agent.delegate` is
    the name of a worker. A tool declares no family, such as `fs`: no rule about a part of it would cover the tool.

    Fails:

        [approvals.rules]
        "proc.exce" = "blocked"

    Fixed:

        [approvals.rules]
        "proc.exec" = "blocked"
    """
    graph = project.graph
    known = toolkit.known_capabilities(graph)
    # That of an undeclared tool stands for all that it might do: nobody means that by another name.
    offered = known - {f"x.{name}.any" for name in graph.toolsets}
    yield from (problem for problem in project.workspace.problems if problem.code == "LDO207")  # of policies
    yield from _reads_of_others(project)
    yield from _declared_families(project)
    # That there is no such toolset is said where it is used.
    for capability, place in _of_toolsets_there(project):
        if capability.name not in known and not project.gaps.may_hide(capability.name):
            yield finding(
                "LDO207",
                place.location,
                f"`{capability.name}` is not a capability",
                hint=toolkit.tool_hint(capability.name, graph)
                or did_you_mean(capability.name, offered)
                or _why_not_own(capability.name, graph),
                fix=_respelt_rule(project, capability, place, offered),
            )
        elif capability.scope is not None and Capability(capability.name).covers_name(toolkit.DELEGATE.name):
            if capability.scope != "**" and capability.scope not in graph.workers and not project.gaps.names:
                yield finding(
                    "LDO207",
                    place.location,
                    f"`{capability}` would never match: `{capability.scope}` is not a worker",
                    hint=did_you_mean(capability.scope, graph.workers),
                )
        elif capability.scope is not None and not has_paths(capability.name):
            message = f"`{capability.name}` has no scopes, so `{capability}` would never match"
            yield finding("LDO207", place.location, message, hint=f"write `{capability.name}`")


def _declared_families(project: Project) -> Iterator[Diagnostic]:
    """The families that tools declare in place of capabilities."""
    own = [name for name in toolkit.known_capabilities(project.graph) if name.count(".") > 1]
    known = {*VOCABULARY, *project.graph.families, *own}
    for capability, place in declared_capabilities(project):
        if members := members_of(capability.name, known):
            yield finding(
                "LDO207",
                place.location,
                f"`{capability.name}` is a family, and no rule about a part of it would cover this tool",
                hint=f"name what the tool does: {', '.join(members)}",
            )


def _reads_of_others(project: Project) -> Iterator[Diagnostic]:
    """The capabilities of which a toolset says that they only read, though they are not its own."""
    for name, table in project.workspace.tables("toolsets").items():
        for number, text in enumerate(parts.texts(table.get("reads"))):
            if not Capability(f"x.{name}").covers_name(Capability.parse(text).name):
                yield finding(
                    "LDO207",
                    Place(project.workspace.document, ("toolsets", name, "reads", number)).location,
                    f"`{text}` is not a capability of `{name}` itself, so it cannot say that it only reads",
                    hint=f"name what its own tools declare, such as `x.{name}.find`",
                )


def _why_not_own(name: str, graph: Graph) -> str | None:
    """What keeps `x.TOOLSET.NAME` from being a capability; None where it does not have that form."""
    family, _, rest = name.partition(".")
    toolset = rest.partition(".")[0]
    if family != "x" or not toolset:
        return None
    if toolset in graph.toolsets:
        return f"no tool of the toolset `{toolset}` declares it"
    return f"`x.TOOLSET.NAME` is named after a toolset, and there is no toolset `{toolset}`"


def _respelt_rule(project: Project, capability: Capability, place: Place, known: Iterable[str]) -> Fix | None:
    """The edit that spells an unknown capability as the only known one like it.

    It is safe only in a rule, and only where the rule can then but tighten. A rule of an entry or a worker always
    does. One of the manifest that says `blocked` does as well. `needs_approval` may loosen: where it takes the place
    of a built-in `blocked`, or of the default `blocked` as no built-in rule is about it. `allowed` gives permission, as
    do ceilings, which admit what they name, and a declaration decides which rules have a say: those are left to people.
    """
    meant = only_match(capability.name, known)
    if meant is None or place.route[-2:-1] in (("flows",), ("sources",)):  # of whose keys it is a part
        return None
    decision = place.data if place.route[-2:-1] in (("rules",), ("approvals",)) else None
    safe = decision == "blocked"
    if decision == "needs_approval":
        built_in = [rule.decision for rule in BUILT_IN if rule.capability.contains(Capability(meant))]
        from_manifest = place.route[:2] == ("approvals", "rules")
        safe = not from_manifest or "blocked" not in (built_in or [project.graph.settings.default])
    return place.respelt(capability.name, meant, safe=safe)


@reports("LDO208", "error")
def unknown_tool(project: Project) -> Iterator[Diagnostic]:
    """The manifest names a tool that its toolset does not have, or a script one that its worker does not have.

    Where it gives capabilities to one, the tool that was meant then has none of them declared; `"*"` stands for every
    tool that is not named. Of `retry` the same holds. Where it names targets of one, each argument of the tool that was
    meant counts as a target. Where an entry calls one, there is nothing to call: of a toolset
    whose tools are known only in a run, the manifest has to declare the one that an entry calls. Correct the name.
    """
    graph = project.graph
    for entry in graph.entries.values():
        tools = toolkit.tools_of(graph, None, entry.use) if entry.use else {}
        if entry.use and entry.use.name in project.gaps.toolsets:
            continue
        if entry.use and entry.use.name in {*graph.toolsets, *builtin.NAMES} and entry.tool_name not in tools:
            yield finding(
                "LDO208",
                entry.use.at.location,
                f"`{entry.use.name}` has no tool `{entry.tool_name}` that is declared",
                hint=did_you_mean(entry.tool_name, tools),
            )
    yield from code.undeclared_tools(project)
    yield from scripts.unknown_tools(project)
    for name, table in project.workspace.tables("toolsets").items():
        toolset = project.graph.toolsets.get(name)
        if toolset is None or toolset.dynamic:
            continue
        keys = ("capabilities", "retry", "targets")
        named = [(key, declared) for key in keys for declared in parts.table(table, key)]
        for key, tool in named:
            if (tool == "*" and key != "targets") or tool in toolset.tools:
                continue
            if toolset.server is None or not any(servers.fits(pattern, tool) for pattern in toolset.tools):
                yield finding(
                    "LDO208",
                    project.workspace.document.key("toolsets", name, key, tool),
                    f"`{name}` has no tool `{tool}`",
                    hint=did_you_mean(tool, toolset.tools),
                )
