"""Events of Gemini CLI, as it was seen to write them: they do not say which agent calls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmdo.reach import Analysis
from llmdo.workspace import project
from tests.features.hook.sessions import Session, relock

MANIFEST = """\
schema = 1

[workspace]
name = "shop"
from = ["gemini"]

[approvals.rules]
"fs.write:docs/**" = "needs_approval"
"fs.write:secret/**" = "blocked"

[entries.reader]
may = ["fs.read", "fs.list", "net"]

[flows]
"data.untrusted -> proc.exec" = "blocked"
"""
SETTINGS = {
    "general": {"defaultApprovalMode": "auto_edit"},
    "mcpServers": {"github": {"command": "github-mcp-server", "trust": True}},
}
AGENT = "---\nname: {}\ndescription: Does.\n---\nDo it.\n"


class GeminiSession(Session):
    """A session of Gemini CLI."""

    def ends(self, agent: str) -> None:
        """The end of an agent."""
        arguments = {"agent_name": agent, "prompt": "x"}
        self.answer(self.event("AfterTool", tool_name="invoke_agent", tool_input=arguments, tool_response={}))


@pytest.fixture
def session(tmp_path: Path) -> GeminiSession:
    root = tmp_path / "shop"
    (root / ".gemini/agents").mkdir(parents=True)
    (root / ".gemini/settings.json").write_text(json.dumps(SETTINGS))
    for name in ("reader", "fixer"):
        (root / f".gemini/agents/{name}.md").write_text(AGENT.format(name))
    (root / "llmdo.toml").write_text(MANIFEST)
    relock(root)
    session = GeminiSession(root, tmp_path, client="gemini", before="BeforeTool")
    session.start()
    return session


@pytest.mark.parametrize(
    ("tool", "arguments", "decision"),
    [
        ("read_file", {"file_path": "a.txt"}, "allowed"),
        ("list_directory", {"dir_path": "."}, "allowed"),
        ("write_file", {"file_path": "a.txt", "content": "x"}, "allowed"),
        ("write_file", {"file_path": "docs/a.txt", "content": "x"}, "needs_approval"),
        ("replace", {"file_path": "secret/a.txt"}, "blocked"),
        ("run_shell_command", {"command": "make"}, "allowed"),  # the client asks by itself
        ("invoke_agent", {"agent_name": "nobody", "prompt": "x"}, "blocked"),
        ("complete_task", {"result": "x"}, "allowed"),
        ("list_background_processes", {}, "allowed"),
        ("read_background_output", {"pid": 1}, "allowed"),
        ("nonsense", {}, "blocked"),
    ],
)
def test_a_call_of_the_session(
    session: Session, tool: str, arguments: dict[str, object], decision: str
) -> None:
    assert session.call(tool, **arguments) == decision


LISTED = [
    ("git status", "allowed"),
    ("git status --short -- 'a b.txt'", "allowed"),
    ("git statusx", "blocked"),
    ("git push", "blocked"),
    ("git status && rm a.txt", "blocked"),
]


@pytest.mark.parametrize(("command", "decision"), LISTED)
def test_a_command_that_settings_allow_by_its_beginning_is_listed(
    session: GeminiSession, command: str, decision: str
) -> None:
    settings = {**SETTINGS, "tools": {"allowed": ["run_shell_command(git status)"]}}
    (session.root / ".gemini/settings.json").write_text(json.dumps(settings))
    with (session.root / "llmdo.toml").open("a") as manifest:
        manifest.write('[workers.main-session]\nmay = ["fs.read", "proc.exec"]\n')
    relock(session.root)
    assert session.call("run_shell_command", command=command) == decision


def test_a_server_is_known_by_the_name_that_the_event_says(session: Session) -> None:
    for server, decision in (("github", "allowed"), ("gitlab", "blocked")):
        event = session.event(
            "BeforeTool", tool_name="mcp_github_get", tool_input={}, mcp_context={"server_name": server}
        )
        assert session.answer(event).decision == decision


def test_while_an_agent_is_at_work_every_call_is_under_its_ceiling(session: GeminiSession) -> None:
    assert session.call("write_file", file_path="a.txt") == "allowed"
    assert session.call("invoke_agent", agent_name="reader", prompt="x") == "allowed"
    assert session.call("read_file", file_path="a.txt") == "allowed"
    assert session.call("write_file", file_path="a.txt") == "blocked"
    assert session.call("invoke_agent", agent_name="fixer", prompt="x") == "allowed"
    session.ends("fixer")
    assert session.call("write_file", file_path="a.txt") == "blocked"
    session.ends("reader")
    assert session.call("write_file", file_path="a.txt") == "allowed"


def test_what_an_agent_read_comes_back_to_the_session(session: GeminiSession) -> None:
    session.call("invoke_agent", agent_name="reader", prompt="x")
    session.call("web_fetch", prompt="Read https://example.com/")
    session.ends("reader")
    assert session.call("run_shell_command", command="make") == "blocked"


def test_the_words_for_an_answer(session: Session) -> None:
    for path, decision in (("docs/a.txt", "ask"), ("secret/a.txt", "deny")):
        code, text = session.printed(session.calling("write_file", file_path=path))
        assert (code, json.loads(text)["decision"]) == (0, decision)
    assert session.printed(session.calling("run_shell_command", command="make")) == (0, "")


def test_a_question_about_an_agent_is_a_denial_as_it_would_be_passed_over(session: Session) -> None:
    manifest = MANIFEST.replace("[approvals.rules]", '[approvals.rules]\n"agent.delegate" = "needs_approval"')
    (session.root / "llmdo.toml").write_text(manifest)
    relock(session.root)
    code, text = session.printed(session.calling("invoke_agent", agent_name="reader", prompt="x"))
    assert (code, json.loads(text)["decision"]) == (0, "deny")
    assert "which hooks of Gemini CLI cannot do about `invoke_agent`" in text
    assert session.call("write_file", file_path="a.txt") == "allowed"  # no agent is at work


def test_reach_counts_a_tool_that_a_ceiling_leaves_beside_a_milder_one(tmp_path: Path) -> None:
    """The client asks about `write_file` and not about `replace`, which reads as well."""
    root = tmp_path / "shop"
    (root / ".gemini").mkdir(parents=True)
    (root / ".gemini/settings.json").write_text(json.dumps({"tools": {"allowed": ["replace"]}}))
    manifest = 'schema = 1\n\n[workspace]\nname = "shop"\nfrom = ["gemini"]\n'
    (root / "llmdo.toml").write_text(f'{manifest}\n[workers.main-session]\nmay = ["fs.write"]\n')
    relock(root)
    session = GeminiSession(root, tmp_path, client="gemini", before="BeforeTool")
    session.start()
    assert session.call("replace", file_path="a.txt") == "blocked"
    assert session.call("write_file", file_path="a.txt", content="x") != "blocked"
    graph = project.read(root).graph
    rows = {str(row.capability): row for row in Analysis(graph).of(graph.entries["main-session"])}
    assert rows["fs.write"].decision == "allowed"
    assert rows["fs.write.protected"].decision == "blocked"
