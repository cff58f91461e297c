"""2xx: the functions of code entries, as far as their text shows what they do, and the tools that code calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, did_you_mean, finding
from llmdo.graph import builtin
from llmdo.graph.code_calls import calls_of, uses_named
from llmdo.graph.resolved import Entry
from llmdo.graph.toolkit import tools_of
from llmdo.workspace.references import python_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.graph.keys import Reference
    from llmdo.graph.resolved import Graph
    from llmdo.graph.toolset import Toolset
    from llmdo.syntax.functions import FunctionOutline
    from llmdo.workspace.project import Project

_FORM = "write `async def {}(runtime, input) -> str`"


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
