"""The inventory of a graph: every file, folder, program, import and reference that can become code, or change it.

The questions to a person, the paths closed to workers, the read-only mounts of isolation and the content of the lock
are views of it. It follows from the graph alone.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from llmdo.base import digest
from llmdo.base.values import dataclass
from llmdo.graph.models import model_file, python_reference, recording_file
from llmdo.policy.authority import Capability
from llmdo.policy.shell.rules import ShellSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.graph.resolved import Graph
    from llmdo.graph.toolset import Toolset

ItemKind = Literal[
    "adopted",
    "extension",
    "judge",
    "package",
    "path",
    "policy",
    "program",
    "python",
    "recording",
    "script",
    "server",
    "shell",
    "worker",
]

EXECUTED: frozenset[ItemKind] = frozenset({"judge", "package", "program", "python", "server", "shell"})
"""The kinds that a person is asked about before execution: neither texts for models nor extensions, which the person's
own policy lists.
"""
NAMES_A_PATH: frozenset[ItemKind] = frozenset(
    {"adopted", "judge", "path", "policy", "program", "python", "recording", "script", "worker"}
)

EXECUTES = Capability("proc")
SHELL = "shell"
"""The built-in toolset that runs commands."""


@dataclass(frozen=True, slots=True)
class InventoryItem:
    """One thing that can become code, or changes the effect of code."""

    kind: ItemKind
    name: str
    """A path, a folder that ends in `/`, a glob, a reference to Python, or the name of a server or an extension."""
    digest: str | None
    """Of the whole; None for a place, at which there need be nothing."""

    @property
    def key(self) -> str:
        """Its kind and name as one text."""
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Inventory:
    """The inventory of one graph."""

    items: tuple[InventoryItem, ...]
    """Sorted."""

    @classmethod
    def of(cls, graph: Graph) -> Inventory:
        """The inventory of `graph`."""
        return cls(tuple(sorted(set(_items(graph)), key=lambda item: item.key)))

    @property
    def executed(self) -> tuple[InventoryItem, ...]:
        """The items that would be executed as they are, which somebody has to answer for."""
        return tuple(item for item in self.items if item.kind in EXECUTED)

    @property
    def governing(self) -> frozenset[str]:
        """The paths and globs that no worker writes unasked; no file need lie there."""
        return frozenset(item.name for item in self.items if item.kind in NAMES_A_PATH)


def started_as(toolset: Toolset) -> str:
    """The way a server is started or reached, a line for each part."""
    server = toolset.server
    if server is None:
        return ""
    lines = [f"runs {json.dumps([server.command, *server.args])}"] if server.command else []
    lines += [f"asks {json.dumps(server.url)}"] if server.url else []
    lines += [f"in the folder {json.dumps(server.cwd)}"] if server.cwd else []
    lines += [f"given the variable {json.dumps(variable)}" for variable in server.env]
    lines += [f"sends the header {json.dumps(header)}" for header in server.headers]
    lines += [f"sends the token {json.dumps(server.auth)}"] if server.auth else []
    lines += [f"isolation: {toolset.isolation}"] if server.command else []
    return "\n".join(lines)


def shell_rules(graph: Graph) -> str:
    """The rules by which commands run, a line each; empty if the workspace states none of its own."""
    shell = graph.shell
    if shell == ShellSettings() and not _uses_shell(graph):
        return ""
    decisions = [str(rule) for rule in graph.rules if EXECUTES.contains(rule.capability)]
    lines = [str(rule) for rule in shell.rules]
    lines += [f"given the variable {json.dumps(name)}" for name in shell.env]
    lines += [f"isolation: {shell.isolation}", *decisions]
    lines += [f"default: {graph.settings.default}"] if graph.settings.default == "allowed" else []
    return "\n".join(lines)


def _items(graph: Graph) -> Iterator[InventoryItem]:
    yield from (InventoryItem("adopted", path, content) for path, content in graph.adopted.items())
    for path, content in graph.code.items():
        yield InventoryItem("python", path, content)
    for path, content in graph.judges.items():
        yield InventoryItem("judge", path, content)
    for worker in (each for each in graph.workers.values() if each.format is None):
        yield InventoryItem("worker", worker.path, digest.of_data([worker.config, worker.prompt]))
    for policy in graph.policies:
        if policy.path:
            yield InventoryItem("policy", policy.path, policy.digest)
    for extension in graph.extensions.values():
        yield InventoryItem("extension", extension.name, digest.of_data(extension.encoded()))
    for toolset in (each for each in graph.toolsets.values() if each.format is None):
        yield from _of_toolset(toolset)
    if rules := shell_rules(graph):
        yield InventoryItem("shell", SHELL, digest.of_text(rules))
    for name, content in graph.python_models.items():
        if file := model_file(name):
            yield InventoryItem("recording" if recording_file(name) else "script", file, content)
    for path in (*graph.governing, *_named(graph)):
        yield InventoryItem("path", path, None)


def _of_toolset(toolset: Toolset) -> Iterator[InventoryItem]:
    if toolset.python and not toolset.python.rpartition(":")[0].endswith(".py"):
        yield InventoryItem("package", toolset.python, digest.of_text(toolset.python))
    if toolset.server:
        yield InventoryItem("server", toolset.name, digest.of_text(started_as(toolset)))
    for path, content in toolset.programs.items():
        yield InventoryItem("program", path, content)


def _named(graph: Graph) -> Iterator[str]:
    """The Python files that references name: also in a lock, which does not list the workspace's code."""
    yield from graph.schema_sources
    functions = (entry.function.name for entry in graph.entries.values() if entry.function)
    toolsets = (toolset.python for toolset in graph.toolsets.values() if toolset.python)
    models = (python_reference(name) or name for name in graph.python_models)
    for reference in (*functions, *toolsets, *models):
        path = reference.rpartition(":")[0]
        if path.endswith(".py"):
            yield path


def _uses_shell(graph: Graph) -> bool:
    """Whether anything of the workspace can call the tool that runs commands."""
    calls = [call.name for entry in graph.entries.values() for call in entry.calls]
    calls += [call.name for toolset in graph.toolsets.values() for call in toolset.calls]
    calls += [entry.tool.name for entry in graph.entries.values() if entry.tool]
    lines = (name for kind in graph.kinds_of_lines for name, _ in kind)
    return SHELL in lines or any(name.startswith(f"{SHELL}.") for name in calls)
