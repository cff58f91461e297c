"""Calls that code makes have the same places whenever it runs again, whatever ends first."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.graph.resolved import Graph
from llmdo.journal import Runs
from llmdo.runtime import RunOptions, RunOutcome, run
from llmdo.runtime.place import NumberedTasks, numbered_tasks
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.replay_mode import ReplayMode
from llmdo.runtime.telemetry.redaction import Redaction
from tests.support.building import graph, prompts, script, toolset, with_code, worker
from tests.support.laws import tried

COUNTING = """
import itertools
from pydantic_ai.messages import ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

numbers = itertools.count()

def model(name):
    def answer(messages, info):
        [prompt] = [part.content for part in messages[0].parts if isinstance(part, UserPromptPart)]
        return ModelResponse(parts=[TextPart(f"{name}({prompt}):{next(numbers)}")])
    return FunctionModel(answer)

first, second = model("first"), model("second")
"""
"""Models that never answer the same twice, so that an answer in the wrong place shows."""

PROGRAM = """
import asyncio, contextvars, json, random, threading
from pathlib import Path

async def program(runtime, text):
    read = lambda name: json.loads(Path(__file__).with_name(name).read_text())
    chance = random.Random(read("chance.json"))

    async def wait():
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)

    async def branch(steps):
        return await perform(steps)

    async def perform(steps):
        answers = []
        for kind, given in steps:
            await wait()
            if kind in ("first", "second"):
                answers.append(await runtime.call_agent(kind, given))
            elif kind == "calls":
                answers.append(await asyncio.gather(*[runtime.call_agent("first", one) for one in given]))
            elif kind == "gather":
                answers.append(await asyncio.gather(*map(branch, given)))
            elif kind == "group":
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(branch(steps)) for steps in given]
                answers.append([task.result() for task in tasks])
            elif kind == "limit":
                limit = asyncio.Semaphore(2)
                async def limited(steps):
                    async with limit:
                        return await perform(steps)
                answers.append(await asyncio.gather(*map(limited, given)))
            elif kind == "noise":
                background = asyncio.gather(*[wait() for _ in range(chance.randrange(3))])
                answers.append(await perform(given))
                await background
        return answers

    return json.dumps(await perform(json.loads(text)))
"""


def program_of(root: Path, function: str = PROGRAM) -> Graph:
    (root / "models.py").write_text(COUNTING, encoding="utf-8")
    (root / "entries.py").write_text(function, encoding="utf-8")
    return graph(worker("first"), worker("second"), function="entries.py:program", calls=["first", "second"])


async def perform(
    team_graph: Graph,
    root: Path,
    text: str,
    *,
    replay_mode: ReplayMode | None = None,
    chance: int = 0,
    stop_at: int = 0,
) -> RunOutcome | None:
    """The outcome; None where the run was interrupted, after `stop_at` workers had ended."""
    (root / "chance.json").write_text(json.dumps(chance), encoding="utf-8")
    team_graph = with_code(team_graph, root)
    runs = Runs(root)
    ended = 0

    def count(event: object) -> None:
        nonlocal ended
        ended += type(event).__name__ == "WorkerFinished"
        if stop_at and ended == stop_at:
            task.cancel()

    with runs.open("r") if "r" in runs.names() else runs.create("r") as journal:
        options = RunOptions(
            run="r", recorder=Recorder(journal, Redaction.of({}), replay_mode), input=text, on_event=count
        )
        task = asyncio.ensure_future(
            run(team_graph, root=root, prompts=prompts(team_graph), entry="go", options=options)
        )
        with contextlib.suppress(asyncio.CancelledError):
            outcome = await task
            return None if outcome.status == "interrupted" else outcome
    return None


STAGES = json.dumps([["gather", [[["first", "x"], ["second", "y"]] for _ in range(6)]]])
"""Six items at once, each in two stages; every call has the same input, so that only its place tells it apart."""

STEPS: st.SearchStrategy[list[Any]] = st.recursive(
    st.lists(st.tuples(st.sampled_from(["first", "second"]), st.sampled_from("ab")), min_size=1, max_size=2),
    lambda steps: st.lists(
        st.one_of(
            st.tuples(st.sampled_from(["gather", "group", "limit"]), st.lists(steps, min_size=1, max_size=3)),
            st.tuples(st.just("calls"), st.lists(st.sampled_from("ab"), min_size=1, max_size=3)),
            st.tuples(st.just("noise"), steps),
        ),
        min_size=1,
        max_size=2,
    ),
    max_leaves=6,
)


@pytest.mark.long
def test_answers_of_a_replay_are_not_swapped_between_items(tmp_path: Path) -> None:
    program = program_of(tmp_path)
    first = asyncio.run(perform(program, tmp_path, STAGES, chance=1))
    assert first is not None
    assert first.status == "completed", first.error
    for chance in range(2, 8):
        again = asyncio.run(
            perform(program, tmp_path, STAGES, replay_mode=ReplayMode(live=False), chance=chance)
        )
        assert again == first


@pytest.mark.long
@tried(25)
@given(steps=STEPS, chances=st.tuples(st.integers(0, 99), st.integers(0, 99)), data=st.data())
def test_code_that_goes_on_is_handed_the_answers_that_it_had(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any], chances: tuple[int, int], data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("places")
    program = program_of(root)
    text = json.dumps(steps)
    stop_at = data.draw(st.integers(0, 5))
    asyncio.run(perform(program, root, text, chance=chances[0], stop_at=stop_at))
    before = answers(root)
    outcome = asyncio.run(perform(program, root, text, chance=chances[1]))
    assert outcome is not None
    assert outcome.status == "completed", outcome.error
    after = answers(root)
    assert before.items() <= after.items()
    assert all(output in json.dumps(outcome.output) for output in after.values())
    for chance in chances:
        assert (
            asyncio.run(perform(program, root, text, replay_mode=ReplayMode(live=False), chance=chance + 1))
            == outcome
        )


def answers(root: Path) -> dict[str, str]:
    with Runs(root).open("r") as journal:
        return {entry.path: entry.data["output"] for entry in journal.entries("return")}


def test_call_paths_name_tasks_and_calls_in_their_order(tmp_path: Path) -> None:
    program = program_of(tmp_path)
    text = json.dumps(
        [
            ["calls", ["a", "b"]],
            ["first", "c"],
            ["gather", [[["first", "d"]], [["group", [[["first", "e"]]]]]]],
        ]
    )
    asyncio.run(perform(program, tmp_path, text))
    assert {path: output.split(":")[0] for path, output in answers(tmp_path).items()} == {
        "go/first#1": "first(a)",
        "go/first#2": "first(b)",
        "go/first#3": "first(c)",
        "go/first#branch-1.1": "first(d)",
        "go/first#branch-2.branch-1.1": "first(e)",
    }


def test_another_input_at_the_same_place_stops_the_run(tmp_path: Path) -> None:
    program = program_of(tmp_path)
    asyncio.run(perform(program, tmp_path, json.dumps([["first", "a"], ["first", "b"]])))
    (tmp_path / "entries.py").write_text(
        PROGRAM.replace("call_agent(kind, given)", "call_agent(kind, given + '!')")
    )
    outcome = asyncio.run(perform(program, tmp_path, json.dumps([["first", "a"], ["first", "b"]])))
    assert outcome is not None
    assert outcome.error == "go/first#1: `first` is called with another input than recorded"


THREADS = """
import asyncio, json
from concurrent.futures import ThreadPoolExecutor

async def program(runtime, text):
    loop = asyncio.get_running_loop()

    def ask(given):
        key = given if text == "keys" else None
        question = "same" if text in ("same", "keys") else given
        call = asyncio.run_coroutine_threadsafe(runtime.call_agent("first", question, key=key), loop)
        return call.result(1 if text == "same" else 20)  # leaving the pool holds the loop up, which is stopped

    with ThreadPoolExecutor(2) as pool:
        return json.dumps(await asyncio.gather(*[loop.run_in_executor(pool, ask, one) for one in ("a", "b/#")]))
"""


@pytest.mark.few(1)
@pytest.mark.parametrize("text", ["keys", "different"])
def test_calls_of_threads_go_by_their_key_or_their_input(tmp_path: Path, text: str) -> None:
    program = program_of(tmp_path, THREADS)
    first = asyncio.run(perform(program, tmp_path, text))
    assert first is not None
    assert first.status == "completed", first.error
    assert asyncio.run(perform(program, tmp_path, text)) == first
    if text == "keys":
        assert set(answers(tmp_path)) == {"go/first#=a", "go/first#=b%2F%23"}


def test_equal_calls_of_threads_stop_a_run_that_goes_on(tmp_path: Path) -> None:
    program = program_of(tmp_path, THREADS)
    first = asyncio.run(perform(program, tmp_path, "same"))
    assert first is not None
    assert first.status == "completed", first.error
    for replay_mode in (None, ReplayMode(live=False)):
        outcome = asyncio.run(perform(program, tmp_path, "same", replay_mode=replay_mode))
        assert outcome is not None
        assert outcome.status == "failed"
        assert outcome.error == (
            "go/first: several calls with the same input are made where only time puts them in order"
        )


def test_a_second_equal_call_stops_a_run_whose_first_is_recorded(tmp_path: Path) -> None:
    program = program_of(tmp_path, THREADS)
    assert asyncio.run(perform(program, tmp_path, "same", stop_at=1)) is None
    outcome = asyncio.run(perform(program, tmp_path, "same"))
    assert outcome is not None
    assert outcome.status == "failed"
    assert "several calls with the same input" in (outcome.error or "")


def test_a_key_names_one_call(tmp_path: Path) -> None:
    program = program_of(
        tmp_path,
        "async def program(runtime, text):\n"
        "    await runtime.call_agent('first', 'a', key='k')\n"
        "    return await runtime.call_agent('first', 'b', key='k')\n",
    )
    outcome = asyncio.run(perform(program, tmp_path, "x"))
    assert outcome is not None
    assert outcome.error == "`key='k'` does not name one call of `first`"


TOOLS = """
import asyncio
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")

@tools.tool
async def twice(ctx: RunContext) -> str:
    first = await ctx.deps.call_agent("first", "before", ctx)
    if not ctx.tool_call_approved:
        raise ApprovalRequired
    return first + " " + await ctx.deps.call_agent("first", "after")
"""


def test_a_tool_that_is_called_again_once_approved_makes_calls_of_its_own(tmp_path: Path) -> None:
    from llmdo.runtime import ApproveAll

    script(tmp_path, main=[[("twice", {})], "{results}"], first=["{prompt}"])
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    team_graph = graph(
        worker("main", "tools", "first"),
        worker("first"),
        toolset("tools", "tools.py:tools", twice=["x.tools.twice"]),
        approvals={"x.tools": "allowed"},
    )
    team_graph = with_code(team_graph, tmp_path)
    with Runs(tmp_path).create("r") as journal:
        options = RunOptions(run="r", recorder=Recorder(journal, Redaction.of({})), approver=ApproveAll())
        outcome = asyncio.run(
            run(team_graph, root=tmp_path, prompts=prompts(team_graph), entry="go", options=options)
        )
    assert outcome.output == "[success: before after]", outcome.error
    assert set(answers(tmp_path)) == {
        "main/twice#1/first#1",
        "main/twice#1/first#again.1",
        "main/twice#1/first#again.2",
    }


def test_the_loop_makes_tasks_as_its_host_wants_before_during_and_after(tmp_path: Path) -> None:
    program = program_of(tmp_path)
    names: list[str] = []

    def host(loop: Any, coro: Any, **options: Any) -> Any:
        names.append(coro.__name__)
        return asyncio.Task(coro, loop=loop, **options)

    async def both() -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(host)
        roots = [tmp_path / "a", tmp_path / "b"]
        for root in roots:
            root.mkdir()
            program_of(root)
        await asyncio.gather(*[perform(program, root, STAGES, chance=1) for root in roots])
        assert loop.get_task_factory() is host
        with numbered_tasks():
            assert isinstance(loop.get_task_factory(), NumberedTasks)
            loop.set_task_factory(None)
        assert loop.get_task_factory() is None

    asyncio.run(both())
    assert names.count("branch") == 12


@pytest.mark.skipif(sys.version_info < (3, 12), reason="tasks start eagerly from Python 3.12 on")
def test_tasks_that_start_at_once_have_their_places(tmp_path: Path) -> None:
    program = program_of(tmp_path)

    async def eager() -> RunOutcome | None:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined,unused-ignore]
        return await perform(program, tmp_path, STAGES)

    first = asyncio.run(eager())
    assert first is not None
    assert first.status == "completed", first.error
    assert (
        asyncio.run(perform(program, tmp_path, STAGES, replay_mode=ReplayMode(live=False), chance=5)) == first
    )
