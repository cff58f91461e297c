"""`runs stats`: what runs used together, and what nobody knows of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmdo.journal import Runs
from tests.support.forging import forging
from tests.support.locks import locked

from .conftest import Llmdo

MODELS = """\
from decimal import Decimal

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage

USAGE = {
    "measured": RequestUsage(input_tokens=1000, output_tokens=50),
    "priced": RequestUsage(input_tokens=10, output_tokens=5, cost=Decimal("0.25")),
}


def answer(messages, info):
    text = messages[0].parts[-1].content
    if text == "broken":
        raise RuntimeError("no answer")
    if text.startswith("delegate ") and len(messages) == 1:
        parts = [ToolCallPart("helper", {"input": text.removeprefix("delegate ")})]
    elif text == "asks" and len(messages) == 1:
        parts = [ToolCallPart("write_file", {"path": "out/a.md", "content": "hello"})]
    else:
        parts = [TextPart("done")]
    response = ModelResponse(parts=parts, usage=USAGE.get(text, RequestUsage()))
    if text == "elsewhere":
        response.provider_name = "nobody-knows"
    return response


rules = FunctionModel(answer)
"""


@pytest.fixture
def counting(workspace: Path) -> Path:
    """A workspace whose `main` uses what its input says, and may delegate to `helper`."""
    (workspace / "models.py").write_text(MODELS)
    (workspace / "main.worker").write_text(
        '---\nname: main\ntoolsets:\n  filesystem: { write: ["out/**"] }\n  helper: {}\n---\nGo.\n'
    )
    (workspace / "helper.worker").write_text("---\nname: helper\n---\nHelp.\n")
    return locked(workspace)


def totals(llmdo: Llmdo, root: Path, *words: str) -> dict[str, dict[str, object]]:
    done = llmdo("runs", "stats", *words, "--format", "json", cwd=root)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["schema"] == "llmdo.runs.stats/1"
    return {total["name"]: total for total in document["totals"]}


@pytest.mark.parametrize("text", ["done", "broken", "delegate broken", "delegate priced", "asks"])
def test_stats_and_list_count_the_same_requests(llmdo: Llmdo, counting: Path, text: str) -> None:
    llmdo("run", "main", text, cwd=counting)
    [run] = json.loads(llmdo("runs", "--format", "json", cwd=counting).out)["runs"]
    for by in ("entry", "worker", "model", "day"):
        counted = totals(llmdo, counting, "--by", by).values()
        assert sum(int(str(total["requests"])) for total in counted) == run["requests"], by


def test_what_nobody_measured_or_priced_is_unknown_and_not_nothing(llmdo: Llmdo, counting: Path) -> None:
    llmdo("run", "main", "elsewhere", cwd=counting)
    total = totals(llmdo, counting)["main"]
    assert [total[name] for name in ("input_tokens", "output_tokens", "cost_usd")] == [None] * 3
    row = llmdo("runs", "stats", cwd=counting).out.splitlines()[1].split()
    assert row[:5] == ["main", "1", "1", "unknown", "unknown"]
    llmdo("run", "main", "priced", cwd=counting)
    total = totals(llmdo, counting)["main"]
    assert (total["requests"], total["input_tokens"], total["output_tokens"]) == (2, 10, 5)
    assert (total["cost_usd"], total["unmeasured"], total["unpriced"]) == ("0.25", 1, 1)
    text = llmdo("runs", "stats", cwd=counting).out
    assert "  10 + 5, unknown of 1 request  $0.2500, unknown of 1 request  " in text


def test_a_scripted_model_costs_nothing_which_is_known(llmdo: Llmdo, counting: Path) -> None:
    llmdo("run", "main", "hello", cwd=counting)
    total = totals(llmdo, counting)["main"]
    assert (total["cost_usd"], total["unpriced"], total["input_tokens"]) == ("0", 0, None)
    assert "$0.0000" in llmdo("runs", "stats", cwd=counting).out


def test_workers_are_counted_apart_and_a_model_asks_nobody(llmdo: Llmdo, counting: Path) -> None:
    llmdo("run", "main", "delegate priced", cwd=counting)
    llmdo("run", "main", "asks", "--approvals", "later", cwd=counting)
    llmdo("approve", "last", "--no", "main/write_file#1", cwd=counting)
    by_worker = totals(llmdo, counting, "--by", "worker")
    assert (by_worker["helper"]["requests"], by_worker["helper"]["cost_usd"]) == (1, "0.25")
    assert (by_worker["main"]["runs"], by_worker["helper"]["runs"]) == (2, 1)
    assert (by_worker["main"]["questions"], by_worker["main"]["answers"]) == (1, 1)
    by_model = totals(llmdo, counting, "--by", "model")["python:models.py:rules"]
    assert (by_model["requests"], by_model["questions"]) == (4, None)
    entry = totals(llmdo, counting)["main"]
    assert (entry["runs"], entry["questions"], entry["answers"]) == (2, 1, 1)


@pytest.mark.few(1)
@pytest.mark.parametrize("by", ["entry", "worker"])
def test_a_question_that_is_answered_at_once_is_a_question(llmdo: Llmdo, counting: Path, by: str) -> None:
    llmdo("run", "main", "asks", "--approve-all", cwd=counting)
    llmdo("run", "main", "asks", "--approvals", "later", cwd=counting)
    asked = totals(llmdo, counting, "--by", by)["main"]
    assert (asked["questions"], asked["answers"]) == (2, 1)
    llmdo("approve", "last", "--yes", "main/write_file#1", cwd=counting)
    assert llmdo("resume", "last", cwd=counting).code == 0
    asked = totals(llmdo, counting, "--by", by)["main"]
    assert (asked["questions"], asked["answers"]) == (2, 2)


def test_failures_days_and_runs_since_then(llmdo: Llmdo, counting: Path) -> None:
    for text in ("broken", "measured", "measured"):
        llmdo("run", "main", text, cwd=counting)
    assert totals(llmdo, counting)["main"]["failures"] == 1
    with forging(Runs(counting).path(Runs(counting).names()[-1])) as connection:
        connection.execute("UPDATE entry SET at = 1767262272.0")
    days = totals(llmdo, counting, "--by", "day")
    assert days["2026-01-01"]["input_tokens"] == 1000
    assert len(days) == 2
    assert list(totals(llmdo, counting, "--by", "day", "--since", "1h")) == [list(days)[1]]
    assert totals(llmdo, counting, "--since", "9999-01-01") == {}
    for wrong in ("yesterday", "2026-13-01", "-1d", "5", "", "9" * 30 + "d"):
        refused = llmdo("runs", "stats", f"--since={wrong}", cwd=counting)
        assert (refused.code, "is neither a day nor a time" in refused.err) == (2, True), wrong


def test_a_journal_that_cannot_be_read_is_named_and_skipped(llmdo: Llmdo, counting: Path) -> None:
    llmdo("run", "main", "priced", cwd=counting)
    llmdo("run", "main", "priced", cwd=counting)
    (counting / ".llmdo" / "runs" / "zz.sqlite").write_text("damaged")
    odd = Runs(counting).names()[0]
    with forging(Runs(counting).path(odd)) as connection:
        connection.execute("UPDATE entry SET body = '{}' WHERE kind = 'request'")
    done = llmdo("runs", "stats", cwd=counting)
    assert done.code == 0
    assert "zz.sqlite" in done.err
    assert odd in done.err
    assert done.out.splitlines()[1].split()[:3] == ["main", "1", "1"]
