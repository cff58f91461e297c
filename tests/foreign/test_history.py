"""A revision says what its files say, without a checkout."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from llmdo import foreign
from llmdo.base.diagnostic import LlmdoError
from llmdo.extensions.spec import AUTO
from llmdo.foreign import findings
from llmdo.foreign.known import formats
from tests.foreign.test_cases import ALL, format_of


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@example", *words], cwd=folder, check=True)


@pytest.mark.timeout(200)  # hundreds of cases of one format
@pytest.mark.parametrize(
    "form",
    [AUTO, *(pytest.param(form, marks=pytest.mark.long) for form in formats())],
)
def test_a_revision_is_read_as_the_same_files_on_disk(form: str, tmp_path: Path) -> None:
    for case in (folder for folder in ALL if format_of(folder) == form):
        shutil.copytree(case, tmp_path / "all" / case.parent.name / case.name)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    for folder in (tmp_path / "all").glob("*/*/.claude"):  # which Claude Code reads although git ignores it
        git(tmp_path, "add", "-f", str(folder))
    git(tmp_path, "commit", "-qm", "m")
    for case in (tmp_path / "all").glob("*/*"):
        now, then = foreign.read(form, case), foreign.read(form, case, "HEAD")
        assert now.graph == then.graph
        # What git ignores is in no revision, so there is nothing to heed.
        assert [each for each in findings.check(now) if each.at.path != ".gitignore"] == [
            *findings.check(then)
        ]


def test_a_link_in_a_revision_is_not_followed_and_a_file_that_is_too_large_not_read(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "link.md").symlink_to("/etc/passwd")
    (folder / "large.md").write_text("---\nname: a\n---\n" + "x" * 2_000_000, encoding="utf-8")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "m")
    diagnostics = findings.check(foreign.read("claude", tmp_path, "HEAD"))
    assert {(diagnostic.code, diagnostic.at.path) for diagnostic in diagnostics} == {
        ("LDO105", ".claude/agents/large.md"),
        ("LDO154", ".claude/agents/link.md"),
    }


@pytest.mark.parametrize("revision", ["--help", "HEAD~9", "a\nb", ""])
def test_what_is_no_revision_is_refused(revision: str, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(LlmdoError, match="revision"):
        foreign.read("claude", tmp_path, revision)


AGENT = "---\nname: a\ndescription: Does one thing.\ntools: Read\n---\nGo.\n"


@pytest.mark.parametrize("revision", [None, "HEAD"])
@pytest.mark.parametrize(
    ("folder", "link", "is_read"),
    [
        ("content/agents", "../content/agents", True),
        ("content/agents", "../content/./x/../agents", True),
        ("../outside/agents", "../../outside/agents", False),
        ("../outside/agents", "{outside}", False),
        ("content/real", "../content/agents", False),  # which is a link itself
        (".claude/others/agents", "others/agents", True),
        ("agents", "..", False),
    ],
)
def test_a_folder_that_is_a_link_within_the_project_is_followed(
    tmp_path: Path, folder: str, link: str, is_read: bool, revision: str | None
) -> None:
    """Its client follows it. One that leads out of the project, or to another link, is not followed."""
    root = tmp_path / "project"
    (root / ".claude").mkdir(parents=True)
    (root / ".claude/settings.json").write_text("{}")
    (root / folder).mkdir(parents=True)
    (root / folder / "a.md").write_text(AGENT, encoding="utf-8")
    if folder == "content/real":
        (root / "content/agents").symlink_to("real")
    (root / ".claude/agents").symlink_to(link.format(outside=tmp_path / "outside/agents"))
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "m")
    read = foreign.read("claude", root, revision)
    assert (".claude/agents/a.md" in {agent.path for agent in read.team.agents}) is is_read
