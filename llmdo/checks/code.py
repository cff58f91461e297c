"""2xx: Python as far as its text shows what it does: code entries, the tools that code calls, and toolsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.checking import reports
from llmdo.base.diagnostic import Related, did_you_mean, finding
from llmdo.graph import builtin
from llmdo.graph.code_calls import calls_of, uses_named
from llmdo.graph.resolved import Entry
from llmdo.graph.toolkit import tools_of
from llmdo.workspace.references import class_path, located, module_files, python_file
from llmdo.workspace.toolset_names import names_of_paths, toolset_references

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.graph.keys import Reference
    from llmdo.graph.resolved import Graph
    from llmdo.graph.toolset import Toolset
    from llmdo.syntax.document import Place
    from llmdo.syntax.functions import FunctionOutline
    from llmdo.workspace.project import Project

_FORM = "write `async def {}(runtime, input) -> str`"


@reports("LDO211", "error")
def unfit_function(project: Project) -> Iterator[Diagnostic]:
    """The function of an entry cannot be run as one.

    It is awaited with two arguments, the runtime by which it calls workers and the input as text, and gives text. The
    file is read, never run, so nothing is reported about a function with decorators.

    Fails:

        def nightly(runtime):
            return "done"

    Fixed:

        async def nightly(runtime, input):
            return "done"
    """
    for entry, reference, source, function in _functions(project):
        fault = None
        if not function.is_async:
            fault = "is not an async function"
        elif not function.takes_two:
            fault = "does not take two arguments"
        if fault:
            name = reference.name.rpartition(":")[2]
            yield finding(
                "LDO211",
                source.location(function.span),
                f"`{name}`, the function of the entry `{entry.name}`, {fault}",
                hint=_FORM.format(name),
                related=[Related(reference.at.location, "it is named here")],
            )


@reports("LDO212", "error")
def undeclared_call(project: Project) -> Iterator[Diagnostic]:
    """The function of an entry calls a worker or a tool that the entry's `calls` do not name.

    `calls` are the edges of the entry in the graph: what it can reach was proved for these workers and tools, so the
    run refuses every other one. Name it in `calls`, or do not call it.

    Fails: the function awaits `runtime.call_agent("planner", ...)`.

        [entries.nightly]
        function = "entries.py:nightly"
        calls = ["evaluator"]

    Fixed:

        [entries.nightly]
        function = "entries.py:nightly"
        calls = ["evaluator", "planner"]
    """
    for entry, reference, source, function in _functions(project):
        declared = {call.name for call in entry.calls}
        for worker, span in function.calls:
            if worker not in declared:
                exists = worker in project.graph.workers or "." in worker
                yield finding(
                    "LDO212",
                    source.location(span),
                    f"the entry `{entry.name}` calls `{worker}`, which its `calls` do not name",
                    hint=f"name it in `calls` of [entries.{entry.name}], or do not call it"
                    if exists
                    else did_you_mean(worker, declared or project.graph.workers),
                    related=[Related(reference.at.location, "the function is named here")],
                )


def _functions(project: Project) -> Iterator[tuple[Entry, Reference, Source, FunctionOutline]]:
    """The entries that are functions whose text tells how they are called."""
    for entry in project.graph.entries.values():
        if entry.function:
            module = project.workspace.modules.get(python_file(entry.function.name) or "")
            name = entry.function.name.rpartition(":")[2]
            if module and (function := module.outline.functions.get(name)):
                yield entry, entry.function, module.source, function


def unknown_toolsets(graph: Graph) -> Iterator[Diagnostic]:
    """The `calls` of code that name a tool of what is no toolset."""
    toolsets = {*graph.toolsets, *builtin.NAMES}
    for code in _codes(graph):
        for call in code.calls:
            toolset, dot, _ = call.name.partition(".")
            if dot and toolset not in toolsets:
                yield finding(
                    "LDO202",
                    call.at.location,
                    f"{_title(code)} calls a tool of `{toolset}`, which is not a toolset",
                    hint=f'a worker is called by its name alone, "{toolset}"'
                    if toolset in graph.workers
                    else did_you_mean(toolset, toolsets),
                )


def undeclared_tools(project: Project) -> Iterator[Diagnostic]:
    """The `calls` of code that name a tool which its toolset does not have, configured as it is."""
    graph = project.graph
    toolsets = {*graph.toolsets, *builtin.NAMES} - set(project.gaps.toolsets)
    for code in _codes(graph):
        uses, declared = uses_named(code), calls_of(graph, code)
        for call in code.calls:
            toolset, dot, tool = call.name.partition(".")
            if dot and toolset in toolsets and call.name not in declared:
                tools = tools_of(graph, None, uses[toolset])
                writes = toolset == "filesystem" and tool in ("write_file", "edit_file")
                yield finding(
                    "LDO208",
                    call.at.location,
                    f"`{toolset}` has no tool `{tool}` that is declared",
                    hint="say in `configure` what it may write: `configure = { filesystem = { write = [...] } }`"
                    if writes
                    else did_you_mean(tool, tools),
                )


def unused_configuration(project: Project) -> Iterator[Diagnostic]:
    """Findings about `calls` where nothing is called, and about the configuration of toolsets that are not called."""
    graph = project.graph
    document = project.workspace.document
    for name, table in project.workspace.tables("toolsets").items():
        for key in {"calls", "configure"} & set(table) if "mcp" in table else ():
            yield finding(
                "LDO103",
                document.key("toolsets", name, key),
                f"`{name}` is an MCP server, whose code calls no tools of this workspace",
            )
    for code in _codes(graph):
        kind = "entries" if isinstance(code, Entry) else "toolsets"
        for toolset in code.configure.keys() - uses_named(code).keys():
            yield finding(
                "LDO103",
                document.key(kind, code.name, "configure", toolset),
                f"{_title(code)} configures `{toolset}`, of which its `calls` name no tool",
            )


def _codes(graph: Graph) -> tuple[Entry | Toolset, ...]:
    """The entries and toolsets whose code calls something, or is declared to."""
    codes: tuple[Entry | Toolset, ...] = (*graph.entries.values(), *graph.toolsets.values())
    return tuple(code for code in codes if code.calls or code.configure)


def _title(code: Entry | Toolset) -> str:
    kind = "the entry" if isinstance(code, Entry) else "the code of"
    return f"{kind} `{code.name}`"


def without_meaning(project: Project) -> Iterator[Diagnostic]:
    """Configuration of what takes none, an instance that all workers share; and toolsets that are named twice."""
    yield from _named_twice(project)
    graph = project.graph
    codes: tuple[Entry | Toolset, ...] = (*graph.entries.values(), *graph.toolsets.values())
    called = [tuple(uses_named(code).values()) for code in codes if code.configure]
    for uses in (*(worker.uses for worker in graph.workers.values()), *called):
        for use in uses:
            toolset = graph.toolsets.get(use.name)
            if use.config and toolset is not None and _is_instance(project, toolset):
                yield finding(
                    "LDO103",
                    use.at.location,
                    f"`{use.name}` is one instance that all workers share, so it takes no configuration",
                    hint="leave the configuration out, or let the module offer a class",
                )


def _named_twice(project: Project) -> Iterator[Diagnostic]:
    """The lines of headers that name a toolset which another line names as well, one of them by a path."""
    names = names_of_paths(project.workspace)
    for file in project.workspace.workers if names else ():
        first: dict[str, tuple[str, Place]] = {}
        for written, place in file.toolsets:
            toolset = names.get(written, written)
            before, other = first.setdefault(toolset, (written, place))
            if place != other and (before in names or written in names):
                yield finding(
                    "LDO103",
                    place.location,
                    f"`{file.name}` names the toolset `{toolset}` twice",
                    hint="leave one of the lines out",
                    related=[Related(other.location, "it is named here as well")],
                )


def _is_instance(project: Project, toolset: Toolset) -> bool:
    """Whether the toolset is known to be made once, by its module, rather than for each call."""
    if toolset.python is None or toolset.is_class:
        return False
    locked = project.locked.graph.toolsets.get(toolset.name) if project.locked.graph else None
    if locked is not None and locked.python == toolset.python and locked.source == toolset.source:
        return True
    attribute = toolset.python.rpartition(":")[2]
    modules = [project.workspace.modules.get(path) for path in module_files(toolset.python)]
    return any(module is not None and attribute in module.outline.toolsets for module in modules)


def unread(project: Project, name: str) -> tuple[str, str] | None:
    """What is known of a toolset that the text of no module shows, and how it is shown; None where nothing is."""
    workspace = project.workspace
    locked = project.locked.graph.toolsets.get(name) if project.locked.graph else None
    if locked is not None and locked.python and locked.python.rpartition(":")[0] in workspace.modules:
        path, _, attribute = locked.python.rpartition(":")
        known = f"is locked as `{locked.python}` and cannot be read from the text of `{path}`"
    else:
        path, attribute = (
            next(
                (
                    toolset_module
                    for toolset_module in workspace.toolset_modules
                    if _binds(project, toolset_module, name)
                ),
                "",
            ),
            name,
        )
        known = f"is bound in `{path}`, whose text does not show that it is a toolset"
    if not path:
        return None
    hint = (
        f'annotate it, `{attribute}: FunctionToolset = ...`, or write `python = "{path}:{attribute}"` in '
        f"[toolsets.{name}] of llmdo.toml; `llmdo lock` imports it"
    )
    return known, hint


def unreadable_paths(project: Project) -> set[str]:
    """The paths of classes, as headers write them, whose module there is a finding about already."""
    workspace = project.workspace
    return {
        written
        for written, reference, _ in workspace.class_paths
        if not workspace.unread.isdisjoint(module_files(reference))
    }


def unresolved(project: Project, name: str) -> tuple[str, str | None] | None:
    """What keeps the path of a class from being a toolset, and what to do; None where `name` is no path."""
    reference = class_path(name)
    if reference is None:
        return None
    workspace = project.workspace
    same = located(reference, workspace.modules)
    named = {
        toolset
        for toolset, python, _ in toolset_references(workspace)
        if located(python, workspace.modules) == same
    }
    if named:
        listed = " and ".join(f"`{toolset}`" for toolset in sorted(named))
        return f"is both {listed} in llmdo.toml", "name the one that is meant"
    attribute = reference.rpartition(":")[2]
    places = " nor ".join(f"`{path}`" for path in module_files(reference))
    known = [python for toolset in project.graph.toolsets.values() if (python := toolset.python)]
    paths = {_dotted(python) for python in known if python_file(python)}
    declared = f'declare an installed class in llmdo.toml: [toolsets.{attribute}] python = "{reference}"'
    return f"is not a class of the workspace: there is neither {places}", did_you_mean(
        name, paths
    ) or declared


def _dotted(python: str) -> str:
    """FILE.py:NAME as a dotted path."""
    path, _, attribute = python.rpartition(":")
    return f"{path.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}.{attribute}"


def _binds(project: Project, path: str, name: str) -> bool:
    return name in project.workspace.modules[path].outline.names and not name.startswith("_")
