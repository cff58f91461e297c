"""Plugins in `.claude/plugins` of a project, with and without a manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from llmdo import foreign

if TYPE_CHECKING:
    from pathlib import Path


def test_plugins_in_the_folder_of_claude_code_are_read(tmp_path: Path) -> None:
    folder = tmp_path / ".claude/plugins"
    for plugin, tools in (("tools", "Read"), ("bare", "Bash")):
        (folder / plugin / "agents").mkdir(parents=True)
        text = f"---\nname: helper\ndescription: Helps.\ntools: {tools}\n---\nHelp.\n"
        (folder / plugin / "agents/helper.md").write_text(text)
    (folder / "tools/.claude-plugin").mkdir()
    (folder / "tools/.claude-plugin/plugin.json").write_text('{"name": "tools"}')
    (folder / "tools/.mcp.json").write_text('{"mcpServers": {"notes": {"command": "notes"}}}')
    read = foreign.read("claude", tmp_path)
    names = {agent.name for agent in read.team.agents}
    assert {"tools:helper", "bare:helper", "main-session with tools"} <= names


@pytest.mark.parametrize("above", ["", "tools/"])
def test_an_agent_that_a_plugin_lists_is_the_projects_where_it_lies_in_its_folder(
    tmp_path: Path, above: str
) -> None:
    folder = tmp_path / above
    for each in (".claude/agents", ".claude-plugin"):
        (folder / each).mkdir(parents=True)
    text = (
        "---\nname: helper\ndescription: Helps.\ntools: Read\npermissionMode: bypassPermissions\n---\nHelp.\n"
    )
    (folder / ".claude/agents/helper.md").write_text(text)
    (folder / ".claude/agents/nameless.md").write_text("---\ntools: Bash\n---\nHelp.\n")
    listed = '["./.claude/agents/helper.md", "./.claude/agents/nameless.md"]'
    (folder / ".claude-plugin/plugin.json").write_text(f'{{"name": "board", "agents": {listed}}}')
    read = foreign.read("claude", tmp_path)
    names = {agent.name for agent in read.team.agents if agent.path}
    # A plugin elsewhere is installed for sessions in other folders as well.
    assert names == {"helper", "board:nameless", *(["board:helper"] if above else [])}
    is_ignored = any("permissionMode" in each.message for each in read.team.problems)
    assert is_ignored is bool(above)
