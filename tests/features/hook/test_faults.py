"""Whatever goes wrong, the call is denied, in the words of the client or by the exit code that stops it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import pytest

from llmdo.features.hook.clients.copilot import own_file
from llmdo.features.hook.install import command_for
from tests.features.hook.sessions import COPILOT_WORDS, Session, relock
from tests.support.waiting import until

MANIFEST = """\
schema = 1

[workspace]
name = "shop"
from = ["{}"]

[approvals.rules]
"fs.write:secret/**" = "blocked"
"""
IN_MARKDOWN = "---\nname: fixer\ndescription: Does.\n---\nDo it.\n"
IN_TOML = 'name = "fixer"\ndescription = "Does."\ndeveloper_instructions = "Do it."\n'


@dataclass(frozen=True)
class FaultyClient:
    """A client whose hook is to fail: its files, its calls, and the place of a reason in its answer."""

    before: str
    agent: tuple[str, str]
    """The path and the text of its agent `fixer`."""
    settings: tuple[str, str]
    reads: tuple[str, Mapping[str, object]]
    writes: tuple[str, Mapping[str, object]]
    """A call that is blocked."""
    reason: Callable[[dict[str, dict[str, str]]], tuple[object, object]]
    """The decision and the reason in an answer."""
    begins: str = "SessionStart"
    main: str | None = None
    words: Mapping[str, str] = field(default_factory=dict)


def as_claude(answer: dict[str, dict[str, str]]) -> tuple[object, object]:
    own = answer["hookSpecificOutput"]
    return own["permissionDecision"], own["permissionDecisionReason"]


def as_copilot(answer: dict[str, dict[str, str]]) -> tuple[object, object]:
    return answer["permissionDecision"], answer["permissionDecisionReason"]


def as_gemini(answer: dict[str, dict[str, str]]) -> tuple[object, object]:
    return answer["decision"], answer["reason"]


CLIENTS = {
    "claude": FaultyClient(
        "PreToolUse",
        (".claude/agents/fixer.md", IN_MARKDOWN),
        (".claude/settings.json", "{}"),
        ("Read", {"file_path": "a.txt"}),
        ("Write", {"file_path": "secret/a"}),
        as_claude,
    ),
    "codex": FaultyClient(
        "PreToolUse",
        (".codex/agents/fixer.toml", IN_TOML),
        (".codex/config.toml", 'sandbox_mode = "workspace-write"\n'),
        ("Bash", {"command": "cat a.txt"}),
        ("apply_patch", {"command": "*** Add File: secret/a\n+x\n"}),
        as_claude,
    ),
    "copilot": FaultyClient(
        "preToolUse",
        (".github/agents/fixer.agent.md", "---\ndescription: Does.\ntools: [read]\n---\nDo it.\n"),
        (".github/hooks/llmdo.json", own_file(command_for("copilot"), 60)),
        ("view", {"path": "a.txt"}),
        ("create", {"path": "secret/a", "file_text": "x"}),
        as_copilot,
        begins="sessionStart",
        words=COPILOT_WORDS,
    ),
    "gemini": FaultyClient(
        "BeforeTool",
        (".gemini/agents/fixer.md", IN_MARKDOWN),
        (".gemini/settings.json", "{}"),
        ("read_file", {"file_path": "a.txt"}),
        ("write_file", {"file_path": "secret/a", "content": "x"}),
        as_gemini,
    ),
    "opencode": FaultyClient(
        "tool.execute.before",
        (".opencode/agent/fixer.md", "---\ndescription: Does.\nmode: subagent\n---\nDo it.\n"),
        ("opencode.json", '{"permission": {"edit": "allow"}}'),
        ("read", {"filePath": "a.txt"}),
        ("write", {"filePath": "secret/a", "content": "x"}),
        as_gemini,
        begins="chat.message",
        main="build",
    ),
}


@pytest.fixture(params=CLIENTS)
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Session:
    """A session of each client, in a project with an agent."""
    client = CLIENTS[request.param]
    root = tmp_path / "shop"
    for path, text in (client.agent, client.settings, ("llmdo.toml", MANIFEST.format(request.param))):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    relock(root)
    home = tmp_path / "home"
    home.mkdir()
    session = Session(
        root,
        home,
        client=request.param,
        before=client.before,
        begins=client.begins,
        main=client.main,
        words=client.words,
    )
    session.start()
    return session


def reading(session: Session) -> bytes:
    """A call that is allowed."""
    tool, arguments = CLIENTS[session.client].reads
    return session.calling(tool, **arguments)


def denied(session: Session, printed: tuple[int, str]) -> str:
    """The reason for which a call is denied in the words of its client."""
    code, text = printed
    assert code == 0, text
    decision, reason = CLIENTS[session.client].reason(json.loads(text))
    assert decision == "deny", text
    assert str(reason).startswith("denied by llmdo: ")
    return str(reason)


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
    (session.root / "llmdo.toml").write_text('schema = 1\n[workspace]\nname = "shop"\nfrom = ["cursor"]\n')


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
    call = reading(session)
    assert session.printed(call) == (0, "")
    fault(session)
    if not session.root.exists():
        session.root.mkdir()
    assert "is not one of this project" not in denied(session, session.printed(call))


EVENTS: Mapping[str, bytes] = {
    "nothing": b"",
    "no JSON": b"{",
    "not UTF-8": b'{"session_id": "\xff\xfe"}',
    "a list": b"[]",
    "a number": b"3",
    "too deep": b"[" * 100_000,
    "too deep an argument": b'{"a":' * 100_000,
    "too large": b" " * (17 * 1024 * 1024),
    "a huge number": b'{"session_id": 1' + b"0" * 5000 + b"}",
}


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_an_event_that_is_none(session: Session, event: bytes) -> None:
    denied(session, session.printed(event))


PARTS: Mapping[str, Mapping[str, object]] = {
    "no session": {"session_id": None},
    "a session that is a number": {"session_id": 3},
    "an empty session": {"session_id": ""},
    "an unknown session": {"session_id": "x"},
    "a session called as a path": {"session_id": "../../x"},
    "no folder": {"cwd": None},
    "no tool": {"tool_name": None},
    "a tool that is a list": {"tool_name": ["x"]},
    "a tool that nobody knows": {"tool_name": "nonsense"},
    "no arguments": {"tool_input": None},
    "arguments that are a text": {"tool_input": "a.txt"},
}


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_a_part_of_an_event_that_is_none(session: Session, parts: Mapping[str, object]) -> None:
    event = {**json.loads(reading(session)), **session.own(parts)}
    denied(session, session.printed(json.dumps({k: v for k, v in event.items() if v is not None}).encode()))


WRONG: tuple[object, ...] = (None, ["docs/a.txt"], 3, "", "docs/a\0.txt")


@pytest.mark.parametrize("wrong", WRONG, ids=str)
@pytest.mark.parametrize("kind", ["reads", "writes"])
def test_an_argument_that_is_none(session: Session, kind: str, wrong: object) -> None:
    tool, arguments = getattr(CLIENTS[session.client], kind)
    name = next(iter(arguments))
    given = {} if wrong is None else {name: wrong}
    assert "is not a text" in denied(session, session.printed(session.calling(tool, **given)))


CALLERS: Mapping[str, Mapping[str, object]] = {
    "an unknown agent": {"agent_id": "x", "agent_type": "y"},
    "an agent that nobody started": {"agent_id": "x", "agent_type": "fixer"},
    "an agent that is a number": {"agent_id": 3, "agent_type": "fixer"},
    "an agent without a name": {"agent_id": "x", "agent_type": ""},
    "an agent without an id": {"agent_id": "", "agent_type": "fixer"},
}


@pytest.mark.parametrize("parts", CALLERS.values(), ids=CALLERS)
def test_a_caller_that_is_none(session: Session, parts: Mapping[str, object]) -> None:
    printed = session.printed(json.dumps({**json.loads(reading(session)), **parts}).encode())
    if import_module(f"llmdo.features.hook.clients.{session.client}").IDENTIFIES:
        denied(session, printed)
    else:
        assert printed == (0, "")  # its events do not name a caller, which docs/hook.md says


def test_a_person_without_a_home(session: Session) -> None:
    denied(session, session.printed(reading(session), HOME=""))


def test_an_answer_that_nobody_reads_stops_the_call(session: Session) -> None:
    tool, arguments = CLIENTS[session.client].writes
    with session.process() as child:
        assert child.stdin
        assert child.stdout
        assert child.stderr
        child.stdout.close()
        child.stdin.write(session.calling(tool, **arguments))
        child.stdin.close()
        assert b"denied" in child.stderr.read()
    assert child.returncode == 2


def opened_files(process: int) -> list[str]:
    """The paths that a process holds open; one that is closed meanwhile is left out."""
    paths = []
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            paths.append(str(descriptor.readlink()))
    return paths


@pytest.mark.parametrize("is_early", [True, pytest.param(False, marks=pytest.mark.long)])
def test_an_answer_that_takes_too_long_denies(session: Session, is_early: bool) -> None:
    [path] = states(session)
    lock = path.with_name(f"{path.name}.lock")
    with lock.open("w") as file, session.process() as child:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert child.stdin
        child.stdin.write(reading(session))
        child.stdin.close()
        child.stdin = None
        until(lambda: str(lock) in opened_files(child.pid))
        if is_early:
            child.send_signal(signal.SIGALRM)
        output, _ = child.communicate()
    assert "within" in denied(session, (child.returncode, output.decode()))


ENDS = {
    "no such program": None,
    "a crash": "exit 1",
    "nothing said": "exit 1 >&2",
    "an exit code of its own": "exit 77",
    "kill -9": "kill -9 $$",
    "an interrupt": "kill -INT $$",
    "out of memory": "ulimit -v 1000; exec true",
}


@pytest.mark.parametrize("script", ENDS.values(), ids=ENDS)
def test_a_program_that_ends_otherwise_stops_the_call(
    session: Session, script: str | None, tmp_path: Path
) -> None:
    """By the command in the settings, as the client runs it."""
    if script is not None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin/llmdo").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin/llmdo").chmod(0o755)
    environ = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    done = subprocess.run(
        ["/bin/sh", "-c", command_for(session.client)],
        input=reading(session),
        capture_output=True,
        env=environ,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"denied: llmdo did not answer" in done.stderr


def test_a_lock_that_is_out_of_date_denies_where_that_is_asked_for(session: Session) -> None:
    call = reading(session)
    assert session.printed(call, "--locked") == (0, "")
    path = session.root / CLIENTS[session.client].agent[0]
    path.write_text(path.read_text().replace("Do it", "Do more"))
    assert session.printed(call) == (0, "")
    reason = denied(session, session.printed(call, "--locked"))
    assert "out of date" in reason
    assert "fixer" in reason
