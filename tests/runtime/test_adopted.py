"""What of a pydantic-ai agent is carried over when it is adopted: its outputs, its capabilities, its deps."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import llmdo
from llmdo.base.diagnostic import LlmdoError
from llmdo.journal import Runs
from llmdo.runtime import RunOutcome
from llmdo.runtime.telemetry.events import Event, ToolCalled
from llmdo.services import locking
from llmdo.workspace import project

from .building import Step, script

MANIFEST = """\
schema = 1

[workspace]
name = "w"
toolset-modules = ["agents.py"]

[workers.adopted]
python = "agents.py:agent"
entry = true
capabilities = { "*" = [] }

[approvals.rules]
"agent.delegate" = "allowed"
"""

AGENTS = """\
from dataclasses import dataclass
from typing import Annotated, Literal, Optional, Union

from models import own, native
from pydantic import BaseModel
from pydantic_ai import (
    Agent, BinaryImage, DeferredToolRequests, NativeOutput, PromptedOutput, RunContext, StructuredDict, TextOutput,
    ToolOutput, capabilities,
)
from typing_extensions import TypeAliasType


class Fruit(BaseModel):
    name: str


class Vehicle(BaseModel):
    wheels: int


@dataclass
class Point:
    x: int


def shout(text: str) -> str:
    return text


"""

NATIVE = """
from pydantic_ai.profiles import ModelProfile
native = FunctionModel(own.function, profile=ModelProfile(supports_json_schema_output=True))
"""


def adopting(root: Path, agent: str, *steps: Step, manifest: str = MANIFEST) -> None:
    """A workspace of one agent, whose model follows the steps."""
    (root / "llmdo.toml").write_text(manifest, encoding="utf-8")
    (root / "agents.py").write_text(f"{AGENTS}{agent}\n", encoding="utf-8")
    script(root, own=steps)
    with (root / "models.py").open("a", encoding="utf-8") as models:
        models.write(NATIVE)


def go(root: Path, **more: Any) -> RunOutcome:
    return llmdo.run(root, "adopted", "go", **more)


def plain(value: object) -> object:
    """A value without its class, which is the workspace's own."""
    if isinstance(value, BaseModel):
        return (type(value).__name__, value.model_dump())
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value).__name__, asdict(value))
    return value


FINAL = "final_result"


@pytest.mark.parametrize(
    ("output", "step", "text", "value"),
    [
        ("list[int]", [(FINAL, {"response": [1, 2]})], "[1,2]", [1, 2]),
        ("Fruit", [(FINAL, {"name": "fig"})], '{"name":"fig"}', ("Fruit", {"name": "fig"})),
        ("[Fruit, Vehicle]", [(f"{FINAL}_Vehicle", {"wheels": 2})], '{"wheels":2}', ("Vehicle", {"wheels": 2})),
        ("Union[Fruit, Vehicle]", [(f"{FINAL}_Fruit", {"name": "fig"})], '{"name":"fig"}', ("Fruit", {"name": "fig"})),
        ("Fruit | str", "none", "none", "none"),
        ("Point", [(FINAL, {"x": 3})], '{"x":3}', ("Point", {"x": 3})),
        ("Literal['a', 'b']", [(FINAL, {"response": "b"})], "b", "b"),
        ("ToolOutput(Fruit, name='give')", [("give", {"name": "fig"})], '{"name":"fig"}', ("Fruit", {"name": "fig"})),
        ("PromptedOutput(Fruit)", '{"name": "fig"}', '{"name":"fig"}', ("Fruit", {"name": "fig"})),
        ("NativeOutput(Fruit)", '{"name": "fig"}', '{"name":"fig"}', ("Fruit", {"name": "fig"})),
        ("TypeAliasType('Ints', list[int])", [(FINAL, {"response": [1]})], "[1]", [1]),
        (
            "StructuredDict({'type': 'object', 'properties': {'a': {'type': 'integer'}}})",
            [(FINAL, {"a": 1})],
            '{"a":1}',
            {"a": 1},
        ),
        ("[str, DeferredToolRequests]", "text", "text", "text"),
    ],
)  # fmt: skip
def test_an_adopted_agent_keeps_its_output(
    output: str, step: Step, text: str, value: object, tmp_path: Path
) -> None:
    adopting(tmp_path, f"agent = Agent(native, output_type={output})", step)
    outcome = go(tmp_path)
    assert (outcome.output, plain(outcome.value)) == (text, value), outcome.error
    assert outcome.is_typed == (not isinstance(value, str))


def test_code_that_calls_an_adopted_agent_is_given_the_instance(tmp_path: Path) -> None:
    entry = '\n[entries.code]\nfunction = "agents.py:code"\ncalls = ["adopted"]\n'
    code = (
        "agent = Agent(own, output_type=[Fruit, Vehicle])\n\n"
        "async def code(runtime, input):\n"
        "    fruit = await runtime.call_agent('adopted', input)\n"
        "    assert type(fruit) is Fruit\n"
        "    return fruit.name\n"
    )
    adopting(tmp_path, code, [(f"{FINAL}_Fruit", {"name": "fig"})], manifest=MANIFEST + entry)
    outcome = llmdo.run(tmp_path, "code", "go")
    assert (outcome.output, outcome.error) == ("fig", None)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("[str, shout]", "its output `shout` is a function"),
        ("TextOutput(shout)", "its output `shout` is a function"),
        ("NativeOutput([Fruit, shout])", "its output `shout` is a function"),
        ("ToolOutput(shout)", "its output `shout` is a function"),
        ("[str, BinaryImage]", "its output is a file"),
        ("[str, __import__('pydantic_ai').output.PendingModelResponse]", "the provider still works on"),
        (
            "__import__('pydantic_ai').Choices({'a': __import__('pydantic_ai').Choice(value=print)})",
            "a choice of its output calls a function",
        ),
    ],
)
def test_an_output_that_no_worker_can_give_is_refused(output: str, said: str, tmp_path: Path) -> None:
    adopting(tmp_path, f"agent = Agent(own, output_type={output})", "x")
    with pytest.raises(LlmdoError) as refused:
        locking.derive(project.read(tmp_path))
    assert said in refused.value.message


@pytest.mark.parametrize("name", ["ModelFallback(own)", "SelectModel(lambda ctx: own)"])
def test_a_capability_that_asks_other_models_is_refused(name: str, tmp_path: Path) -> None:
    adopting(tmp_path, f"agent = Agent(own, capabilities=[capabilities.{name}])", "x")
    with pytest.raises(
        LlmdoError, match=r"asks models that the run does not know \(name them in `\[models\]`\)"
    ):
        locking.derive(project.read(tmp_path))


CAPABLE = """\
def last(messages):
    return messages[-2:]

def filtered(ctx, definitions):
    return [each for each in definitions if each.name != "hidden"]

agent = Agent(own, instructions="I am adopted.", capabilities=[
    capabilities.ProcessHistory(last), capabilities.Thinking("high"), capabilities.PrepareTools(filtered),
    capabilities.RaiseContentFilterError(), capabilities.ReinjectSystemPrompt(),
])

seen = []

@agent.tool_plain
def look(where: int) -> str:
    seen.append(where)
    return f"at {where} after {len(seen)}"

@agent.tool_plain
def hidden() -> str:
    return "no"
"""


def thrifty(root: Path) -> None:
    """The agent's model calls `look` four times in a row, then says what it was told and shown."""
    adopting(root, CAPABLE)
    (root / "models.py").write_text(
        "from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart\n"
        "from pydantic_ai.models.function import FunctionModel\nfrom pydantic_ai.profiles import ModelProfile\n\n"
        "def answer(messages, info):\n"
        "    returned = [part.content for message in messages for part in message.parts if part.part_kind == 'tool-return']\n"
        "    at = int(returned[-1].split()[1]) + 1 if returned else 1\n"
        "    if at < 5:\n"
        "        return ModelResponse(parts=[ToolCallPart('look', {'where': at}, tool_call_id='same')])\n"
        "    names = [tool.name for tool in info.function_tools]\n"
        "    settings = info.model_request_parameters.thinking\n"
        "    return ModelResponse(parts=[TextPart(f'{len(messages)} {names} {settings} {returned}')])\n\n"
        "own = native = FunctionModel(answer, profile=ModelProfile(supports_thinking=True))\n",
        encoding="utf-8",
    )


def test_capabilities_that_only_tell_are_carried_over_and_calls_keep_their_numbers(tmp_path: Path) -> None:
    thrifty(tmp_path)
    events: list[Event] = []
    outcome = go(tmp_path, on_event=events.append, journal=True)
    assert outcome.output == "2 ['look'] high ['at 4 after 4']", outcome.error
    paths = [event.path for event in events if isinstance(event, ToolCalled)]
    assert paths == [f"adopted/look#{number}" for number in (1, 2, 3, 4)]
    with Runs(tmp_path).read(outcome.run) as journal:
        asked = [
            journal.whole(entry)["asked"]["parts"] for entry in journal.entries() if entry.kind == "request"
        ]
    assert [[part[:2] for part in parts] for parts in asked] == [
        [["user-prompt", ""]],
        *[[["tool-return", "look"]]] * 4,
    ]  # what each told that the one before did not
    assert llmdo.replay(tmp_path).output == outcome.output
    (tmp_path / "agents.py").write_text(
        (tmp_path / "agents.py").read_text().replace("at {where} after", "on {where} after"), encoding="utf-8"
    )
    assert llmdo.replay(tmp_path).output == outcome.output  # no tool is executed
