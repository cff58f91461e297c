"""How `auto` looks for all formats: in one walk, and without the readers of formats that have no files."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from llmdo import foreign
from llmdo.foreign.tree import DiskTree
from tests.foreign.test_history import git

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import sys
from collections import Counter
from pathlib import Path
listed = Counter()
sys.addaudithook(lambda event, of: listed.update([str(of[0])]) if event == "os.scandir" else None)
from llmdo import foreign
read = foreign.read("auto", Path("."))
print(*sorted(team.format for team in read.teams))
print(*sorted(name.split(".")[2] for name in sys.modules if name.endswith(".reader")))
print(max(listed.values()), len(listed))
"""

AGENT = "---\nname: helper\ndescription: Helps.\ntools: Read\n---\nHelp.\n"


@pytest.fixture
def lines(tmp_path: Path) -> list[str]:
    (tmp_path / ".claude/agents").mkdir(parents=True)
    (tmp_path / ".claude/agents/helper.md").write_text(AGENT)
    for number in range(20):
        folder = tmp_path / "src" / f"part-{number}"
        folder.mkdir(parents=True)
        (folder / "code.py").touch()
        (folder / "notes.md").touch()
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True)
    assert not done.stderr
    return done.stdout.splitlines()


def test_only_the_formats_with_files_are_read_and_only_their_readers_imported(lines: list[str]) -> None:
    assert lines[:2] == ["claude", "claude"]


def test_each_folder_is_listed_once_for_all_formats(lines: list[str]) -> None:
    most, folders = map(int, lines[2].split())
    assert most == 1
    assert folders >= 22


def test_what_lies_in_the_hidden_folder_of_a_tool_counts_although_git_ignores_it(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text(".claude/\n/agents/\n")
    for folder in (".claude/agents", "agents"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "reviewer.md").write_text("---\nname: reviewer\n---\nGo.\n")
    tree = DiskTree(tmp_path)
    paths, _ = tree.find((".claude/agents/**/*.md", "agents/**/*.md"))
    assert paths == (".claude/agents/reviewer.md",)


def test_so_it_does_in_the_folder_of_a_project_within_but_not_in_a_worktree_or_an_ignored_folder(
    tmp_path: Path,
) -> None:
    (tmp_path / ".gitignore").write_text(".claude/\nbuild/\n")
    within = ("", "app/", "build/", ".claude/worktrees/mend/")
    for folder in within:
        agents = tmp_path / folder / ".claude/agents"
        agents.mkdir(parents=True)
        (agents / "reviewer.md").write_text(AGENT)
    paths, _ = DiskTree(tmp_path).find(("**/.claude/agents/**/*.md",))
    assert paths == (".claude/agents/reviewer.md", "app/.claude/agents/reviewer.md")


def test_there_lines_about_names_in_it_are_heeded_and_those_about_the_folder_are_not(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text(".claude/*\n/skills/\nnode_modules/\n")
    for path in (
        "skills/a/SKILL.md",
        "skills/a/node_modules/b/SKILL.md",
        "worktrees/c/node_modules/d/SKILL.md",
    ):
        file = tmp_path / ".claude" / path
        file.parent.mkdir(parents=True)
        file.write_text("---\nname: a\n---\nGo.\n")
    paths, _ = DiskTree(tmp_path).find(("**/.claude/**/SKILL.md",))
    assert paths == (".claude/skills/a/SKILL.md",)
    (tmp_path / ".gitignore").write_text("/*\n!/.claude\n")
    assert len(DiskTree(tmp_path).find(("**/.claude/**/SKILL.md",))[0]) == 3


TEAM = "agents:\n  root:\n    toolsets: [{type: shell}]\n"


@pytest.mark.parametrize("folder", ["[slug]", "what?", "a*b", "~old", "12:30"])
def test_a_name_of_a_file_is_no_reason_not_to_read_it(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "team.yaml").write_text(TEAM)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "m")
    for revision in (None, "HEAD"):
        read = foreign.read("auto", tmp_path, revision)
        assert [agent.name for agent in read.team.agents] == [f"{folder}/team/root"]
        assert not read.team.problems


def test_a_name_that_cannot_be_printed_is_noted_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_text(TEAM)
    for name in ("a\nb", "a\\b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "team.yaml").write_text(TEAM)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "m")
    for revision in (None, "HEAD"):
        read = foreign.read("docker-agent", tmp_path, revision)
        assert [agent.name for agent in read.team.agents] == ["team/root"]
        assert [(each.code, each.severity) for each in read.team.problems] == [("LDO154", "note")] * 2
        assert all("control character" in each.message for each in read.team.problems)
