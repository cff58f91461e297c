"""Which model a worker uses, and what is said when it cannot be made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.extras import installing
from llmdo.graph.models import problem_of, python_reference
from llmdo.runtime import ModelChoice
from llmdo.runtime.models.choice import choose
from tests.support.building import go, graph, script, worker


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("openai:gpt-5", None),
        ("gateway/anthropic:claude", None),
        ("ollama:llama3:8b", None),
        ("test", None),
        ("fast", None),
        ("python:models.py:rules", None),
        ("python:deep/er.py:rules", None),
        ("gpt-4o", "`gpt-4o` is neither an alias of [models] nor of the form provider:model"),
        ("openai:", "`openai:` is neither an alias of [models] nor of the form provider:model"),
        ("opnai:gpt-5", "`opnai` is not a model provider that llmdo knows"),
        ("gateway/opnai:gpt-5", "`gateway/opnai` is not a model provider that llmdo knows"),
        ("python:models.py", "`python:models.py` is not of the form python:FILE.py:NAME"),
        ("python:models:rules", "`python:models:rules` is not of the form python:FILE.py:NAME"),
    ],
)
def test_the_form_of_a_reference_is_judged_without_making_a_model(
    reference: str, problem: str | None
) -> None:
    assert problem_of(reference, {"fast": ()}) == problem


def test_a_python_reference_is_a_file_and_a_name() -> None:
    assert python_reference("python:models.py:rules") == "models.py:rules"
    assert python_reference("models.py:rules") is None


LADDER = ["by worker", "own", "flag", "environment", "entry", "workspace", None]


@pytest.mark.parametrize("given", range(len(LADDER)))
def test_the_nearest_choice_of_a_model_wins(given: int) -> None:
    choices: Mapping[str, str | None] = {str(step): step for step in LADDER[given:]}
    member = worker("main", model=choices.get("own"))
    team_graph = graph(member, model=choices.get("entry"), workspace_model=choices.get("workspace"))
    choice = ModelChoice(
        by_worker={"main": "by worker"} if "by worker" in choices else {"other": "no"},
        default=choices.get("flag"),
        environment=choices.get("environment"),
    )
    assert choose(team_graph, team_graph.entries["go"], member, choice) == LADDER[given]


MODELS = """
from pydantic_ai.models.test import TestModel
made = []

def counted():
    made.append(1)
    return TestModel(call_tools=[], custom_output_text=f"made {len(made)}")

def failing():
    raise KeyError("x")

fixed = TestModel(call_tools=[], custom_output_text="fixed")
number = 7
"""


def test_a_function_makes_a_model_once_in_a_run(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(MODELS)
    script(tmp_path, main=[[("a", {"input": "x"}), ("b", {"input": "x"})], "{results}"])
    team_graph = graph(
        worker("main", "a", "b"),
        worker("a", model="python:own.py:counted"),
        worker("b", model="python:own.py:counted"),
    )
    assert go(team_graph, tmp_path).output == "[success: made 1] [success: made 1]"


def test_an_alias_is_its_chain_and_the_next_model_takes_over(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from pydantic_ai.exceptions import ModelHTTPError\n"
        "from pydantic_ai.models.function import FunctionModel\n"
        "from pydantic_ai.models.test import TestModel\n"
        "def down(messages, info):\n    raise ModelHTTPError(503, 'down')\n"
        "first = FunctionModel(down)\n"
        "second = TestModel(custom_output_text='second')\n"
    )
    chain = ("python:own.py:first", "python:own.py:second")
    outcome = go(graph(worker("main", model="strong"), aliases={"strong": chain}), tmp_path)
    assert outcome.output == "second", outcome.error


def test_what_is_missing_is_reported_at_once_for_all_workers(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(MODELS)
    team_graph = graph(
        worker("main", "a", "b", "c", "d", model="python:own.py:fixed"),
        worker("a", model="python:own.py:number"),
        worker("b", model="opnai:x"),
        worker("c", model="python:own.py:failing"),
        worker("d", model=None),
    )
    with pytest.raises(LlmdoError) as refused:
        go(team_graph, tmp_path)
    assert refused.value.message == (
        "`python:own.py:number` is not a model; `opnai` is not a model provider that llmdo knows; "
        "`python:own.py:failing` cannot be made: KeyError: 'x'; worker `d` has no model"
    )


def test_a_missing_key_is_one_sentence_with_its_variable(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from pydantic_ai.exceptions import UserError\n"
        "def keyed():\n"
        "    raise UserError('Set the `ACME_API_KEY` environment variable or pass it via `Acme(api_key=...)`.')\n"
    )
    with pytest.raises(LlmdoError) as refused:
        go(graph(worker("main", model="python:own.py:keyed")), tmp_path)
    assert refused.value.message == (
        "`python:own.py:keyed` needs the environment variable `ACME_API_KEY`, which is not set"
    )


def test_a_missing_library_is_one_sentence_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "anthropic", None)
    for name in [
        module for module in __import__("sys").modules if module.startswith("pydantic_ai.providers.anthropic")
    ]:
        monkeypatch.delitem(__import__("sys").modules, name)
    with pytest.raises(LlmdoError) as refused:
        go(graph(worker("main", model="anthropic:claude-opus-4-5")), tmp_path)
    assert refused.value.message == "`anthropic:claude-opus-4-5` needs a library that is not installed"
    assert refused.value.hint == installing("anthropic")


@pytest.mark.parametrize(("patterns", "fits"), [(["openai:*", "python:own*"], True), (["openai:*"], False)])
def test_a_model_that_a_worker_does_not_work_with_is_refused_at_the_start(
    tmp_path: Path, patterns: list[str], fits: bool
) -> None:
    (tmp_path / "own.py").write_text(MODELS)
    team_graph = graph(
        worker("main", model="mine", compatible_models=tuple(patterns)),
        aliases={"mine": ("python:own.py:fixed",)},
    )
    if fits:
        assert go(team_graph, tmp_path).output == "fixed"
        return
    with pytest.raises(
        LlmdoError, match=r"`main` does not work with `python:own\.py:fixed`, only with `openai"
    ):
        go(team_graph, tmp_path)


def test_a_flag_for_one_worker_replaces_its_own_model(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(MODELS)
    script(tmp_path, main=["scripted"])
    choice = ModelChoice(by_worker={"main": "python:own.py:fixed"})
    assert go(graph(worker("main")), tmp_path, models=choice).output == "fixed"
    assert (
        go(graph(worker("main")), tmp_path, models=ModelChoice(default="python:own.py:fixed")).output
        == "scripted"
    )
