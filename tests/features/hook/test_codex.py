"""Events of Codex, as it was seen to write them, and answers that it understands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmdo.journal import audit
from llmdo.render.audit import word_of
from tests.features.hook.sessions import Session, relock
from tests.support import commands

MANIFEST = """\
schema = 1

[workspace]
name = "shop"
from = ["codex"]

[approvals.rules]
"fs.write:docs/**" = "needs_approval"
"fs.write:secret/**" = "blocked"

[entries.reader]
may = ["fs.read", "fs.list"]
"""
SETTINGS = """\
sandbox_mode = "workspace-write"
approval_policy = "on-request"

[mcp_servers.github]
command = "github-mcp-server"
"""
AGENT = 'name = "{}"\ndescription = "Does."\ndeveloper_instructions = "Do it."\n'


@pytest.fixture
def session(tmp_path: Path) -> Session:
    root = tmp_path / "shop"
    (root / ".codex/agents").mkdir(parents=True)
    (root / ".codex/config.toml").write_text(SETTINGS)
    for name in ("reader", "fixer"):
        (root / f".codex/agents/{name}.toml").write_text(AGENT.format(name))
    (root / "llmdo.toml").write_text(MANIFEST)
    relock(root)
    session = Session(root, tmp_path, client="codex")
    session.start()
    return session


def patch(path: str, doing: str = "Add") -> str:
    return f"*** Begin Patch\n*** {doing} File: {path}\n+x\n*** End Patch\n"


@pytest.mark.parametrize(
    ("tool", "arguments", "decision"),
    [
        ("Bash", {"command": "make"}, "blocked"),  # which may write in `secret`
        ("Bash", {"command": "cat a.txt"}, "allowed"),
        ("apply_patch", {"command": patch("a.txt")}, "allowed"),
        ("apply_patch", {"command": patch("docs/a.txt")}, "needs_approval"),
        ("apply_patch", {"command": patch("secret/a.txt", "Delete")}, "blocked"),
        ("apply_patch", {"command": patch("a.txt") + patch("secret/a.txt")}, "blocked"),
        (
            "apply_patch",
            {"command": patch("a.txt") + patch("secret/a.txt").replace("*** A", "  *** A")},
            "blocked",
        ),
        ("apply_patch", {"command": patch("a.txt") + "\t***  Delete  File:secret/a.txt\n"}, "blocked"),
        ("apply_patch", {"command": "nonsense"}, "blocked"),
        ("view_image", {"path": "a.png"}, "allowed"),
        ("mcp__github__get_issue", {}, "allowed"),
        ("mcp__gitlab__get_issue", {}, "blocked"),
        ("spawn_agent", {"agent_type": "reader", "message": "x"}, "allowed"),
        ("spawn_agent", {"message": "x"}, "allowed"),
        ("spawn_agent", {"agent_type": "nobody", "message": "x"}, "blocked"),
        ("multi_agent_v1wait_agent", {"targets": []}, "allowed"),
        ("multi_agent_v1resume_agent", {"id": "x"}, "allowed"),
        ("get_goal", {}, "allowed"),
        ("create_goal", {"objective": "x"}, "allowed"),
        ("update_goal", {"status": "complete"}, "allowed"),
        ("list_mcp_resources", {}, "allowed"),
        ("list_mcp_resource_templates", {"server": "github"}, "allowed"),
        ("read_mcp_resource", {"server": "github", "uri": "a://b"}, "allowed"),
        ("read_mcp_resource", {"server": "gitlab", "uri": "a://b"}, "blocked"),
        ("read_mcp_resource", {"uri": "a://b"}, "blocked"),
    ],
)
def test_a_call_of_the_session(
    session: Session, tool: str, arguments: dict[str, object], decision: str
) -> None:
    assert session.call(tool, **arguments) == decision


def test_an_agent_is_under_its_ceiling(session: Session) -> None:
    session.call("spawn_agent", agent_type="reader", message="x")
    assert session.call("Bash", "reader", command="cat a.txt") == "allowed"
    assert session.call("Bash", "reader", command="touch a.txt") == "blocked"
    assert session.call("apply_patch", "reader", command=patch("a.txt")) == "blocked"
    assert session.call("apply_patch", command=patch("a.txt")) == "allowed"


READING = (
    "sed -n 3p a.txt",
    "sed -n '1,200p' a.txt docs/b.txt",
    "sed -n -e '2,$p' a.txt",
    "cat docs/../a.txt",
    "cat ROOT/a.txt",
    "cat 'a\tb.txt'",
    "grep -rn '\\bword\\b' docs",
    "grep -rIn --include='*.py' -e word docs",
    "grep -c '^/*' a.txt",
    "rg -n '(a|b):/' docs",
)
CHANGING = (
    "sed -n 1,2w a.txt",
    "sed -n 1e a.txt",
    "sed -i 3p a.txt",
    "sed -n 3p -i a.txt",
    "sed -n 3p -s a.txt",
    "sed -n",
    "sed -n -e 3p -f a.txt",
    "sed -n 3p ../../a.txt",
    "cat docs/../../a.txt",
    "cat ROOT/../a.txt",
    "grep -rn word ..",
    "grep -rn word /",
    "find / -name a.txt",
    "ls ROOT/..",
    "cat /etc/passwd",
    "grep -f a.txt docs",
    "grep -rIZn word docs",
    "grep -Rn word docs",
    "rg --pre=x word docs",
)


@pytest.mark.parametrize(
    ("command", "decision"),
    [*((each, "allowed") for each in READING), *((each, "blocked") for each in CHANGING)],
)
def test_a_command_that_reads_is_known_in_the_spellings_that_agents_use(
    session: Session, command: str, decision: str
) -> None:
    session.call("spawn_agent", agent_type="reader", message="x")
    assert session.call("Bash", "reader", command=command.replace("ROOT", str(session.root))) == decision


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("grep -rn private src", "allowed"),
        ("grep -rn -e private -- src", "allowed"),
        ("rg -n private src docs", "allowed"),
        ("rg --files src", "allowed"),
        ("sed -n 1p src/a.txt", "allowed"),
        ("grep -rn word private/..", "blocked"),
        ("grep -rn word . src", "blocked"),
        ("grep -rn word", "blocked"),
        ("rg word", "blocked"),
        ("rg --files", "blocked"),
        ("rg --files private", "blocked"),
        ("grep -rn word src private", "blocked"),
        ("grep -n -A 2 word private/a.txt", "blocked"),
        ("grep -A 2 src private/a.txt", "blocked"),
        ("sed -n 1p src/../private/a.txt", "blocked"),
    ],
)
def test_a_search_reads_the_folders_that_it_names_and_not_its_pattern(
    session: Session, command: str, decision: str
) -> None:
    with (session.root / "llmdo.toml").open("a") as manifest:
        manifest.write('[workers.codex]\nmay = ["fs.read:src/**", "fs.read:docs/**", "fs.list"]\n')
    relock(session.root)
    (session.root / "src").mkdir()
    assert session.call("Bash", command=command) == decision


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("git status --short", "allowed"),
        ("git log -n 3", "allowed"),
        ("git push", "blocked"),
        ("git", "blocked"),
        ("git status; touch a", "blocked"),
        ("git status > a", "blocked"),
        ("make a b", "blocked"),
        ("rm a", "blocked"),
    ],
)
def test_a_command_that_rules_let_out_of_the_sandbox_is_one_that_is_listed(
    session: Session, command: str, decision: str
) -> None:
    (session.root / ".codex/rules").mkdir()
    rules = (
        '["git", ["status", "log"]], decision="allow"',
        '["rm"], decision="prompt"',
        '["make a"], decision="allow"',
    )
    text = "".join(f"prefix_rule(pattern={each})\n" for each in rules)
    (session.root / ".codex/rules/project.rules").write_text(text)
    with (session.root / "llmdo.toml").open("a") as manifest:
        manifest.write('[workers.codex]\nmay = ["fs.read", "proc.exec"]\n')
    relock(session.root)
    assert session.call("Bash", command=command) == decision


def test_a_command_that_asks_to_leave_the_sandbox_is_one_that_nothing_limits(session: Session) -> None:
    session.call("spawn_agent", agent_type="reader", message="x")
    who = {"agent_id": "reader-1", "agent_type": "reader"}
    asked = session.event("PermissionRequest", tool_name="Bash", tool_input={"command": "cat a.txt"}, **who)
    code, text = session.printed(asked)
    own = json.loads(text)["hookSpecificOutput"]
    assert (code, own["hookEventName"], own["decision"]["behavior"]) == (0, "PermissionRequest", "deny")
    asked = session.event("PermissionRequest", tool_name="Bash", tool_input={"command": "cat a.txt"})
    assert session.printed(asked) == (0, "")


def test_what_it_cannot_ask_about_is_denied(session: Session) -> None:
    code, text = session.printed(session.calling("apply_patch", command=patch("docs/a.txt")))
    own = json.loads(text)["hookSpecificOutput"]
    assert (code, own["permissionDecision"]) == (0, "deny")
    assert "hooks of Codex cannot" in own["permissionDecisionReason"]


def test_what_a_person_cannot_be_asked_about_is_recorded_as_denied(session: Session) -> None:
    session.call("apply_patch", command=patch("docs/a.txt"))
    (record,) = map(json.loads, session.journal.read_text().splitlines())
    assert (record["decision"], word_of(record)) == ("needs_approval", "denied")
    environ = {"HOME": str(session.home), "CODEX_HOME": ""}
    suggested = commands.llmdo(session.root, "suggest", "--from-sessions", environ=environ)
    assert "1 call in Codex that failed, were refused or did not end left out" in suggested.stderr
    assert "fs.write" not in suggested.stdout


def test_a_call_with_very_many_files_does_not_end_a_session(session: Session) -> None:
    many = "".join(patch(f"{'folder/' * 150}{each}.txt") for each in range(1200))
    assert session.call("apply_patch", command=many) == "allowed"
    assert session.call("Bash", command="cat a.txt") == "allowed"
    read = audit.read(session.journal.read_text().splitlines())
    assert (read.faults, len(read.records)) == ((), 2)
    assert (read.records[0]["cut"], read.records[0]["capabilities"][-1]) == (True, "and 1,100 more")
    environ = {"HOME": str(session.home), "CODEX_HOME": ""}
    suggested = commands.llmdo(session.root, "suggest", "--from-sessions", environ=environ)
    assert "1 call in Codex that failed, were refused or did not end left out" in suggested.stderr
    assert all(len(line) < 2**19 for line in session.journal.read_text().splitlines())


def test_a_tool_or_an_agent_with_a_very_long_name_does_not_end_a_session(session: Session) -> None:
    assert session.call("x" * 2_000_000) == "blocked"
    assert session.call("Bash", "\u20ac" * 2_000_000, command="cat a.txt") == "blocked"
    assert session.call("Bash", command="cat a.txt") == "allowed"
    read = audit.read(session.journal.read_text().splitlines())
    assert (read.faults, len(read.records)) == ((), 3)
    assert all(len(line) < 2**19 for line in session.journal.read_text().splitlines())


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("grep -r x src", "blocked"),
        ("grep -rn x .", "blocked"),
        ("grep -rn --include='.e*' x src", "blocked"),
        ("rg --hidden x src", "blocked"),
        ("rg -g '*.env' x src", "blocked"),
        ("rg --no-ignore x", "blocked"),
        ("diff -r src docs", "blocked"),
        ("grep -rn --include='*.py' x src", "allowed"),
        ("grep -rn x docs", "allowed"),
        ("rg -g '*.py' x src", "allowed"),
        ("cat src/a.py", "allowed"),
        ("ls -la src", "allowed"),
        ("find src -name x", "allowed"),
        ("du -sh src", "allowed"),
    ],
)
def test_a_command_that_looks_into_a_folder_with_a_secret_reads_it(
    session: Session, command: str, decision: str
) -> None:
    for path in ("src/.env", "src/a.py", "docs/a.md"):
        (session.root / path).parent.mkdir(exist_ok=True)
        (session.root / path).write_text("x\n")
    manifest = session.root / "llmdo.toml"
    protected = '[approvals.rules]\n"fs.read.protected" = "blocked"\n'
    manifest.write_text(manifest.read_text().replace("[approvals.rules]\n", protected))
    relock(session.root)
    assert session.call("Bash", command=command) == decision


def test_a_search_of_everything_reads_a_secret_that_is_there(session: Session) -> None:
    manifest = session.root / "llmdo.toml"
    protected = '[approvals.rules]\n"fs.read.protected" = "blocked"\n'
    manifest.write_text(manifest.read_text().replace("[approvals.rules]\n", protected))
    relock(session.root)
    assert session.call("Bash", command="rg -n x") == "allowed"
    (session.root / ".env").write_text("x\n")
    assert session.call("Bash", command="rg -n --hidden x") == "blocked"
