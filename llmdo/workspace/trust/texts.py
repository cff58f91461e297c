"""The texts of the items of an inventory for a person who answers for them, and the digest of an answer."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError
from llmdo.graph.inventory import shell_rules, started_as
from llmdo.syntax import discovery
from llmdo.workspace.program_files import MAX_PROGRAM

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from llmdo.graph.inventory import InventoryItem
    from llmdo.graph.resolved import Graph

_KINDS = {
    "python": ("Python file", "Python files"),
    "judge": ("Python file that judges", "Python files that judge"),
    "package": ("installed module", "installed modules"),
    "server": ("MCP server", "MCP servers"),
    "program": ("program of an MCP server", "programs of MCP servers"),
}


def digest_of(items: Iterable[InventoryItem]) -> str | None:
    """The digest of all of them together; None if one cannot be known by its content."""
    listed = [[item.kind, item.name, item.digest] for item in items]
    return None if any(content is None for *_, content in listed) else digest.of_data(sorted(listed))


def texts_of(
    graph: Graph, root: Path, items: Iterable[InventoryItem], code: Path | None = None
) -> dict[str, str]:
    """The text of each item, by its key; `code` is the folder of the Python files, if not `root`.

    Raises:
        LlmdoError: A file changed since the workspace was read.
    """
    return {item.key: _text(graph, root, item, code or root) for item in items}


def counted(items: Iterable[InventoryItem]) -> str:
    """The number of items of each kind, in words."""
    kinds: list[str] = [item.kind for item in items]
    words = [
        f"{number} {plural if number > 1 else singular}"
        for kind, (singular, plural) in _KINDS.items()
        if (number := kinds.count(kind))
    ]
    words += ["shell rules"] if "shell" in kinds else []
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else "nothing"


def _text(graph: Graph, root: Path, item: InventoryItem, code: Path) -> str:
    if item.kind == "server":
        return started_as(graph.toolsets[item.name])
    if item.kind == "shell":
        return shell_rules(graph)
    if item.kind == "package":
        return item.name
    if item.name.endswith("/"):
        return f"(all code in this folder, {item.digest})"
    content = _content((code if item.kind in ("python", "judge") else root) / item.name)
    if content is None:
        raise _changed(item.name)
    source, problems = discovery.decode(item.name, content)
    now = digest.of_bytes(content) if item.kind == "program" else digest.of_text(source.text)
    if now != item.digest:
        raise _changed(item.name)
    return f"({len(content):,} bytes that are not text, {now})" if problems else source.text


def _content(path: Path) -> bytes | None:
    """The content of the regular file at `path`; None if there is none that can be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(MAX_PROGRAM + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError:
        return None
    return None if content is None or len(content) > MAX_PROGRAM else content


def _changed(path: str) -> LlmdoError:
    return LlmdoError(f"`{path}` changed while it was read", hint="start again")
