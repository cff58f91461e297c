"""The meaning of names: the reach of a worker or an entry, its paths and gates, and the meaning of a capability."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown
from llmdo.policy.authority import Capability, decide
from llmdo.policy.composition import NO_LAYER
from llmdo.policy.vocabulary import ONLY_BY_FULL_NAME, OUTSIDE_CEILINGS, VOCABULARY
from llmdo.reach import depth_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmdo.features.editor.symbols import Mention
    from llmdo.graph.resolved import Entry
    from llmdo.reach import Row
    from llmdo.workspace.project import Project

MOST_ROWS = 20
_CAPABILITY = re.compile(
    r"[a-z][a-z0-9_]*(?:\.[A-Za-z0-9_-]+)+|\b(?:fs|proc|net|agent|mcp|secret|env|data)\b"
)
_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#+.!|~&-])")


def capability_at(line: str, column: int) -> str | None:
    """The name of a capability at a column, from 1, of a line, or None."""
    for match in _CAPABILITY.finditer(line):
        if match.start() < column <= match.end() + 1:
            return match[0]
    return None


def about(project: Project, mention: Mention) -> str | None:
    """The description of a name, in Markdown, or None."""
    match mention.kind:
        case "worker":
            return _worker(project, mention.name)
        case "entry":
            return _entry(project, mention.name)
        case "toolset":
            return _toolset(project, mention.name)
        case "tool":
            return _tool(project, mention.name)
        case "model":
            return _model(project, mention.name)
    return None


def about_capability(project: Project, name: str) -> str | None:
    """The meaning of a capability and the workspace's rules for it; None if there is none of that name."""
    own = _own_capability(project, name)
    below = [
        f"* {code(each)}: {plain(VOCABULARY[each])}" for each in VOCABULARY if each.startswith(f"{name}.")
    ]
    if name not in VOCABULARY and not own and not below:
        return None
    meaning = plain(VOCABULARY[name]) if name in VOCABULARY else own or "all of these:"
    capability = Capability(name)
    verdict = decide([capability], [capability], project.analysis.authority(NO_LAYER))
    why = "; ".join(plain(str(reason)) for reason in verdict.reasons[:3])
    lines = [f"**{code(name)}** {meaning}", *below, "", f"Everywhere: {code(verdict.decision)} ({why})"]
    if name in ONLY_BY_FULL_NAME:
        lines += ["", "A ceiling admits it only by its full name."]
    if name in OUTSIDE_CEILINGS:
        lines += ["", "No ceiling has to name it."]
    return "\n".join(lines)


def _own_capability(project: Project, name: str) -> str | None:
    toolset = project.graph.toolsets.get(name.split(".")[1]) if name.startswith("x.") else None
    if toolset is None:
        return None
    tools = sorted(
        tool.name
        for tool in toolset.tools.values()
        if any(each.name == name or each.name.startswith(f"{name}.") for each in tool.capabilities)
    )
    if not tools and not name.endswith(".any"):
        return None
    return f"is declared by {', '.join(map(code, tools)) or 'nobody'} of the toolset {code(toolset.name)}"


def _worker(project: Project, name: str) -> str | None:
    worker = project.graph.workers.get(name)
    if worker is None:
        return None
    head = f"**worker {code(name)}**" + (f" {plain(worker.description)}" if worker.description else "")
    rows = project.analysis.of_worker(name)
    return "\n".join(
        [head, "", "With everything below it, by the rules of the workspace:", "", *_table(rows)]
    )


def _entry(project: Project, name: str) -> str | None:
    entry = project.graph.entries.get(name)
    if entry is None:
        return None
    head = f"**entry {code(name)}**, depth {plain(str(depth_of(project.analysis, entry)))}"
    return "\n".join([head, "", *_table(project.analysis.of(entry)), *_after_strangers(project, entry)])


def _after_strangers(project: Project, entry: Entry) -> Iterator[str]:
    """The reach after something below it has read a stranger's words, if flows are stated."""
    if not project.graph.all_flows:
        return
    from llmdo.reach.flows import after_strangers  # what only flow rules need

    rows = after_strangers(project.analysis, entry)
    yield ""
    yield "After a stranger's words:" if rows else "No stranger's words come in."
    yield ""
    if rows:
        yield "| capability | decision | in by | on by |"
        yield "| --- | --- | --- | --- |"
    for row in rows[:MOST_ROWS]:
        legs = [" > ".join(plain(hop.name) for hop in leg) or "the input" for leg in (row.source, row.path)]
        decision = row.decision.replace("_", " ")
        yield f"| {code(str(row.capability))} | {decision} | {legs[0]} | {legs[1]} |"
    yield from _more(rows)


def _toolset(project: Project, name: str) -> str | None:
    toolset = project.graph.toolsets.get(name)
    if toolset is None:
        return f"**toolset {code(name)}**, built in"
    lines = [f"**toolset {code(name)}** {code(toolset.python or 'an MCP server')}", ""]
    tools = list(toolset.tools.values())
    for tool in tools[:MOST_ROWS]:
        raised = ", ".join(code(str(capability)) for capability in tool.capabilities) or "nothing"
        lines.append(f"* {code(tool.name)} declares {raised}")
    if toolset.dynamic:
        lines.append("* its text does not show all of its tools: `llmdo lock` imports it")
    return "\n".join([*lines, *_more(tools)])


def _tool(project: Project, name: str) -> str | None:
    owner, _, tool_name = name.partition(".")
    toolset = project.graph.toolsets.get(owner)
    tool = toolset.tools.get(tool_name) if toolset else None
    if tool is None:
        return None
    raised = ", ".join(code(str(capability)) for capability in tool.capabilities) or "nothing"
    return f"**tool {code(tool_name)}** of {code(owner)} declares {raised}"


def _model(project: Project, alias: str) -> str | None:
    chain = project.graph.models.get(alias)
    return f"**model {code(alias)}**: {', then '.join(map(code, chain))}" if chain else None


def _table(rows: Sequence[Row]) -> Iterator[str]:
    """The reach, by path, with the questions and blocks on it."""
    if not rows:
        yield "It reaches nothing."
        return
    yield "| capability | decision | by |"
    yield "| --- | --- | --- |"
    for row in rows[:MOST_ROWS]:
        path = " > ".join(plain(hop.name) for hop in row.path)
        gate = "" if row.decision == "allowed" else "; ".join(plain(str(each)) for each in row.reasons[:2])
        elsewhere = " elsewhere" if row.elsewhere else ""
        yield (
            f"| {code(str(row.capability))}{elsewhere} | {row.decision.replace('_', ' ')}"
            f"{f': {gate}' if gate else ''} | {path} |"
        )
    yield from _more(rows)


def _more(items: Sequence[object]) -> Iterator[str]:
    if len(items) > MOST_ROWS:
        yield ""
        yield f"and {len(items) - MOST_ROWS:,} more"


def plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _MARKUP.sub(r"\\\1", shown(" ".join(text.split())))


def code(text: str) -> str:
    """A name as Markdown code."""
    return f"`{shown(text).replace('`', chr(0x2CB)).replace('|', chr(0x2223))}`"
