"""A scope about which nobody is asked stays so beside a stricter decision about the rest, built in or a tool's."""

from __future__ import annotations

import pytest

from llmdo.base.source import Source
from llmdo.foreign.building import graph_of
from llmdo.foreign.team import Agent, Grant, Team
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import Decision
from llmdo.reach import Analysis
from llmdo.syntax.document import Document, Place

AT = Place(Document(Source("agent.md", "name: a\n"), {"name": "a"}, dict), ("name",))


def grant(tool: str, decision: Decision, *able: str) -> Grant:
    return Grant(
        toolset=tool,
        tool=tool,
        capabilities=tuple(map(Capability.parse, able)),
        decision=decision,
        origin="a test",
        at=AT,
    )


@pytest.mark.parametrize("rest", ["needs_approval", "blocked"])
@pytest.mark.parametrize("name", ["fs.read", "fs.write", "fs.write.protected", "net.connect", "secret.read"])
def test_a_scope_stays_as_mild_as_it_is(name: str, rest: Decision) -> None:
    mild = grant("files", "allowed", f"{name}:data/**", "fs.list:data/**")
    agents = (
        Agent(name="both", at=AT, grants=(mild, grant("edit", rest, name))),
        Agent(name="one", at=AT, grants=(mild,)),
        Agent(name="other", at=AT, grants=(grant("edit", rest, name),)),
    )
    graph = graph_of(Team(format="claude", agents=agents, files=()))
    analysis = Analysis(graph)
    decided = {
        (entry.name, str(row.capability)): row.decision
        for entry in graph.entries.values()
        for row in analysis.of(entry)
    }
    assert decided["both", f"{name}:data/**"] == "allowed"
    assert decided["one", f"{name}:data/**"] == decided["one", "fs.list:data/**"] == "allowed"
    assert decided["both", name] == decided["other", name] == rest
