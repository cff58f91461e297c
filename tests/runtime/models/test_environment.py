"""Where models are reached, said by variables: the providers' own clients against the scripted server, not a model."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent
from pydantic_ai.models.instrumented import InstrumentationSettings

import llmdo
from llmdo.base.credentials import LISTED
from llmdo.base.diagnostic import LlmdoError
from llmdo.services.env_file import load
from tests.support.building import script
from tests.support.commands import llmdo as command
from tests.support.provider import Say, Server

from .conftest import Serve

MANIFEST = 'schema = 1\n\n[workspace]\nname = "desk"\nworkers = ["*.worker"]\n'
WORKER = "---\nname: main\nentry: true\n---\nYou are main.\n"


def team(root: Path) -> Path:
    (root / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    (root / "main.worker").write_text(WORKER, encoding="utf-8")
    return root


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("model", "variables", "path"),
    [
        ("openai-chat:mine", {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "unused"}, "/v1/chat/completions"),
        ("openai:mine", {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "unused"}, "/v1/responses"),
        ("ollama:mine", {"OLLAMA_BASE_URL": "{url}/v1"}, "/v1/chat/completions"),
        (
            "azure:mine",
            {"AZURE_OPENAI_ENDPOINT": "{url}", "AZURE_OPENAI_API_KEY": "unused", "OPENAI_API_VERSION": "2024-10-21"},
            "/openai/deployments/mine/chat/completions?api-version=2024-10-21",
        ),
    ],
)  # fmt: skip
def test_variables_lead_the_clients_to_a_server(
    model: str, variables: dict[str, str], path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server({"main": [Say("fine")]}).running() as server:
        for name, value in variables.items():
            monkeypatch.setenv(name, value.format(url=server.url))
        monkeypatch.setenv("LLMDO_MODEL", model)
        outcome = llmdo.run(team(tmp_path), "main", "hi")
    assert (outcome.output, outcome.error) == ("fine", None)
    assert [request.path for request in server.requests] == [path]


def test_a_file_of_variables_is_read_where_it_is_named_and_nothing_of_it_is_kept(
    tmp_path: Path, serve: Serve
) -> None:
    server = serve(main=[Say("your id is tango-bravo-77"), Say("again")])
    base, key = server.environment["OPENAI_BASE_URL"], server.environment["OPENAI_API_KEY"]
    (team(tmp_path) / ".env").write_text(
        f"# ours\nexport OPENAI_API_KEY=\"{key}\"\nOPENAI_BASE_URL={base} # here\nACME_ID='tango-bravo-77'\n",
        encoding="utf-8",
    )
    absent = {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}
    words = ("run", "main", "who? tango-bravo-77", "--model", "openai-chat:gpt-5-mini")
    without = command(tmp_path, *words, "--no-journal", environ=absent)
    assert (without.returncode, "OPENAI_API_KEY" in without.stderr) == (2, True)
    done = command(tmp_path, *words, "--env-file", ".env", environ=absent)
    assert (done.returncode, done.stdout) == (0, "your id is tango-bravo-77\n"), done.stderr
    assert "ACME_ID" in done.stderr
    assert "tango-bravo-77" not in done.stderr.replace("who? tango-bravo-77", "")
    contents = [path.read_bytes() for path in (tmp_path / ".llmdo").rglob("*") if path.is_file()]
    assert contents
    for value in (b"tango-bravo-77", base.encode(), key.encode()):
        assert not any(value in content for content in contents), value
    replayed = command(tmp_path, "runs", "replay", "last", "--env-file", ".env", environ=absent)
    assert replayed.stdout == done.stdout


def test_what_is_set_already_is_left_as_it_is_and_not_noted(tmp_path: Path) -> None:
    file = tmp_path / "vars"
    file.write_text("A=1 # one\nB = 'x # y'\nexport C=\"z\"\n\n  # no\nD=\nE=a=b#c\n", encoding="utf-8")
    environ = {"A": "mine", LISTED: "OTHER"}
    assert load(file, environ) == ("B", "C", "D", "E")
    assert environ == {"A": "mine", "B": "x # y", "C": "z", "D": "", "E": "a=b#c", LISTED: "OTHER,B,C,D,E"}


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"A=1\nsecret words\n", "line 2 of"), (b"1A=x", "line 1 of"), (b"\xff", "it is not text"), (None, "there is no file `vars` in")],
)  # fmt: skip
def test_a_file_that_is_none_of_variables_is_refused_without_a_value(
    content: bytes | None, message: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "vars").write_bytes(content)
    environ: dict[str, str] = {}
    with pytest.raises(LlmdoError, match=message) as refused:
        load(tmp_path / "vars", environ)
    assert "secret words" not in refused.value.message
    assert environ == {}


def test_instrument_all_traces_the_runs_of_a_program(tmp_path: Path) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    (team(tmp_path) / "main.worker").write_text(
        WORKER.replace("entry: true\n", "entry: true\nmodel: python:models.py:main\ntoolsets: [helper]\n"),
        encoding="utf-8",
    )
    (tmp_path / "helper.worker").write_text(
        "---\nname: helper\ndescription: Helps.\nmodel: python:models.py:helper\n---\nYou are helper.\n",
        encoding="utf-8",
    )
    script(tmp_path, main=[[("helper", {"input": "x"})], "{results}"], helper=["<{prompt}>"])
    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    try:
        assert llmdo.run(tmp_path, "main", "go").output == "[success: <x>]"
    finally:
        Agent.instrument_all(False)
    spans = {span.context.span_id: span for span in exporter.get_finished_spans() if span.context}
    agents = {
        str(span.attributes["gen_ai.agent.name"]): span
        for span in spans.values()
        if span.attributes and span.name.startswith("invoke_agent")
    }
    assert {*agents} == {"main", "helper"}
    above = agents["helper"].parent
    while above is not None and spans[above.span_id] is not agents["main"]:
        above = spans[above.span_id].parent
    assert above is not None, "the delegate's span stands below its caller's"


@pytest.mark.long
def test_an_entry_that_is_open_serves_many_requests_at_once(tmp_path: Path, serve: Serve) -> None:
    server = serve(main=[Say("fine")] * 50)

    async def requests() -> list[str | None]:
        entry = await asyncio.to_thread(llmdo.open_entry, tmp_path, "main", model="openai-chat:gpt-5-mini")
        outcomes = await asyncio.gather(*(entry.run(f"guest {number}") for number in range(50)))
        return [outcome.output for outcome in outcomes]

    team(tmp_path)
    assert asyncio.run(requests()) == ["fine"] * 50
    prompts = sorted(json.dumps(request.body["messages"][-1]["content"]) for request in server.requests)
    assert prompts == sorted(json.dumps(f"guest {number}") for number in range(50))
    assert os.environ["OPENAI_BASE_URL"] == f"{server.url}/v1"
