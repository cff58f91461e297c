"""A bank whose tool pays at most once for a key, and whose probe looks whether it has."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest

from tests.cli.conftest import Done, Llmdo
from tests.support import commands, forking
from tests.support.locks import locked
from tests.support.waiting import waited_for

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:rules"

[toolsets.bank]
python = "tools.py:bank"

[approvals.rules]
"x.bank" = "allowed"

[entries.main]
worker = "main"
input = "pay ada"
"""

TOOLS = """\
import asyncio
import os
import signal
import time
from pathlib import Path

import llmdo
from pydantic_ai import RunContext
from pydantic_ai.toolsets import FunctionToolset

HERE = Path(__file__).parent
bank = FunctionToolset(id="bank")


def note(name, text):
    log = os.open(HERE / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, text.encode() + b"\\n")
    os.fsync(log)
    os.close(log)


def dies(moment):
    if HERE.joinpath(f"dies-{moment}").exists():
        HERE.joinpath(f"dies-{moment}").unlink()
        os.kill(os.getpid(), signal.SIGKILL)


@bank.tool(metadata={"capabilities": ["x.bank.pay"], "probe": "was_paid"})
async def pay(ctx: RunContext[object], to: str) -> str:
    note("begun.log", f"{ctx.deps.call_key} {to}")
    dies("before")
    while HERE.joinpath("hold").exists():
        await asyncio.sleep(0.01)
    note("paid.log", f"{ctx.deps.call_key} {to}")
    dies("after")
    if HERE.joinpath("breaks").exists():
        raise ValueError("the line is broken")
    return f"paid {to}"


class Paid(llmdo.TookEffect):
    pass


async def was_paid(key, tool_args, ctx):
    note("probed.log", f"{key} {tool_args['to']}")
    dies("probing")
    how = HERE.joinpath("probe").read_text() if HERE.joinpath("probe").exists() else "looks"
    if how == "does not know":
        return None
    if how == "returns its own":
        return Paid("paid, by a class of its own")
    if how == "raises":
        raise ConnectionError("the bank is away")
    if how == "exits":
        raise SystemExit(3)
    if how == "hangs":
        await asyncio.sleep(3600)
    if how == "returns text":
        return "paid"
    if how == "returns no data":
        return llmdo.TookEffect(object())
    if how == "calls":
        await ctx.deps.call_tool("bank.look", {})
    if how == "calls a worker":
        await ctx.deps.call_agent("main", "x", ctx)
    if how == "loads":
        await ctx.deps.load_attachment("llmdo.toml")
    if how == "spoils its arguments":
        tool_args["to"] = "eve"
        return llmdo.NoEffect()
    if how == "takes toolsets":
        ctx.deps.toolsets_for("main")
    paid = HERE.joinpath("paid.log").read_text().splitlines() if HERE.joinpath("paid.log").exists() else []
    return llmdo.TookEffect(f"paid {tool_args['to']}, says the bank") if f"{key} {tool_args['to']}" in paid else llmdo.NoEffect()


@bank.tool(metadata={"capabilities": ["x.bank.give"]})
async def give(ctx: RunContext[object], to: str) -> str:
    note("given.log", f"{ctx.deps.call_key} {to}")
    while HERE.joinpath("hold").exists():
        await asyncio.sleep(0.01)
    return f"gave {to}"


@bank.tool_plain(metadata={"capabilities": []})
async def look() -> str:
    note("looked.log", "x")
    return "looked"
"""

MODELS = """\
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


async def answer(messages, info):
    content = messages[0].parts[-1].content
    text = content if isinstance(content, str) else " ".join(map(str, content))
    results = [part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    if results or not text.startswith("pay "):
        return ModelResponse(parts=[TextPart("; ".join(map(str, results)) or f"echo {text}")])
    tool, _, names = text.partition(" ")
    calls = [(word if ":" in word else f"pay:{word}").split(":") for word in names.split()]
    return ModelResponse(parts=[ToolCallPart(tool, {"to": name}) for tool, name in calls])


rules = FunctionModel(answer)
"""


FILES = {
    "llmdo.toml": MANIFEST,
    "tools.py": TOOLS,
    "models.py": MODELS,
    "main.worker": "---\nname: main\ntoolsets: [bank]\n---\nGo.\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The workspace, locked."""
    folder = tmp_path / "w"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return locked(folder)


@pytest.fixture
def llmdo() -> Llmdo:
    """Runs a command."""

    def run(*words: str, cwd: Path) -> Done:
        done = commands.llmdo(cwd, *words)
        return Done(done.returncode, done.stdout, done.stderr)

    return run


def lines(root: Path, name: str) -> list[str]:
    """Who was paid, or asked about, by the log of that name, in no order."""
    log = root / f"{name}.log"
    return sorted(line.split()[-1] for line in log.read_text().splitlines()) if log.exists() else []


def killed(root: Path, moment: str, *words: str) -> None:
    """A command whose process is killed at that moment of a call."""
    (root / f"dies-{moment}").touch()
    child = forking.Popen(
        [sys.executable, "-m", "llmdo", *words], cwd=root, stdout=PIPE, stderr=PIPE, text=True
    )
    _, printed = child.communicate()
    assert child.returncode == -9, printed


def killed_within(root: Path, calls: int, *words: str) -> None:
    """A command whose process is killed when so many calls have begun and none is over."""
    (root / "hold").touch()
    child = forking.Popen([sys.executable, "-m", "llmdo", *words], cwd=root, stdout=DEVNULL, stderr=DEVNULL)
    try:
        assert waited_for(lambda: len(lines(root, "begun")) + len(lines(root, "given")) == calls)
    finally:
        child.kill()
        child.wait()
    (root / "hold").unlink()


def records(llmdo: Llmdo, root: Path, kind: str) -> list[dict[str, object]]:
    """Those of the audit of the last run."""
    audit = json.loads(llmdo("audit", "last", "--format", "json", cwd=root).out)
    return [record for record in audit["records"] if record["kind"] == kind]
