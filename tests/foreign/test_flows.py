"""Of several ways out the attacker's best is told, and a host of the owner's own is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo.base.source import Source
from llmdo.foreign import Foreign
from llmdo.foreign.building import graph_of
from llmdo.foreign.flows import WayOut, worst_flows
from llmdo.foreign.hosts import is_writable
from llmdo.foreign.team import Agent, Grant, Team
from llmdo.policy.authority import Capability
from llmdo.reach import Analysis
from llmdo.syntax.document import Document, Place

AT = Place(Document(Source("agent.md", "name: a\n"), {"name": "a"}, dict), ("name",))


def project(*tools: str) -> Foreign:
    grants = tuple(
        Grant(
            toolset=f"tool{number}",
            tool=f"tool{number}",
            capabilities=tuple(map(Capability.parse, tool.split())),
            decision="allowed",
            origin="a test",
            at=AT,
            is_open="proc.exec" in tool,
        )
        for number, tool in enumerate(("data.untrusted", "fs.read", *tools))
    )
    team = Team(format="claude", agents=(Agent(name="a", at=AT, path="agent.md", grants=grants),), files=())
    graph = graph_of(team)
    return Foreign(
        root=Path(),
        team=team,
        teams=(team,),
        graph=graph,
        analysis=(analysis := Analysis(graph)),
        choice=analysis,
    )


@pytest.mark.parametrize(
    ("tools", "way"),
    [
        (("net.connect:metrics.example",), None),
        (("net.connect:ai.example", "net.connect:gist.github.com"), WayOut.PUBLIC_HOST),
        (("data.untrusted net.connect:gist.github.com",), None),
        (("data.untrusted net.connect:forms.workers.dev",), WayOut.PUBLIC_HOST),
        (("data.untrusted net.connect:github.com proc.exec",), WayOut.PUBLIC_HOST),
        (("net.connect x.github.issues-write",), WayOut.PUBLIC_HOST),
        (("net.connect:github.com", "net.connect"), WayOut.ANY_HOST),
        (("net.connect", "proc.exec.unlisted"), WayOut.ANY_COMMAND),
        (("net.search",), None),
    ],
)
def test_the_best_way_out_is_told(tools: tuple[str, ...], way: WayOut | None) -> None:
    flow = worst_flows(project(*tools)).get("a")
    assert (flow.way if flow else None) == way
    if flow and way == WayOut.PUBLIC_HOST and len(tools) == 2:
        assert flow.row.capability.scope == "gist.github.com"


@pytest.mark.parametrize(
    ("host", "writable"),
    [
        ("github.com", True),
        ("api.github.com", True),
        ("node", True),
        ("notgithub.com", False),
        ("java", False),
    ],
)
def test_a_host_is_writable_with_those_below_it(host: str, writable: bool) -> None:
    assert is_writable(host) is writable
