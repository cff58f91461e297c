"""Names of models: of providers that have another one now, and of those whose keys are looked for."""

from __future__ import annotations

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.graph.models import PROVIDERS, RENAMED, near_provider, problem_of, with_current_provider
from llmdo.runtime import ModelChoice
from llmdo.services.requirements import require_models
from tests.support.building import graph, worker


@pytest.mark.parametrize("gone", RENAMED)
def test_a_provider_that_is_gone_is_named_as_it_is_now(gone: str) -> None:
    assert gone not in PROVIDERS
    now = with_current_provider(f"{gone}:gemini-3")
    assert problem_of(now) is None
    assert near_provider(f"{gone}:gemini-3") == f"did you mean `{now}`?"


def test_other_names_stay() -> None:
    for name in ("openai:gpt-5", "fast", "python:models.py:rules", "google-gla"):
        assert with_current_provider(name) == name


@pytest.mark.parametrize(
    ("model", "environ", "lacks"),
    [
        ("openai:gpt-5", {}, True),
        ("openai-responses:gpt-5", {}, True),
        ("openai:gpt-5", {"OPENAI_API_KEY": "k"}, False),
        ("openai:gpt-5", {"OPENAI_BASE_URL": "http://localhost"}, False),
        ("google:gemini-3", {"GEMINI_API_KEY": "k"}, False),
        ("google-cloud:gemini-3", {}, False),
        ("openai-codex:gpt-5", {}, False),
        ("python:models.py:main", {}, False),
    ],
)
def test_a_key_is_looked_for_where_its_name_is_known(
    model: str, environ: dict[str, str], lacks: bool
) -> None:
    team = graph(worker("main", model=model))
    [entry] = team.entries
    if lacks:
        with pytest.raises(LlmdoError, match="is not set"):
            require_models(team, entry, ModelChoice(), environ)
    else:
        require_models(team, entry, ModelChoice(), environ)
