"""`--record` and `--recorded`: what a provider's own client heard, repeated without a key and without the provider."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Llmdo
from tests.features.evaluation.conftest import judgements, trials, write
from tests.runtime.models.conftest import Serve, serve
from tests.support.locks import locked
from tests.support.provider import Fail, Say, Server

__all__ = ["serve"]

MODEL = "openai:gpt-5-mini"
FILE = "evals/e.recorded.json"
GRADER = f"---\nname: grader\nentry: true\nmodel: {MODEL}\n---\nYou are grader. You judge.\n"
KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
LOOK = ("look", {"item": "lamp"})
SCRIPTS = {
    "main": [
        Say(calls=[LOOK, ("helper", {"input": "what?"})]), Say("A lamp."),
        Say(calls=[("refund", {})]), Say("Refunded."),
    ],
    "helper": [Say("It is a lamp.")],
    "grader": [Say('{"pass": true, "reason": "so it is"}'), Say('{"pass": false, "reason": "no"}')],
}  # fmt: skip
CASES = [
    {
        "name": "lamp",
        "input": "What is it?",
        "evaluators": {"tools": ["look", "helper"], "delegates_at_most": 1},
    },
    {"name": "refund", "input": "My money back.", "evaluators": {"never_raised": "x.shop.refund"}},
]


@pytest.fixture
def asking(root: Path) -> Path:
    """The workspace, with workers that ask a provider, and an eval with a judge."""
    manifest = root / "llmdo.toml"
    manifest.write_text(manifest.read_text().replace("python:models.py:rules", MODEL), encoding="utf-8")
    for name in ("main", "helper"):
        worker = root / f"{name}.worker"
        worker.write_text(worker.read_text() + f"You are {name}.\n", encoding="utf-8")
    (root / "grader.worker").write_text(GRADER, encoding="utf-8")
    write(root, CASES, evaluators={"judge": {"grader": "Is it so?"}, "cost_at_most": 0.5})
    return locked(root)


def evaluated(llmdo: Llmdo, root: Path, *options: str) -> dict[str, Any]:
    done = llmdo("eval", *options, "--approve-all", "--jobs", "1", "--format", "json", cwd=root)
    assert done.code == 0, done.err
    data: dict[str, Any] = json.loads(done.out)
    return data


@pytest.fixture
def recorded(
    llmdo: Llmdo, asking: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, dict[str, Any], Server]:
    """The workspace after the server answered an eval once, and what that came to; there is no key any more."""
    server = serve(**SCRIPTS)
    data = evaluated(llmdo, asking, "--record")
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    return asking, data, server


def verdicts(data: dict[str, Any]) -> list[tuple[object, ...]]:
    """What the trials came to, and what was said about them."""
    return [
        (t["case"], t["state"], t["output"], t["requests"], t["passed"], list(judgements(t).items()))
        for t in data["variants"][0]["trials"]
    ]


def test_what_was_recorded_is_repeated_without_a_key_and_with_the_same_verdicts(
    llmdo: Llmdo, recorded: tuple[Path, dict[str, Any], Server]
) -> None:
    root, first, server = recorded
    asked = len(server.requests)
    assert asked == 7
    effects = (root / "effects.log").read_text()
    for _ in range(2):
        again = evaluated(llmdo, root, "--recorded")
        assert verdicts(again) == verdicts(first)
    assert len(server.requests) == asked, "nobody was asked"
    assert (root / "effects.log").read_text() == effects * 3, "tools really run"
    variant = again["variants"][0]
    assert (variant["label"], variant["recording"], variant["cost_usd"]) == ("recorded", FILE, 0)
    assert variant["recorded_usd"] == pytest.approx(first["variants"][0]["cost_usd"])
    assert variant["recorded_usd"] > 0
    text = llmdo("eval", "show", "last", cwd=root).out
    assert "cost" in text
    assert f"recorded: no model was asked, and nothing spent; ${variant['recorded_usd']:.4f} is what" in text
    stats = json.loads(llmdo("runs", "stats", "--by", "model", "--format", "json", cwd=root).out)
    of_replay = {total["name"]: total["cost_usd"] for total in stats["totals"]}[f"replay:{FILE}"]
    assert float(of_replay) == 0
    shown = llmdo("runs", "show", variant["trials"][0]["run"], "--messages", cwd=root).out
    assert f"replay:{FILE}" in shown


@pytest.mark.long
def test_a_recording_is_text_without_secrets_that_does_not_change_by_itself(
    llmdo: Llmdo, recorded: tuple[Path, dict[str, Any], Server], serve: Serve
) -> None:
    root, _, _ = recorded
    text = (root / FILE).read_text(encoding="utf-8")
    assert "dummy-" not in text
    document = json.loads(text)
    assert [(run["case"], run["entry"]) for run in document["runs"]] == [
        ("lamp", "main"), ("refund", "main"), ("lamp", "grader"), ("refund", "grader"),
    ]  # fmt: skip
    assert {request["asked"]["model"] for run in document["runs"] for request in run["requests"]} == {MODEL}
    serve(**SCRIPTS)
    evaluated(llmdo, root, "--record")
    assert (root / FILE).read_text(encoding="utf-8") == text


def test_another_request_fails_its_case_alone_and_says_what_differs(
    llmdo: Llmdo, recorded: tuple[Path, dict[str, Any], Server]
) -> None:
    root, _, server = recorded
    asked = len(server.requests)
    again = "; record again with `llmdo eval e --record`"
    write(root, [CASES[0], {**CASES[1], "input": "Other."}], evaluators={"judge": {"grader": "Is it so?"}})
    data = evaluated(llmdo, root, "--recorded")
    lamp, refund = (trials(json.dumps(data))[name] for name in ("lamp", "refund"))
    assert lamp["passed"], lamp
    assert refund["error"] == f"main: `{FILE}` has no run of entry `main` with this input{again}"
    write(root, CASES, evaluators={"judge": {"grader": "Another question?"}})
    judged = judgements(trials(json.dumps(evaluated(llmdo, root, "--recorded")))["lamp"])
    assert f"has no run of entry `grader` with this input{again}" in str(judged["grader: Another question?"])
    write(root, CASES, evaluators={"judge": {"grader": "Is it so?"}})
    worker = root / "main.worker"
    worker.write_text(worker.read_text() + "Be brief.\n", encoding="utf-8")
    changed = trials(json.dumps(evaluated(llmdo, locked(root), "--recorded")))["refund"]
    assert changed["error"] == f"main: request 1 was recorded for another request: its prompt changed{again}"
    assert len(server.requests) == asked


@pytest.mark.long
def test_a_result_of_a_tool_that_was_another_is_not_guessed_over(
    llmdo: Llmdo, recorded: tuple[Path, dict[str, Any], Server]
) -> None:
    root, _, _ = recorded
    tools = root / "tools.py"
    tools.write_text(tools.read_text().replace("did {text}", "it did {text}"), encoding="utf-8")
    changed = trials(json.dumps(evaluated(llmdo, locked(root), "--recorded")))["lamp"]
    assert (
        "recorded for another request: result of `look` differs from the recorded result" in changed["error"]
    )


def test_an_answer_that_held_a_secret_is_left_out_and_named(
    llmdo: Llmdo, asking: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "hunter2-hunter2")
    write(asking, [CASES[0]], evaluators={"contains": "is"})
    serve(main=[Say("It is hunter2-hunter2.")])
    done = llmdo("eval", "--record", cwd=asking)
    assert "lamp: main is without a secret that it held, so it cannot be repeated" in done.err
    assert "hunter2" not in (asking / FILE).read_text()
    again = trials(llmdo("eval", "--recorded", "--format", "json", cwd=asking).out)["lamp"]
    assert again["error"] == f"main: the answer to request 1 in `{FILE}` is without a secret that it held"


@pytest.mark.long
def test_what_was_not_answered_is_not_recorded_and_without_a_key_a_recording_is_named(
    llmdo: Llmdo, asking: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(asking, [CASES[0], {"name": "b", "input": "b"}], evaluators={"contains": "x"})
    serve(main=[Say("x"), Fail(400)])
    assert llmdo("eval", "--record", "--jobs", "1", cwd=asking).code == 0
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    done = llmdo("eval", cwd=asking)
    assert (done.code, done.out) == (2, "")
    assert "needs the environment variable `OPENAI_API_KEY`" in done.err
    assert "`llmdo eval e --recorded` gives the answers of its recording, without a key" in done.err
    again = llmdo("eval", "--recorded", cwd=asking)
    assert "without a key" not in again.err
    data = evaluated(llmdo, asking, "--recorded")
    assert [t["output"] for t in data["variants"][0]["trials"]] == ["x", None]
    assert "request 1 is not in" in data["variants"][0]["trials"][1]["error"]


PRICED = """

from decimal import Decimal
from pydantic_ai.usage import RequestUsage


async def charge(messages, info):
    return ModelResponse(parts=[TextPart("a")], usage=RequestUsage(input_tokens=1, cost=Decimal("0.4")))


priced = FunctionModel(charge, model_name="priced")
"""


def test_a_recording_is_written_once_all_is_run_also_by_who_goes_on(llmdo: Llmdo, root: Path) -> None:
    with (root / "models.py").open("a", encoding="utf-8") as file:
        file.write(PRICED)
    write(root, [{"name": n, "input": n} for n in "ab"], evaluators={"contains": "a"})
    words = ("--jobs", "1", "--budget-usd", "0.3", "--model", "python:models.py:priced")
    done = llmdo("eval", "--record", *words, cwd=root)
    assert (done.code, "nothing is recorded yet: 1 run is left" in done.err) == (1, True), done.err
    assert not (root / FILE).exists()
    assert llmdo("eval", "resume", "last", cwd=root).code == 0
    assert [run["case"] for run in json.loads((root / FILE).read_text())["runs"]] == ["a", "b"]
    again = evaluated(llmdo, root, "--recorded")["variants"][0]
    assert (again["passed"], again["cost_usd"], again["recorded_usd"]) == (1, 0, pytest.approx(0.8))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--recorded"], "`llmdo eval e --record` writes it"),
        (["--record", "--recorded"], "asks models, and `--recorded` asks none"),
        (["--recorded", "--model", "test"], "there is nothing to compare"),
        (["--record", "--model", "test", "--model", "test:b"], "records one variant"),
        (["--record", "--rev", "HEAD..worktree"], "records one variant"),
        (["--record", "--repeat", "2"], "`--record` is for one run of each case"),
        (["--recorded", "--repeat", "2"], "`--recorded` is for one run of each case"),
    ],
)
def test_what_a_recording_cannot_be_is_refused_before_anything_is_run(
    llmdo: Llmdo, root: Path, options: list[str], why: str
) -> None:
    write(root, [{"name": "a", "input": "say a"}], evaluators={"contains": "a"})
    done = llmdo("eval", *options, cwd=root)
    assert (done.code, why in done.err) == (2, True), done.err
    assert not (root / ".llmdo/batches").exists()


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"\xff\xfe\x00", b'{"schema": "llmdo.recording/2"}', b'{"schema": "llmdo.recording/1"}',
        b'{"schema": "llmdo.recording/1", "eval": "e", "entry": "helper", "runs": []}',
        b'{"schema": "llmdo.recording/1", "eval": "e", "entry": "main", "runs": [{}]}', b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_damaged_recording_is_an_error(llmdo: Llmdo, root: Path, content: bytes) -> None:
    write(root, [{"name": "a", "input": "say a"}], evaluators={"contains": "a"})
    (root / FILE).write_bytes(content)
    done = llmdo("eval", "--recorded", cwd=root)
    assert (done.code, "Traceback" in done.err, FILE in done.err) == (2, False, True), done.err


def test_a_recording_outside_of_the_workspace_is_not_followed(
    llmdo: Llmdo, root: Path, tmp_path: Path
) -> None:
    write(root, [{"name": "a", "input": "say a"}], evaluators={"contains": "a"})
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    (root / FILE).symlink_to(tmp_path / "other.json")
    done = llmdo("eval", "--recorded", cwd=root)
    assert (done.code, "is a link" in done.err) == (2, True), done.err
    assert llmdo("eval", "--record", cwd=root).code == 0
    assert (tmp_path / "other.json").read_text() == "{}"
