"""The key that a tool may pass on: the same whenever a call is carried out again, another for every other call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmdo.journal import Runs
from llmdo.toolsets.call_key import key_of
from tests.support import commands
from tests.support.locks import locked

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:main"

[toolsets.keys]
python = "tools.py:keys"
capabilities = { "*" = ["x.keys.use"] }
calls = ["keys.plain"]

[toolsets.shell]
isolation = "off"
[[toolsets.shell.rules]]
run = ["sh", "key.sh"]

[approvals.rules]
"x.keys" = "allowed"
"proc.exec" = "allowed"
"fs" = "allowed"

[entries.main]
worker = "main"

[entries.code]
function = "entries.py:code"
calls = ["keys.plain"]
"""

TOOLS = """\
import asyncio
import os
from pathlib import Path
from pydantic_ai import RunContext
from pydantic_ai.toolsets import FunctionToolset

HERE = Path(__file__).parent
keys = FunctionToolset(id="keys")


def kept(ctx):
    with HERE.joinpath("keys.log").open("a") as log:
        log.write(f"{ctx.deps.call_key}\\n")
    return ctx.deps.call_key


@keys.tool
async def plain(ctx: RunContext[object]) -> str:
    return kept(ctx)


@keys.tool
def in_thread(ctx: RunContext[object]) -> str:
    return kept(ctx)


@keys.tool
async def later(ctx: RunContext[object]) -> str:
    async def own():
        await asyncio.sleep(0)
        return kept(ctx)
    return await asyncio.create_task(own())


@keys.tool
async def calling(ctx: RunContext[object]) -> str:
    inner = await ctx.deps.call_tool("keys.plain")
    assert inner != kept(ctx)
    return inner


@keys.tool
async def dying(ctx: RunContext[object]) -> str:
    kept(ctx)
    if not HERE.joinpath("alive").exists():
        os._exit(9)
    return "done"
"""

MODELS = """\
import json
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


def answer(messages, info):
    returns = [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if returns:
        return ModelResponse(parts=[TextPart(json.dumps(returns))])
    calls = [call.split(" ", 1) for call in messages[0].parts[-1].content.split(";")]
    return ModelResponse(
        parts=[ToolCallPart(name, {"command": rest[0]} if rest else {}) for name, *rest in calls]
    )


main = FunctionModel(answer)
"""

ENTRIES = """\
async def code(runtime, input):
    return f"{runtime.call_key} {await runtime.call_tool('keys.plain')}"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {"llmdo.toml": MANIFEST, "tools.py": TOOLS, "models.py": MODELS, "entries.py": ENTRIES}
    files["main.worker"] = "---\nname: main\ntoolsets: [keys, shell]\n---\nGo.\n"
    files["key.sh"] = "echo $LLMDO_CALL_KEY\n"
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return locked(tmp_path)


def keys(root: Path) -> list[str]:
    return (root / "keys.log").read_text().split()


def test_every_call_has_a_key_of_its_own_wherever_its_tool_looks_for_it(root: Path) -> None:
    done = commands.llmdo(root, "run", "main", "plain;plain;in_thread;later;calling;shell sh key.sh")
    assert done.returncode == 0, done.stderr
    run = Runs(root).find("last")
    paths = [f"main/{name}" for name in ("plain#1", "plain#2", "in_thread#1", "later#1")]
    inner = key_of(run, "main/calling#1/keys.plain#1", 1)
    expected = [*(key_of(run, path, 1) for path in paths), inner]
    *tool_keys, shell = json.loads(done.stdout)
    assert tool_keys == expected
    assert key_of(run, "main/shell#1", 1) in shell
    assert sorted(keys(root)) == sorted([*expected, key_of(run, "main/calling#1", 1)])
    assert len({*keys(root)}) == 6
    assert "LLMDO_CALL_KEY" not in commands.llmdo(root, "runs", "show", "last").stdout


def test_a_function_has_a_key_and_so_have_the_tools_that_it_calls(root: Path) -> None:
    done = commands.llmdo(root, "run", "code", "x")
    run = Runs(root).find("last")
    assert done.stdout.split() == [key_of(run, "code", 1), key_of(run, "code/keys.plain#1", 1)], done.stderr


@pytest.mark.long
def test_a_call_that_is_resumed_has_the_key_that_it_had(root: Path) -> None:
    assert commands.process(root, "run", "main", "dying").returncode == 9
    run = Runs(root).find("last")
    (root / "alive").touch()
    done = commands.llmdo(root, "resume", run, "--again", "main/dying#1")
    assert done.returncode == 0, done.stderr
    dying = key_of(run, "main/dying#1", 1)
    assert keys(root) == [dying, dying]


def test_without_a_journal_there_are_keys_as_well(root: Path) -> None:
    assert commands.llmdo(root, "run", "main", "plain;in_thread", "--no-journal").returncode == 0
    assert len({*keys(root)}) == 2


def test_a_key_is_made_of_run_path_and_number() -> None:
    assert key_of("r", "main/pay#1", 1) == "9e2515ed539554baf68d5bc75f1298fc0e68f16d8b5eb6889edd4ba8ae1cb6d2"
    assert len({key_of("r", "a", 1), key_of("r", "a", 2), key_of("r", "b", 1), key_of("s", "a", 1)}) == 4
