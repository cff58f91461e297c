"""Calls of a model are numbered in the order of its responses, each response looked at once, and are not without end."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart

from llmdo.runtime import RunOutcome
from llmdo.runtime.gate.numbering import ENDLESS, MOST_CALLS, CallNumbers
from tests.support.building import go, graph, script, toolset, worker
from tests.support.laws import tried

CALLS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("123456")), max_size=5, unique_by=lambda c: c[1]
)


@tried(100)
@given(responses=st.lists(CALLS, max_size=5), data=st.data())
def test_numbers_are_those_of_counting_over_all_responses(
    responses: list[list[tuple[str, str]]], data: st.DataObject
) -> None:
    numbers, messages = CallNumbers(), list[ModelMessage]()
    counted: Counter[str] = Counter()
    for calls in responses:
        parts = [ToolCallPart(tool, {}, tool_call_id=call) for tool, call in calls]
        messages += [ModelRequest(parts=[]), ModelResponse(parts=[TextPart("so"), *parts])]
        expected = {}
        for tool, call in calls:
            counted[tool] += 1
            expected[tool, call] = counted[tool]
        for tool, call in data.draw(st.permutations(calls)):
            numbers.look_at(messages)
            assert numbers.number(tool, call) == expected[tool, call]
    assert numbers.number("a", "unknown") is None


def responding(call: str) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart("a", {}, tool_call_id=call)])


def test_a_history_that_begins_with_responses_is_numbered_whole() -> None:
    numbers = CallNumbers()
    numbers.look_at([responding("1"), responding("2")])
    assert [numbers.number("a", call) for call in "12"] == [1, 2]


def test_where_messages_are_taken_out_the_last_one_alone_is_new() -> None:
    numbers = CallNumbers()
    before = [ModelRequest(parts=[]), responding("1"), ModelRequest(parts=[]), responding("2")]
    numbers.look_at(before)
    numbers.look_at([*before[2:], responding("3")])
    assert [numbers.number("a", call) for call in "123"] == [1, 2, 3]
    numbers.look_at([before[2], before[2], responding("3"), responding("4")])
    assert [numbers.number("a", call) for call in "1234"] == [1, 2, 3, 4]


TOOLS = """
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")
done = []

@tools.tool_plain
def note(number: int) -> str:
    done.append(number)
    return f"{len(done)}"
"""


def noted(root: Path, number: int, **more: Any) -> RunOutcome:
    """The outcome of a run whose model makes so many calls in one response."""
    script(root, main=[[("note", {"number": at}) for at in range(number)], "{results}"])
    (root / "tools.py").write_text(TOOLS, encoding="utf-8")
    tools = toolset("tools", "tools.py:tools", note=["x.tools.note"])
    return go(graph(worker("main", "tools"), tools, approvals={"x.tools": "allowed"}, **more), root)


def test_calls_beyond_the_most_of_a_response_are_not_carried_out(tmp_path: Path) -> None:
    output = noted(tmp_path, MOST_CALLS + 3).output or ""
    assert output.count("[success:") == MOST_CALLS
    refusal = f"[failed: not called: of one response, only the first {MOST_CALLS} calls are carried out]"
    assert output.count(refusal) == 3
    assert output.endswith(refusal)


def test_as_many_calls_as_may_be_are_carried_out(tmp_path: Path) -> None:
    output = noted(tmp_path, MOST_CALLS).output or ""
    assert output.count("[success:") == MOST_CALLS


def test_a_response_of_calls_without_end_ends_its_worker(tmp_path: Path) -> None:
    outcome = noted(tmp_path, ENDLESS + 1)
    assert (outcome.status, outcome.error) == (
        "failed",
        "the model made 2,049 calls in one response; 2,048 are taken at most",
    )
