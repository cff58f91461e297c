"""Events of Copilot CLI, as its documentation has them: they carry neither their own name nor that of the agent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmdo.features.hook.clients.copilot import own_file
from llmdo.features.hook.install import command_for
from tests.features.hook.sessions import COPILOT_WORDS, Session, relock

MANIFEST = """\
schema = 1

[workspace]
name = "shop"
from = ["copilot"]

[approvals.rules]
"fs.write:docs/**" = "needs_approval"
"fs.write:secret/**" = "blocked"

[workers.reader]
may = ["fs.read", "fs.list", "net", "agent.delegate"]

[flows]
"data.untrusted -> proc.exec" = "blocked"
"""
AGENT = "---\ndescription: Does.\n---\nDo it.\n"


class CopilotSession(Session):
    """A session of Copilot CLI."""

    def started(self, agent: str, mode: str = "sync") -> str:
        """The decision on the start of an agent."""
        return self.call("task", agent_type=agent, mode=mode, prompt="x")

    def ends(self, agent: str, mode: str = "sync", **more: object) -> None:
        """The end of the call that started an agent."""
        arguments = {"agent_type": agent, "mode": mode, "prompt": "x"}
        outcome = more or {"toolResult": {"resultType": "success"}}
        self.answer(self.event("postToolUse", tool_name="task", tool_input=arguments, **outcome))


@pytest.fixture
def session(tmp_path: Path) -> CopilotSession:
    root = tmp_path / "shop"
    (root / ".github/agents").mkdir(parents=True)
    (root / ".github/hooks").mkdir()
    (root / ".github/hooks/llmdo.json").write_text(own_file(command_for("copilot"), 60))
    for name in ("reader", "fixer"):
        (root / f".github/agents/{name}.agent.md").write_text(AGENT)
    (root / "llmdo.toml").write_text(MANIFEST)
    relock(root)
    session = CopilotSession(
        root, tmp_path, client="copilot", before="preToolUse", begins="sessionStart", words=COPILOT_WORDS
    )
    session.start("new")
    return session


@pytest.mark.parametrize(
    ("tool", "arguments", "decision"),
    [
        ("view", {"path": "a.txt"}, "allowed"),
        ("create", {"path": "a.txt", "file_text": "x"}, "allowed"),
        ("edit", {"path": "docs/a.txt"}, "needs_approval"),
        ("str_replace_editor", {"path": "secret/a.txt"}, "blocked"),
        ("glob", {"pattern": "*"}, "allowed"),
        ("grep", {"pattern": "x", "path": "docs"}, "allowed"),
        ("bash", {"command": "make"}, "allowed"),
        ("task", {"agent_type": "nobody", "prompt": "x"}, "blocked"),
        ("update_todo", {"todos": "x"}, "allowed"),
        ("nonsense", {}, "blocked"),
    ],
)
def test_a_call_of_the_session(
    session: Session, tool: str, arguments: dict[str, object], decision: str
) -> None:
    assert session.call(tool, **arguments) == decision


def test_arguments_may_be_json_in_a_text(session: Session) -> None:
    for path, decision in (("a.txt", "allowed"), ("secret/a.txt", "blocked")):
        arguments = json.dumps({"path": path, "file_text": "x"})
        event = session.event("preToolUse", tool_name="create", tool_input=arguments)
        assert session.answer(event).decision == decision
    event = session.event("preToolUse", tool_name="create", tool_input="{")
    assert session.answer(event).decision == "blocked"


def test_while_an_agent_is_at_work_every_call_is_under_its_ceiling(session: CopilotSession) -> None:
    assert session.started("reader") == "allowed"
    assert session.call("view", path="a.txt") == "allowed"
    assert session.call("create", path="a.txt") == "blocked"
    assert session.started("fixer") == "allowed"
    session.ends("fixer")
    assert session.call("create", path="a.txt") == "blocked"
    session.ends("reader")
    assert session.call("create", path="a.txt") == "allowed"


def test_an_agent_whose_call_failed_is_over(session: CopilotSession) -> None:
    session.started("reader")
    session.ends("reader", error={"message": "x"})
    assert session.call("create", path="a.txt") == "allowed"


@pytest.mark.parametrize("mode", ["background", "", "SYNC"])
def test_an_agent_in_the_background_is_at_work_until_the_session_ends(
    session: CopilotSession, mode: str
) -> None:
    """The call that starts it ends at once, and the agent does not."""
    session.started("reader", mode)
    session.ends("reader", mode)
    assert session.call("create", path="a.txt") == "blocked"


def test_what_an_agent_read_comes_back_to_the_session(session: CopilotSession) -> None:
    assert session.call("bash", command="make") == "allowed"
    session.started("reader")
    session.call("web_fetch", url="https://example.com/")
    session.ends("reader")
    assert session.call("bash", command="make") == "blocked"


def test_the_words_for_an_answer(session: Session) -> None:
    for path, decision in (("docs/a.txt", "ask"), ("secret/a.txt", "deny")):
        code, text = session.printed(session.calling("create", path=path))
        assert (code, json.loads(text)["permissionDecision"]) == (0, decision)
    assert session.printed(session.calling("view", path="a.txt")) == (0, "")
