"""5xx: where a sealed hand-over asks about more than it has to, or does nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import finding, joined
from llmdo.checks.flows import about_strangers
from llmdo.graph import builtin
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location
    from llmdo.graph.toolset import Toolset
    from llmdo.graph.worker import Worker
    from llmdo.syntax.module import ToolOutline
    from llmdo.workspace.project import Project

_NUMBERS = ("boolean", "integer", "null", "number")


def unstated_targets(project: Project) -> Iterator[Diagnostic]:
    """A tool that sealed texts can be given to does not say which of its arguments are targets.

    Each of them counts as one then, so a person is asked about each sealed text that stands in any, also in one that is
    only content. Name those that say to whom or on what the tool acts; `[]` where none does. Built-in tools do so
    themselves. Only tools are named whose arguments the files show, and that nobody is asked about otherwise; only
    workspaces with flow rules about strangers' words are told.

    Fails: `addresser` has `output: sealed`, `planner` calls it and `send(to, body)`.

        [flows]
        "data.untrusted -> x.post.send" = "needs_approval"

    Fixed:

        [toolsets.post]
        targets = { send = ["to"] }
    """
    graph = project.graph
    if not any(worker.output == "sealed" for worker in graph.workers.values()):
        return
    if next(about_strangers(project), None) is None:
        return
    from llmdo.reach.flows import given_seals  # what only flow rules need

    handed: dict[str, tuple[str, str]] = {}
    silent: dict[str, dict[str, tuple[str, ...]]] = {}
    for entry in graph.entries.values():
        for caller, callee, shape in given_seals(project.analysis, entry):
            if (toolset := graph.toolsets.get(shape.toolset)) is None:
                continue
            for name, arguments in _silent(project, toolset).items():
                if shape.is_of(f"{toolset.prefix}_{name}" if toolset.prefix else name):
                    handed.setdefault(toolset.name, (caller or entry.name, callee))
                    silent.setdefault(toolset.name, {})[name] = arguments
    for name, tools in silent.items():
        caller, callee = handed[name]
        first = min(tools)
        line = ", ".join(f"{tool} = {json.dumps(tools[tool])}" for tool in sorted(tools))
        yield finding(
            "LDO517",
            _of_toolset(project, graph.toolsets[name]),
            f"`{name}` does not say which arguments of `{first}` are targets, so each text that `{callee}` seals is "
            f"asked about wherever `{caller}` puts it",
            hint=f"{_where(graph.toolsets[name], line)}, without those that say neither to whom nor on what it acts",
        )


def idle_seal(project: Project) -> Iterator[Diagnostic]:
    """A worker seals its answer, and nobody can use the seal.

    What an entry itself starts answers a person, for whom the text is opened. A worker that calls nothing with an
    argument for a text, and no other worker, can hand a seal on to nobody. Then an answer without `output: sealed`
    does the same, or something is missing that is to be given it.

    Fails: an entry starts `reader`, and no worker calls it.

        output: sealed

    Fixed: the line removed, or `reader` called by a worker with a tool or a delegate to hand the text to.
    """
    graph = project.graph
    if project.gaps.contents or project.gaps.names:
        return
    for worker in graph.workers.values():
        if worker.output != "sealed":
            continue
        entries = [
            entry for entry in graph.entries.values() if worker.name in {each.name for each in entry.starts}
        ]
        callers = [graph.workers[name] for name, callees in graph.edges.items() if worker.name in callees]
        if any(entry.worker is None for entry in entries) or any(
            _hands_on(project, each, worker) for each in callers
        ):
            continue
        if callers:
            names = joined([f"`{caller.name}`" for caller in callers])
            why = f"{names} can give to nobody what `{worker.name}` seals"
            hint = "give the caller a tool or a delegate that takes the text, or remove `output: sealed`"
        elif entries:
            why = (
                f"no worker calls `{worker.name}`, and for a person its answer is opened, so it seals nothing"
            )
            hint = f"remove `output: sealed`, or name `{worker.name}` in the `toolsets` of a worker"
        else:
            continue
        at = Place(worker.at.document, ("output",), of_key=True)
        yield finding("LDO518", at.location, why, hint=hint)


def _hands_on(project: Project, caller: Worker, sealing: Worker) -> bool:
    """Whether `caller` may give a text to a tool, to another worker than `sealing`, or to the code of a tool."""
    names = [use.name for use in caller.uses if use.name not in (sealing.name, builtin.PROVIDER_SIDE)]
    return any(_may_take(project, name) for name in names)


def _may_take(project: Project, name: str) -> bool:
    """Whether what is called so may be given a text: a worker is, and a toolset whose tools the files do not show."""
    toolset = project.graph.toolsets.get(name)
    if toolset is None or toolset.dynamic or name in project.gaps.toolsets:
        return True
    return any(
        _arguments(project, toolset, tool) != () or _calls(project, toolset, tool) for tool in toolset.tools
    )


def _calls(project: Project, toolset: Toolset, name: str) -> bool:
    """Whether the code of a tool may call workers, and open what they seal."""
    outline = _outline(project, toolset, name)
    return toolset.kind == "python" and (outline is None or outline.takes_context)


def _silent(project: Project, toolset: Toolset) -> dict[str, tuple[str, ...]]:
    """The tools that are known not to say which arguments are targets, and those that each takes."""
    tools = {}
    for name in toolset.tools:
        outline = _outline(project, toolset, name)
        is_stated = name in toolset.targets or (
            toolset.kind == "python" and (outline is None or outline.states_targets)
        )
        if not is_stated and (arguments := _arguments(project, toolset, name)):
            tools[name] = arguments
    return tools


def _arguments(project: Project, toolset: Toolset, name: str) -> tuple[str, ...] | None:
    """The arguments of a tool that may hold a text; None where no file shows them all."""
    if toolset.kind == "python":
        outline = _outline(project, toolset, name)
        return outline.arguments if outline else None
    definition = toolset.tools[name].definition
    schema = json.loads(definition.input) if definition else {}
    if not isinstance(taken := schema.get("properties"), dict) or schema.get("additionalProperties"):
        return None
    return tuple(
        each for each, of in taken.items() if not (isinstance(of, dict) and of.get("type") in _NUMBERS)
    )


def _outline(project: Project, toolset: Toolset, name: str) -> ToolOutline | None:
    """What the text of a module of the workspace shows of a tool."""
    path, _, attribute = (toolset.python or "").rpartition(":")
    module = project.workspace.modules.get(path)
    outlined = module.outline.toolsets.get(attribute) if module else None
    return outlined.tools.get(name) if outlined else None


def _where(toolset: Toolset, line: str) -> str:
    if toolset.targets:
        return f"add {line} to the targets of [toolsets.{toolset.name}]"
    return f"write targets = {{ {line} }} in [toolsets.{toolset.name}]"


def _of_toolset(project: Project, toolset: Toolset) -> Location:
    """The table of a toolset in the manifest, or where its module has it."""
    if toolset.name in project.workspace.tables("toolsets"):
        return project.workspace.document.key("toolsets", toolset.name)
    return toolset.at.location
