"""When a run stops for its questions: once nothing goes on in it but what waits, however long an await takes.

Nothing here takes time: an await is held open for more rounds of the event loop than a run waits for something to begin.
"""

from __future__ import annotations

import asyncio
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from llmdo.graph.toolset import Tool
from llmdo.journal.entries import JournalEntry
from llmdo.policy.authority import Capability
from llmdo.runtime import RunOptions
from llmdo.runtime import run as run_entry
from llmdo.runtime.approvals.approver import AskLater
from llmdo.runtime.approvals.postponed import ROUNDS
from llmdo.runtime.ledger import Ledger
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.replay_mode import Execution, ReplayMode, WaitingError
from llmdo.runtime.telemetry.redaction import Redaction
from tests.journal.commit_log import CommitLog
from tests.support.building import graph, prompts, script, toolset, with_code, worker

from .test_questions import question

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_ai import RunContext

    from llmdo.graph.resolved import Graph
    from llmdo.journal.stored import Hold
    from llmdo.runtime import Call, RunOutcome, RunPolicy

HELD = ROUNDS * 3  # rounds of the event loop, all of them while a question waits

TOOLS = f"""
import asyncio
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

async def held():
    for _ in range({HELD}):
        await asyncio.sleep(0)

class Tools(FunctionToolset):
    async def get_capabilities(self, name, tool_args, ctx, config):
        if name == "act":
            await held()
        return {{f"x.{{name}}"}}

class Slow(FunctionToolset):
    async def get_tools(self, ctx):
        await held()
        return await super().get_tools(ctx)

def act() -> str:
    Path(__file__).with_name("acted").touch()
    return "done"

def ask() -> str:
    return "asked"

async def attach(ctx) -> str:
    return str(await ctx.deps.load_attachment("deck.txt"))

asking = FunctionToolset(tools=[ask], id="asking")
plain = FunctionToolset(tools=[act], id="plain")
hooked = Tools(tools=[act], id="hooked")
slow = Slow(tools=[act], id="slow")
files = FunctionToolset(id="files")
files.add_function(attach, takes_ctx=True)
"""


class Memory(CommitLog):
    """A journal of which nothing is ever forced to disk: who waits for a commit waits for the event loop alone."""

    def needs_force(self, wanted: object, hold: Hold) -> bool:
        return False


class HeldDisk(CommitLog):
    """A journal whose disk takes its time, from when it is `held` until it is `released`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.is_held = False
        self.is_writing, self.released = Event(), Event()

    def force(self, hold: Hold) -> None:
        if self.is_held:
            self.is_writing.set()
            self.released.wait()
        super().force(hold)


class SlowPolicy:
    """A policy that takes its time about `act`."""

    def spawn(self) -> RunPolicy:
        return self

    def on_delegation(self, name: str) -> None:
        pass

    async def handle_tool(self, ctx: RunContext[Any] | None, call: Call) -> None:
        for _ in range(HELD if call.tool == "act" else 0):
            await asyncio.sleep(0)


def outcome(root: Path, name: str, *, delegates: bool = False, **options: Any) -> RunOutcome:
    """That of a worker which asks somebody, and beside it calls `act` of a toolset, or a worker that does."""
    (root / "tools.py").write_text(TOOLS, encoding="utf-8")
    script(
        root,
        main=[[("ask", {}), ("helper", {"input": "x"}) if delegates else ("act", {})], "{results}"],
        helper=[[("act", {})], "{results}"],
    )
    act = Tool(name="act", capabilities=(Capability("x.act"),), hook=name == "hooked")
    team_graph = graph(
        worker("main", "asking", "helper" if delegates else name),
        *([worker("helper", name)] if delegates else []),
        toolset("asking", "tools.py:asking", ask=["x.ask"]),
        toolset(name, f"tools.py:{name}", act=act),
        approvals={"x.act": "allowed"},
    )
    return start(team_graph, root, **options)


def start(team_graph: Graph, root: Path, **options: Any) -> RunOutcome:
    (root / "r.journal").touch()
    recorder = Recorder(Memory(root / "r.journal"), Redaction.of({}), grace=0)
    given = RunOptions(run="r", recorder=recorder, approver=AskLater(), **options)
    team_graph = with_code(team_graph, root)
    return asyncio.run(
        run_entry(team_graph, root=root, prompts=prompts(team_graph), entry="go", options=given)
    )


def hooked(root: Path) -> RunOutcome:
    return outcome(root, "hooked")


def judged(root: Path) -> RunOutcome:
    return outcome(root, "plain", policy=SlowPolicy())


def listed(root: Path) -> RunOutcome:
    return outcome(root, "slow", delegates=True)


@pytest.mark.few(1)
@pytest.mark.parametrize("run", [hooked, judged, listed])
def test_a_run_does_not_stop_for_a_question_while_another_call_is_on_its_way(
    run: Any, tmp_path: Path
) -> None:
    ended = run(tmp_path)
    assert (ended.status, ended.error) == ("waiting", "1 question waits for an answer")
    assert (tmp_path / "acted").exists(), "the run stopped before a call began that waited for nobody"


def test_a_question_that_a_tool_asks_while_it_runs_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "deck.txt").write_text("a deck", encoding="utf-8")
    script(tmp_path, main=[[("attach", {})], "{results}"])
    team_graph = graph(
        worker("main", "files", attachments={"max": 1}),
        toolset("files", "tools.py:files", attach=["x.attach"]),
        approvals={"x.attach": "allowed", "fs.read": "needs_approval"},
    )
    ended = start(team_graph, tmp_path)
    assert (ended.status, ended.error) == ("waiting", "1 question waits for an answer")


@pytest.mark.parametrize("is_again", [True, False])
def test_a_run_does_not_stop_for_a_question_while_a_call_is_put_on_disk(
    tmp_path: Path, *, is_again: bool
) -> None:
    (tmp_path / "r.journal").touch()
    journal, path = HeldDisk(tmp_path / "r.journal"), "main/act#1"
    if is_again:
        journal.add(JournalEntry(path=path, kind="started", step=1))
    mode = ReplayMode(again=frozenset({path} if is_again else ()))
    recorder = Recorder(journal, Redaction.of({}), mode)

    async def work() -> str:
        return "done"

    async def no() -> bool:
        return False

    call = Execution(
        path=path, tool="act", arguments={}, is_live=True, is_safe=False, is_thread=False, may_rerun=no
    )

    async def run() -> object:
        async with recorder.brake.guarding():
            asking = asyncio.ensure_future(recorder.wait_for(question(1)))
            while journal.count("main/write#1", "asked") == 0 or journal.has_uncommitted:  # noqa: ASYNC110
                await asyncio.sleep(0)
            await recorder.settled()
            journal.add(
                JournalEntry(path="main", kind="session", step=2)
            )  # as whoever goes on with a run does
            journal.is_held = True
            executed = asyncio.ensure_future(recorder.execution(call, work, Ledger()))
            try:
                while not journal.is_writing.is_set():  # noqa: ASYNC110  # by another thread
                    await asyncio.sleep(0)
                for _ in range(HELD):
                    await asyncio.sleep(0)
            finally:
                journal.released.set()
            result = await executed
            await asyncio.gather(asking)
        return result

    with pytest.raises(WaitingError):
        asyncio.run(run())
    assert journal.get(path, "finished") is not None, "the run stopped while a call was about to begin"
