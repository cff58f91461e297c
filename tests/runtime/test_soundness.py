"""What runs is inside what `reach` said: random teams, run with a model that calls anything it can think of."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.graph.keys import Reference, ValueOrigin, flows, labelled_sources
from llmdo.graph.limits import Limits
from llmdo.graph.resolved import Graph
from llmdo.policy.authority import STRICTNESS
from llmdo.policy.flow import Flows
from llmdo.reach import Analysis
from llmdo.reach.flows import labels_below
from llmdo.runtime import ApproveAll, RejectAll, RunOptions, run
from llmdo.runtime.telemetry.events import Decided, Event
from tests.support.graphs import NOWHERE, graphs
from tests.support.laws import tried
from tests.support.listed import listed

TOOLS = """\
from pydantic_ai.toolsets import FunctionToolset


class Hooked(FunctionToolset):
    def get_capabilities(self, name, tool_args, ctx, config):
        return set(tool_args["raised"])


def tool(raised: list[str]) -> str:
    return "done"


t0, t1 = Hooked([tool]), Hooked([tool])
"""

MODELS = """\
import random
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

PATHS = ["in/a", "in/b/c", "out/a", "out/x.worker", "decks/a", "elsewhere", "../up", ".", "llmdo.toml",
         "in/.env", "decks/.ENV", "in/.git", ".env", "notes"]
RAISED = ["fs.read:in/a", "fs.read", "fs.read.protected:in/.env", "fs.write:out/a", "fs.write.protected:out/a", "proc.exec", "net.connect",
          "proc.exec.unlisted", "x.t.any", "nonsense", "fs.read:in/**"]


def arguments(name, chance, takes):
    path = chance.choice(PATHS)
    if name == "tool":
        return {"raised": chance.sample(RAISED, chance.randrange(3))}
    if name == "write_file":
        return {"path": path, "content": "x"}
    if name in ("read_file", "list_files"):
        return {"path": path}
    handed = [path] if chance.random() < 0.5 else []
    options = {"options": ["bill", "spam"]} if "options" in takes.get(name, {}).get("properties", {}) else {}
    return {"input": f"seed {chance.random()}", **options} | ({"attachments": handed} if handed else {})


def answer(messages, info):
    said = [part.content for part in messages[0].parts if isinstance(part, UserPromptPart)][0]
    chance = random.Random(f"{said} {len(messages)}")
    if len(messages) > 4 or not info.function_tools:
        if info.output_tools:
            return ModelResponse(parts=[ToolCallPart("final_result", {"kind": "bill"})])
        return ModelResponse(parts=[TextPart("done")])
    takes = {tool.name: tool.parameters_json_schema for tool in info.function_tools}
    names = [tool.name for tool in info.function_tools] + ["tool", "write_file"]
    chosen = [chance.choice(names) for _ in range(chance.randrange(1, 4))]
    return ModelResponse(
        parts=[ToolCallPart(name, arguments(name, chance, takes), tool_call_id=f"c{n}") for n, name in enumerate(chosen)]
    )


rules = FunctionModel(answer)
"""

ANSWERS = """\
from typing import Annotated, Literal
from pydantic import BaseModel, Field


class Closed(BaseModel):
    kind: Literal["bill", "spam"]


class Choice(BaseModel):
    input: str
    options: list[str] = Field(max_length=2)


class Chosen(BaseModel):
    kind: Annotated[str, Field(json_schema_extra={"x-llmdo-one-of": "options"})]
"""

ANSWERED = {
    "": {},
    "closed": {"schema_out": Reference("answers.py:Closed", NOWHERE), "closed": 1},
    "chosen": {
        "schema_in": Reference("answers.py:Choice", NOWHERE),
        "schema_out": Reference("answers.py:Chosen", NOWHERE),
        "closed": 1,
    },
    "sealed": {"output": "sealed"},
}
"""How workers answer, as their headers say it."""


def runnable(graph: Graph) -> Graph:
    """The graph with real toolsets and a model that calls anything, within a few requests."""
    toolsets = {name: replace(toolset, python=f"tools.py:{name}") for name, toolset in graph.toolsets.items()}
    model = Reference("python:models.py:rules", NOWHERE)
    entry = replace(graph.entries["e"], limits=Limits(requests=40))
    return replace(
        graph, toolsets=toolsets, entries={"e": entry}, settings=replace(graph.settings, model=model)
    )


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("soundness")
    for path in ("in/a", "in/b/c", "out/a", "elsewhere", "llmdo.toml", "in/.env", "in/.git/x", ".git/x"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x", encoding="utf-8")
    (folder / "tools.py").write_text(TOOLS, encoding="utf-8")
    (folder / "models.py").write_text(MODELS, encoding="utf-8")
    (folder / "answers.py").write_text(ANSWERS, encoding="utf-8")
    return folder


@tried(60)
@given(graph=graphs(), seed=st.integers(0, 1_000_000), yes=st.booleans())
def test_no_call_runs_that_reach_did_not_say(root: Path, graph: Graph, seed: int, yes: bool) -> None:
    graph = replace(runnable(graph), code=listed(root))
    events: list[Event] = []
    options = RunOptions(
        input=f"seed {seed}", approver=ApproveAll() if yes else RejectAll(), on_event=events.append
    )
    prompts = dict.fromkeys(graph.workers, "Go.")
    asyncio.run(run(graph, root=root, prompts=prompts, entry="e", options=options))
    rows = Analysis(graph).of(graph.entries["e"])
    decided = [event.call for event in events if isinstance(event, Decided)]
    allowed = {call.path: call for call in decided if call.allowed}
    for call in allowed.values():
        # What reach says of a call holds for the way to it: a gate above it counts.
        way = [caller for path, caller in allowed.items() if f"{call.path}/".startswith(f"{path}/")]
        strictest = max(STRICTNESS[gate.decision] for gate in way)
        for raised in call.raised:
            covering = [row for row in rows if row.capability.contains(raised)]
            assert covering, (call, raised)
            mildest = min(STRICTNESS[row.decision] for row in covering)
            assert mildest <= strictest, (call, raised)
            if not yes:
                assert mildest == 0, (call, raised)


FROMS = ("data.untrusted", "fs.read", "fs.read:in/**", "x.t", "proc.exec", "net")
TOS = ("fs.write", "fs.write:out/**", "net", "x", "proc.exec", "agent.delegate", "fs.read")
SOURCES = ("fs.read:in/**", "fs.list", "x.t.any", "net.connect")


@st.composite
def flowing(draw: st.DrawFn) -> Graph:
    """A team with flow rules and labelled sources, some of whose workers hand over closed or sealed answers.

    Some of them admit no bit of a closed answer.
    """
    graph = draw(graphs())
    sources = st.sets(st.sampled_from(FROMS), min_size=1, max_size=2).map(
        lambda names: " & ".join(sorted(names))
    )
    texts = draw(st.sets(st.tuples(sources, st.sampled_from(TOS)), min_size=1, max_size=4))
    decisions = st.sampled_from(["needs_approval", "blocked"])
    table = {f"{source} -> {to}": draw(decisions) for source, to in sorted(texts)}
    labelled = dict.fromkeys(draw(st.sets(st.sampled_from(SOURCES), max_size=2)), "data.untrusted")
    origin = ValueOrigin(NOWHERE.document, (), "llmdo.toml")
    kinds = draw(st.lists(st.sampled_from([*ANSWERED]), min_size=len(graph.workers), max_size=9))
    admitted = draw(st.lists(st.sampled_from([None, None, 0, 1]), min_size=len(graph.workers), max_size=9))
    workers = {
        name: replace(worker, flows=Flows(max_bits=most), **ANSWERED[kind])
        for (name, worker), kind, most in zip(graph.workers.items(), kinds, admitted, strict=False)
    }
    return replace(
        graph,
        workers={**graph.workers, **workers},
        flows=flows(table, origin),
        sources=labelled_sources(labelled, origin),
    )


@tried(60)
@given(graph=flowing(), seed=st.integers(0, 1_000_000), yes=st.booleans(), strange=st.booleans())
def test_no_call_runs_under_a_label_that_reach_did_not_say(
    root: Path, graph: Graph, seed: int, yes: bool, strange: bool
) -> None:
    graph = replace(runnable(graph), code=listed(root))
    entry = replace(graph.entries["e"], untrusted_input=strange)
    graph = replace(graph, entries={"e": entry})
    events: list[Event] = []
    text = f"seed {seed}"
    if entry.worker and graph.workers[entry.worker.name].schema_in:
        text = json.dumps({"input": text, "options": ["bill"]})
    options = RunOptions(input=text, approver=ApproveAll() if yes else RejectAll(), on_event=events.append)
    prompts = dict.fromkeys(graph.workers, "Go.")
    asyncio.run(run(graph, root=root, prompts=prompts, entry="e", options=options))
    by_worker = labels_below(Analysis(graph), entry)
    for event in events:
        if isinstance(event, Decided) and event.call.labels:
            of_worker = by_worker.get(event.call.worker, frozenset())
            assert set(event.call.labels) <= set(map(str, of_worker)), (event.call, by_worker)
