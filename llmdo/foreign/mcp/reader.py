"""`mcpServers` files: for each an agent that has all of its servers, since which client reads it is not known."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.diagnostic import finding
from llmdo.foreign import reading, servers
from llmdo.foreign.mcp import FILES
from llmdo.foreign.team import Agent, Team
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Document

SETTINGS = "settings.json"
"""A file that holds servers among much else, or none."""
TABLES = ("mcpServers", "servers")
"""The keys that hold servers; the second is that of VS Code."""

_ORIGIN = "up to the client"


def read(tree: Tree) -> Team:
    """Every file with servers, as an agent called after it."""
    paths, problems = tree.find(FILES)
    problems_so_far = list(problems)
    agents: list[Agent] = []
    for path in paths:
        source, unread = tree.read(path) or (None, ())
        problems_so_far.extend(unread)
        if source is None or unread:
            continue
        document = reading.json_with_comments(source)
        problems_so_far.extend(document.problems)
        agents.extend(_agents(document, problems_so_far))
    return Team(format="mcp", agents=tuple(agents), files=paths, problems=tuple(problems_so_far))


def _agents(document: Document, problems: list[Diagnostic]) -> Iterator[Agent]:
    key = next((table for table in TABLES if isinstance(document.data.get(table), dict)), None)
    if key is None:
        if PurePosixPath(document.source.path).name == SETTINGS:
            return
        message = "there is no `mcpServers` in this file"
        problems.append(finding("LDO152", document.source.location(), message))
        return
    known = servers.servers_in(document, key)
    yield Agent(
        name=document.source.path,
        at=Place(document, (key,), of_key=True),
        path=document.source.path,
        prompt="",
        header=parts.table(document.data, key),
        grants=tuple(
            servers.grant(name, server, at, "needs_approval", _ORIGIN) for name, (server, at) in known.items()
        ),
    )
