"""The servers that an agent's own file declares: what Copilot's command line wants of them to load the agent.

Watched with 1.0.102. VS Code ignores `mcp-servers`; of GitHub's cloud it is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from llmdo.foreign.files import Files
    from llmdo.syntax.document import Document

SERVERS = "mcp-servers"
"""The key of an agent's own servers."""
_LOCAL = ("local", "stdio")
_REMOTE = ("http", "sse")
_EXAMPLES = {
    "args": "args: []",
    "command": "command: PROGRAM",
    "tools": 'tools: ["*"]',
    "type": "type: http",
    "url": "url: ADDRESS",
}
"""A line for each key that may be missing."""
_LISTS = frozenset({"args", "tools"})
_NOT_LOADED = "so Copilot's command line does not load this agent"


def judge(files: Files, document: Document) -> None:
    """Notes the servers that keep an agent from being loaded."""
    declared = document.data.get(SERVERS)
    if isinstance(declared, list):
        message = f"`{SERVERS}` is a list, {_NOT_LOADED}: it reads a table"
        files.note("LDO152", Place(document, (SERVERS,), of_key=True), message)
    for name, server in declared.items() if isinstance(declared, dict) else ():
        if isinstance(name, str) and isinstance(server, dict):
            _judge_server(files, Place(document, (SERVERS, name), of_key=True), server)


def _judge_server(files: Files, at: Place, server: dict[str, object]) -> None:
    name, kind = excerpt(str(at.route[-1])), server.get("type")
    if isinstance(kind, str) and kind not in (*_LOCAL, *_REMOTE):
        message = f"`{name}` has the type `{excerpt(kind)}`, which Copilot does not know, {_NOT_LOADED}"
        files.note("LDO152", at, message, "the types are `local`, `stdio`, `http` and `sse`")
    elif keys := _lacking(server):
        names = " and ".join(f"a list `{key}`" if key in _LISTS else f"`{key}`" for key in keys)
        lines = ", ".join(f"`{_EXAMPLES[key]}`" for key in keys)
        hint = f"write {lines} into it"
        files.note("LDO152", at, f"`{name}` of `{SERVERS}` lacks {names}, {_NOT_LOADED}", hint)


def _lacking(server: dict[str, object]) -> list[str]:
    """The keys that a server needs and does not have, or not as a list where that is wanted."""
    kind = server.get("type")
    is_remote = kind in _REMOTE or (kind is None and "url" in server and "command" not in server)
    wanted = ("type", "url", "tools") if is_remote else ("command", "args", "tools")
    return [key for key in wanted if not isinstance(server.get(key), list if key in _LISTS else str)]
