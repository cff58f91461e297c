"""How `auto` looks for all formats: in one walk, and without the readers of formats that have no files."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from llmdo.foreign.tree import DiskTree

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
