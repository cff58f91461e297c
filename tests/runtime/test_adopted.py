"""What of a pydantic-ai agent is carried over when it is adopted: its outputs, its capabilities, its deps."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, capabilities
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel

import llmdo
from llmdo.base.diagnostic import LlmdoError
from llmdo.journal import Runs
from llmdo.runtime import RunOutcome
from llmdo.runtime.models.choice import named
from llmdo.runtime.telemetry.events import Event, ToolCalled
from llmdo.services import locking
from llmdo.workspace import lock, project
from tests.support.building import Step, script
from tests.support.locks import locked

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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("output", "problem"),
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
def test_an_output_that_no_worker_can_give_is_refused(output: str, problem: str, tmp_path: Path) -> None:
    adopting(tmp_path, f"agent = Agent(own, output_type={output})", "x")
    with pytest.raises(LlmdoError) as refused:
        locking.derive(project.read(tmp_path))
    assert problem in refused.value.message


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name", ["ModelFallback(own)", "ResolveModelId(lambda ctx, name: own)", "SelectModel(lambda ctx: own)"]
)
def test_a_capability_that_asks_other_models_is_refused(name: str, tmp_path: Path) -> None:
    if not hasattr(capabilities, name.partition("(")[0]):
        pytest.skip("this pydantic-ai does not have it")
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


@pytest.mark.long
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


WITH_DEPS = MANIFEST.replace(
    "entry = true\n", 'entry = true\ndeps = "deps.py:make"\ntoolsets = ["helper", "others"]\n'
).replace('["agents.py"]', '["agents.py", "others.py"]')

DEPS = """\
from pathlib import Path
from kinds import Db

def note(word):
    with Path(__file__).with_name("log").open("a") as file:
        file.write(word)

async def make():
    note("opened ")
    yield Db("Ada")
    note("closed ")
"""

NEEDY = """\
from kinds import Db
import llmdo

helper = llmdo.Worker(name="helper", instructions="Help.", model="python:models.py:helper")
agent = Agent(own, deps_type=Db, output_type=str)

@agent.instructions
def about(ctx: RunContext[Db]) -> str:
    return f"You serve {ctx.deps.user}."

@agent.tool
def look(ctx: RunContext[Db], where: str) -> str:
    return f"{ctx.deps.user} at {where}"
"""

OTHERS = """\
from pydantic_ai import RunContext
from pydantic_ai.toolsets import FunctionToolset

others = FunctionToolset()

@others.tool(metadata={"capabilities": []})
async def through(ctx: RunContext, text: str) -> str:
    return "by code: " + await ctx.deps.call_agent("helper", text, ctx)
"""


def needy(root: Path, *steps: Step, agent: str = NEEDY, deps: str = DEPS) -> None:
    """An agent with deps, which has tools of its own, a worker, and a tool of ours that calls that worker."""
    adopting(root, agent, manifest=WITH_DEPS)
    (root / "deps.py").write_text(deps, encoding="utf-8")
    (root / "kinds.py").write_text(
        "from dataclasses import dataclass\n\n@dataclass\nclass Db:\n    user: str\n"
    )
    (root / "others.py").write_text(OTHERS, encoding="utf-8")
    script(root, own=steps, helper=["<{prompt}>"])
    with (root / "models.py").open("a", encoding="utf-8") as models:
        models.write(NATIVE)


CALLS: Step = [("look", {"where": "home"}), ("helper", {"input": "x"}), ("through", {"text": "y"})]


def test_an_agent_is_given_what_its_function_makes_and_everything_else_its_runtime(tmp_path: Path) -> None:
    needy(tmp_path, CALLS, "{results}")
    outcome = go(locked(tmp_path), journal=True)
    text = "[success: Ada at home] [success: <x>] [success: by code: <y>]"
    assert (outcome.output, outcome.error) == (text, None)
    assert (tmp_path / "log").read_text() == "opened closed "
    assert llmdo.replay(tmp_path).output == text
    assert (tmp_path / "log").read_text() == "opened closed " * 2


@pytest.mark.long
def test_a_lock_holds_what_makes_the_deps_and_follows_its_file(tmp_path: Path) -> None:
    needy(tmp_path, "x")
    lock.write(tmp_path, locking.derive(project.read(tmp_path)))
    assert 'deps = "deps.py:make"' in (tmp_path / "llmdo.lock").read_text()
    assert project.read(tmp_path).is_current
    (tmp_path / "deps.py").write_text(f"{DEPS}\n# other", encoding="utf-8")
    assert not project.read(tmp_path).is_current
    (tmp_path / "deps.py").write_text(DEPS, encoding="utf-8")
    manifest = (tmp_path / "llmdo.toml").read_text()
    (tmp_path / "llmdo.toml").write_text(manifest.replace('deps = "deps.py:make"\n', ""), encoding="utf-8")
    with pytest.raises(
        LlmdoError, match=r"it needs dependencies of type `Db`.*name a function that makes them"
    ):
        locking.derive(project.read(tmp_path))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("deps", "problem"),
    [
        ("def make():\n    return 3\n", "`deps.py:make` made a `int`, and the agent takes a `Db`"),
        (
            "def make():\n    1 / 0\n",
            "`deps.py:make`, which makes the deps of `adopted`, raised ZeroDivisionError",
        ),
        (
            "from kinds import Db\ndef make():\n    yield Db('x')\n    1 / 0\n",
            "closing the deps of the run raised ZeroDivisionError",
        ),
    ],
)
def test_deps_that_cannot_be_made_fail_the_run(deps: str, problem: str, tmp_path: Path) -> None:
    needy(tmp_path, "done", deps=deps)
    outcome = go(tmp_path)
    assert outcome.status == "failed"
    assert problem in (outcome.error or "")


@pytest.mark.few(1)
@pytest.mark.parametrize("deps", ["make = 3\n", "def make(a):\n    return a\n"])
def test_what_is_no_maker_of_deps_is_refused_by_lock(deps: str, tmp_path: Path) -> None:
    needy(tmp_path, "x", deps=deps)
    with pytest.raises(LlmdoError, match="cannot be called without arguments"):
        locking.derive(project.read(tmp_path))


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Any]]:
    """Imports the module of the agent as a program does, by its own path."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield lambda: importlib.import_module("agents")
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.long
def test_what_a_program_overrides_holds_in_the_runs_that_it_starts(
    tmp_path: Path, imported: Callable[[], Any]
) -> None:
    needy(tmp_path, CALLS, "{results}")
    agents = imported()

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("look", {"where": "sea"}, tool_call_id="1")])
        returned = messages[-1].parts[0].content
        return ModelResponse(
            parts=[
                TextPart(f"{info.instructions} {returned} {(info.model_settings or {}).get('temperature')}")
            ]
        )

    fake = agents.Db("Grace")
    with agents.agent.override(
        model=FunctionModel(answer), deps=fake, instructions="Be brief.", model_settings={"temperature": 0.5}
    ):
        outcome = go(tmp_path, journal=True)
    assert outcome.output == "Be brief. Grace at sea 0.5", outcome.error
    assert not (tmp_path / "log").exists()  # nothing was made that nobody needs
    assert outcome.usage.requests == 2
    assert "Ada at home" in (go(tmp_path).output or "")


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"tools": [print]}, "it replaces its `tools`, which are locked"),
        ({"toolsets": []}, "it replaces its `toolsets`, which are locked"),
        ({"spec": {"capabilities": ["Thinking"]}}, "it replaces its `root_capability`, which are locked"),
        (
            {"model_settings": {"extra_body": {"tools": []}}},
            "it gives it settings that hold tools in `extra_body.tools`",
        ),
    ],
)
def test_what_is_locked_cannot_be_overridden(
    more: dict[str, Any], problem: str, tmp_path: Path, imported: Callable[[], Any]
) -> None:
    needy(tmp_path, CALLS, "{results}")
    agents = imported()
    with agents.agent.override(**more), pytest.raises(LlmdoError) as refused:
        go(tmp_path)
    assert problem in refused.value.message


INSIDE = """
[entries.code]
function = "agents.py:code"
calls = ["adopted"]
"""

OVERRIDING = """
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.messages import ModelResponse, TextPart
agent = Agent(own)

@agent.tool_plain
def look() -> str:
    return "seen"

other = FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart("other: " + str(info.instructions))]))

async def code(runtime, input):
    with agent.override(model=other, instructions="Be brief."):
        first = await runtime.call_agent("adopted", "a")
    second = await runtime.call_agent("adopted", "b")
    with agent.override(tools=[]):
        try:
            await runtime.call_agent("adopted", "c")
        except Exception as error:
            return f"{first}; {second}; {error}"
"""


@pytest.mark.long
def test_code_of_the_workspace_overrides_as_well(tmp_path: Path) -> None:
    adopting(tmp_path, OVERRIDING, "{prompt} {tools}", manifest=MANIFEST + INSIDE)
    outcome = llmdo.run(locked(tmp_path), "code", "go", journal=True)
    first, second, third = (outcome.output or "").split("; ", 2)
    assert (first, second) == ("other: Be brief.", "b look")
    assert "replaces its `tools`, which are locked" in third
    assert llmdo.replay(tmp_path).output == outcome.output


@pytest.mark.long
def test_an_agent_that_calls_itself_is_not_taken_for_overridden(tmp_path: Path) -> None:
    recursive = MANIFEST.replace("entry = true\n", 'entry = true\nrecursive = true\ntoolsets = ["adopted"]\n')
    adopting(tmp_path, "agent = Agent(own)", manifest=recursive)
    (tmp_path / "models.py").write_text(
        "from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart\n"
        "from pydantic_ai.models.function import FunctionModel\n\n"
        "def answer(messages, info):\n"
        "    text = messages[0].parts[0].content\n"
        "    if len(messages) == 1 and text != 'aaa':\n"
        "        return ModelResponse(parts=[ToolCallPart('adopted', {'input': text + 'a'}, tool_call_id='1')])\n"
        "    return ModelResponse(parts=[TextPart(text + '<' + str(messages[-1].parts[0].content) + '>')])\n\n"
        "own = native = FunctionModel(answer)\n",
        encoding="utf-8",
    )
    outcome = llmdo.run(tmp_path, "adopted", "a", journal=True)
    assert (outcome.output, outcome.error) == ("a<aa<aaa<aaa>>>", None)
    assert llmdo.replay(tmp_path).output == outcome.output
    for name in ("adopted", "adopted/adopted#1", "adopted/adopted#1/adopted#1"):
        with Runs(tmp_path).read(outcome.run) as journal:
            assert journal.get(name, "request", 1) is not None


def test_every_override_of_the_library_is_known() -> None:
    names = {name.removeprefix("_override_") for name in vars(Agent("test")) if name.startswith("_override_")}
    refused = {"native_tools", "root_capability", "tools", "toolsets", "workspace"}
    assert names == refused | {
        "deps", "instructions", "metadata", "model", "model_settings", "name", "output_retries", "tool_retries",
    }  # fmt: skip


def test_two_models_of_one_name_are_two() -> None:
    def model(text: str) -> FunctionModel:
        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            return ModelResponse(parts=[TextPart(text)])

        return FunctionModel(answer)

    models: dict[str, Model] = {}
    first, second = model("1"), model("2")
    names = [named(each, models) for each in (first, second, first)]
    assert names[0] == names[2] != names[1]
    assert models == {names[0]: first, names[1]: second}
