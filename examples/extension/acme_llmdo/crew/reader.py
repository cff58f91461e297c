"""The reader of crews."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acme_llmdo.crew.table import TABLE
from llmdo.base import parts
from llmdo.foreign.files import Files
from llmdo.foreign.team import Agent, Grant, Team
from llmdo.policy.authority import Capability
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Document

_LINES = {line.tool: line for line in TABLE}


def read(tree: Tree) -> Team:
    """The agent of each crew."""
    files = Files(tree, "Acme")
    documents = [document for path in files.find(["**/*.acme.json"]) if (document := files.json(path))]
    agents = tuple(_agent(files, document) for document in documents)
    return Team(format="acme", agents=agents, files=files.paths, problems=tuple(files.problems))


def _agent(files: Files, document: Document) -> Agent:
    grants = []
    for tool, at in files.texts(document, "tools"):
        if line := _LINES.get(tool):
            capabilities = tuple(map(Capability, line.capabilities))
            grants.append(Grant(toolset="acme", tool=tool, capabilities=capabilities, decision=line.decision,
                                origin="the manual of Acme", at=at))  # fmt: skip
        else:
            files.unknown_tool(at, tool, _LINES)
    return Agent(
        name=parts.text(document.data.get("name")) or document.source.path,
        at=Place(document, ("name",)),
        path=document.source.path,
        prompt=parts.text(document.data.get("prompt")),
        grants=tuple(grants),
    )
