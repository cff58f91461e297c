"""Several workspaces of one repository in one command: one report, paths as seen from here, the worst exit code."""

from __future__ import annotations

import json
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.support.commands import llmdo

MANIFEST = 'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n'
WORKER = "---\nname: main\nentry: true\n{more}---\nGo.\n"


def workspace(root: Path, more: str = "") -> Path:
    root.mkdir(parents=True)
    (root / "llmdo.toml").write_text(MANIFEST)
    (root / "main.worker").write_text(WORKER.format(more=more))
    return root


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two workspaces, one of them wrong, and what `--all` must not find."""
    root = tmp_path / "repository"
    workspace(root / "good")
    workspace(root / "teams/bad", "toolsets: [nothing_of_that_name]\n")
    workspace(root / ".hidden/w", "toolsets: [hidden]\n")
    workspace(root / "ignored/w", "toolsets: [ignored]\n")
    (root / ".gitignore").write_text("ignored/\n")
    (root / "linked").symlink_to(root / "teams")
    return root


def test_all_are_found_by_their_manifests_and_share_one_report(repository: Path) -> None:
    done = llmdo(repository, "check", "--all", "--format", "concise")
    assert done.returncode == 1
    errors = [line for line in done.stdout.splitlines() if "error[" in line]
    assert [error.partition(": ")[0] for error in errors] == ["teams/bad/main.worker:4:12"]
    assert done.stdout.startswith("good/llmdo.lock: note[LDO402]")


def test_those_that_are_named_are_checked_each_once(repository: Path) -> None:
    good = llmdo(repository, "check", "--project", "good", "--project", "./good")
    assert good.returncode == 0
    both = llmdo(
        repository / "good", "check", "--project", ".", "--project", "../teams/bad", "--format", "concise"
    )
    assert both.returncode == 1
    assert "../teams/bad/main.worker:4:12: error[LDO202]" in both.stdout
    assert "\nmain.worker" not in both.stdout


def test_the_text_shows_the_lines_of_each(repository: Path) -> None:
    done = llmdo(repository, "check", "--all")
    assert "teams/bad/main.worker:4:12" in done.stdout
    assert "toolsets: [nothing_of_that_name]" in done.stdout


@pytest.mark.parametrize("form", ["json", "github", "gitlab", "junit", "sarif"])
def test_every_format_is_one_document_with_paths_from_here(repository: Path, form: str) -> None:
    done = llmdo(repository, "check", "--all", "--format", form)
    assert done.returncode == 1
    assert "teams/bad/main.worker" in done.stdout
    assert ".hidden/" not in done.stdout
    assert "ignored/w" not in done.stdout
    if form in ("json", "gitlab", "sarif"):
        json.loads(done.stdout)
    if form == "junit":
        ET.fromstring(done.stdout)


def test_a_named_folder_without_a_manifest_is_an_error(repository: Path) -> None:
    done = llmdo(repository, "check", "--project", "good", "--project", "teams")
    assert (done.returncode, done.stdout) == (2, "")
    assert "`teams` has no `llmdo.toml`" in done.stderr


def test_all_and_a_name_are_one_too_many_and_nothing_is_an_error(repository: Path, tmp_path: Path) -> None:
    assert (
        "`--all` finds the workspaces itself"
        in llmdo(repository, "check", "--all", "--project", "good").stderr
    )
    (tmp_path / "empty").mkdir()
    done = llmdo(tmp_path / "empty", "check", "--all")
    assert done.returncode == 2
    assert "there is no `llmdo.toml` in or below this folder" in done.stderr


def test_locks_are_written_and_compared_and_none_hinders_another(repository: Path) -> None:
    done = llmdo(repository, "lock", "--all")
    assert done.returncode == 1
    assert (repository / "good/llmdo.lock").exists()
    assert not (repository / "teams/bad/llmdo.lock").exists()
    assert "good/:\nwrote llmdo.lock\n" in done.stderr
    assert "teams/bad/:\n" in done.stderr
    assert llmdo(repository, "lock", "--project", "good", "--check").returncode == 0
    (repository / "good/main.worker").write_text(WORKER.format(more="description: x\n"))
    assert llmdo(repository, "lock", "--all", "--check").returncode == 1


@pytest.mark.long
def test_differences_are_reported_by_workspace_and_the_worst_decides(repository: Path) -> None:
    (repository / "teams/bad/main.worker").write_text(WORKER.format(more=""))
    assert llmdo(repository, "lock", "--all").returncode == 0
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*git, *words], cwd=repository, check=True)
    (repository / "teams/bad/main.worker").write_text(WORKER.format(more="toolsets:\n  filesystem: {}\n"))
    assert llmdo(repository, "lock", "--all").returncode == 0
    done = llmdo(repository, "diff", "--all", "--fail-on", "widened")
    assert done.returncode == 1
    assert "good/:\nmain: same\n" in done.stdout
    assert "teams/bad/:\nmain: WIDENED\n" in done.stdout
    document = json.loads(llmdo(repository, "diff", "--all", "--format", "json").stdout)
    assert [(each["workspace"], each["verdict"]) for each in document["workspaces"]] == [
        ("good/", "same"), ("teams/bad/", "widened"),
    ]  # fmt: skip
    assert "## `teams/bad/`" in llmdo(repository, "diff", "--all", "--format", "markdown").stdout
    (repository / "good/llmdo.lock").write_text("<<<<<<< ours\n")
    broken = llmdo(repository, "diff", "--all")
    assert broken.returncode == 2
    assert "teams/bad/:\nmain: WIDENED\n" in broken.stdout


@pytest.mark.long
def test_paths_of_two_workspaces_with_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for name in ("a", "b/c"):
        workspace(tmp_path / name)
    assert llmdo(tmp_path, "lock", "--all").returncode == 0
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    for name in ("a", "b/c"):
        (tmp_path / name / "main.worker").write_text(WORKER.format(more="toolsets:\n  filesystem: {}\n"))
    assert llmdo(tmp_path, "lock", "--all").returncode == 0
    for form in ("text", "markdown", "json"):
        shown = llmdo(tmp_path, "diff", "--all", "--format", form).stdout
        places = set(re.findall(r"[\w/.]*main\.worker", shown))
        assert places == {"a/main.worker", "b/c/main.worker"}, form
    from_b = llmdo(tmp_path / "b", "diff", "--project", "c", "--project", "../a").stdout
    assert set(re.findall(r"[\w/.]*main\.worker", from_b)) == {"c/main.worker", "../a/main.worker"}
    single = llmdo(tmp_path, "diff", "--project", "a").stdout
    assert set(re.findall(r"[\w/.]*main\.worker", single)) == {"main.worker"}


def test_what_is_printed_beside_a_difference_begins_with_the_workspace(repository: Path) -> None:
    (repository / "teams/bad/main.worker").write_text(WORKER.format(more=""))
    subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-q", "--allow-empty"]
    subprocess.run([*git, "-m", "start"], cwd=repository, check=True)
    assert llmdo(repository, "lock", "--project", "good").returncode == 0
    (repository / "teams/bad/llmdo.lock").write_text("<<<<<<< ours\n")
    done = llmdo(repository, "diff", "--all")
    assert done.returncode == 2
    assert "good/: no baseline: there is no `llmdo.lock` at `HEAD`" in done.stderr
    assert "teams/bad/:\nerror: `llmdo.lock` holds the markers of a merge conflict" in done.stderr


def test_one_workspace_is_checked_as_before_and_remembered(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from llmdo.cli import quick

    assert quick.options(["--project", "good", "--strict"]) == {"project": "good", "strict": True}
    assert quick.options(["--project", "good", "--project", "teams/bad"]) is None
    assert quick.options(["--all"]) is None
