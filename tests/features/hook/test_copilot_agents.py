"""Events of agents of Copilot CLI 1.0.102, as it was seen to write them: each has a session of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmdo.features.hook import install
from llmdo.features.hook.deciding import HookAnswer
from llmdo.reach import Analysis
from llmdo.workspace import project
from tests.features.hook.sessions import Session, relock

MANIFEST = """\
schema = 1

[workspace]
name = "shop"
from = ["copilot"]

[workers.main-session]
approvals = { "fs.write" = "blocked" }

[workers.reader]
may = ["fs.read", "fs.list", "net", "agent.delegate"]

[flows]
"data.untrusted -> proc.exec" = "blocked"
"""
AGENT = "---\ndescription: Does.\n---\nDo it.\n"
TOP = "11111111-aaaa"


class Copilot:
    """A session of Copilot CLI with its agents."""

    def __init__(self, root: Path, home: Path) -> None:
        self.session = Session(root, home, client="copilot")
        self.root = root
        self.tell(sessionId=TOP, source="new")

    def tell(self, **parts: object) -> HookAnswer:
        """The answer to an event."""
        return self.session.answer(json.dumps({"cwd": str(self.root), **parts}).encode())

    def call(self, tool: str, *who: str, **arguments: object) -> str:
        """The decision on a call; of an agent by its name, its id, and the id of what started it."""
        return self.decided(tool, *who, **arguments).decision

    def decided(self, tool: str, *who: str, **arguments: object) -> HookAnswer:
        """The same with its reason."""
        return self.tell(toolName=tool, toolArgs=arguments, **named(*who))

    def ends(self, agent: str, *who: str) -> None:
        """The end of the call that started an agent."""
        arguments = {"agent_type": agent, "mode": "sync"}
        self.tell(toolName="task", toolArgs=arguments, toolResult={"resultType": "success"}, **named(*who))


def named(agent: str = "", name: str = "", parent: str = TOP) -> dict[str, str]:
    """The parts of an event that say who calls."""
    if not agent:
        return {"sessionId": TOP}
    return {"sessionId": name, "agentId": name, "agentType": agent, "parentAgentId": parent}


@pytest.fixture
def copilot(tmp_path: Path) -> Copilot:
    root = tmp_path / "shop"
    (root / ".github/agents").mkdir(parents=True)
    for name in ("reader", "fixer"):
        (root / f".github/agents/{name}.agent.md").write_text(AGENT)
    (root / "llmdo.toml").write_text(MANIFEST)
    install.write(root, install.change_for(root, "copilot"))
    relock(root)
    return Copilot(root, tmp_path)


def test_an_agent_is_decided_about_by_its_name_and_id(copilot: Copilot) -> None:
    assert copilot.call("create", path="a.txt") == "blocked"
    assert copilot.call("task", agent_type="fixer", mode="sync") == "allowed"
    assert copilot.call("task", agent_type="reader", mode="background") == "allowed"
    assert copilot.call("create", "fixer", "f1", path="a.txt") == "allowed"
    assert copilot.call("create", "reader", "r1", path="a.txt") == "blocked"
    assert copilot.call("view", "reader", "r1", path="a.txt") == "allowed"


def test_an_agent_that_said_its_id_is_not_the_one_that_calls_in_the_session(copilot: Copilot) -> None:
    assert copilot.call("bash", command="make") == "allowed"
    copilot.call("task", agent_type="reader", mode="background")
    assert copilot.call("bash", command="make") == "blocked"
    copilot.call("view", "reader", "r1", path="a.txt")
    assert copilot.call("bash", command="make") == "allowed"


def test_an_agent_that_an_agent_started_is_under_the_ceilings_of_both(copilot: Copilot) -> None:
    copilot.call("task", agent_type="reader")
    assert copilot.call("task", "reader", "r1", agent_type="fixer") == "allowed"
    answer = copilot.decided("create", "fixer", "f1", "r1", path="a.txt")
    assert answer.decision == "blocked"
    assert "path: main-session/reader/fixer/create" in answer.reason
    assert copilot.call("view", "fixer", "f1", "r1", path="a.txt") == "allowed"


def test_an_agent_that_nobody_was_seen_to_start_is_denied(copilot: Copilot) -> None:
    assert copilot.call("view", "reader", "r1", path="a.txt") == "blocked"
    copilot.call("task", agent_type="fixer")
    assert copilot.call("view", "reader", "r1", path="a.txt") == "blocked"
    assert copilot.call("view", "fixer", "f1", path="a.txt") == "allowed"
    assert copilot.call("view", "fixer", "f2", path="a.txt") == "blocked"
    assert copilot.call("view", "fixer", "f3", "f1", path="a.txt") == "blocked"
    assert copilot.call("view", "fixer", "f4", "nobody", path="a.txt") == "blocked"


def test_an_id_is_that_of_one_agent(copilot: Copilot) -> None:
    for agent in ("reader", "fixer"):
        copilot.call("task", agent_type=agent)
    assert copilot.call("view", "reader", "r1", path="a.txt") == "allowed"
    assert copilot.call("create", "fixer", "r1", path="a.txt") == "blocked"


def test_two_agents_of_a_name_are_told_apart(copilot: Copilot) -> None:
    for _ in "ab":
        copilot.call("task", agent_type="fixer")
    for name in ("f1", "f2"):
        assert copilot.call("create", "fixer", name, path="a.txt") == "allowed"
    assert copilot.call("create", "fixer", "f3", path="a.txt") == "blocked"


def test_what_an_agent_read_comes_back_to_the_session(copilot: Copilot) -> None:
    copilot.call("task", agent_type="fixer")
    assert copilot.call("bash", "fixer", "f1", command="make") == "allowed"
    copilot.call("task", "fixer", "f1", agent_type="reader")
    copilot.call("web_fetch", "reader", "r1", "f1", url="https://example.com/")
    copilot.ends("reader", "fixer", "f1")
    copilot.ends("fixer")
    assert copilot.call("bash", "fixer", "f1", command="make") == "blocked"
    assert copilot.call("bash", command="make") == "blocked"


def test_the_start_of_an_agent_hands_on_what_was_read(copilot: Copilot) -> None:
    copilot.call("task", agent_type="fixer")
    copilot.call("web_fetch", url="https://example.com/")
    copilot.call("task", agent_type="fixer")
    for name in ("f1", "f2"):  # which of the two calls first is not known
        assert copilot.call("bash", "fixer", name, command="make") == "blocked"


def test_what_is_kept_of_an_agents_session_is_no_link_elsewhere(copilot: Copilot) -> None:
    """A note that is cut off names no session, so nothing is decided."""
    copilot.call("task", agent_type="reader")
    copilot.call("task", "reader", "r1", agent_type="fixer")
    note = copilot.session.journal.parent / "copilot-r1.above"
    assert note.read_text() == TOP
    note.write_text(TOP[:4])
    assert copilot.call("view", "fixer", "f1", "r1", path="a.txt") == "blocked"


def test_reach_says_that_the_session_starts_every_agent(copilot: Copilot) -> None:
    graph = project.read(copilot.root).graph
    entry = graph.entries["main-session"]
    paths = {tuple(hop.name for hop in row.path[:-1]) for row in Analysis(graph).of(entry)}
    assert ("main-session", "every agent", "fixer") in paths  # the session itself may write nothing


def test_what_a_server_may_do_unasked_is_asked_about_by_the_hook(copilot: Copilot) -> None:
    """Copilot CLI asks about tools of servers, but not about those that only read, as their server says."""
    servers = {"mcpServers": {"github": {"command": "github-mcp-server"}}}
    (copilot.root / ".mcp.json").write_text(json.dumps(servers))
    relock(copilot.root)
    answer = copilot.decided("github-get")
    assert (answer.decision, answer.is_left) == ("needs_approval", False)
