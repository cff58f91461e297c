"""Calls of agents are decided by the rules, by the ceilings of all that are above them, and by what was read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmdo.journal import audit
from tests.features.hook.sessions import Session, relock, write


@pytest.mark.parametrize(
    ("tool", "arguments", "decision"),
    [
        ("Read", {"file_path": "a.txt"}, "allowed"),
        ("Read", {"file_path": ".env"}, "needs_approval"),
        ("Read", {"file_path": "../elsewhere"}, "allowed"),
        ("Write", {"file_path": "a.txt"}, "allowed"),
        ("Write", {"file_path": "docs/a.txt"}, "needs_approval"),
        ("Write", {"file_path": "docs/../secret/a.txt"}, "blocked"),
        ("Edit", {"file_path": "secret/a.txt"}, "blocked"),
        ("Write", {"file_path": "../elsewhere"}, "blocked"),
        ("Bash", {"command": "rm -r x"}, "allowed"),
        ("Nonsense", {}, "blocked"),
        ("TodoWrite", {"todos": []}, "allowed"),
        ("mcp__nobody__put", {}, "blocked"),
        ("Agent", {"subagent_type": "fixer"}, "allowed"),
        ("Agent", {"subagent_type": "nobody"}, "blocked"),
    ],
)
def test_a_call_of_the_main_session(
    session: Session, tool: str, arguments: dict[str, object], decision: str
) -> None:
    assert session.call(tool, **arguments) == decision


def test_a_link_is_the_file_that_it_leads_to(session: Session) -> None:
    (session.root / "secret").mkdir()
    (session.root / "notes").symlink_to("secret")
    assert session.call("Write", file_path="notes/a.txt") == "blocked"


def test_an_agent_is_under_the_ceilings_of_all_above_it(session: Session) -> None:
    assert session.call("Agent", subagent_type="fixer") == "allowed"
    assert session.call("Write", "fixer", "1", file_path="a.txt") == "allowed"
    assert session.call("Agent", subagent_type="triage") == "allowed"
    assert session.call("Write", "triage", file_path="a.txt") == "blocked"
    assert session.call("Bash", "triage", command="cat a.txt") == "allowed"
    assert session.call("Bash", "triage", command="cat a.txt > b.txt") == "blocked"
    assert session.call("Agent", "triage", subagent_type="fixer") == "allowed"
    answer = session.answer(session.calling("Write", "fixer", "2", file_path="a.txt"))
    assert answer.decision == "blocked"
    assert "outside the ceiling" in answer.reason
    assert "main-session/triage/fixer/Write" in answer.reason
    assert session.call("Write", "fixer", "1", file_path="a.txt") == "allowed"


COORDINATOR = """\
[workers.main-session]
approvals = { "fs.write" = "blocked", "net" = "needs_approval" }

[workers.fixer]
may = ["fs.read", "fs.write"]
"""


def test_a_coordinator_that_may_not_write_has_a_worker_that_may(tmp_path: Path) -> None:
    session = Session(write(tmp_path / "shop", COORDINATOR, fixer=""), tmp_path)
    session.start()
    assert session.call("Write", file_path="a.txt") == "blocked"
    asked = session.answer(session.calling("WebFetch", url="https://example.com/"))
    assert (asked.decision, asked.is_left) == ("needs_approval", False)
    assert session.call("Agent", subagent_type="fixer") == "allowed"
    assert session.call("Write", "fixer", file_path="a.txt") == "allowed"
    assert session.call("Bash", "fixer", command="make") == "blocked"


def test_of_an_agent_that_two_may_have_started_both_ceilings_hold(session: Session) -> None:
    session.call("Agent", subagent_type="triage")
    session.call("Read", "triage", file_path="a.txt")
    session.call("Agent", "triage", subagent_type="fixer")
    session.call("Agent", subagent_type="fixer")
    assert session.call("Write", "fixer", "1", file_path="a.txt") == "blocked"
    assert session.call("Write", "fixer", "2", file_path="a.txt") == "blocked"


def test_an_agent_that_nobody_started_may_do_nothing(session: Session) -> None:
    assert session.call("Read", "fixer", file_path="a.txt") == "blocked"


def test_an_id_stays_that_of_its_agent(session: Session) -> None:
    session.call("Agent", subagent_type="fixer")
    assert session.call("Write", "fixer", file_path="a.txt") == "allowed"
    call = {"tool_name": "Write", "tool_input": {"file_path": "a.txt"}}
    event = session.event("PreToolUse", **call, agent_id="fixer-1", agent_type="triage")
    assert session.answer(event).decision == "blocked"


FLOWS = """\
[flows]
"data.untrusted -> proc.exec" = "blocked"
"""


@pytest.fixture
def flowing(tmp_path: Path) -> Session:
    root = write(tmp_path / "shop", FLOWS, reader="Read, WebFetch, Write", runner="Read, Bash")
    session = Session(root, tmp_path)
    session.start()
    return session


def test_what_an_agent_read_comes_back_to_its_caller(flowing: Session) -> None:
    assert flowing.call("Bash", command="make") == "allowed"
    flowing.call("Agent", subagent_type="reader")
    flowing.call("Agent", subagent_type="runner")
    assert flowing.call("Bash", "runner", command="make") == "allowed"
    assert flowing.call("WebFetch", "reader", url="https://example.com/") == "allowed"
    assert flowing.call("Bash", "runner", command="make") == "allowed"
    assert flowing.call("Bash", command="make") == "blocked"
    flowing.call("Agent", subagent_type="runner")
    assert flowing.call("Bash", "runner", "2", command="make") == "blocked"


def test_a_file_has_the_labels_of_who_wrote_it(flowing: Session) -> None:
    for agent in ("reader", "runner", "runner"):
        flowing.call("Agent", subagent_type=agent)
    flowing.call("WebFetch", "reader", url="https://example.com/")
    flowing.call("Write", "reader", file_path="notes/a.txt")
    assert flowing.call("Read", "runner", "1", file_path="b.txt") == "allowed"
    assert flowing.call("Bash", "runner", "1", command="make") == "allowed"
    assert flowing.call("Read", "runner", "2", file_path="notes/a.txt") == "allowed"
    assert flowing.call("Bash", "runner", "2", command="make") == "blocked"


def test_a_server_has_the_labels_of_who_gave_it_something(tmp_path: Path) -> None:
    flows = '[flows]\n"fs.read:private/** -> net.connect" = "blocked"\n'
    root = tmp_path / "shop"
    root.mkdir()
    (root / ".mcp.json").write_text('{"mcpServers": {"notes": {"command": "notes"}}}')
    session = Session(
        write(root, flows, writer="Read, mcp__notes__put", sender="WebFetch, mcp__notes__get"), tmp_path
    )
    session.start()
    for agent in ("writer", "sender", "sender"):
        session.call("Agent", subagent_type=agent)
    assert session.call("WebFetch", "sender", url="https://example.com/") == "allowed"
    session.call("Read", "writer", file_path="private/a.txt")
    session.call("mcp__notes__put", "writer", text="x")
    assert session.call("WebFetch", "sender", url="https://example.com/") == "allowed"
    session.call("mcp__notes__get", "sender")
    assert session.call("WebFetch", "sender", url="https://example.com/") == "blocked"


def test_a_session_that_was_resumed_unseen_may_have_read_anything(flowing: Session) -> None:
    flowing.name = "other"
    flowing.start("resume")
    assert flowing.call("Bash", command="make") == "blocked"


def test_sessions_know_nothing_of_each_other(flowing: Session) -> None:
    flowing.call("WebFetch", url="https://example.com/")
    flowing.name = "other"
    flowing.start()
    assert flowing.call("Bash", command="make") == "allowed"


def test_a_change_of_the_project_counts_at_once(session: Session) -> None:
    assert session.call("Bash", command="make") == "allowed"
    assert session.call("Bash", command="make") == "allowed"
    with (session.root / "llmdo.toml").open("a") as manifest:
        manifest.write('\n[entries.main]\nworker = "main-session"\nmay = ["fs.read"]\n')
    assert session.call("Bash", command="make") == "blocked"


def test_every_decision_is_in_a_chained_journal(session: Session) -> None:
    session.call("Read", file_path="a.txt")
    session.call("Write", file_path="secret/a.txt")
    [path] = (session.home / ".local/state/llmdo/hook").glob("*.jsonl")
    with path.open("a") as file:
        file.write('{"n":3,"ki')  # a kill while it was written
    session.call("Write", file_path="docs/a.txt")
    read = audit.read(path.read_text().splitlines())
    assert [fault for fault in read.faults if not fault.is_end] == []
    assert [record["decision"] for record in read.records] == ["allowed", "blocked", "needs_approval"]
    assert [record["n"] for record in read.records] == [1, 2, 3]


def test_a_program_that_a_hook_starts_is_protected(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    (root / "scripts").mkdir(parents=True)
    (root / "scripts/check.sh").write_text("exit 0\n")
    (root / ".claude").mkdir()
    hook = {"type": "command", "command": "bash scripts/check.sh"}
    (root / ".claude/settings.json").write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [hook]}]}}))
    write(root, '[approvals.rules]\n"fs.write.protected" = "blocked"\n', fixer="")
    session = Session(root, tmp_path)
    session.start()
    assert session.call("Write", file_path="scripts/check.sh") == "blocked"
    assert session.call("Write", file_path="scripts/other.sh") == "allowed"


def test_a_client_that_the_workspace_does_not_name_may_do_nothing(tmp_path: Path) -> None:
    """Whatever it would be decided with, nobody has said that its agents are governed here."""
    root = write(tmp_path / "shop", fixer="")
    (root / ".gemini").mkdir()
    (root / ".gemini/settings.json").write_text("{}")
    relock(root)
    session = Session(root, tmp_path, client="gemini", before="BeforeTool")
    session.start()
    answer = session.answer(session.calling("read_file", file_path="a.txt"))
    assert answer.decision == "blocked"
    assert 'from = ["gemini"]' in answer.reason


def test_a_call_that_is_denied_unseen_is_in_the_journal_as_well(session: Session) -> None:
    session.call("Nonsense", file_path="a.md")
    session.call("Read", "nobody", file_path="a.md")
    session.call("Read", file_path=["a.md"])
    (session.root / "llmdo.toml").write_text("broken")
    session.call("Read", file_path="a.md")
    read = audit.read(session.journal.read_text().splitlines())
    assert read.faults == ()
    assert [(each["path"], each["decision"], each["allowed"]) for each in read.records] == [
        ("main-session/Nonsense", "blocked", False),
        ("nobody/Read", "blocked", False),
        ("main-session/Read", "blocked", False),
        ("main-session/Read", "blocked", False),
    ]
    assert read.records[1]["reasons"] == ["no agent was seen to start `nobody` (path: nobody/Read)"]


@pytest.mark.parametrize("may", [None, ["proc.exec", "fs.read"]])
def test_a_command_that_settings_list_is_not_asked_about(tmp_path: Path, may: list[str] | None) -> None:
    """Whatever else a session without a mode may run, and where a ceiling leaves it those alone."""
    root = tmp_path / "shop"
    (root / ".claude").mkdir(parents=True)
    (root / ".claude/settings.json").write_text('{"permissions": {"allow": ["Bash(git log:*)"]}}')
    write(root, "" if may is None else f"[workers.main-session]\nmay = {json.dumps(may)}\n", fixer="")
    session = Session(root, tmp_path)
    session.start()
    assert session.call("Bash", command="git log -3") == "allowed"
    assert session.call("Bash", command="make") == ("allowed" if may is None else "blocked")


LISTED_AND_OPEN = [
    ("git push origin main", "allowed"),
    ("git push -u origin main", "allowed"),
    ("git push --receive-pack=./x .", "blocked"),
    ("git push . --rec ./x", "blocked"),
    ("rg --pre ./x a", "blocked"),
    ("git fetch --all", "blocked"),
    ("npm test -- --watch", "allowed"),
    ("npm test --node-options=--import=data:text/javascript,0", "blocked"),
    ("npm_config_node_options=--import=data:text/javascript,0 npm test", "blocked"),
    ("NODE_OPTIONS=--import=data:text/javascript,0 npm test", "blocked"),
]


@pytest.mark.parametrize(("command", "decision"), LISTED_AND_OPEN)
def test_a_listed_command_is_another_one_with_an_option_that_runs_a_program(
    tmp_path: Path, command: str, decision: str
) -> None:
    root = tmp_path / "shop"
    (root / ".claude").mkdir(parents=True)
    allowed = {"permissions": {"allow": ["Bash(git push:*)", "Bash(rg:*)", "Bash(npm test:*)"]}}
    (root / ".claude/settings.json").write_text(json.dumps(allowed))
    write(root, '[workers.main-session]\nmay = ["proc.exec", "fs.read"]\n', fixer="")
    session = Session(root, tmp_path)
    session.start()
    assert session.call("Bash", command=command) == decision


def with_rules(root: Path, rules: dict[str, object]) -> Path:
    """A project with these `permissions` in its settings."""
    (root / ".claude").mkdir(parents=True)
    (root / ".claude/settings.json").write_text(json.dumps({"permissions": rules}))
    return root


def test_a_rule_about_commands_that_write_to_github_lets_no_page_of_it_through(tmp_path: Path) -> None:
    rules = {"allow": ["Bash(gh api:*)"], "deny": ["WebFetch"], "defaultMode": "default"}
    root = write(with_rules(tmp_path / "shop", rules), fixer="Read, Bash")
    session = Session(root, tmp_path)
    session.start()
    assert session.call("Bash", command="gh api user") == "allowed"
    assert session.call("WebFetch", url="https://github.com/acme/shop") == "blocked"


def test_a_tool_that_settings_deny_stays_denied_beside_rules_that_bring_as_much(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    rules = {
        "allow": ["Bash(curl:*)", "mcp__forge__get"],
        "deny": ["WebFetch", "mcp__pages", "mcp__forge__put"],
        "defaultMode": "default",
    }
    with_rules(root, rules)
    (root / ".mcp.json").write_text(
        '{"mcpServers": {"pages": {"command": "npx", "args": ["-y", "fetch-mcp"]}}}'
    )
    write(root, fixer="")
    session = Session(root, tmp_path)
    session.start()
    answer = session.answer(session.calling("WebFetch", url="https://example.com/"))
    assert answer.decision == "blocked"
    assert "the settings of Claude Code deny `WebFetch`" in answer.reason
    assert session.call("mcp__pages__fetch", url="https://example.com/") == "blocked"
    assert session.call("mcp__forge__get", id=1) == "allowed"
    assert session.call("mcp__forge__put", id=1) == "blocked"
    assert session.call("mcp__forge__list", id=1) == "blocked", "no rule names it, and no file its server"
    assert session.call("Agent", subagent_type="fixer") == "allowed"
    assert session.call("WebFetch", "fixer", url="https://example.com/") == "blocked"
