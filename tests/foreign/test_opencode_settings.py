"""Keys that opencode drops from its settings give nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo import foreign

if TYPE_CHECKING:
    from pathlib import Path


def test_a_server_has_the_variables_of_environment_alone(tmp_path: Path) -> None:
    (tmp_path / "opencode.json").write_text(
        '{"mcp": {"both": {"type": "local", "command": ["a"], "env": {"A": "1"}, "environment": {"B": "2"}}}}'
    )
    agents = foreign.read("opencode", tmp_path).team.agents
    servers = {grant.server for agent in agents for grant in agent.grants if grant.server}
    assert {server.env for server in servers} == {("B",)}


def test_a_placeholder_of_a_template_is_refused_beside_a_text_with_a_colon(tmp_path: Path) -> None:
    agents = tmp_path / ".opencode/agents"
    agents.mkdir(parents=True)
    (agents / "a.md").write_text("---\ndescription: Plans: all\nmodel: {{MODEL}}\n---\nPlan.\n")
    (agents / "b.md").write_text("---\nmode: subagent\noptions: {[[a]]}\n---\nRead.\n")
    problems = foreign.read("opencode", tmp_path).team.problems
    assert [(each.code, each.message.partition(",")[0]) for each in problems] == [
        ("LDO150", "a key is a list or a mapping"),
        ("LDO153", "`model` is no text"),
    ]
