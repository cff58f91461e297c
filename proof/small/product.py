"""A team as a graph of llmdo, made of values: no file is written and none is read."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

from llmdo.base.source import Source
from llmdo.graph.keys import Reference
from llmdo.graph.resolved import Entry, Graph
from llmdo.graph.settings import Settings
from llmdo.graph.toolset import Tool, Toolset
from llmdo.graph.worker import Use, Worker
from llmdo.policy.authority import BUILT_IN_VERSION, Capability, FlowRule, Rule
from llmdo.policy.flow import NO_FLOWS, Flows, LabelledSource
from llmdo.syntax.document import Document, Place
from proof.small.calls import ENTRY, MANIFEST, STRANGERS

if TYPE_CHECKING:
    from llmdo.policy.vocabulary import Decision
    from proof.small.teams import Flow, Team

NOWHERE = Place(Document(Source("nowhere", ""), {}, dict), ())
DIGEST = f"sha256:{'0' * 64}"
NAME = "e"
"""The entry."""

capability = cache(Capability.parse)


def graph_of(team: Team) -> Graph:
    """The graph of `team`, as files of a workspace would give it."""
    return Graph(
        settings=Settings(
            name="small",
            built_in=BUILT_IN_VERSION,
            default=cast("Decision", team.default),
            max_depth=team.depth,
        ),
        rules=_rules(team.rules, "llmdo.toml"),
        flows=_flows(team.flow, MANIFEST),
        sources=tuple(
            [LabelledSource(capability(each), capability(STRANGERS)) for each in sorted(team.strange)]
        ),
        entries={
            NAME: Entry(
                name=NAME,
                at=NOWHERE,
                worker=_reference("w0"),
                may=_may(team, ENTRY),
                approvals=_approvals(team, ENTRY, f"entry `{NAME}`"),
                flows=_flows(team.flow, ENTRY),
            )
        },
        workers={f"w{number}": _worker(team, number) for number in range(len(team.calls))},
        toolsets={
            f"t{number}": _toolset(raised, number, team.keeps) for number, raised in enumerate(team.tools)
        },
    )


def _worker(team: Team, number: int) -> Worker:
    name = f"w{number}"
    answer = team.answers[number]
    used = [f"t{tool}" for tool in team.uses[number]] + [f"w{callee}" for callee in team.calls[number]]
    return Worker(
        name=name,
        at=NOWHERE,
        path=f"{name}.worker",
        config=DIGEST,
        prompt=DIGEST,
        recursive=True,
        schema_out=_reference("answers.py:Answer") if answer == "closed" else None,
        closed=1 if answer == "closed" else None,
        output="sealed" if answer == "sealed" else None,
        uses=tuple([_use(each) for each in used]),
        may=_may(team, number),
        approvals=_approvals(team, number, f"worker `{name}`"),
        flows=_flows(team.flow, number),
    )


@cache
def _use(name: str) -> Use:
    return Use(name=name, config={}, at=NOWHERE)


@cache
def _reference(name: str) -> Reference:
    return Reference(name, NOWHERE)


@cache
def _toolset(raised: tuple[str, ...], number: int, keeps: bool) -> Toolset:  # noqa: FBT001
    tool = Tool(name="do", capabilities=tuple(sorted(map(capability, raised), key=str)))
    name = f"t{number}"
    return Toolset(
        name=name, kind="python", at=NOWHERE, python=f"tools.py:{name}", keeps=keeps, tools={"do": tool}
    )


def _rules(stated: tuple[tuple[str, str], ...], origin: str) -> tuple[Rule, ...]:
    rules = [Rule(capability(text), cast("Decision", decision), origin) for text, decision in stated]
    return tuple(sorted(rules, key=lambda rule: str(rule.capability)))


def _approvals(team: Team, place: int, origin: str) -> tuple[Rule, ...]:
    return _rules(tuple([(text, decision) for at, text, decision in team.approvals if at == place]), origin)


def _may(team: Team, place: int) -> tuple[Capability, ...] | None:
    most = next((most for at, most in team.ceilings if at == place), None)
    return None if most is None else tuple(map(capability, sorted(most)))


def _flows(flow: Flow | None, place: int) -> Flows:
    if flow is None or flow.place != place:
        return NO_FLOWS
    owner = {MANIFEST: "llmdo.toml", ENTRY: f"entry `{NAME}`"}.get(place, f"worker `w{place}`")
    rule = FlowRule(
        tuple(map(capability, sorted(flow.sources))),
        capability(flow.to),
        cast("Decision", flow.decision),
        owner,
    )
    return Flows(rules=(rule,), owner=owner)
