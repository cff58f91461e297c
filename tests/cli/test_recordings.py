"""Exported runs: carried to another workspace, and held against the workspace of today."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from xml.etree import ElementTree

import pytest

from llmdo.journal import Runs

from .conftest import Llmdo


@pytest.fixture
def recorded(workspace: Path, llmdo: Llmdo) -> Path:
    """A workspace with a recording of a run that reads a file and is refused another one."""
    (workspace / "a.txt").write_text("content")
    manifest = (workspace / "llmdo.toml").read_text()
    (workspace / "llmdo.toml").write_text(
        f'{manifest}\n[approvals.rules]\n"fs.read:a.txt" = "allowed"\n"fs.read:secret/**" = "blocked"\n'
    )
    llmdo("run", "main", "read_file:path:a.txt;read_file:path:secret/b.txt", cwd=workspace)
    (workspace / "recordings").mkdir()
    assert llmdo("runs", "export", "last", "recordings/read.sqlite", cwd=workspace).code == 0
    return workspace


def test_a_recording_holds_as_long_as_the_workspace_does_the_same(llmdo: Llmdo, recorded: Path) -> None:
    (recorded / "a.txt").unlink()
    held = llmdo("test", cwd=recorded)
    assert (held.code, held.out) == (0, "read.sqlite: as it was\n")
    worker = recorded / "main.worker"
    worker.write_text(worker.read_text().replace("Go.", "Go on."))
    failed = llmdo("test", cwd=recorded)
    assert failed.code == 1
    assert failed.out == (
        "read.sqlite: failed\n  main: request 1 is not the recorded one: its prompt changed\n"
    )


def test_another_tool_is_a_divergence_too(llmdo: Llmdo, recorded: Path) -> None:
    (recorded / "main.worker").write_text("---\nname: main\ntoolsets: [filesystem]\n---\nGo.\n")
    failed = llmdo("test", "recordings/read.sqlite", cwd=recorded)
    assert "main: request 1 is not the recorded one: its tools changed" in failed.out


def test_recorded_calls_are_judged_by_the_rules_of_today(llmdo: Llmdo, recorded: Path) -> None:
    assert llmdo("test", "--decisions", cwd=recorded).out == "read.sqlite: as it was\n"
    manifest = recorded / "llmdo.toml"
    text = manifest.read_text().replace('a.txt" = "allowed"', 'a.txt" = "blocked"')
    manifest.write_text(text.replace('secret/**" = "blocked"', 'secret/**" = "allowed"'))
    worker = recorded / "main.worker"
    worker.write_text(worker.read_text().replace("Go.", "Another prompt."))
    flipped = llmdo("test", "--decisions", cwd=recorded)
    assert flipped.code == 1
    assert "  main/read_file#1: `read_file` was allowed and is blocked: " in flipped.out
    assert "  main/read_file#2: `read_file` was blocked and is allowed: " in flipped.out


def test_a_team_without_recordings_is_told_how_to_make_one(llmdo: Llmdo, workspace: Path) -> None:
    refused = llmdo("test", cwd=workspace)
    assert refused.code == 2
    assert "llmdo runs export RUN recordings/NAME.sqlite" in refused.err


def test_an_exported_run_goes_on_in_another_workspace(llmdo: Llmdo, recorded: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name in ("llmdo.toml", "models.py", "main.worker"):
        (other / name).write_bytes((recorded / name).read_bytes())
    file = recorded / "recordings" / "read.sqlite"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    taken = llmdo("runs", "import", str(file), cwd=other)
    assert taken.out.strip() == Runs(recorded).names()[-1]
    assert "is here already" in llmdo("runs", "import", str(file), cwd=other).err
    assert [path.name for path in (other / ".llmdo" / "runs").glob("*.sqlite")] == [
        f"{taken.out.strip()}.sqlite"
    ]
    assert llmdo("replay", "last", cwd=other).out == llmdo("replay", "last", cwd=recorded).out


def test_nothing_is_overwritten_and_nothing_else_is_taken_in(llmdo: Llmdo, recorded: Path) -> None:
    assert llmdo("runs", "export", "last", "recordings/read.sqlite", cwd=recorded).code == 2
    assert "does not end in" in llmdo("runs", "export", "last", "x.db", cwd=recorded).err
    (recorded / "bad.sqlite").write_text("bad")
    assert llmdo("runs", "import", "bad.sqlite", cwd=recorded).code == 2
    assert len(Runs(recorded).names()) == 1


@pytest.mark.long
def test_no_secret_of_the_environment_is_in_a_journal(
    llmdo: Llmdo, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = 'canary"-7f3a\\x91'
    monkeypatch.setenv("SOME_API_KEY", canary)
    (workspace / "a.txt").write_text(f"before {canary} after, and sk-proj-abcdefghijklmnopqrstuvwx")
    read = (
        "read_file:path:a.txt",
        "--log-events",
        "log.jsonl",
        "--trace-dir",
        "traces",
        "-vv",
        "--trace-content",
    )
    done = llmdo("run", "main", *read, cwd=workspace)
    assert canary in done.out
    assert "sk-proj-abc" in done.out
    assert "canary" not in done.err
    shown = [
        llmdo(*words, cwd=workspace).out
        for words in (
            ("runs", "show", "last"),
            ("runs", "show", "last", "--format", "json"),
            ("runs", "show", "last", "--format", "markdown"),
            ("audit", "last", "--format", "jsonl"),
        )
    ]
    assert "before [redacted SOME_API_KEY] after, and [redacted]" in shown[0]
    assert llmdo("runs", "export", "last", "out.sqlite", cwd=workspace).code == 0
    logged = [workspace / "log.jsonl", workspace / "out.sqlite", *(workspace / "traces").glob("*")]
    assert len(logged) == 3
    for text in (*shown, *(path.read_bytes().decode("utf-8", "replace") for path in logged)):
        assert "canary" not in text
        assert "sk-proj-abc" not in text
    for path in (workspace / ".llmdo").rglob("*"):
        if path.is_file():
            assert b"canary" not in path.read_bytes()
    assert llmdo("replay", "last", cwd=workspace).out == done.out
    assert llmdo("resume", "last", cwd=workspace).out == done.out
    monkeypatch.setenv("SOME_API_KEY", "another canary")
    for command in ("replay", "resume"):
        refused = llmdo(command, "last", cwd=workspace)
        assert refused.out == ""
        assert "the value that `SOME_API_KEY` had when it was recorded is needed" in refused.err
        assert "set `SOME_API_KEY` to the value that it had" in refused.err
    refused = llmdo("replay", "out.sqlite", cwd=workspace)
    assert "main: `request` 1 is needed, and the export took a secret out of it" in refused.err or (
        "is needed, and the export took a secret out of it" in refused.err
    )


def test_a_secret_in_a_path_is_in_no_scope_that_is_kept(
    llmdo: Llmdo, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary-7f3a")
    (workspace / "canary-7f3a.txt").write_text("content")
    assert llmdo("run", "main", "read_file:path:canary-7f3a.txt", cwd=workspace).code == 0
    for path in (workspace / ".llmdo").rglob("*"):
        if path.is_file():
            assert b"canary" not in path.read_bytes()
    assert (
        '"fs.read:[redacted SOME_API_KEY].txt"'
        in llmdo("audit", "last", "--format", "jsonl", cwd=workspace).out
    )
    assert llmdo("audit", "last", "--verify", cwd=workspace).code == 0


def test_what_past_runs_needed_is_suggested(llmdo: Llmdo, recorded: Path) -> None:
    suggested = llmdo("suggest", "main", "--from-runs", cwd=recorded).out
    assert 'may = ["fs.read:a.txt"]' in suggested
    assert "secret" not in suggested
    assert '# main: may = ["fs.read:a.txt"]' in suggested


def test_results_are_a_document_and_a_junit_report_too(llmdo: Llmdo, recorded: Path) -> None:
    (recorded / "recordings" / "damaged.sqlite").write_text("damaged")
    worker = recorded / "main.worker"
    worker.write_text(worker.read_text().replace("Go.", "Go on."))
    tested = llmdo("test", "--format", "json", cwd=recorded)
    document = json.loads(tested.out)
    assert (tested.code, document["schema"], document["failed"]) == (1, "llmdo.test/1", 2)
    damaged, read = document["recordings"]
    assert (damaged["status"], damaged["run"]) == ("error", None)
    assert "is damaged" in damaged["error"]
    assert (read["status"], read["entry"], read["flips"]) == ("failed", "main", [])
    assert read["divergences"] == ["main: request 1 is not the recorded one: its prompt changed"]
    report = ElementTree.fromstring(llmdo("test", "--format", "junit", cwd=recorded).out)
    assert (report.get("failures"), report.get("errors")) == ("1", "1")
    assert report.findall(".//testcase[@name='read.sqlite']/failure")[0].get("type") == "requests"
    manifest = recorded / "llmdo.toml"
    manifest.write_text(manifest.read_text().replace('a.txt" = "allowed"', 'a.txt" = "blocked"'))
    judged = json.loads(llmdo("test", "--decisions", "--format", "json", cwd=recorded).out)
    assert judged["judged"] == "decisions"
    flip = judged["recordings"][1]["flips"][0]
    assert (flip["path"], flip["before"], flip["after"]) == ("main/read_file#1", "allowed", "blocked")


def test_a_persons_policy_is_left_out_and_that_is_reported(
    llmdo: Llmdo, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "config" / "llmdo" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('schema = 1\n[approvals.rules]\n"fs.read" = "blocked"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    held = llmdo("test", "--decisions", cwd=recorded)
    assert held.code == 0
    assert "policy.toml` is left out" in held.err
