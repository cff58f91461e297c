"""The tools that the header of an agent gives it: what Claude Code 2.1.328 offered a model, header by header."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from llmdo import foreign
from llmdo.features.claude.table import INHERITED

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.foreign.team import Agent

EVERY = {*INHERITED}
PLAN = '{"permissions": {"defaultMode": "plan"}}'


def helper(folder: Path, header: str, settings: str = "{}") -> Agent:
    (folder / ".claude/agents").mkdir(parents=True)
    (folder / ".claude/settings.json").write_text(settings)
    for name, lines in (("helper", header), ("bash", "tools: Bash\n"), ("other", "tools: Read\n")):
        text = f"---\nname: {name}\ndescription: Helps.\n{lines}---\nHelp.\n"
        (folder / f".claude/agents/{name}.md").write_text(text)
    team = foreign.read("claude", folder).team
    return next(agent for agent in team.agents if agent.name == "helper")


def tools(agent: Agent) -> set[str]:
    return {grant.tool.partition(" ")[0] for grant in agent.grants}


@pytest.mark.parametrize(
    ("header", "expected", "calls"),
    [
        ("", EVERY, True),
        ('tools: "*"\n', EVERY, True),
        ("tools: Read, *\n", EVERY, True),
        ("tools: []\n", set(), False),
        ("tools:\n", set(), False),
        ('tools: ""\n', set(), False),
        ("tools: 3\n", set(), False),
        ("tools: [Read, Grep]\n", {"Read", "Grep"}, False),
        ('tools: ["Read, Grep"]\n', {"Read", "Grep"}, False),
        ("tools: Bash\n", {"Bash"}, False),
        ("tools: Read, Agent(bash)\n", {"Read"}, True),
        ("tools: Read, Task\n", {"Read"}, True),
        ("tools: Read, Workflow\n", {"Read"}, True),
        ("tools: Read, Workflow, Task\ndisallowedTools: Task\n", {"Read"}, True),
        ("tools: Read, Workflow\ndisallowedTools: Workflow\n", {"Read"}, False),
        ("tools: Read, Nonsense\n", {"Read"}, False),
    ],
)
def test_an_agent_has_the_tools_that_the_client_gives_it(
    tmp_path: Path, header: str, expected: set[str], calls: bool
) -> None:
    agent = helper(tmp_path, header)
    assert tools(agent) == expected
    assert (agent.everyone is not None) is calls


def test_a_workflow_that_settings_deny_starts_no_agent(tmp_path: Path) -> None:
    settings = '{"permissions": {"deny": ["Workflow"]}}'
    assert helper(tmp_path, "tools: Read, Workflow\n", settings).everyone is None


def test_plan_mode_takes_no_tool_away(tmp_path: Path) -> None:
    assert tools(helper(tmp_path, "tools: Read, Bash\n", PLAN)) == {"Read", "Bash"}


def test_an_agent_may_spawn_others_than_those_in_parentheses(tmp_path: Path) -> None:
    helper(tmp_path, "tools: Read, Agent(bash)\n")
    read = foreign.read("claude", tmp_path)
    rows = read.analysis.of(read.graph.entries["helper"])
    reached = {hop.name for row in rows for hop in row.path}
    assert "every agent" in reached
    assert {use.name for use in read.graph.workers["every agent"].uses} >= {"bash", "other"}


def test_a_page_that_is_fetched_unasked_is_of_its_host(tmp_path: Path) -> None:
    allow = '{"permissions": {"allow": ["WebFetch(domain:a.example)"], "defaultMode": "default"}}'
    helper(tmp_path, "tools: WebFetch\n", allow)
    read = foreign.read("claude", tmp_path)
    rows = {str(row.capability): row.decision for row in read.analysis.of(read.graph.entries["helper"])}
    assert rows["net.connect:a.example"] == "allowed"
    assert rows["net.connect:**"] == "needs_approval"
