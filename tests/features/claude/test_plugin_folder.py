"""Plugins in `.claude/plugins` of a project, with and without a manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
