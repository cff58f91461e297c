"""The limits of a conversation, which processes share that go on with it at the same time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from llmdo.journal import RunIndex
from llmdo.journal.opening import runs_of
from tests.support import forking
from tests.support.commands import llmdo as command
from tests.support.locks import locked
from tests.support.waiting import until

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
toolset-modules = ["models.py"]
model = "python:models.py:rules"

[entries.main]
worker = "main"
LIMITS

[toolsets.tools]
python = "tools.py:tools"

[approvals]
rules = { "x.tools" = "allowed" }
"""

MODELS = """\
import asyncio, os
from pathlib import Path
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

HERE = Path(__file__).parent

async def answer(messages, info):
    asked = [part.content for message in messages for part in message.parts if isinstance(part, UserPromptPart)][-1]
    with (HERE / "sent.log").open("a") as log:
        log.write(f"{asked}\\n")
    while asked != "one" and (HERE / "sent.log").read_text().split().count(asked) >= int((HERE / "most").read_text()):
        await asyncio.sleep(0.01)
    if asked == "one":
        return ModelResponse(parts=[TextPart("one")])
    return ModelResponse(parts=[ToolCallPart("note", {})])

rules = FunctionModel(answer)
"""
"""A model that calls a tool for ever; but for the input `one`, which it answers. It answers as many requests
of a run as `most` says, less one."""

TOOLS = """\
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")

@tools.tool_plain(metadata={"capabilities": ["x.tools.note"]})
def note() -> str:
    return "noted"
"""


def made(root: Path, limits: str) -> Path:
    """A workspace whose entry has these limits, and in which one request was sent."""
    root.mkdir()
    files = {
        "llmdo.toml": MANIFEST.replace("LIMITS", limits),
        "models.py": MODELS,
        "tools.py": TOOLS,
        "main.worker": "---\nname: main\ntoolsets: [tools]\n---\nGo on, and on.\n",
        "most": "1000",
    }
    for name, text in files.items():
        (root / name).write_text(text)
    return locked(root)


@pytest.fixture(params=["files", pytest.param("postgres", marks=[pytest.mark.fleet, pytest.mark.long])])
def environ(request: pytest.FixtureRequest) -> Mapping[str, str]:
    """The environment of processes, which says which store they use."""
    if request.param == "files":
        return dict(os.environ)
    return {**os.environ, "LLMDO_STORE": request.getfixturevalue("store")}


def sent(root: Path) -> Counter[str]:
    """How many requests were sent by input."""
    return Counter((root / "sent.log").read_text().split())


def answer_only(root: Path, most: int) -> None:
    """Has the model answer no more requests of a run, less one, than that."""
    (root / "next").write_text(f"{most}")
    (root / "next").replace(root / "most")


@contextmanager
def continuing(
    root: Path, environ: Mapping[str, str], *inputs: str, run: str
) -> Iterator[list[forking.Popen]]:
    """A process for each input that goes on from `run`."""
    processes = [
        forking.Popen(
            [sys.executable, "-m", "llmdo", "run", "main", "--continue", run, text],
            cwd=root,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for text in inputs
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            with process:  # which closes its pipe
                pass


def first_of(root: Path, environ: Mapping[str, str]) -> tuple[RunIndex, str]:
    """The runs of a workspace, and the one that its conversation began with."""
    assert command(root, "run", "main", "one", environ=environ).stdout == "one\n"
    index = runs_of(root, environ)
    return index, index.find("last")


def test_three_processes_use_no_more_than_is_left(tmp_path: Path, environ: Mapping[str, str]) -> None:
    root = made(tmp_path / "w", "conversation-limits = { requests = 7 }")
    index, first = first_of(root, environ)
    answer_only(root, 1)  # whoever is let in stays
    with continuing(root, environ, "a", "b", "c", run=first) as processes:
        until(lambda: sum(process.poll() is not None for process in processes) == 2)
        answer_only(root, 1000)
        errors = [process.communicate()[1] for process in processes]
        codes = [process.returncode for process in processes]
    assert sorted(codes) == [1, 2, 2], errors
    (held,) = [run for run in index.names() if run != first]
    for error, code in zip(errors, codes, strict=True):
        whose = "the conversation's remaining limit of 6 requests is reached"
        refused = f"run `{held}` has reserved all that is left of the conversation's limit `requests = 7`"
        assert (whose if code == 1 else refused) in error
    assert sum(sent(root).values()) == 7


@pytest.mark.long
def test_each_reserves_what_its_own_limits_allow(tmp_path: Path, environ: Mapping[str, str]) -> None:
    limits = "limits = { requests = 3 }\nconversation-limits = { requests = 8 }"
    root = made(tmp_path / "w", limits)
    index, first = first_of(root, environ)
    answer_only(root, 1)
    with continuing(root, environ, "a", "b", "c", run=first) as processes:
        until(lambda: len(sent(root)) == 4)
        with continuing(root, environ, "d", run=first) as more:
            error = more[0].communicate()[1]
        assert re.search("runs `[^`]*` and `[^`]*` have reserved all that is left", error), error
        answer_only(root, 1000)
        errors = [process.communicate()[1] for process in processes]
    assert sorted(sent(root).values()) == [1, 1, 3, 3], errors
    for run in index.names():
        with index.read(run) as journal:
            ended = journal.last("end")
        assert ended is not None
        again = command(root, "runs", "replay", run, environ=environ)
        assert str(ended.data["error"] or "") in again.stderr


@pytest.mark.long
def test_what_a_killed_process_did_not_use_is_given_back(tmp_path: Path, environ: Mapping[str, str]) -> None:
    root = made(tmp_path / "w", "conversation-limits = { requests = 9 }")
    index, first = first_of(root, environ)
    answer_only(root, 3)
    with continuing(root, environ, "a", run=first) as (killed,):
        until(lambda: sent(root)["a"] == 3)
        killed.kill()
        killed.wait()
    (run,) = [name for name in index.names() if name != first]
    if "LLMDO_STORE" in environ:
        refused = command(root, "run", "main", "--continue", first, "b", environ=environ)
        assert f"run `{run}` has reserved all" in refused.stderr, "its lease holds, so it may be at work"
        _expire(environ["LLMDO_STORE"])
    answer_only(root, 2)
    with continuing(root, environ, "b", run=first) as (other,):
        until(lambda: sent(root)["b"] == 2)
        resumed = command(root, "resume", run, environ=environ)
        assert (resumed.returncode, "has reserved all that is left" in resumed.stderr) == (2, True), resumed
        other.kill()
        other.wait()
    if "LLMDO_STORE" in environ:
        _expire(environ["LLMDO_STORE"])
    answer_only(root, 1000)
    resumed = command(root, "resume", run, environ=environ)
    assert "the conversation's remaining limit of 6 requests is reached" in resumed.stderr, resumed
    resumed = command(root, "resume", run, "--limit", "requests=100", environ=environ)
    assert "the conversation's remaining limit of 6 requests is reached" in resumed.stderr, resumed
    assert sent(root) == {"one": 1, "a": 6, "b": 2}


def _expire(store: str) -> None:
    import psycopg

    with psycopg.connect(store, autocommit=True) as connection:
        connection.execute("UPDATE llmdo.run SET until = clock_timestamp() - interval '1 s'")
