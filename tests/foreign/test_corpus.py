"""Real projects, where they are at hand: what is known of them by hand comes out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from llmdo import foreign
from llmdo.foreign import findings
from llmdo.reach.risks import gains, path_text
from tests.support.corpus import FOLDER, needs_corpus

DOCKER = FOLDER / "docker-agent"
PLUGIN = "plugins/superclaude"

GAINS = {
    "examples/background_agents": "root > code_analyst (in the background) > shell (2)",
    "examples/dev-team": "root > awesome_engineer > shell (2)",
    "examples/podcastgenerator_githubmodel": "root > scriptwriter > docker mcp gateway run --servers=filesy…",
    "examples/handoff": "root > filesystem_search > write_file",
    "examples/mcp-definitions": "root > backend > shell (2)",
    "examples/multi-code": "root > golang > shell (2)",
    ".github/agents/nightly-scanner": "root > reporter > shell",
}
"""The teams whose root has a shell or files only through another agent, with a shortest way to the worst of it."""


@needs_corpus
def test_all_agents_of_a_large_collection_are_read() -> None:
    read = foreign.read("claude", FOLDER / "claude-wshobson")
    assert len(read.graph.entries) == 200
    assert [agent.name for agent in read.team.agents if not agent.path] == ["general-purpose"]
    assert sum(agent.inherits for agent in read.team.agents) == 185
    assert {diagnostic.code for diagnostic in read.team.problems} <= {"LDO250"}


@needs_corpus
def test_a_plugin_whose_manifest_names_a_folder_of_agents_is_not_installed() -> None:
    read = foreign.read("claude", FOLDER / "superclaude")
    assert [agent.name for agent in read.team.agents] == ["main-session", "general-purpose"]
    (problem,) = read.team.problems
    assert (problem.code, problem.at.path) == ("LDO151", f"{PLUGIN}/.claude-plugin/plugin.json")
    assert problem.at.span is not None
    assert problem.at.span.line == 25


@needs_corpus
def test_a_plugin_comes_with_its_servers_and_the_project_with_its_session(tmp_path: Path) -> None:
    project = shutil.copytree(FOLDER / "superclaude", tmp_path / "superclaude", copy_function=shutil.copyfile)
    for folder in (project, *(path for path in project.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    manifest = project / PLUGIN / ".claude-plugin/plugin.json"
    parts = json.loads(manifest.read_text(encoding="utf-8"))
    del parts["agents"]
    manifest.write_text(json.dumps(parts), encoding="utf-8")

    read = foreign.read("claude", project)
    agents = {agent.name: agent for agent in read.team.agents}
    assert [name for name in agents if "main-session" in name] == [
        "main-session",
        "main-session with superclaude",
    ]
    own = [agent for agent in agents.values() if agent.path]
    assert len(own) == 20
    servers = {grant.tool for agent in own for grant in agent.grants if grant.server}
    assert servers == {f"mcp__plugin_superclaude_{name}" for name in ("context7", "sequential-thinking")}
    # `hooks` names the file that Claude Code loads anyway.
    assert {diagnostic.code for diagnostic in findings.check(read)} == {"LDO151", "LDO551"}


@needs_corpus
def test_roots_that_gain_a_shell_or_files_only_through_another_agent_are_found_with_the_way() -> None:
    read = foreign.read("docker-agent", DOCKER)
    gained = {}
    for entry in read.choice.graph.entries.values():
        team, _, agent = entry.name.rpartition("/")
        for gain in gains(read.choice.of(entry)):
            if agent == "root" and any(
                row.capability.name.startswith(("fs.write", "proc.exec")) for row in gain.rows
            ):
                gained[team] = path_text(gain.rows[0].path).replace(f"{team}/", "")
    assert gained == GAINS


@needs_corpus
def test_workflows_reach_what_their_own_compiler_gives_them() -> None:
    compiled = json.loads((FOLDER / "gh-aw/compiled.json").read_text(encoding="utf-8"))
    projects = {
        each["project"]: foreign.read("gh-aw", FOLDER / "gh-aw" / each["project"]) for each in compiled
    }
    assert compiled
    for truth in compiled:
        read = projects[truth["project"]]
        (agent,) = (
            agent for agent in read.team.agents if agent.path == f".github/workflows/{truth['workflow']}.md"
        )
        raised = {str(each) for grant in agent.grants for each in grant.capabilities}
        assert ("proc.exec.unlisted" in raised) is truth["allow_all_tools"]
        assert ("fs.write" in raised) is truth["allow_all_paths"]
        assert any(grant.tool == "github" for grant in agent.grants) is ("github" in truth["mcp_servers"])
        outputs = any(grant.tool.startswith("safe-outputs.") for grant in agent.grants)
        assert outputs is ("safeoutputs" in truth["mcp_servers"])


@needs_corpus
def test_the_one_circle_is_found_and_the_agents_that_nothing_calls() -> None:
    diagnostics = findings.check(foreign.read("docker-agent", DOCKER))
    assert [diagnostic.at.path for diagnostic in diagnostics if diagnostic.code == "LDO350"] == [
        "examples/handoff.yaml"
    ]
    assert [diagnostic.subject for diagnostic in diagnostics if diagnostic.code == "LDO351"] == [
        "examples/custom_provider/subagent",
        "examples/tic-tac-toe-mcp/player_blue",
        "examples/tic-tac-toe-mcp/player_red",
        "examples/tic-tac-toe/player_blue",
        "examples/tic-tac-toe/player_red",
    ]


@needs_corpus
@pytest.mark.parametrize("path", sorted(DOCKER.rglob("*.yaml")), ids=lambda path: path.stem)
def test_every_team_file_is_read_alone_and_every_edge_has_a_place(path: object) -> None:
    read = foreign.read("docker-agent", DOCKER / str(path))
    assert not [diagnostic for diagnostic in read.team.problems if diagnostic.severity == "error"]
    for worker in read.graph.workers.values():
        for use in worker.uses:
            assert use.at.location.span is not None
