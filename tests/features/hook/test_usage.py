"""Ceilings by what recorded sessions used: transcripts of clients as they were seen to write them, all made up."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import pytest

from llmdo.features.hook.transcripts.files import MOST_BYTES
from llmdo.features.hook.transcripts.recorded import MOST_FILES
from tests.features.hook.sessions import Session, relock, write
from tests.support import commands

MANIFEST = """\
[approvals.rules]
"fs.write:secret/**" = "blocked"

[entries.triage]
may = ["fs.read", "fs.list", "net", "agent.delegate"]
"""


class Claude:
    """The transcripts of a session of Claude Code."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        name = "".join(each if each.isalnum() else "-" for each in str(root.resolve()))
        self.folder = home / ".claude/projects" / name
        self.folder.mkdir(parents=True)
        self.file = self.folder / "s1.jsonl"
        self.number = 0

    def line(self, kind: str, blocks: list[object], **more: object) -> str:
        base = {
            "type": kind,
            "sessionId": "s1",
            "cwd": str(self.root),
            "version": "2.1.0",
            "isSidechain": False,
        }
        return json.dumps({**base, **more, "message": {"role": kind, "content": blocks}}) + "\n"

    def call(
        self,
        tool: str,
        arguments: dict[str, object],
        agent: str = "",
        *,
        error: bool = False,
        result: object = None,
        **more: object,
    ) -> str:
        """Adds a call with its result; returns its key."""
        self.number += 1
        key = f"toolu_{self.number}"
        who = {"agentId": agent, "isSidechain": True} if agent else {}
        use = {"type": "tool_use", "id": key, "name": tool, "input": arguments}
        end = {"type": "tool_result", "tool_use_id": key, "is_error": error, "content": "x"}
        path = self.folder / f"s1/subagents/agent-{agent}.jsonl" if agent else self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(self.line("assistant", [{"type": "text", "text": "."}, use], **who, **more))
            file.write(self.line("user", [end], toolUseResult=result, **who, **more))
        return key

    def start(self, agent: str, name: str, by: str = "", *, is_named: bool = True) -> None:
        """Adds the start of an agent."""
        result = None if is_named else {"agentId": agent, "status": "completed"}
        key = self.call("Agent", {"subagent_type": name, "prompt": "."}, by, result=result)
        if is_named:
            meta = self.folder / f"s1/subagents/agent-{agent}.meta.json"
            meta.parent.mkdir(parents=True, exist_ok=True)
            meta.write_text(json.dumps({"agentType": name, "toolUseId": key, "spawnDepth": 1}))


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    root = write(tmp_path / "shop", MANIFEST, triage="", fixer="Read, Edit, Write, Bash")
    return Claude(root, tmp_path / "home")


def suggested(root: Path, home: Path, *options: str) -> tuple[str, str]:
    """What `llmdo suggest` prints, and what it says besides."""
    done = commands.llmdo(
        root, "suggest", *(options or ("--from-sessions",)), environ={"HOME": str(home), "CODEX_HOME": ""}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_each_agent_has_the_rights_that_it_and_all_below_it_used(claude: Claude, tmp_path: Path) -> None:
    claude.start("a1", "triage")
    claude.call("Read", {"file_path": str(claude.root / "docs/a.md")}, "a1")
    claude.start("a2", "fixer", "a1", is_named=False)
    claude.call("Read", {"file_path": "b.md"}, "a2")
    claude.start("a3", "fixer", is_named=False)
    claude.call("Write", {"file_path": "c.md", "content": ""}, "a3")
    printed, _ = suggested(claude.root, tmp_path / "home")
    triage = printed[printed.index("[entries.triage]") :]
    assert 'may = ["fs.read:b.md", "fs.read:docs/a.md"]\n' in triage
    assert '# instead of: may = ["agent.delegate", "fs.list", "fs.read", "net"]\n' in triage
    assert '# granted, and never used: "fs.list", "net"\n' in triage
    assert '[entries.fixer]\nmay = ["fs.read:b.md", "fs.write:c.md"]\n' in printed
    assert '[entries.main-session]\nmay = ["fs.read:b.md", "fs.read:docs/a.md", "fs.write:c.md"]\n' in (
        printed
    )


def test_nothing_is_suggested_that_undoes_a_decision(claude: Claude, tmp_path: Path) -> None:
    claude.start("a1", "triage")
    claude.call("Write", {"file_path": "a.md", "content": ""}, "a1")
    claude.call("Write", {"file_path": "secret/a.md", "content": ""})
    printed, _ = suggested(claude.root, tmp_path / "home")
    assert "secret" not in printed.replace('left out: "fs.write:secret/a.md"', "")
    triage = printed[printed.index("[entries.triage]") :]
    assert "\nmay = []\n" in triage
    assert '# used, and blocked now, so left out: "fs.write:a.md"\n' in triage


def test_a_call_that_was_refused_or_failed_is_no_use(claude: Claude, tmp_path: Path) -> None:
    claude.call("Read", {"file_path": "a.md"})
    claude.call("Write", {"file_path": "b.md"}, error=True, result="User rejected tool use")
    printed, notes = suggested(claude.root, tmp_path / "home")
    assert 'may = ["fs.read:a.md"]\n' in printed
    assert "1 call in Claude Code that failed, were refused or did not end left out" in notes


def test_what_is_not_counted_is_named(claude: Claude, tmp_path: Path) -> None:
    claude.call("Read", {"file_path": "a.md"})
    claude.call("Read", {"file_path": "b.md"}, cwd="/elsewhere")
    claude.call("Read", {"file_path": "app/[id].ts"})
    claude.call("Write", {"file_path": "**", "content": ""})
    claude.call("Read", {"file_path": "a\u202e.md"})
    claude.call("Nonsense\x1b[2J", {})
    claude.call("Read", {"file_path": 7})
    claude.call("Read", {"file_path": "a.md"}, "ghost")
    with claude.file.open("a") as file:
        file.write('{"type": "assist\n[]\n')
    printed, notes = suggested(claude.root, tmp_path / "home")
    assert printed.startswith('[entries.main-session]\nmay = ["fs.read:a.md"]\n')
    assert "2 lines are not objects of JSON and left out (the first is line 15)" in notes
    assert "1 call outside of this project left out" in notes
    assert "3 calls in Claude Code left out: a path in it could be taken for a pattern" in notes
    assert (
        "1 call in Claude Code left out: the tool `Nonsense\\u{1b}[2J` is not one that llmdo knows" in notes
    )
    assert "1 call in Claude Code left out: `file_path` is not a text" in notes
    assert "1 call in Claude Code left out: the transcript does not name the agent" in notes


def test_many_paths_are_written_as_what_is_granted(claude: Claude, tmp_path: Path) -> None:
    for number in range(12):
        claude.call("Read", {"file_path": f"docs/{number}.md"})
    printed, _ = suggested(claude.root, tmp_path / "home")
    assert 'may = ["fs.read"]\n' in printed
    assert '# "fs.read" stands for 12 scopes\n' in printed
    manifest = claude.root / "llmdo.toml"
    manifest.write_text(manifest.read_text() + '\n[entries.main-session]\nmay = ["fs.read:docs/**"]\n')
    relock(claude.root)
    printed, _ = suggested(claude.root, tmp_path / "home")
    assert 'may = ["fs.read:docs/**"]\n' in printed


def test_what_must_be_named_in_full_is_a_comment_unless_the_ceiling_names_it(
    claude: Claude, tmp_path: Path
) -> None:
    claude.call("Write", {"file_path": ".claude/settings.json", "content": ""})
    claude.call("Bash", {"command": "make"})
    claude.call("WebFetch", {"url": "https://api.example.com/a", "prompt": "."})
    printed, _ = suggested(claude.root, tmp_path / "home")
    assert 'may = ["fs.write:.claude/settings.json", "net.connect"]\n' in printed
    cut = '"fs.write.protected:.claude/settings.json", "proc.exec.unlisted"'
    assert f"# used, and blocked by this ceiling unless it names them: {cut}\n" in printed
    manifest = claude.root / "llmdo.toml"
    ceiling = '\n[entries.main-session]\nmay = ["fs", "net", "proc.exec.unlisted"]\n'
    manifest.write_text(manifest.read_text() + ceiling)
    relock(claude.root)
    printed, _ = suggested(claude.root, tmp_path / "home")
    assert '"net.connect", "proc.exec.unlisted"]\n# instead of' in printed
    assert 'so left out: "fs.write.protected:.claude/settings.json"\n' in printed


def test_a_long_file_is_read_in_part(claude: Claude, tmp_path: Path) -> None:
    claude.call("Read", {"file_path": "a.md"})
    with claude.file.open("r+b") as file:
        file.seek(MOST_BYTES)
        file.write(b"\n")
    claude.call("Read", {"file_path": "b.md"})
    printed, notes = suggested(claude.root, tmp_path / "home")
    assert 'may = ["fs.read:a.md"]\n' in printed
    assert "s1.jsonl`: only its first 64 MiB were read" in notes


def test_of_many_files_the_recent_ones_are_read(claude: Claude, tmp_path: Path) -> None:
    claude.call("Read", {"file_path": "a.md"})
    os.utime(claude.file, (1, 1))
    for number in range(MOST_FILES):
        (claude.folder / f"{number}.jsonl").write_text("{}\n")
    printed, notes = suggested(claude.root, tmp_path / "home")
    assert not printed
    assert f"`{claude.folder}/" in notes
    assert ": is no transcript that llmdo knows" in notes
    assert "and 1,980 more notes on files" in notes
    assert "only the 2,000 most recent of 2,001 transcripts were read" in notes


def test_no_link_is_followed_out_of_a_folder(claude: Claude, tmp_path: Path) -> None:
    claude.call("Read", {"file_path": "a.md"})
    claude.file.rename(tmp_path / "outside.jsonl")
    claude.file.symlink_to(tmp_path / "outside.jsonl")
    printed, notes = suggested(claude.root, tmp_path / "home")
    assert not printed
    assert "could not be read" in notes
    assert (
        'may = ["fs.read:a.md"]'
        in suggested(claude.root, tmp_path, "--sessions", str(tmp_path / "outside.jsonl"))[0]
    )


def test_the_journal_of_the_hook_is_read_too(session: Session) -> None:
    session.call("Agent", subagent_type="triage")
    session.call("Read", "triage", file_path="a.txt")
    session.call("Write", "triage", file_path="b.txt")
    printed, _ = suggested(session.root, session.home)
    assert '[entries.triage]\nmay = ["fs.read:a.txt"]\n' in printed


def test_a_session_of_another_project_is_none_of_this(session: Session, tmp_path: Path) -> None:
    session.call("Read", file_path="a.txt")
    other = write(tmp_path / "other", MANIFEST, triage="")
    printed, notes = suggested(other, session.home)
    assert not printed
    assert "1 session of other projects left out" in notes
    assert "nothing is suggested" in notes


def test_check_accepts_the_ceilings(claude: Claude, tmp_path: Path) -> None:
    claude.start("a1", "triage")
    claude.call("Read", {"file_path": "docs/a.md"}, "a1")
    printed, _ = suggested(claude.root, tmp_path / "home")
    manifest = claude.root / "llmdo.toml"
    manifest.write_text(manifest.read_text()[: manifest.read_text().index("[entries.triage]")] + printed)
    relock(claude.root)
    done = commands.llmdo(claude.root, "check", "--format", "json")
    assert "[[check.accept]]" in printed, "what is declared beyond the ceiling is accepted as cut off"
    assert not [each for each in json.loads(done.stdout)["findings"] if each["severity"] == "error"]
    again, _ = suggested(claude.root, tmp_path / "home")
    assert again.startswith(printed.partition("#")[0])


def written(path: Path, records: Iterable[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return path


def test_threads_of_codex(tmp_path: Path) -> None:
    root, home = tmp_path / "shop", tmp_path / "home"
    (root / ".codex/agents").mkdir(parents=True)
    (root / ".codex/config.toml").write_text('sandbox_mode = "workspace-write"\n')
    agent = 'name = "reader"\ndescription = "Does."\ndeveloper_instructions = "Do it."\n'
    (root / ".codex/agents/reader.toml").write_text(agent)
    (root / "llmdo.toml").write_text('schema = 1\n\n[workspace]\nname = "shop"\nfrom = ["codex"]\n')
    relock(root)

    def call(key: str, name: str, arguments: object, **more: object) -> list[object]:
        made = {
            "type": "function_call",
            "call_id": key,
            "name": name,
            "arguments": json.dumps(arguments),
            **more,
        }
        done = {"type": "function_call_output", "call_id": key, "output": "ok"}
        return [{"type": "response_item", "payload": each} for each in (made, done)]

    def meta(key: str, **more: object) -> object:
        payload = {"id": key, "cwd": str(root), "cli_version": "0.116.0", "source": "cli", **more}
        return {"type": "session_meta", "payload": payload}

    patch = "*** Begin Patch\n*** Add File: src/a.py\n+x\n*** End Patch\n"
    custom = {"type": "custom_tool_call", "call_id": "c3", "name": "apply_patch", "input": patch}
    folder = home / ".codex/sessions/2026/03/23"
    written(
        folder / "rollout-1.jsonl",
        [
            meta("t1"),
            *call("c1", "exec_command", {"cmd": "cat docs/a.md"}),
            *call("c2", "spawn_agent", {"agent_type": "reader", "message": "."}),
            {"type": "response_item", "payload": custom},
            {"type": "response_item", "payload": {"type": "custom_tool_call_output", "call_id": "c3"}},
        ],
    )
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": "t1", "depth": 1, "agent_role": "reader"}}}
    written(
        folder / "rollout-2.jsonl",
        [meta("t2", source=spawn), *call("c4", "exec_command", {"cmd": "cat docs/b.md"})],
    )
    printed, notes = suggested(root, home)
    assert "fs.read:docs/b.md" in printed[printed.index("[workers.reader]") :]
    main = printed[printed.index("[entries.codex]") : printed.index("[workers.reader]")]
    assert '"fs.write:src/a.py"' in main, notes
    assert '"fs.read:docs/a.md/**"' in main
    assert "fs.read:docs/b.md" in main


def test_sessions_of_gemini(tmp_path: Path) -> None:
    root, home = tmp_path / "shop", tmp_path / "home"
    (root / ".gemini").mkdir(parents=True)
    (root / ".gemini/settings.json").write_text("{}")
    (root / "llmdo.toml").write_text('schema = 1\n\n[workspace]\nname = "shop"\nfrom = ["gemini"]\n')
    relock(root)
    digest = sha256(str(root.resolve()).encode()).hexdigest()

    def call(key: str, name: str, status: str = "success", **arguments: object) -> object:
        return {"id": key, "name": name, "args": arguments, "status": status, "timestamp": "x"}

    calls = [call("1", "read_file", file_path="a.md"), call("2", "write_file", "cancelled", file_path="b.md")]
    written(
        home / f".gemini/tmp/{digest}/chats/session-1.jsonl",
        [
            {"sessionId": "g1", "projectHash": digest, "kind": "main"},
            {"id": "m1", "type": "gemini", "content": "", "toolCalls": calls},
        ],
    )
    old = {
        "sessionId": "g2",
        "projectHash": digest,
        "messages": [{"id": "m1", "type": "gemini", "toolCalls": [call("1", "read_file", file_path="c.md")]}],
    }
    (home / f".gemini/tmp/{digest}/chats/session-2.json").write_text(json.dumps(old, indent=1))
    printed, _ = suggested(root, home)
    assert printed.startswith('[entries.main-session]\nmay = ["fs.read:a.md", "fs.read:c.md"]\n')
