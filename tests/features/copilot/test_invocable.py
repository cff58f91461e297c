"""Who starts an agent of GitHub Copilot: a person, or the default session, which no file of the project is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from llmdo import foreign

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("header", "is_started"),
    [
        ("", True),
        ("user-invocable: false\n", True),
        ("user-invokable: false\n", True),
        ("disable-model-invocation: true\n", True),
        ("user-invocable: false\ninfer: true\n", True),
        ("user-invocable: false\ninfer: false\n", False),
        ("user-invocable: false\ndisable-model-invocation: true\n", False),
    ],
)
def test_an_agent_is_hidden_only_if_neither_a_person_nor_a_session_may_call_it(
    tmp_path: Path, header: str, *, is_started: bool
) -> None:
    (tmp_path / ".github/agents").mkdir(parents=True)
    for name, lines in (("lead", "tools: [read, agent]\n"), ("helper", f"tools: [execute]\n{header}")):
        text = f"---\nname: {name}\ndescription: Works.\n{lines}---\nWork.\n"
        (tmp_path / f".github/agents/{name}.agent.md").write_text(text)
    read = foreign.read("copilot", tmp_path)
    assert next(agent for agent in read.team.agents if agent.name == "helper").is_entry is is_started
    if is_started:
        rows = read.analysis.of(read.graph.entries["helper"])
        assert "proc.exec.unlisted" in {str(row.capability) for row in rows}


def test_an_agent_of_a_plugin_has_the_servers_of_the_plugin(tmp_path: Path) -> None:
    """However deep the plugin lies."""
    plugin = tmp_path / "plugins/copilot/docs"
    (plugin / "agents").mkdir(parents=True)
    (plugin / "agents/a.agent.md").write_text("---\nname: a\ndescription: Works.\n---\nWork.\n")
    (plugin / ".mcp.json").write_text('{"mcpServers": {"pages": {"url": "https://pages.example.com"}}}')
    read = foreign.read("copilot", tmp_path)
    assert "pages" in {row.path[-1].name for row in read.analysis.of(read.graph.entries["a"])}
