"""`--budget-usd` over all runs of an evaluation: of variants and judges, priced, scripted and of unknown price."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Llmdo
from tests.features.evaluation.conftest import write

MODELS = """

from decimal import Decimal
from pydantic_ai.usage import RequestUsage


async def charge(messages, info):
    return ModelResponse(parts=[TextPart("a")], usage=RequestUsage(input_tokens=1, cost=Decimal("0.4")))


async def elsewhere(messages, info):
    return ModelResponse(parts=[TextPart("a")], provider_name="nobody-knows")


priced = FunctionModel(charge, model_name="priced")
unpriced = FunctionModel(elsewhere, model_name="unpriced")
unpriced_too = FunctionModel(elsewhere, model_name="unpriced too")
"""


@pytest.fixture
def paid(root: Path) -> Path:
    """The workspace with four cases, and with models that cost something."""
    with (root / "models.py").open("a", encoding="utf-8") as file:
        file.write(MODELS)
    write(root, [{"name": n, "input": f"say {n}"} for n in "abcd"], evaluators={"contains": "a"})
    return root


def model(name: str) -> tuple[str, str]:
    return "--model", f"python:models.py:{name}"


def states(text: str) -> list[list[str]]:
    """The state of each trial, by variants."""
    return [[trial["state"] for trial in variant["trials"]] for variant in json.loads(text)["variants"]]


def test_a_budget_holds_over_all_variants_and_its_evaluation_goes_on(llmdo: Llmdo, paid: Path) -> None:
    words = ["eval", *model("priced"), *model("rules"), "--jobs", "1", "--format", "json"]
    done = llmdo(*words, "--budget-usd", "1", cwd=paid)
    assert states(done.out) == [["completed"] * 3 + ["queued"], ["queued"] * 4]
    assert (done.code, "$1.2000, and `--budget-usd` is $1" in done.err) == (1, True), done.err
    assert json.loads(done.out)["variants"][0]["cost_usd"] == pytest.approx(1.2)
    more = llmdo("eval", "resume", "last", "--budget-usd", "1.6", "--jobs", "1", "--format", "json", cwd=paid)
    assert states(more.out) == [["completed"] * 4, ["queued"] * 4]
    assert (more.code, "the runs have cost $1.6000, and `--budget-usd` is $1.6" in more.err) == (1, True)
    rest = llmdo("eval", "resume", "last", "--budget-usd", "2", "--format", "json", cwd=paid)
    assert (rest.code, states(rest.out)) == (0, [["completed"] * 4] * 2)


def test_scripted_models_cost_nothing_and_keep_any_budget(llmdo: Llmdo, paid: Path) -> None:
    done = llmdo("eval", *model("rules"), "--jobs", "1", "--budget-usd", "0.01", "--format", "json", cwd=paid)
    assert (done.code, states(done.out)) == (0, [["completed"] * 4]), done.err
    assert json.loads(done.out)["variants"][0]["cost_usd"] == 0


@pytest.mark.few(1)
@pytest.mark.parametrize(("jobs", "begun"), [("1", 1), ("8", 4)])
def test_no_budget_can_be_kept_without_a_price(llmdo: Llmdo, paid: Path, jobs: str, begun: int) -> None:
    words = ["eval", *model("unpriced"), *model("unpriced_too"), "--jobs", jobs, "--budget-usd", "1"]
    done = llmdo(*words, "--format", "json", cwd=paid)
    assert states(done.out) == [["completed"] * begun + ["queued"] * (4 - begun), ["queued"] * 4]
    assert (done.code, "no known price, so `--budget-usd` cannot be kept" in done.err) == (1, True)
    assert json.loads(done.out)["variants"][0]["cost_usd"] is None
    assert "cost unknown" in " ".join(llmdo("eval", "show", "last", cwd=paid).out.split())
    without = llmdo("eval", "resume", "last", cwd=paid)
    assert without.code == 0, without.err


def test_a_run_is_of_unknown_price_where_only_one_of_its_models_is(llmdo: Llmdo, paid: Path) -> None:
    write(paid, [{"name": "a", "input": 'call helper {"input": "x"}\nsay a'}], evaluators={"cost_at_most": 1})
    done = llmdo("eval", "--model", "helper=python:models.py:unpriced", "--format", "json", cwd=paid)
    (trial,) = json.loads(done.out)["variants"][0]["trials"]
    assert (trial["cost_usd"], trial["passed"]) == (None, False)
    assert trial["judgements"][1]["reason"] == "1 request has no known price"
    batch = json.loads(llmdo("batch", "show", "last", "--format", "json", cwd=paid).out)
    assert (batch["cost_usd"], batch["unpriced"]) == (None, 1)
