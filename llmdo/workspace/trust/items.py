"""What a workspace would have this machine execute: its Python, its MCP servers, its shell rules."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Literal

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.graph import servers
from llmdo.policy.authority import Capability
from llmdo.policy.shell.rules import ShellSettings
from llmdo.syntax import discovery
from llmdo.workspace.modules import text_digests
from llmdo.workspace.reading import read_modules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from llmdo.graph.resolved import Graph
    from llmdo.graph.toolset import Toolset

ItemKind = Literal["python", "package", "server", "program", "shell"]

EXECUTES = Capability("proc")
MAX_PROGRAM = 16 * 1024 * 1024  # bytes of a program that is read to know its content
SHELL = "shell"
"""The built-in toolset that runs commands."""


@dataclass(frozen=True, slots=True)
class TrustItem:
    """One thing that a workspace would have executed."""

    kind: ItemKind
    name: str
    """A path, a reference, or the name of a server."""
    digest: str | None
    """Of all that it is; None where that cannot be known, so that no answer about its content can hold."""

    @property
    def key(self) -> str:
        """What it goes by beside others."""
        return f"{self.kind} {self.name}"


def items_of(graph: Graph, root: Path) -> tuple[TrustItem, ...]:
    """All that `graph` would have executed, sorted; `root` is where the programs lie that it names by their paths."""
    return tuple(sorted(set(_items(graph, root)), key=lambda item: item.key))


def digest_of(items: Iterable[TrustItem]) -> str | None:
    """The digest of all of them together; None where one cannot be known by its content."""
    listed = [[item.kind, item.name, item.digest] for item in items]
    return None if any(content is None for *_, content in listed) else digest.of_data(sorted(listed))


def texts_of(
    graph: Graph, root: Path, items: Iterable[TrustItem], code: Path | None = None
) -> dict[str, str]:
    """What there is to read of each item, by its key; `code` is the folder of the Python files, where not `root`.

    Raises:
        LlmdoError: A file is no longer what it was when the workspace was read.
    """
    return {item.key: _text(graph, root, item, code or root) for item in items}


def counted(items: Iterable[TrustItem]) -> str:
    """How many there are of each kind, in words."""
    kinds = [item.kind for item in items]
    names = {
        "python": ("Python file", "Python files"),
        "package": ("installed module", "installed modules"),
        "server": ("MCP server", "MCP servers"),
        "program": ("program of an MCP server", "programs of MCP servers"),
    }
    words = [
        f"{number} {plural if number > 1 else singular}"
        for kind, (singular, plural) in names.items()
        if (number := kinds.count(kind))  # type: ignore[arg-type]  # the keys are kinds
    ]
    words += ["shell rules"] if "shell" in kinds else []
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else "nothing"


def _items(graph: Graph, root: Path) -> Iterator[TrustItem]:
    for path, content in graph.code.items():
        yield TrustItem("python", path, content)
    for toolset in graph.toolsets.values():
        if toolset.python and not toolset.python.rpartition(":")[0].endswith(".py"):
            yield TrustItem("package", toolset.python, digest.of_text(toolset.python))
        if toolset.server:
            yield TrustItem("server", toolset.name, digest.of_text(_server(toolset)))
            yield from _programs(toolset, root)
    if rules := _shell(graph):
        yield TrustItem("shell", "shell", digest.of_text(rules))


def _programs(toolset: Toolset, root: Path) -> Iterator[TrustItem]:
    """The files of the workspace that the command of a server names, and the Python that those import."""
    for path in sorted(set(servers.programs(toolset.server) if toolset.server else ())):
        if path.startswith("/") or not os.path.lexists(root / path):
            continue  # a program of this machine, which goes by its name
        yield TrustItem("program", path, _of_file(root / path))
        if path.endswith(".py"):
            imported = text_digests(read_modules(root, [path]))
            yield from (
                TrustItem("program", name, _of_file(root / name)) for name in imported if name != path
            )


def _of_file(path: Path) -> str | None:
    content = _content(path)
    return None if content is None else digest.of_bytes(content)


def _content(path: Path) -> bytes | None:
    """What starting the file at `path` would execute, through any link; None where that is not known."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(MAX_PROGRAM + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError:
        return None
    return None if content is None or len(content) > MAX_PROGRAM else content


def _server(toolset: Toolset) -> str:
    """How a server is started or reached, a line for each part."""
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


def _shell(graph: Graph) -> str:
    """The rules by which commands run, a line each; empty where the workspace says nothing of its own about that."""
    shell = graph.shell
    if shell == ShellSettings() and not _uses_shell(graph):
        return ""
    decisions = [str(rule) for rule in graph.rules if EXECUTES.contains(rule.capability)]
    lines = [str(rule) for rule in shell.rules]
    lines += [f"given the variable {json.dumps(name)}" for name in shell.env]
    lines += [f"isolation: {shell.isolation}", *decisions]
    lines += [f"default: {graph.settings.default}"] if graph.settings.default == "allowed" else []
    return "\n".join(lines)


def _uses_shell(graph: Graph) -> bool:
    """Whether anything of the workspace can call the tool that runs commands."""
    calls = [call.name for entry in graph.entries.values() for call in entry.calls]
    calls += [call.name for toolset in graph.toolsets.values() for call in toolset.calls]
    calls += [entry.tool.name for entry in graph.entries.values() if entry.tool]
    lines = (name for kind in graph.kinds_of_lines for name, _ in kind)
    return SHELL in lines or any(name.startswith(f"{SHELL}.") for name in calls)


def _text(graph: Graph, root: Path, item: TrustItem, code: Path) -> str:
    if item.kind == "server":
        return _server(graph.toolsets[item.name])
    if item.kind == "shell":
        return _shell(graph)
    if item.kind == "package":
        return item.name
    content = _content((code if item.kind == "python" else root) / item.name)
    if content is None:
        if item.digest is None:
            return "(no file that can be read, so no answer about its content is kept)"
        raise _changed(item.name)
    source, problems = discovery.decode(item.name, content)
    now = digest.of_text(source.text) if item.kind == "python" else digest.of_bytes(content)
    if now != item.digest:
        raise _changed(item.name)
    return f"({len(content):,} bytes that are not text, {now})" if problems else source.text


def _changed(path: str) -> LlmdoError:
    return LlmdoError(f"`{path}` changed while it was read", hint="start again")
