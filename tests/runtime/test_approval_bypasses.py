"""Every attempt of `tests/support/approval_bypasses.py` ends as its table says, and does no harm."""

from __future__ import annotations

import re

import pytest

from llmdo.runtime import ApproveAll
from tests.support import approval_bypasses as bypasses


@pytest.fixture(scope="module")
def results() -> list[bypasses.Result]:
    return [bypasses.attempt(attempt) for attempt in bypasses.ATTEMPTS]


@pytest.mark.long
def test_no_attempt_gets_past_its_approval(results: list[bypasses.Result]) -> None:
    assert len(results) > 75
    assert [result for result in results if result.harm or result.ending != result.attempt.expected] == []


@pytest.mark.parametrize(
    "how", [{"approver": ApproveAll()}, {"typed": b"once\n"}, {"approver": bypasses.some("fs")}]
)
def test_the_same_call_runs_where_it_is_allowed(how: dict[str, object]) -> None:
    allowed = bypasses.attempt(bypasses.Attempt("control", "a yes", "ran", **how))  # type: ignore[arg-type]
    assert (allowed.ending, allowed.harm) == ("ran", "done.txt")


@pytest.mark.long
def test_the_docs_say_what_happened(results: list[bypasses.Result]) -> None:
    text = bypasses.PAGE.read_text(encoding="utf-8")
    rows = text.partition(bypasses.BEGIN)[2].partition(bypasses.END)[0].strip()
    assert rows == "\n".join(bypasses.table(results)), "run python -m tests.support.approval_bypasses"
    assert not re.search(r"\| ran \|", rows)
