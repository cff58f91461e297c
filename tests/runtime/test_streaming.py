"""Answers that are told of as they arrive: every piece once and in order, and the run is the one that it is without."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic_ai._parts_manager import ModelResponsePartsManager
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

import llmdo
from llmdo.runtime import ModelChoice, RunOutcome
from llmdo.runtime.models.streaming import Pieces
from llmdo.runtime.telemetry.events import (
    Event,
    ModelResponded,
    RunFinished,
    TextDelta,
    ToolCallDelta,
    discard,
)
from llmdo.services.runs import show
from tests.support.building import go, graph, script, toolset, worker

WORDS = ["Once ", "upon ", "a ", "time."]


def streaming(*answers: Any) -> FunctionModel:
    """A model that gives each answer in its pieces: a list of texts, or of calls."""

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        for piece in answers[sum(isinstance(message, ModelResponse) for message in messages)]:
            yield piece

    return FunctionModel(stream_function=stream, model_name="scripted")


def with_models(**models: FunctionModel) -> dict[str, Any]:
    """The options of a run with a model for each worker."""
    return {"models": ModelChoice(by_worker={name: name for name in models}, instances=models)}


def texts_of(events: list[Event], path: str = "main") -> list[str]:
    """The pieces of text that a worker was heard to say."""
    return [event.text for event in events if isinstance(event, TextDelta) and event.path == path]


def team(root: Path, model: FunctionModel, *, header: str = "") -> dict[str, Any]:
    """A workspace with one worker, as the first arguments of `llmdo.run`."""
    (root / "llmdo.toml").write_text(
        'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n[entries.main]\nworker = "main"\ninput = "go"\n'
    )
    (root / "main.worker").write_text(f"---\nname: main\n{header}---\nYou are main.\n")
    return {"workspace": root, "model": model}


async def taken(events: Any) -> list[Any]:
    return [event async for event in events]


def test_each_piece_is_reported_once_and_in_order_before_the_whole(tmp_path: Path) -> None:
    events: list[Event] = []
    options = with_models(main=streaming(WORDS))
    outcome = go(graph(worker("main")), tmp_path, streams="everything", on_event=events.append, **options)
    assert (outcome.output, outcome.error) == ("Once upon a time.", None)
    assert texts_of(events) == WORDS
    kinds = [event.kind for event in events]
    assert kinds.index("model_requested") < kinds.index("text_delta")
    assert max(at for at, kind in enumerate(kinds) if kind == "text_delta") < kinds.index("model_responded")


def test_calls_are_reported_as_they_are_written(tmp_path: Path) -> None:
    events: list[Event] = []
    call = [
        {0: DeltaToolCall("helper", '{"inp', tool_call_id="c0")},
        {1: DeltaToolCall("helper", '{"input": ', tool_call_id="c1")},
        {0: DeltaToolCall(json_args='ut": "x"}')},
        {1: DeltaToolCall(json_args='"y"}')},
    ]
    options = with_models(main=streaming(call, WORDS), helper=streaming(["Well, ", "yes."]))
    team_graph = graph(worker("main", "helper"), worker("helper"), default="always_allow")
    outcome = go(team_graph, tmp_path, streams="everything", on_event=events.append, **options)
    assert outcome.output == "Once upon a time.", outcome.error
    pieces = [event for event in events if isinstance(event, ToolCallDelta)]
    assert [(piece.index, piece.tool) for piece in pieces] == [(at, "helper") for at in (0, 1, 0, 1)]
    written = ["".join(piece.arguments for piece in pieces if piece.index == at) for at in (0, 1)]
    assert written == ['{"input": "x"}', '{"input": "y"}']
    for number in (1, 2):
        assert texts_of(events, f"main/helper#{number}") == ["Well, ", "yes."]


@pytest.mark.parametrize(
    ("streams", "paths"), [("nothing", set()), ("entry", {"main"}), ("everything", {"main", "main/helper#1"})]
)
def test_only_those_are_streamed_who_are_listened_to(streams: Any, paths: set[str], tmp_path: Path) -> None:
    script(tmp_path, main=[[("helper", {"input": "x"})], "Done."], helper=["Yes."])
    events: list[Event] = []
    team_graph = graph(worker("main", "helper"), worker("helper"), default="always_allow")
    outcome = go(team_graph, tmp_path, streams=streams, on_event=events.append)
    assert outcome.output == "Done."
    assert {event.path for event in events if isinstance(event, TextDelta)} == paths


def test_who_cannot_stream_is_reported_in_one_piece(tmp_path: Path) -> None:
    script(tmp_path, main=[[("helper", {"input": "x"})], "Done."], helper=["Yes."])
    events: list[Event] = []
    team_graph = graph(worker("main", "helper"), worker("helper"), default="always_allow")
    go(team_graph, tmp_path, streams="everything", on_event=events.append)
    assert texts_of(events) == ["Done."]
    [*calls] = [event for event in events if isinstance(event, ToolCallDelta)]
    assert "".join(call.arguments for call in calls) == '{"input":"x"}'


def test_what_a_tool_asks_by_itself_is_not_what_its_worker_says(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(
        "from pydantic_ai import Agent, RunContext\n"
        "from pydantic_ai.toolsets import FunctionToolset\n"
        "desk = FunctionToolset()\n"
        "@desk.tool\n"
        "async def ask(ctx: RunContext) -> str:\n"
        "    return (await Agent(ctx.model).run('x')).output\n"
    )
    script(tmp_path, main=[[("ask", {})], "Done."])
    events: list[Event] = []
    team_graph = graph(worker("main", "desk"), toolset("desk", "tools.py:desk", ask=[]))
    go(team_graph, tmp_path, streams="everything", on_event=events.append)
    calls = [event for event in events if isinstance(event, ToolCallDelta)]
    assert len({(call.index, call.tool) for call in calls}) == 1
    assert "".join(call.arguments for call in calls) == "{}"


def test_delegates_that_stream_beside_each_other_keep_their_own_order(tmp_path: Path) -> None:
    together = asyncio.Barrier(3)

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        for number in range(20):
            await together.wait()
            yield f"{number},"

    calls = [{at: DeltaToolCall("helper", '{"input": "x"}', tool_call_id=f"c{at}") for at in range(3)}]
    options = with_models(main=streaming(calls, WORDS), helper=FunctionModel(stream_function=stream))
    events: list[Event] = []
    team_graph = graph(worker("main", "helper"), worker("helper"), default="always_allow")
    assert (
        go(team_graph, tmp_path, streams="everything", on_event=events.append, **options).status
        == "completed"
    )
    paths = [event.path for event in events if isinstance(event, TextDelta)]
    assert len(set(paths[:3])) == 3
    for number in (1, 2, 3):
        assert texts_of(events, f"main/helper#{number}") == [f"{at}," for at in range(20)]


def call_pieces(manager: ModelResponsePartsManager, **piece: Any) -> list[Any]:
    """The events of a piece of a call: of the versions that we run on, older ones give an event, later ones several."""
    if hasattr(manager, "handle_tool_call_delta_events"):
        return [*manager.handle_tool_call_delta_events(**piece)]
    event = manager.handle_tool_call_delta(**piece)
    return [] if event is None else [event]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("text"), st.lists(st.text(max_size=3), min_size=1, max_size=3)),
            st.tuples(st.just("thought"), st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=3)),
            st.tuples(st.just("call"), st.lists(st.text(max_size=3), min_size=1, max_size=3)),
            st.tuples(st.just("data"), st.just([])),
        ),
        max_size=6,
    )
)
@example([("text", ["", "0"])])
def test_the_pieces_are_the_answer(parts: list[tuple[str, list[str]]]) -> None:
    """Whatever an answer consists of, its pieces put together are what is told of the whole."""
    manager = ModelResponsePartsManager(model_request_parameters=ModelRequestParameters())
    events: list[Any] = []
    pieces = Pieces("main", "main", events.append)
    for at, (kind, texts) in enumerate(parts):
        for number, text in enumerate(texts):
            if kind == "text":
                arrived = manager.handle_text_delta(vendor_part_id=at, content=text)
            elif kind == "thought":
                arrived = manager.handle_thinking_delta(vendor_part_id=at, content=text)
            else:
                name = None if number else "tool"
                arrived = call_pieces(
                    manager, vendor_part_id=at, tool_name=name, args=text, tool_call_id=f"c{at}"
                )
            for event in arrived:
                pieces.take(event)
        if kind == "data":
            pieces.take(manager.handle_tool_call_part(vendor_part_id=at, tool_name="data", args={"a": at}))
    response = ModelResponse(parts=manager.get_parts())
    pieces.end(response)
    assert "".join(texts_of(events)) == (response.text or "")
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    for number, call in enumerate(calls):
        own = [event for event in events if isinstance(event, ToolCallDelta) and event.index == number]
        assert {event.tool for event in own} == {call.tool_name}
        written = "".join(event.arguments for event in own)
        assert written == (call.args if isinstance(call.args, str) else call.args_as_json_str())
    assert pieces.any_reported is bool(events)


def test_a_run_is_iterated_over_and_ends_with_its_outcome(tmp_path: Path) -> None:
    *events, outcome = asyncio.run(taken(llmdo.run_stream(**team(tmp_path, streaming(WORDS)))))
    assert isinstance(outcome, RunOutcome)
    assert (outcome.status, outcome.output) == ("completed", "Once upon a time.")
    assert texts_of(events) == WORDS
    assert (events[0].kind, events[-1].kind) == ("run_started", "run_finished")


def test_an_entry_that_is_open_is_streamed_as_often_as_one_likes(tmp_path: Path) -> None:
    entry = llmdo.open_entry(**team(tmp_path, streaming(WORDS)))

    async def both() -> list[list[Any]]:
        return await asyncio.gather(*(taken(entry.run_stream("go")) for _ in range(2)))

    for *events, outcome in asyncio.run(both()):
        assert outcome.output == "Once upon a time."
        assert texts_of(events) == WORDS
        assert {event.run for event in events if hasattr(event, "run")} == {outcome.run}


def test_somebody_slow_misses_nothing_and_slows_nobody(tmp_path: Path) -> None:
    received: list[Event] = []

    async def slowly() -> list[Any]:
        is_over, events = asyncio.Event(), []

        def listen(event: Event) -> None:
            received.append(event)
            if isinstance(event, RunFinished):
                is_over.set()

        async with aclosing(llmdo.run_stream(**team(tmp_path, streaming(WORDS)), on_event=listen)) as run:
            async for event in run:
                await is_over.wait()  # the run ends, though its first event is the last that was taken
                events.append(event)
        return events

    events = asyncio.run(slowly())
    assert events[:-1] == received
    assert texts_of(events) == WORDS


def endless(asked: list[bool]) -> FunctionModel:
    """A model that never comes to an end, and notes when nobody reads its answer any more."""

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        try:
            while True:
                yield "and "
                await asyncio.sleep(0)
        finally:
            asked.append(True)

    return FunctionModel(stream_function=stream, model_name="scripted")


@pytest.mark.parametrize("how", ["close", "cancel"])
def test_who_stops_listening_ends_the_run_as_interrupted(how: str, tmp_path: Path) -> None:
    closed: list[bool] = []
    events: list[Event] = []

    async def listen() -> None:
        run = llmdo.run_stream(**team(tmp_path, endless(closed)), on_event=events.append, journal=True)
        async with aclosing(run) as arriving:
            async for event in arriving:
                if isinstance(event, TextDelta):
                    if how == "close":
                        break
                    asyncio.current_task().cancel()  # type: ignore[union-attr]
        assert asyncio.all_tasks() == {asyncio.current_task()}, "the run is still there"

    if how == "cancel":
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(listen())
    else:
        asyncio.run(listen())
    assert closed == [True]
    [ended] = [event for event in events if event.kind == "run_finished"]
    assert (ended.status, ended.error) == ("interrupted", "nobody listens to the run any more")  # type: ignore[attr-defined]
    assert show(tmp_path, "last").summary.status == "interrupted"
    resumed = llmdo.resume(tmp_path, "last", models=[streaming(WORDS)])
    assert (resumed.status, resumed.output) == ("completed", "Once upon a time."), resumed.error


def test_who_closes_before_anything_began_starts_nothing(tmp_path: Path) -> None:
    asked: list[bool] = []

    async def listen() -> None:
        run = llmdo.run_stream(**team(tmp_path, endless(asked)))
        await run.aclose()

    asyncio.run(listen())
    assert asked == []


def test_a_run_that_cannot_start_says_so_to_who_listens(tmp_path: Path) -> None:
    given = team(tmp_path, streaming(WORDS))
    with pytest.raises(llmdo.LlmdoError, match="there is no entry `other`"):
        asyncio.run(taken(llmdo.run_stream(**given, entry="other")))
    with pytest.raises(TypeError, match="did you mean `on_event`"):
        llmdo.run_stream(**given, on_events=discard)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("settings", "pieces"), [({}, WORDS), ({"stream": True}, WORDS), ({"stream": False}, [])]
)
def test_who_takes_events_may_do_without_pieces(
    settings: dict[str, Any], pieces: list[str], tmp_path: Path
) -> None:
    events: list[Event] = []
    given = team(tmp_path, streaming(WORDS))
    if not pieces:
        script(tmp_path, main=["Once."])
        given["model"] = "python:models.py:main"
    llmdo.run(**given, on_event=events.append, **settings)
    assert texts_of(events) == pieces
    assert [event.text for event in events if isinstance(event, ModelResponded)]


def test_a_failing_listener_ends_the_run_with_an_outcome(tmp_path: Path) -> None:
    def fail(event: Event) -> None:
        if event.kind == "text_delta":
            raise ValueError("full")

    outcome = llmdo.run(**team(tmp_path, streaming(WORDS)), on_event=fail)
    assert outcome.status == "failed"
    assert "full" in (outcome.error or "")
