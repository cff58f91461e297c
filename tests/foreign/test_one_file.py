"""One file of a project, given alone: of each format, at each place where it may lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from llmdo import foreign
from llmdo.base.diagnostic import LlmdoError
from llmdo.foreign.known import formats

if TYPE_CHECKING:
    from pathlib import Path

MARKDOWN = "---\nname: helper\ndescription: Helps.\n---\nHelp as you can.\n"
FILES = {
    "claude": (".claude/agents/helper.md", MARKDOWN),
    "codex": (".codex/config.toml", 'sandbox_mode = "read-only"\n'),
    "copilot": (".github/agents/helper.agent.md", MARKDOWN),
    "cursor": (".cursor/agents/helper.md", MARKDOWN),
    "docker-agent": ("team.yaml", "agents:\n  root:\n    model: openai/gpt-5\n    instruction: Help.\n"),
    "fast-agent": (".fast-agent/agent-cards/helper.md", MARKDOWN),
    "gemini": (".gemini/agents/helper.md", MARKDOWN),
    "gh-aw": (".github/workflows/helper.md", "---\non: issues\n---\nHelp.\n"),
    "github-actions": (
        ".github/workflows/helper.yml",
        "on: issues\njobs:\n  helper:\n    steps:\n      - uses: openai/codex-action@v1\n",
    ),
    "kiro": (".kiro/agents/helper.json", '{"name": "helper", "tools": ["read"]}'),
    "llm-do": ("helper.worker", "---\nname: helper\n---\nHelp.\n"),
    "mcp": (".mcp.json", '{"mcpServers": {"notes": {"command": "notes"}}}'),
    "qwen": (".qwen/agents/helper.md", MARKDOWN),
    "roo": (
        ".roomodes",
        "customModes:\n  - slug: helper\n    name: Helper\n    roleDefinition: Help.\n    groups: [read]\n",
    ),
    "skills": (".agents/skills/helper/SKILL.md", MARKDOWN),
    "opencode": ("opencode.json", '{"agent": {"helper": {"description": "Helps."}}}'),
}


@pytest.mark.few(11)
@pytest.mark.parametrize("form", formats())
@pytest.mark.parametrize("asked", ["auto", "by name"])
def test_a_file_alone_is_read_as_in_its_project(tmp_path: Path, form: str, asked: str) -> None:
    path, text = FILES[form]
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text)
    read = foreign.read("auto" if asked == "auto" else form, tmp_path / path)
    whole = foreign.read(form, tmp_path)
    assert read.team.format == form
    names, in_folder = (
        [agent.name.rpartition("/")[2] for agent in each.team.agents if agent.path] for each in (read, whole)
    )
    assert names
    assert names == in_folder  # of docker-agent, after the file where there may be several
    assert (read.root, read.team.files) == (tmp_path, (path,))


@pytest.mark.parametrize("form", ["claude", "opencode"])
def test_a_file_of_another_folder_is_read_where_its_format_is_named(tmp_path: Path, form: str) -> None:
    (tmp_path / "helper.md").write_text(MARKDOWN)
    assert "helper" in [agent.name for agent in foreign.read(form, tmp_path / "helper.md").team.agents]
    with pytest.raises(LlmdoError, match="the format of"):
        foreign.read("auto", tmp_path / "helper.md")


@pytest.mark.parametrize(
    ("form", "file"), [("gemini", ".gemini/settings.json"), ("cursor", ".cursor/mcp.json")]
)
def test_settings_with_servers_are_those_of_their_own_tool(tmp_path: Path, form: str, file: str) -> None:
    path = tmp_path / file
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"notes": {"command": "notes"}}}')
    assert foreign.read("auto", path).team.format == form
    assert foreign.read("auto", tmp_path).team.format == form
    assert foreign.read("mcp", path).team.format == "mcp"


def test_an_extension_given_alone_is_read_with_its_servers(tmp_path: Path) -> None:
    path = tmp_path / "gemini-extension.json"
    path.write_text('{"name": "notes", "mcpServers": {"notes": {"command": "notes"}}}')
    read = foreign.read("auto", path)
    assert [agent.name for agent in read.team.agents] == ["main-session with notes"]


def test_the_settings_of_its_project_govern_a_file(tmp_path: Path) -> None:
    file = tmp_path / ".claude/agents/helper.md"
    file.parent.mkdir(parents=True)
    file.write_text(MARKDOWN.replace("\n---\nHelp", "\ntools: Bash\n---\nHelp"))
    (tmp_path / ".claude/settings.json").write_text('{"permissions": {"deny": ["Bash"]}}')
    read = foreign.read("claude", file)
    assert {row.decision for row in read.analysis.of(read.graph.entries["helper"])} == {"blocked"}


@pytest.mark.parametrize("form", formats())
def test_a_file_of_another_kind_is_refused(tmp_path: Path, form: str) -> None:
    (tmp_path / "notes.rst").write_text("Notes.")
    with pytest.raises(LlmdoError, match=f"is not a file of {form}"):
        foreign.read(form, tmp_path / "notes.rst")


def test_an_agent_of_copilot_is_not_one_of_claude(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents/helper.agent.md").write_text(MARKDOWN)
    with pytest.raises(LlmdoError, match="nothing of claude"):
        foreign.read("claude", tmp_path)


def test_a_chat_mode_of_copilot_is_no_agent(tmp_path: Path) -> None:
    file = tmp_path / "modes/ask.chatmode.md"
    file.parent.mkdir()
    file.write_text(MARKDOWN)
    team = foreign.read("auto", file).team
    assert (team.format, team.agents, [each.code for each in team.problems]) == ("copilot", (), ["LDO152"])


def test_every_markdown_file_among_the_agents_of_github_is_one_of_copilot(tmp_path: Path) -> None:
    for folder, name in (
        (".github/agents", "helper.md"),
        ("agents", "helper.agent.md"),
    ):
        file = tmp_path / folder / name
        file.parent.mkdir(parents=True)
        file.write_text(MARKDOWN)
        read = foreign.read("auto", file)
        assert (read.team.format, [agent.name for agent in read.team.agents if agent.path]) == (
            "copilot",
            ["helper"],
        )


def test_the_servers_of_its_project_are_read_with_an_agent_of_copilot(tmp_path: Path) -> None:
    file = tmp_path / ".github/agents/helper.agent.md"
    file.parent.mkdir(parents=True)
    file.write_text(MARKDOWN.replace("\n---\nHelp", "\ntools: [notes/*]\n---\nHelp"))
    (tmp_path / ".vscode").mkdir()
    (tmp_path / ".vscode/mcp.json").write_text('{"servers": {"notes": {"command": "notes"}}}')
    read = foreign.read("copilot", file)
    assert not read.team.problems
    calls = [
        row for row in read.analysis.of(read.graph.entries["helper"]) if row.capability.name == "mcp.call"
    ]
    assert [row.decision for row in calls] == ["needs_approval"]


def test_the_settings_of_its_project_govern_an_agent_of_codex(tmp_path: Path) -> None:
    file = tmp_path / ".codex/agents/helper.toml"
    file.parent.mkdir(parents=True)
    file.write_text('name = "helper"\ndescription = "Helps."\ndeveloper_instructions = "Help."\n')
    (tmp_path / ".codex/config.toml").write_text('approval_policy = "never"\nsandbox_mode = "read-only"\n')
    read = foreign.read("auto", file)
    assert [agent.name for agent in read.team.agents] == ["codex", "helper"]
    reached = {(row.capability.name, row.decision) for row in read.analysis.of(read.graph.entries["codex"])}
    assert ("fs.write", "blocked") in reached
    assert ("fs.write", "allowed") not in reached


def test_a_hidden_file_that_git_ignores_is_read_where_its_tool_reads_it(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text(FILES["mcp"][1])
    (tmp_path / ".gitignore").write_text(".mcp.json\n")
    assert foreign.read("mcp", tmp_path).team.files == (".mcp.json",)
