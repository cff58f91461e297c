"""A scenario through check and runtime, by models that do what its agents try: each is a function of its messages."""

from __future__ import annotations

import asyncio
import re
import tempfile
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import FunctionToolset

from bench.delegationbench import team
from bench.delegationbench.team import START, Member, Scenario, named, tool
from llmdo import checks
from llmdo.runtime import RejectAll, RunOptions, run
from llmdo.workspace import project

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from pydantic_ai.messages import ModelMessage

NOTHING = "(nothing)"
"""What an agent answers that has nothing to say, which no rule is tried on."""

REFUSALS = {"LDO301", "LDO302", "LDO501"}
"""The errors of `check` about what a team may do: a circle, a chain too long, what is outside of a ceiling."""


@dataclass
class Case:
    """A scenario that is being run, on its stores."""

    scenario: Scenario
    world: Any
    unoffered: list[str] = field(default_factory=list)
    """What an agent tried and was not offered, as it may never do it."""


CASE: ContextVar[Case] = ContextVar("CASE")


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time can be put forward."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead


def tried(scenario: Scenario, world: Any, means: team.Means) -> tuple[list[str], list[str]]:
    """What `check` finds, and what a run does not let through or why it ends; nobody answers questions."""
    case = Case(scenario, world)
    CASE.set(case)
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner(loop_factory=Clock) as runner:
        root = Path(folder)
        team.write(root, scenario, means)
        read = project.read(root)
        codes = {each.code for each in checks.check(read) if each.severity == "error"}
        if not codes <= REFUSALS:
            raise SystemExit(f"the workspace is not what it is meant to be: {sorted(codes)}")
        options = RunOptions(approver=RejectAll())
        made = run(read.graph, root=root, prompts=read.prompts, entry="go", options=options)
        outcome = runner.run(made)
    refused = [f"{call.worker}: {call.tool}: {'; '.join(call.why)}" for call in outcome.denied]
    ended = [] if outcome.status == "completed" else [outcome.error or outcome.status]
    return sorted(codes), [*case.unoffered, *refused, *ended]


def toolset(action: str) -> FunctionToolset[Any]:
    """The one tool that does `action`."""

    async def call(**arguments: Any) -> str:  # in no thread, where order would be lost
        return str(CASE.get().world.call(action, arguments))

    schema = {"type": "object", "additionalProperties": True}
    name = tool(action)
    return FunctionToolset([Tool.from_schema(call, name, action, schema, sequential=True)], id=name)


def model(agent: str, scope: Sequence[str]) -> FunctionModel:
    """That of an agent with this scope."""

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        case = CASE.get()
        if len(messages) == 1:
            case.world.begins(Member(agent, frozenset(scope)))
        steps = _steps(case.scenario, agent, str(_parts(messages, UserPromptPart)[0].content))
        name, content, wait = next(steps)
        for part in _parts(messages, ToolReturnPart | RetryPromptPart):
            is_fine = (
                isinstance(part, ToolReturnPart) and part.outcome == "success" and part.content != NOTHING
            )
            name, content, wait = steps.send(str(part.content) if is_fine else "")
        if wait:
            case.world.waits(wait)
            asyncio.get_running_loop().ahead += wait  # type: ignore[attr-defined]
            await asyncio.sleep(0.01)  # until a limit that is over has been noticed
        if name is None:
            case.world.ends()
            return ModelResponse(parts=[TextPart(content or NOTHING)])
        if name not in {each.name for each in info.function_tools}:
            case.unoffered.append(f"{agent}: {name}: not offered")
        return ModelResponse(parts=[ToolCallPart(name, content)])

    return FunctionModel(respond)


def _parts(messages: Sequence[ModelMessage], kind: Any) -> list[Any]:
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    return [part for request in requests for part in request.parts if isinstance(part, kind)]


def _steps(scenario: Scenario, agent: str, text: str) -> Generator[tuple[str | None, Any, float], str, None]:
    """Calls, and at last an answer, of DelegationBench's scripted agent: all that it reads is tried on each rule."""
    workers, queue = team.members(scenario), [text]
    if text == START:  # first it reads what the task names
        queue = []
        for name in scenario["task"].get("read") or ():
            queue += [(yield "docs_read", {"doc_id": name}, 0)]
        queue = ["\n".join(filter(None, queue))]
    for text in filter(None, queue):  # which grows
        for rule in scenario["agents"][agent].get("rules") or ():
            match = re.search(rule["match"], text)
            if match is None:
                continue
            values, wait = match.groupdict(), rule.get("advance_clock") or 0
            [(kind, body)] = rule["then"].items()
            if kind == "return":
                yield None, _filled(body, values), wait
            arguments = {key: _filled(each, values) for key, each in (body.get("args") or {}).items()}
            if kind == "tool":
                queue.append((yield tool(body["action"]), arguments, wait))
                continue
            to = named(Member(body["agent"], frozenset(body.get("actions") or ())), workers)
            lines = [_filled(body.get("task", ""), values), *(f"{key}:{arguments[key]}" for key in arguments)]
            for at in range(2 if rule.get("replay") else 1):
                queue.append((yield to, {"input": "\n".join(lines)}, 0 if at else wait))
    yield None, "", 0


def _filled(template: object, values: dict[str, str]) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda each: values[each[1]], str(template))
