"""Every way in which a tool can reach a model, and the gate in front of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from llmdo.graph.builtin import PROVIDER_SIDE
from llmdo.graph.resolved import Graph
from llmdo.graph.toolset import Tool
from llmdo.runtime import Answer, ApproveAll, Question, RejectAll
from llmdo.runtime.telemetry.events import Decided, Event
from tests.support.building import capabilities, go, graph, script, toolset, use, worker

TOOLS = """
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import (
    AbstractToolset, ApprovalRequiredToolset, CombinedToolset, DeferredLoadingToolset, ExternalToolset,
    FilteredToolset, FunctionToolset, PrefixedToolset, PreparedToolset, RenamedToolset, ToolsetTool, WrapperToolset,
)

DONE = Path(__file__).with_name("done.txt")

def act(text: str = "x") -> str:
    DONE.write_text((DONE.read_text() if DONE.exists() else "") + text)
    return "acted"

async def act_async(text: str = "x") -> str:
    return act(text)

def made(name="act", **how):
    toolset = FunctionToolset(id=name)
    toolset.add_function(act, name=name, takes_ctx=False, **how)
    return toolset

function = made()
coroutine = FunctionToolset([act_async])
strict = made(strict=True, sequential=True)
unapproved = made(requires_approval=True)
late_loading = made(defer_loading=True)

def asks_while_validating(ctx, **arguments):
    raise ApprovalRequired

class Class(FunctionToolset):
    def __init__(self, text="x"):
        super().__init__(id="class")
        self.add_function(act, name="act", takes_ctx=False)

prefixed = PrefixedToolset(made(), "my")
renamed = RenamedToolset(made(), {"other": "act"})
filtered = FilteredToolset(made(), lambda ctx, tool: True)
async def as_they_are(ctx, tools): return tools
prepared = PreparedToolset(made(), as_they_are)
combined = CombinedToolset([made(), made("second")])
wrapped = WrapperToolset(WrapperToolset(made()))
approval = ApprovalRequiredToolset(made(), lambda ctx, tool, arguments: True)
deferred = DeferredLoadingToolset(made())
everything = PrefixedToolset(FilteredToolset(CombinedToolset([WrapperToolset(made())]), lambda ctx, tool: True), "my")
external = ExternalToolset([ToolDefinition(name="act", parameters_json_schema={"type": "object", "properties": {}})])

class Replacing(WrapperToolset):
    async def for_run(self, ctx): return made()
    async def for_run_step(self, ctx): return made()
replacing = Replacing(made("before"))

class Later(FunctionToolset):
    async def get_tools(self, ctx):
        tools = await super().get_tools(ctx)
        return tools if ctx.run_step > 1 else {}
later = Later(id="later")
later.add_function(act, name="act", takes_ctx=False)

class Own(AbstractToolset):
    kind = "function"
    @property
    def id(self): return "own"
    async def get_tools(self, ctx):
        tool = (await made().get_tools(ctx))["act"]
        return {"act": replace(tool, toolset=self, tool_def=replace(tool.tool_def, kind=self.kind))}
    async def call_tool(self, name, tool_args, ctx, tool): return act(**tool_args)
own = Own()

class Output(Own): kind = "output"
class External(Own): kind = "external"
output, own_external = Output(), External()

class Misnamed(Own):
    async def get_tools(self, ctx):
        tool = (await made().get_tools(ctx))["act"]
        return {"act": replace(tool, toolset=self, tool_def=replace(tool.tool_def, name="harmless"))}
misnamed = Misnamed()

class Smuggling(WrapperToolset):
    async def get_tools(self, ctx):
        return {**await super().get_tools(ctx), **await made("smuggled").get_tools(ctx)}
smuggling = Smuggling(made())

class Asking(Own):
    async def call_tool(self, name, tool_args, ctx, tool):
        if not ctx.tool_call_approved: raise ApprovalRequired
        return act(**tool_args)
asking = Asking()

class Deferring(Own):
    async def call_tool(self, name, tool_args, ctx, tool): raise CallDeferred
deferring = Deferring()

calling = FunctionToolset(id="calling")
@calling.tool
async def through_manager(ctx: RunContext[Any]) -> str:
    return str(await ctx.tool_manager.handle_call(ToolCallPart("act", {}, tool_call_id="inner")))
@calling.tool
async def through_toolsets(ctx: RunContext[Any]) -> str:
    for toolset in ctx.deps.toolsets_for(ctx.deps.frame.name):
        tools = await toolset.get_tools(ctx)
        if "act" in tools:
            return await toolset.call_tool("act", {}, ctx, tools["act"])
    return "no such tool"
@calling.tool
async def through_a_worker(ctx: RunContext[Any]) -> str:
    return await ctx.deps.call_agent("helper", "x", ctx)
@calling.tool
async def through_a_file(ctx: RunContext[Any]) -> str:
    await ctx.deps.load_attachment("a.txt")
    return act()
"""

ACT = ["x.ways.act"]

WAYS: list[tuple[str, str]] = [
    ("function", "act"),
    ("coroutine", "act_async"),
    ("strict", "act"),
    ("unapproved", "act"),
    ("late_loading", "act"),
    ("Class", "act"),
    ("prefixed", "my_act"),
    ("renamed", "other"),
    ("filtered", "act"),
    ("prepared", "act"),
    ("combined", "act"),
    ("combined", "second"),
    ("wrapped", "act"),
    ("approval", "act"),
    ("deferred", "act"),
    ("everything", "my_act"),
    ("replacing", "act"),
    ("own", "act"),
    ("asking", "act"),
]
"""Attribute of a toolset, and a tool of it that acts when it is let through."""

NEVER: list[tuple[str, str]] = [
    ("external", "act"),
    ("output", "act"),
    ("own_external", "act"),
    ("deferring", "act"),
    ("misnamed", "harmless"),
    ("smuggling", "smuggled"),
]
"""The same, for tools that never act: nobody here could carry them out, or they are not what was declared."""


@pytest.fixture(autouse=True)
def _tools(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "a.txt").write_text("secret")


class Witness:
    """Remembers what it is asked, and says no."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question.tool)
        return await RejectAll().ask(question)


def acted(root: Path) -> bool:
    file = root / "done.txt"
    has_acted = file.exists()
    file.unlink(missing_ok=True)
    return has_acted


def way(attribute: str, tool: str, **how: Any) -> Graph:
    is_class = attribute[0].isupper()
    ways = toolset("ways", f"tools.py:{attribute}", is_class=is_class, **{tool: ACT})
    return graph(worker("main", "ways"), ways, **how)


@pytest.mark.few(5)
@pytest.mark.parametrize(("attribute", "tool"), WAYS, ids=lambda value: str(value))
def test_no_toolset_of_any_kind_is_reached_around_the_gate(tmp_path: Path, attribute: str, tool: str) -> None:
    script(tmp_path, main=[[(tool, {})], "{results}"])
    witness, seen = Witness(), list[Event]()
    asked = go(way(attribute, tool), tmp_path, approver=witness, on_event=seen.append)
    assert (witness.asked, acted(tmp_path)) == ([tool], False)
    assert [event.call.tool for event in seen if isinstance(event, Decided)] == [tool]
    assert asked.status == "completed"

    for stricter in (
        {"approvals": {"x": "blocked"}},
        {"may": ["fs.read"]},
        {"tighten": {"x.ways": "blocked"}},
    ):
        go(way(attribute, tool, **stricter), tmp_path, approver=ApproveAll())
        assert not acted(tmp_path), stricter

    go(way(attribute, "another"), tmp_path, approver=ApproveAll())
    assert not acted(tmp_path), "a tool that is not declared"

    assert go(way(attribute, tool), tmp_path, approver=ApproveAll()).output == "[success: acted]"
    assert acted(tmp_path)


@pytest.mark.parametrize(("attribute", "tool"), NEVER, ids=lambda value: str(value))
def test_what_nobody_here_could_carry_out_is_not_carried_out(
    tmp_path: Path, attribute: str, tool: str
) -> None:
    script(tmp_path, main=[[(tool, {}), ("act", {})], "{results}"])
    go(way(attribute, "act", approvals={"x": "allowed"}), tmp_path, approver=RejectAll())
    if attribute != "smuggling":
        assert not acted(tmp_path)
    else:
        assert (tmp_path / "done.txt").read_text() == "x", "once, by the tool that is declared"


def test_a_tool_that_appears_later_in_the_run_meets_the_gate(tmp_path: Path) -> None:
    script(tmp_path, main=[[("act", {})], [("act", {})], "{results}"])
    witness = Witness()
    go(way("later", "act"), tmp_path, approver=witness)
    assert (witness.asked, acted(tmp_path)) == (["act"], False)
    go(way("later", "act", approvals={"x": "allowed"}), tmp_path)
    assert acted(tmp_path)


@pytest.mark.parametrize("through", ["through_manager", "through_toolsets"])
def test_a_tool_that_calls_another_tool_meets_the_gate(tmp_path: Path, through: str) -> None:
    script(tmp_path, main=[[(through, {})], "{results}"])
    members = (
        worker("main", "calling", "ways"),
        toolset("calling", "tools.py:calling", **{through: []}),
        toolset("ways", "tools.py:function", act=ACT),
    )
    witness = Witness()
    go(graph(*members), tmp_path, approver=witness)
    assert (witness.asked, acted(tmp_path)) == (["act"], False)
    go(graph(*members, approvals={"x": "allowed"}), tmp_path)
    assert acted(tmp_path)


@pytest.mark.parametrize(
    ("through", "asked", "rule"),
    [("through_a_worker", "helper", "agent.delegate"), ("through_a_file", "load_attachment", "fs.read")],
)
def test_what_code_asks_the_runtime_for_meets_the_gate(
    tmp_path: Path, through: str, asked: str, rule: str
) -> None:
    script(tmp_path, main=[[(through, {})], "{results}"], helper=["helped"])
    members = (
        worker("main", "calling", "helper"),
        worker("helper"),
        toolset("calling", "tools.py:calling", **{through: []}),
    )
    witness = Witness()
    outcome = go(graph(*members, approvals={rule: "needs_approval"}), tmp_path, approver=witness)
    assert (witness.asked, acted(tmp_path)) == ([asked], False)
    assert "helper" not in outcome.usage_by_worker


BUILT_IN: list[tuple[str, dict[str, Any], str]] = [
    ("read_file", {"path": "a.txt"}, "fs.read"),
    ("list_files", {}, "fs.list"),
    ("write_file", {"path": "done.txt", "content": "x"}, "fs.write"),
    ("edit_file", {"path": "a.txt", "old": "secret", "new": "x"}, "fs.write"),
    ("shell", {"command": ["touch", "done.txt"]}, "proc.exec"),
    ("helper", {"input": "x"}, "agent.delegate"),
]


@pytest.mark.parametrize(("tool", "arguments", "rule"), BUILT_IN, ids=lambda value: str(value)[:12])
def test_no_built_in_tool_is_reached_around_the_gate(
    tmp_path: Path, tool: str, arguments: dict[str, Any], rule: str
) -> None:
    from llmdo.base.values import replace
    from llmdo.graph.resolved import ShellSettings
    from llmdo.policy.shell import parse_rules

    script(tmp_path, main=[[(tool, arguments)], "{results}"], helper=["helped"])
    uses = (use("filesystem", read=["**"], write=["**"]), "shell", "helper")
    shell = ShellSettings(
        rules=parse_rules({"rules": [{"run": ["touch"], "positional": "paths"}]}), isolation="off"
    )

    def team(decision: Any) -> Graph:
        return replace(
            graph(worker("main", *uses), worker("helper"), approvals={rule: decision}), shell=shell
        )

    witness = Witness()
    outcome = go(team("needs_approval"), tmp_path, approver=witness)
    assert witness.asked == [tool]
    assert (tmp_path / "a.txt").read_text() == "secret"
    assert not acted(tmp_path)
    assert "helper" not in outcome.usage_by_worker
    go(team("blocked"), tmp_path, approver=ApproveAll())
    assert (tmp_path / "a.txt").read_text() == "secret"
    assert not acted(tmp_path)


def test_a_provider_side_tool_is_asked_about_before_it_is_offered(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(
        "from pydantic_ai.messages import ModelResponse, TextPart\n"
        "from pydantic_ai.models.function import FunctionModel\n"
        "from pydantic_ai.native_tools import WebSearchTool\n"
        "def answer(messages, info):\n"
        "    tools = info.model_request_parameters.native_tools\n"
        "    return ModelResponse(parts=[TextPart(','.join(type(tool).__name__ for tool in tools) or 'none')])\n"
        "main = FunctionModel(answer, profile={'supported_native_tools': frozenset({WebSearchTool})})\n"
    )
    team_graph = graph(worker("main", use(PROVIDER_SIDE, tools=["web_search"])))
    witness = Witness()
    assert go(team_graph, tmp_path, approver=witness).output == "none"
    assert witness.asked == ["web_search"]
    assert go(team_graph, tmp_path, approver=ApproveAll()).output == "WebSearchTool"


def test_a_hook_that_raises_nothing_for_some_calls_opens_no_other_call(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(
        TOOLS
        + "\nclass Narrow(Class):\n"
        + "    def get_capabilities(self, name, tool_args, ctx, config):\n"
        + "        return [] if tool_args['text'] == 'free' else ['x.ways.act']\n"
    )
    narrow = Tool(name="act", capabilities=capabilities(ACT) or (), hook=True)
    team_graph = graph(worker("main", "ways"), toolset("ways", "tools.py:Narrow", is_class=True, act=narrow))
    script(tmp_path, main=[[("act", {"text": "free"}), ("act", {"text": "other"})], "{results}"])
    witness = Witness()
    outcome = go(team_graph, tmp_path, approver=witness)
    assert witness.asked == ["act"]
    assert [call.path for call in outcome.denied] == ["main/act#2"]
    assert (tmp_path / "done.txt").read_text() == "free"
