"""What people and calling models are told of a provider that fails: a sentence, and what to do about it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from llmdo.runtime import RunOutcome
from llmdo.runtime.telemetry.events import ModelFailed
from tests.support.building import go, graph, worker
from tests.support.commands import llmdo
from tests.support.provider import Answer, Fail, Raw, Say

from .conftest import Serve
from .test_clients import ANTHROPIC, CHAT, MODELS, RESPONSES, streaming
from .test_command_line import MAIN, MANIFEST

PAGE = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
KEY = "sk-proj-Zq8Rk2Wm5Tn7Yb4Lc9Vx"
REFUSED_KEY = f"Incorrect API key provided: {KEY[:8]}{'*' * 12}{KEY[-4:]}."
WHOLE = {"model_settings": {"max_tokens": 100}}  # with it Anthropic is asked for a whole answer


def named(model: str) -> str:
    return model.replace("-chat", "")


def failed(serve: Serve, tmp_path: Path, model: str, answer: Answer, **more: Any) -> RunOutcome:
    serve(main=[answer] * 3)
    outcome = go(graph(worker("main", model=model, **WHOLE)), tmp_path, **more)
    assert outcome.status == "failed"
    assert "{" not in (outcome.error or "")
    return outcome


@pytest.mark.few(3)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_names_its_variable_and_shows_no_part_of_it(
    model: str, status: int, serve: Serve, tmp_path: Path
) -> None:
    outcome = failed(serve, tmp_path, model, Fail(status, {}, "invalid_api_key", REFUSED_KEY))
    problem = {401: "did not accept the key", 403: "may not be used with this key"}[status]
    assert outcome.error == f"`{named(model)}` {problem} (status {status})"
    variable = "ANTHROPIC_API_KEY" if model == ANTHROPIC else "OPENAI_API_KEY"
    assert outcome.hint == f"check the key in the environment variable `{variable}`"


@pytest.mark.parametrize("model", MODELS)
def test_whatever_else_is_quoted_holds_no_part_of_a_key(model: str, serve: Serve, tmp_path: Path) -> None:
    words = f"{REFUSED_KEY} Or {KEY}; or {KEY[:6]}...{KEY[-4:]}, for us"
    outcome = failed(serve, tmp_path, model, Fail(400, {}, "bad", words))
    error = outcome.error or ""
    assert error.endswith("Incorrect API key provided: [redacted]. Or [redacted]; or [redacted], for us")
    assert not any(KEY[at : at + 4] in error for at in range(3, len(KEY) - 3))


@pytest.mark.few(4)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("answer", "error", "hint"),
    [
        (
            Fail(404, {}, "model_not_found", "The model does not exist"),
            "`{}` is not known to its provider (status 404): The model does not exist",
            "is that the model's name, and may the key use it?",
        ),
        (
            Fail(402, {}, "billing_error", "Your credit\nis used up"),
            "`{}` is out of quota (status 402): Your credit is used up",
            "look at plan and billing where the key comes from, or name another model",
        ),
        (
            Fail(400, {}, "invalid", "max_tokens is too large"),
            "`{}` rejected the request (status 400): max_tokens is too large",
            None,
        ),
        (
            Fail(429, code="rate_limit_exceeded", message="Slow down"),
            "`{}` takes no more requests for now (status 429): Slow down",
            "wait, or set `requests-per-minute` in the entry's `limits`",
        ),
        (
            Raw(PAGE, 502, "text/html"),
            "`{}` failed (status 502)",
            "it may work later; a chain of models in [models] goes on with another one",
        ),
    ],
    ids=lambda value: str(getattr(value, "status", "")),
)
def test_a_status_is_a_sentence_with_what_the_provider_said(
    model: str, answer: Answer, error: str, hint: str | None, serve: Serve, tmp_path: Path
) -> None:
    outcome = failed(serve, tmp_path, model, answer)
    assert (outcome.error, outcome.hint) == (error.format(named(model)), hint)


@pytest.mark.few(2)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("watchers", [{}, {"instruments": (streaming(),)}], ids=["whole", "streamed"])
def test_a_refusal_says_what_the_model_said(
    model: str, watchers: dict[str, Any], serve: Serve, tmp_path: Path
) -> None:
    outcome = failed(serve, tmp_path, model, Say(refusal="I can't help with that."), **watchers)
    assert outcome.error == "the model refused to answer: I can't help with that."


@pytest.mark.few(2)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("media_type", ["text/html", "application/json"])
def test_a_page_instead_of_an_answer_is_asked_again(
    model: str, media_type: str, serve: Serve, tmp_path: Path
) -> None:
    events: list[Any] = []
    server = serve(main=[Raw(PAGE, media_type=media_type), Say("Done.")])
    outcome = go(graph(worker("main", model=model, **WHOLE)), tmp_path, on_event=events.append)
    assert (outcome.output, len(server.requests)) == ("Done.", 2)
    [event] = [failed_event for failed_event in events if isinstance(failed_event, ModelFailed)]
    assert event.error.startswith(f"the answer of `{named(model)}` cannot be read: ")
    assert "<" not in event.error


def test_a_page_sends_a_chain_on_to_its_next_model(serve: Serve, tmp_path: Path) -> None:
    serve(**{"main:gpt-5-mini": [Raw(PAGE)], "main:gpt-5-nano": [Say("Done.")]})
    team_graph = graph(worker("main", model="both"), aliases={"both": (CHAT, "openai-chat:gpt-5-nano")})
    assert go(team_graph, tmp_path).output == "Done."


def test_of_a_chain_every_model_is_explained(serve: Serve, tmp_path: Path) -> None:
    serve(main=[Fail(401, {}), Fail(404, {}, message="No such model")])
    outcome = go(graph(worker("main", model="both"), aliases={"both": (CHAT, ANTHROPIC)}), tmp_path)
    assert outcome.error == (
        "every model of the chain failed: `openai:gpt-5-mini` did not accept the key (status 401); "
        f"`{ANTHROPIC}` is not known to its provider (status 404): No such model"
    )
    assert re.search("OPENAI_API_KEY.*is that the model's name", outcome.hint or "")


def test_the_caller_of_a_worker_is_told_the_sentence_alone(serve: Serve, tmp_path: Path) -> None:
    server = serve(
        main=[Say(calls=[("helper", {"input": "x"})]), Say("Done.")],
        helper=[Fail(401, {}, "invalid_api_key", REFUSED_KEY)],
    )
    outcome = go(graph(worker("main", "helper", model=CHAT), worker("helper", model=CHAT)), tmp_path)
    assert outcome.output == "Done."
    sent = str(server.of("main")[-1].body)
    assert "`helper` failed: `openai:gpt-5-mini` did not accept the key (status 401)" in sent
    assert "OPENAI_API_KEY" not in sent


def test_the_command_line_shows_the_hint_and_json_has_it(serve: Serve, tmp_path: Path) -> None:
    serve(main=[Fail(401, {}, "invalid_api_key", REFUSED_KEY)] * 2)
    (tmp_path / "llmdo.toml").write_text(MANIFEST.format(model=RESPONSES), encoding="utf-8")
    (tmp_path / "main.worker").write_text(MAIN.replace("  helper: {}\n", ""), encoding="utf-8")
    done = llmdo(tmp_path, "run")
    assert done.returncode == 1
    assert (
        "error: `openai:gpt-5-mini` did not accept the key (status 401)\n  hint: check the key" in done.stderr
    )
    assert '"hint": "check the key in' in llmdo(tmp_path, "run", "--format", "json").stdout
