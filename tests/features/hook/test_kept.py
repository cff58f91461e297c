"""Sessions of other clients are found, listed and audited as runs are, whatever became of their files."""

from __future__ import annotations

import json
import os
import threading
import unicodedata
from hashlib import sha256
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from llmdo.features.hook.journal import append
from llmdo.features.hook.kept import MOST_NOTES
from llmdo.features.hook.session import SessionFile, SessionState
from llmdo.journal import Runs
from llmdo.journal.audit import Link, chained
from llmdo.journal.line_file import MOST_BYTES
from tests.features.hook.sessions import Session, write
from tests.support import asking, commands

NAME = "claude-11111111-aaaa"
HIDDEN = ("\x1b", "\x00", "\x07", "\x9b", "\u202e", "\u200b")


def llmdo(session: Session, *words: str) -> CompletedProcess[str]:
    return commands.llmdo(session.root, *words, environ=session.environ)


def worked(session: Session) -> None:
    """A session in which two agents made calls, of which each decision is one."""
    session.call("Read", file_path="a.md")
    session.call("Agent", subagent_type="triage", prompt=".")
    session.call("Read", "triage", file_path="b.md")
    session.call("Bash", "triage", command="make")
    session.call("Write", file_path="docs/a.md", content="")


def another(session: Session, name: str, root: Path | None = None) -> Session:
    """Another session of the person, in which a call was made."""
    other = Session(root or session.root, session.home, name)
    other.start()
    other.call("Read", file_path="a.md")
    return other


def decided(**more: object) -> dict[str, object]:
    """The record of a decision, as far as something else is not wanted."""
    return {
        "kind": "decided",
        "time": "2026-11-26T10:00:00+00:00",
        "path": "main-session/Read",
        "worker": "main-session",
        "toolset": "claude",
        "tool": "Read",
        "capabilities": ["fs.read:a.md"],
        "decision": "allowed",
        "allowed": True,
        "by": "rules",
        "left": False,
        "reasons": [],
        "labels": [],
        "arguments": {"file_path": "a.md"},
        **more,
    }


def forged(*records: dict[str, object]) -> bytes:
    """A chain of any records, which holds."""
    lines, last = [], Link()
    for record in records:
        line, last = chained(record, last)
        lines.append(f"{line}\n")
    return "".join(lines).encode("ascii")


def test_the_sessions_of_a_project_are_listed_with_their_agents_and_decisions(session: Session) -> None:
    worked(session)
    another(session, "22222222-bbbb")
    another(session, "33333333-cccc", write(session.root.parent / "other"))
    last, first = json.loads(llmdo(session, "hook", "sessions", "--format", "json").stdout)["sessions"]
    assert (first["session"], first["client"], first["chain"]) == (NAME, "claude", "holds")
    assert first["agents"] == ["main-session", "triage"]
    assert (first["allowed"], first["asked"], first["denied"]) == (3, 1, 1)
    assert first["began"] == json.loads(session.journal.read_text().splitlines()[0])["time"]
    assert (last["session"], last["allowed"]) == ("claude-22222222-bbbb", 1)
    text = llmdo(session, "hook", "sessions").stdout
    assert "3 allowed, 1 asked, 1 denied, the chain holds\n    main-session, triage\n" in text
    assert "33333333" not in text
    assert llmdo(session, "hook", "sessions", "--limit", "1").stdout.count("claude-") == 1


def test_without_a_session_nothing_is_listed_and_runs_are_looked_for(session: Session) -> None:
    assert "no call of a session" in llmdo(session, "hook", "sessions").stderr
    assert "there is no run `last`" in llmdo(session, "runs", "audit", "last").stderr


@pytest.mark.parametrize("reference", ["last", NAME, "claude-1", "11111111-aaaa", "1-aaaa"])
def test_a_session_is_audited_by_its_id_as_a_run_is(session: Session, reference: str) -> None:
    worked(session)
    shown = llmdo(session, "runs", "audit", reference)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "denied  main-session/triage/Bash by rules, raises " in shown.stdout
    assert 'Bash of claude {"command": "make"}' in shown.stdout
    assert "asks    main-session/Write by client" in shown.stdout
    assert "(llmdo.toml:8) (path: main-session/Write)" in shown.stdout
    verified = llmdo(session, "runs", "audit", reference, "--verify")
    head = json.loads(session.journal.read_text().splitlines()[-1])["hash"]
    assert (verified.returncode, f"the chain holds: 5 records, head {head}" in verified.stdout) == (0, True)
    assert llmdo(session, "runs", "audit", reference, "--head", head).returncode == 0
    assert llmdo(session, "runs", "audit", reference, "--head", "0" * 64).returncode == 1
    lines = llmdo(session, "runs", "audit", reference, "--format", "jsonl").stdout
    assert lines == session.journal.read_text()


def test_the_file_of_a_session_is_audited_as_the_session_is(session: Session) -> None:
    worked(session)
    verified = llmdo(session, "runs", "audit", str(session.journal), "--verify")
    assert (verified.returncode, "the chain holds: 5 records" in verified.stdout) == (0, True)


def test_of_several_sessions_an_id_means_one_and_the_last_is_what_began_last(session: Session) -> None:
    worked(session)
    another(session, "11111111-bbbb")
    refused = llmdo(session, "runs", "audit", "claude-1111")
    assert (refused.returncode, "may be 2 runs and sessions" in refused.stderr) == (2, True)
    session.call("Read", file_path="b.md")  # which is not a beginning
    assert audited(session, "last")["run"] == "claude-11111111-bbbb"
    assert "there is no run or session `zzz`" in llmdo(session, "runs", "audit", "zzz").stderr


def audited(session: Session, *words: str) -> dict[str, object]:
    """The audit of a session as a document."""
    document: dict[str, object] = json.loads(
        llmdo(session, "runs", "audit", *words, "--format", "json").stdout
    )
    return document


def test_of_runs_and_sessions_the_last_is_what_began_last(session: Session, tmp_path: Path) -> None:
    root = asking.workspace(tmp_path / "team", number=1)
    others = Session(root, session.home)
    assert commands.llmdo(root, "run", "main", "--approvals", "later").returncode == 3
    (run,) = Runs(root).names()
    keep(others, "11111111-old", forged(decided(time="2020-01-01T00:00:00+00:00")))
    assert audited(others, "last")["run"] == run
    assert audited(others, "claude")["run"] == "claude-11111111-old"
    keep(others, "22222222-new", forged(decided(time="2999-01-01T00:00:00+00:00")))
    assert audited(others, "last")["run"] == "claude-22222222-new"
    assert audited(others, run)["run"] == run
    assert [each["session"] for each in sessions(others)] == ["claude-22222222-new", "claude-11111111-old"]


def sessions(session: Session) -> list[dict[str, object]]:
    listed: list[dict[str, object]] = json.loads(
        llmdo(session, "hook", "sessions", "--limit", "0", "--format", "json").stdout
    )["sessions"]
    return listed


def test_a_change_of_a_record_shows(session: Session) -> None:
    worked(session)
    text = session.journal.read_text()
    session.journal.write_text(text.replace('"command":"make"', '"command":"true"'))
    (listed,) = sessions(session)
    assert (listed["chain"], listed["faults"]) == ("broken", ["line 4: this record was changed"])
    assert "the chain is broken" in llmdo(session, "hook", "sessions").stdout
    shown = llmdo(session, "runs", "audit", "last")
    assert (shown.returncode, "the chain does not hold" in shown.stderr) == (0, True)
    verified = llmdo(session, "runs", "audit", "last", "--verify")
    assert (verified.returncode, verified.stdout) == (1, "line 4: this record was changed\n")


@pytest.mark.parametrize("is_by_path", [False, True])
def test_half_a_record_at_the_end_is_still_being_written(session: Session, is_by_path: bool) -> None:
    worked(session)
    with session.journal.open("a") as file:
        file.write('{"n":6,"ki')
    (listed,) = sessions(session)
    assert (listed["chain"], listed["unfinished"]) == ("holds", True)
    assert ", being written\n" in llmdo(session, "hook", "sessions").stdout
    verified = llmdo(session, "runs", "audit", str(session.journal) if is_by_path else "last", "--verify")
    assert (verified.returncode, "it is still being written" in verified.stdout) == (0, True)
    with session.journal.open("a") as file:
        file.write("\n")
    assert llmdo(session, "runs", "audit", "last", "--verify").stdout == "line 6: this is not a record\n"


def test_a_session_that_goes_on_while_it_is_read_is_never_broken(session: Session) -> None:
    worked(session)
    has_begun = threading.Event()

    def go_on() -> None:
        for _ in range(100):
            append(str(session.journal), decided(arguments={"text": "x" * 100_000}))
            has_begun.set()

    writer = threading.Thread(target=go_on)
    writer.start()
    has_begun.wait()
    read = []
    while writer.is_alive():
        read += sessions(session)
    assert {(str(each["chain"]), str(each["faults"])) for each in read} == {("holds", "[]")}
    assert sessions(session)[0]["allowed"] == 103


def keep(session: Session, name: str, content: bytes) -> Path:
    """The journal of a session of the same project, with this content."""
    with SessionFile("claude", name, session.environ) as file:
        file.write(SessionState(root=str(session.root), contexts={}, started={}, written={}, servers={}))
    path = Path(file.path).with_suffix(".jsonl")
    path.write_bytes(content)
    return path


def nested(depth: int) -> bytes:
    text = (
        f'{{"n":1,"kind":"decided","left":false,"arguments":{"[" * depth}{"]" * depth},"prev":"{"0" * 64}"}}'
    )
    return f'{text[:-1]},"hash":"{sha256(text.encode()).hexdigest()}"}}\n'.encode()


HOSTILE = {
    "a line of 64 MiB": b'{"n":1,"kind":"' + b"x" * (MOST_BYTES + 10),
    "a line of 64 MiB with more": b"[" * MOST_BYTES + b"\n" + forged(decided()),
    "blank lines": b"\n" * 3_000_000,
    "invalid": b"{]\n",
    "a record of 2 MiB": forged(decided(arguments={"a": "x" * 2**21})),
    "binary": bytes(range(256)) * 40,
    "nothing": b"\0" * 5000 + b"\n",
    "escapes": b"\x1b]0;title\x07\x1b[2J\n",
    "a list": b"[1]\n",
    "nothing of a chain": b'{"n":1}\n',
    "a number": b'{"n":' + b"9" * 4000 + b',"kind":"decided","prev":"","hash":""}\n',
    "a long number": b'{"n":' + b"9" * 5000 + b',"kind":"decided","prev":"","hash":""}\n',
    "no numbers": b'{"n":NaN,"prev":"","hash":"","kind":"decided"}\n',
    **{f"nested {depth}": nested(depth) for depth in (990, 991, 100_000)},
}


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.long) if kind == "blank lines" else kind for kind in HOSTILE],
)
def test_a_journal_that_is_no_journal_is_named_and_ends_nothing(session: Session, kind: str) -> None:
    worked(session)
    keep(session, "22222222-bbbb", HOSTILE[kind])
    last, first = sorted(sessions(session), key=lambda each: str(each["session"]), reverse=True)
    assert (first["chain"], first["allowed"]) == ("holds", 3)
    assert last["chain"] == ("broken" if not last["unfinished"] else last["chain"])
    for words in ([], ["--verify"], ["--format", "json"]):
        done = llmdo(session, "runs", "audit", "22222222-bbbb", *words)
        assert done.returncode == (1 if words == ["--verify"] and last["chain"] == "broken" else 0)
        assert "Traceback" not in done.stderr
        assert not any(sign in f"{done.stdout}{done.stderr}" for sign in HIDDEN)


@pytest.mark.parametrize(
    "text", ["\x1b[2J\x07\x00\x9b", "safe\u202egnp.exe\u200b", "\ud800", "\n\r\t\x85\u2028"]
)
def test_what_strangers_wrote_steers_no_terminal(session: Session, text: str) -> None:
    record = {
        name: [text] if isinstance(value, list) else {text: text} if isinstance(value, dict) else text
        for name, value in decided().items()
        if name not in ("kind", "decision", "by", "left", "allowed")
    }
    keep(session, "22222222-bbbb", forged(decided(**record)))
    (listed,) = sessions(session)
    assert (listed["chain"], listed["agents"]) == ("holds", [text])
    for words in (["audit", "last"], ["audit", "last", "--verify"], ["hook", "sessions"]):
        done = llmdo(session, *words)
        assert done.returncode == 0
        printed = f"{done.stdout}{done.stderr}".replace("\n", "")
        assert not [sign for sign in printed if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl")]


def test_a_number_that_no_clock_has_is_a_time(session: Session) -> None:
    path = keep(session, "22222222-bbbb", forged(decided(time="yesterday")))
    os.utime(path, (10**12, 10**12))
    keep(session, "33333333-cccc", forged(decided(time="9999-12-31T23:59:59-23:59")))
    keep(session, "44444444-dddd", forged(decided(time="0001-01-01T00:00:00+00:00")))
    assert len(sessions(session)) == 3
    assert llmdo(session, "hook", "sessions").returncode == 0


def test_no_link_is_followed_and_nothing_is_waited_for(session: Session, tmp_path: Path) -> None:
    worked(session)
    folder = session.journal.parent
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(forged(decided(path="SECRET")))
    keep(session, "2-linked", b"").unlink()
    (folder / "claude-2-linked.jsonl").symlink_to(outside)
    keep(session, "3-waiting", b"").unlink()
    os.mkfifo(folder / "claude-3-waiting.jsonl")
    keep(session, "4-folder", b"").unlink()
    (folder / "claude-4-folder.jsonl").mkdir()
    keep(session, "5-state", b"")
    state = folder / "claude-5-state.json"
    state.rename(tmp_path / "state.json")
    state.symlink_to(tmp_path / "state.json")
    keep(session, "6-state", b"")
    (folder / "claude-6-state.json").unlink()
    os.mkfifo(folder / "claude-6-state.json")
    faults = {str(each["session"]): each["faults"] for each in sessions(session)}
    assert faults == {
        NAME: [],
        "claude-2-linked": ["the file could not be read: it is a link"],
        "claude-3-waiting": ["the file is not a file, and was not read"],
        "claude-4-folder": ["the file could not be read: Is a directory"],
    }
    notes = llmdo(session, "hook", "sessions").stderr
    assert "`claude-5-state.jsonl` was left out: llmdo has no state of this session" in notes
    assert "`claude-6-state.jsonl` was left out: the state of this session is damaged" in notes
    verified = llmdo(session, "runs", "audit", "claude-2-linked", "--verify")
    assert (verified.returncode, verified.stdout) == (1, "the file could not be read: it is a link\n")
    assert "SECRET" not in llmdo(session, "runs", "audit", "claude-2-linked").stdout


def test_a_folder_that_others_can_write_to_or_that_is_a_link_is_not_read(session: Session) -> None:
    worked(session)
    folder = session.journal.parent
    folder.chmod(0o777)
    done = llmdo(session, "hook", "sessions")
    assert (done.returncode, done.stdout) == (0, "")
    assert "is no folder that only you can write to, and was not read" in done.stderr
    assert llmdo(session, "runs", "audit", "last").returncode == 2
    folder.chmod(0o700)
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(folder.with_name("elsewhere"))
    assert "is no folder that only you" in llmdo(session, "hook", "sessions").stderr
    folder.unlink()
    folder.touch(0o600)
    done = llmdo(session, "hook", "sessions")
    assert (done.returncode, "is no folder that only you" in done.stderr) == (0, True)


@pytest.mark.parametrize("stated", [".", "", "/x\0y", "{root}/..", "{root}/.claude"])
def test_a_state_that_names_another_folder_is_of_another_project(session: Session, stated: str) -> None:
    keep(Session(Path(), session.home), "2-other", forged(decided()))
    path = session.journal.with_name("claude-2-other.json")
    state = json.loads(path.read_text())
    path.write_text(json.dumps({**state, "root": stated.format(root=session.root)}))
    assert sessions(session) == []


def test_a_project_by_the_way_of_a_link_is_the_same_one(session: Session, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(session.root)
    another(session, "2-linked", tmp_path / "link")
    assert [each["session"] for each in sessions(session)] == ["claude-2-linked"]


def test_a_file_beside_the_state_of_a_session_need_not_be_its_journal(session: Session) -> None:
    worked(session)
    state = session.journal.with_suffix(".json").read_bytes()
    hidden = keep(session, "a.b", forged(decided()))
    for name in ("other-1", "claude-a.b"):
        session.journal.with_name(f"{name}.jsonl").write_bytes(forged(decided()))
        session.journal.with_name(f"{name}.json").write_bytes(state)
    assert {each["session"] for each in sessions(session)} == {NAME, hidden.stem}
    notes = llmdo(session, "hook", "sessions").stderr
    assert notes.count("it is no session of a client that llmdo knows") == 2


def test_files_that_are_none_of_ours_are_named_up_to_a_number(session: Session) -> None:
    worked(session)
    folder = session.journal.parent
    for name in ("other-1", "claude-\x1b[2J", "claude", "claude-9"):
        (folder / f"{name}.jsonl").write_bytes(forged(decided()))
    (folder / "claude-9.json").write_text("{}" * 3_000_000)
    done = llmdo(session, "hook", "sessions")
    assert done.stderr.count("was left out: ") == 4
    assert "`claude-\\u{1b}[2J.jsonl` was left out" in done.stderr
    for number in range(MOST_NOTES + 5):
        (folder / f"foreign-{number}.jsonl").touch()
    done = llmdo(session, "hook", "sessions")
    assert (done.stderr.count("was left out: "), "and 9 more such files" in done.stderr) == (MOST_NOTES, True)
    assert "claude-11111111-aaaa" in done.stdout
