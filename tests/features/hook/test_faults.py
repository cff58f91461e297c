"""Whatever goes wrong, the call is denied, in the words of the client or by the exit code that stops it."""

from __future__ import annotations

import fcntl
import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.features.hook.sessions import Session
from tests.support.waiting import until


def states(session: Session) -> list[Path]:
    return [*(session.home / ".local/state/llmdo/hook").glob("*.json")]


def truncated(session: Session) -> None:
    [path] = states(session)
    path.write_text(path.read_text()[:40])


def of_another_type(session: Session) -> None:
    [path] = states(session)
    path.write_text('{"version": 1, "root": 3, "contexts": []}')


def of_a_later_version(session: Session) -> None:
    [path] = states(session)
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))


def without_callers(session: Session) -> None:
    [path] = states(session)
    data = json.loads(path.read_text())
    data["contexts"]["x"] = ["fixer", [], ["gone"], [], False]
    path.write_text(json.dumps(data))


def huge(session: Session) -> None:
    [path] = states(session)
    path.write_text(path.read_text()[:-1] + " " * 5_000_000 + "}")


def deleted(session: Session) -> None:
    [path] = states(session)
    path.unlink()


def a_link(session: Session) -> None:
    [path] = states(session)
    path.rename(session.home / "elsewhere")
    path.symlink_to(session.home / "elsewhere")


def a_folder(session: Session) -> None:
    [path] = states(session)
    path.unlink()
    path.mkdir()


def open_to_others(session: Session) -> None:
    states(session)[0].parent.chmod(0o777)


def journal_damaged(session: Session) -> None:
    [path] = states(session)
    path.with_suffix(".jsonl").write_text("nonsense\n")


def journal_a_link(session: Session) -> None:
    [path] = states(session)
    path.with_suffix(".jsonl").unlink()
    path.with_suffix(".jsonl").symlink_to("/dev/null")


def no_lock(session: Session) -> None:
    (session.root / "llmdo.lock").unlink()


def no_manifest(session: Session) -> None:
    (session.root / "llmdo.toml").unlink()


def broken_manifest(session: Session) -> None:
    (session.root / "llmdo.toml").write_text("[workspace\n")


def unreadable_manifest(session: Session) -> None:
    (session.root / "llmdo.toml").write_bytes(b"\xff\xfe")


def no_from(session: Session) -> None:
    (session.root / "llmdo.toml").write_text('schema = 1\n[workspace]\nname = "shop"\n')


def from_another(session: Session) -> None:
    (session.root / "llmdo.toml").write_text('schema = 1\n[workspace]\nname = "shop"\nfrom = ["codex"]\n')


def no_project(session: Session) -> None:
    shutil.rmtree(session.root)


def broken_policy(session: Session) -> None:
    (session.home / ".config/llmdo").mkdir(parents=True)
    (session.home / ".config/llmdo/policy.toml").write_text("nonsense")


FAULTS = (
    truncated, of_another_type, of_a_later_version, without_callers, huge, deleted, a_link, a_folder, open_to_others,
    journal_damaged, journal_a_link, no_lock, no_manifest, broken_manifest, unreadable_manifest, no_from, from_another,
    no_project, broken_policy,
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_project_or_a_state_that_cannot_be_used(session: Session, fault: Callable[[Session], None]) -> None:
    call = session.calling("Read", file_path="a.txt")
    assert session.printed(call) == (0, "")
    fault(session)
    if not session.root.exists():
        session.root.mkdir()
    code, text = session.printed(call)
    assert code == 0
    answer = json.loads(text)["hookSpecificOutput"]
    assert answer["permissionDecision"] == "deny", text
    assert answer["permissionDecisionReason"].startswith("denied by llmdo: ")
    assert "is not one of this project" not in answer["permissionDecisionReason"]


EVENTS = {
    "nothing": b"",
    "no JSON": b"{",
    "not UTF-8": b'{"session_id": "\xff\xfe"}',
    "a list": b"[]",
    "a number": b"3",
    "too deep": b"[" * 100_000,
    "too deep an argument": b'{"a":' * 100_000,
    "too large": b" " * (17 * 1024 * 1024),
    "a huge number": b'{"session_id": 1' + b"0" * 5000 + b"}",
    "no session": b'{"cwd": "/", "hook_event_name": "PreToolUse"}',
    "a session that is none": b'{"session_id": 3, "cwd": "/", "hook_event_name": "PreToolUse"}',
    "an unknown session": b'{"session_id": "x", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": "a"}}',
    "a session called as a path": b'{"session_id": "../../x", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": "a"}}',
    "no folder": b'{"session_id": "x", "hook_event_name": "PreToolUse"}',
}


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_an_event_that_is_none(session: Session, event: bytes) -> None:
    code, text = session.printed(event)
    assert (code, json.loads(text)["hookSpecificOutput"]["permissionDecision"]) == (0, "deny")


CALLS = {
    "no tool": {"tool_input": {}},
    "no arguments": {"tool_name": "Read"},
    "arguments that are a text": {"tool_name": "Read", "tool_input": "a.txt"},
    "no path": {"tool_name": "Read", "tool_input": {}},
    "a path that is a list": {"tool_name": "Write", "tool_input": {"file_path": ["docs/a.txt"]}},
    "a path with a NUL": {"tool_name": "Write", "tool_input": {"file_path": "docs/a\0.txt"}},
    "no command": {"tool_name": "Bash", "tool_input": {}},
    "an unknown agent": {
        "tool_name": "Read",
        "tool_input": {"file_path": "a"},
        "agent_id": "x",
        "agent_type": "y",
    },
    "an agent that is a number": {"tool_name": "Read", "tool_input": {"file_path": "a"}, "agent_id": 3},
    "an empty agent": {
        "tool_name": "Read",
        "tool_input": {"file_path": "a"},
        "agent_id": "",
        "agent_type": "triage",
    },
}


@pytest.mark.parametrize("parts", CALLS.values(), ids=CALLS)
def test_a_call_that_is_none(session: Session, parts: dict[str, object]) -> None:
    assert session.answer(session.event("PreToolUse", **parts)).decision == "blocked"


def test_a_person_without_a_home(session: Session) -> None:
    code, text = session.printed(session.calling("Read", file_path="a.txt"), HOME="")
    assert (code, json.loads(text)["hookSpecificOutput"]["permissionDecision"]) == (0, "deny")


def test_an_answer_that_nobody_reads_stops_the_call(session: Session) -> None:
    with session.process() as child:
        assert child.stdin
        assert child.stdout
        assert child.stderr
        child.stdout.close()
        child.stdin.write(session.calling("Write", file_path="secret/a"))
        child.stdin.close()
        assert b"denied" in child.stderr.read()
    assert child.returncode == 2


@pytest.mark.parametrize("is_early", [True, pytest.param(False, marks=pytest.mark.long)])
def test_an_answer_that_takes_too_long_denies(session: Session, is_early: bool) -> None:
    [path] = states(session)
    lock = path.with_name(f"{path.name}.lock")
    with lock.open("w") as file, session.process() as child:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert child.stdin
        child.stdin.write(session.calling("Read", file_path="a.txt"))
        child.stdin.close()
        child.stdin = None
        until(lambda: any(each.readlink() == lock for each in Path(f"/proc/{child.pid}/fd").iterdir()))
        if is_early:
            child.send_signal(signal.SIGALRM)
        output, _ = child.communicate()
    assert "within" in json.loads(output)["hookSpecificOutput"]["permissionDecisionReason"]


def test_a_lock_that_is_out_of_date_denies_where_that_is_asked_for(session: Session) -> None:
    call = session.calling("Read", file_path="a.txt")
    assert session.printed(call, "--locked") == (0, "")
    path = session.root / ".claude/agents/fixer.md"
    path.write_text(f"{path.read_text()}And more.\n")
    assert session.printed(call) == (0, "")
    code, text = session.printed(call, "--locked")
    reason = json.loads(text)["hookSpecificOutput"]["permissionDecisionReason"]
    assert code == 0
    assert "out of date" in reason
    assert "fixer" in reason
