"""What was decided about a call: one value, and what becomes of it on its way through a journal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.journal import JournalError
from llmdo.journal.decided import DecidedCall, decided_in, record_of
from llmdo.policy.authority import Capability

texts = st.text(max_size=5)
raised = st.lists(
    st.sampled_from([Capability("fs.write", "a/**"), Capability("net.connect")]), max_size=2
).map(tuple)
calls = st.builds(
    DecidedCall,
    path=st.just("main/write#1"),
    worker=texts,
    toolset=texts,
    tool=texts,
    arguments=st.just({"path": "a"}),
    raised=raised,
    declared=raised,
    asks=st.booleans(),
    decision=st.sampled_from(["allowed", "needs_approval", "blocked"]),
    allowed=st.booleans(),
    by=texts,
    reasons=st.lists(texts, max_size=2).map(tuple),
    answer=texts,
    refusal=st.none() | texts,
    changed=st.none() | st.just({"path": "b"}),
)


@given(calls)
def test_a_decision_survives_its_record(call: DecidedCall) -> None:
    record = json.loads(json.dumps(record_of(call)))
    again = decided_in(call.path, record, {"path": "a"})
    assert (again, again.arguments) == (call, {"path": "a"})


@given(calls, st.data())
def test_a_record_that_says_less_or_something_else_is_refused(call: DecidedCall, data: st.DataObject) -> None:
    record = record_of(call)
    name = data.draw(st.sampled_from(sorted(record.keys() - {"changed"})))
    for other in (1, [1], {"a": 1}, "maybe" if name in ("allowed", "asks", "decision", "raised") else 0.5):
        with pytest.raises(JournalError, match="main/write#1: the journal does not say what was decided"):
            decided_in(call.path, {**record, name: other}, {})
    with pytest.raises(JournalError):
        decided_in(call.path, {key: value for key, value in record.items() if key != name}, {})


@given(calls)
def test_why_is_the_reasons_and_then_the_answer(call: DecidedCall) -> None:
    assert call.why[: len(call.reasons)] == call.reasons
    assert call.why[len(call.reasons) :] == ((call.answer,) if call.answer else ())
