"""`mcpServers` files: for each an agent that has all of its servers, since which client reads it is not known."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.diagnostic import finding
from llmdo.features.mcp_servers import FILES
from llmdo.foreign import servers
from llmdo.foreign.files import Files
from llmdo.foreign.team import Agent, Team
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Document

SETTINGS = "settings.json"
"""A file that holds servers among much else, or none."""
TABLES = ("mcpServers", "servers")
"""The keys that hold servers; the second is that of VS Code."""

VS_CODE = ".vscode"
_ORIGIN = "up to the client"


def read(tree: Tree) -> Team:
    """Every file with servers, as an agent called after it."""
    files = Files(tree, "the client")
    documents = [document for path in files.find(FILES) if (document := files.json(path))]
    agents = [agent for document in documents for agent in _agents(files, document)]
    return Team(format="mcp", agents=tuple(agents), files=files.paths, problems=tuple(files.problems))


def _agents(files: Files, document: Document) -> Iterator[Agent]:
    key = next((table for table in TABLES if isinstance(document.data.get(table), dict)), None)
    if key is None:
        name = PurePosixPath(document.source.path).name
        if name == SETTINGS or name.startswith("tsconfig."):  # a project of TypeScript
            return
        own = TABLES[PurePosixPath(document.source.path).parent.name == VS_CODE]
        at, message = document.source.location(), f"there is no `{own}` at the top of this file"
        if own in document.data:
            at, message = Place(document, (own,), of_key=True).location, f"`{own}` is no table by names"
        files.problems.append(finding("LDO152", at, message))
        return
    known = servers.servers_in(document, key)
    servers.judge(files, known)
    yield Agent(
        name=document.source.path,
        at=Place(document, (key,), of_key=True),
        path=document.source.path,
        header=parts.table(document.data, key),
        grants=tuple(
            servers.grant(name, server, at, "needs_approval", _ORIGIN) for name, (server, at) in known.items()
        ),
    )
