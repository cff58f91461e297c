"""The doctor: it names what is there and what is missing, never a value, and runs nothing of the workspace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from llmdo.base.extras import installing
from llmdo.render import doctor as render
from llmdo.services.doctor import Item, examine
from tests.support import commands

MANIFEST = """
schema = 1
[workspace]
name = "w"
workers = ["*.worker"]
toolset-modules = ["tools.py"]
model = "openai:gpt-5"
"""
WORKER = "---\nname: main\nentry: true\ntoolsets: [shell]\n---\nGo.\n"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("OPENAI_API_KEY", "LLMDO_MODEL"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "llmdo.toml").write_text(MANIFEST)
    (folder / "main.worker").write_text(WORKER)
    (folder / "tools.py").write_text("import pathlib; pathlib.Path(__file__).with_name('ran').touch()\n")
    return folder


def named(root: Path | None, environ: dict[str, str]) -> dict[str, Item]:
    return {f"{item.section}/{item.name}": item for item in examine(root, environ)}


@pytest.mark.long
def test_a_key_is_named_and_never_shown(root: Path, environ: dict[str, str]) -> None:
    items = named(root, environ | {"OPENAI_API_KEY": "sk-very-secret"})
    assert items["extras/openai"].state == "installed, OPENAI_API_KEY is set"
    assert "sk-very" not in str(items)
    assert named(root, environ)["extras/openai"].state == "installed, OPENAI_API_KEY not set"
    assert items["extras/google"].hint == installing("google")


def test_what_a_workspace_needs_and_lacks_is_a_problem(root: Path, environ: dict[str, str]) -> None:
    items = named(root, environ)
    assert "needs the environment variable `OPENAI_API_KEY`" in (items["models/openai:gpt-5"].problem or "")
    assert items["workspace/lock"].state == "missing"
    assert not (root / "ran").exists()
    assert named(None, environ).keys() & {"workspace/folder", "models/openai:gpt-5"} == set()


@pytest.mark.long
def test_a_workspace_that_has_all_lacks_nothing(
    root: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    items = named(root, environ)
    assert [item for item in items.values() if item.problem] == []
    assert items["models/openai:gpt-5"].state == "can be asked"


def test_a_model_of_the_workspaces_own_code_is_not_made(root: Path, environ: dict[str, str]) -> None:
    (root / "llmdo.toml").write_text(MANIFEST.replace("openai:gpt-5", "python:tools.py:model"))
    assert named(root, environ)["models/python:tools.py:model"].state == "of the workspace's own code"
    assert not (root / "ran").exists()


def test_required_isolation_that_is_not_there_is_a_problem(root: Path, environ: dict[str, str]) -> None:
    (root / "bin").mkdir()
    manifest = MANIFEST + '[toolsets.shell]\nisolation = "require"\n'
    (root / "llmdo.toml").write_text(manifest)
    item = named(root, environ)["machine/isolation"]
    works = item.state != "none"
    assert works == (item.problem is None)
    if works:
        assert item.state.startswith("bubblewrap; covers: ")
        assert "does not cover: " in item.state


def test_without_a_manifest_nothing_requires_isolation(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    items = {
        f"{examined.section}/{examined.name}": examined
        for examined in examine(None, {**environ, "HOME": "/dev/null/nobody"})
    }
    item = items["machine/isolation"]
    assert item.problem is None
    assert "manifest" not in (item.hint or "") + item.state
    assert item.state != "none" or "bubblewrap" in (item.hint or "")


@pytest.mark.parametrize("text", ['schema = 1\n[approvals.rules]\n"net" = "blocked"\n', "schema = "])
def test_the_policy_in_force_is_shown_and_a_broken_one_is_a_problem(
    root: Path, environ: dict[str, str], text: str
) -> None:
    path = Path(environ["XDG_CONFIG_HOME"]) / "llmdo" / "policy.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    item = named(root, environ)["you/policy.toml"]
    assert (item.state == 'in force: "net" = "blocked"') == ("blocked" in text)
    assert (item.problem is None) == ("blocked" in text)


def test_a_servers_program_and_variables_are_looked_for(root: Path, environ: dict[str, str]) -> None:
    server = '[toolsets.github.mcp]\ncommand = "no-such-server"\nenv = ["GITHUB_TOKEN"]\n'
    (root / "llmdo.toml").write_text(MANIFEST + server)
    problem = named(root, environ)["servers/github"].problem or ""
    assert "no program `no-such-server`" in problem
    assert "`GITHUB_TOKEN` is not set" in problem
    assert "GITHUB_TOKEN" not in (
        named(root, environ | {"GITHUB_TOKEN": "x"})["servers/github"].problem or ""
    )


def test_the_root_of_tools_is_looked_for(root: Path, environ: dict[str, str]) -> None:
    manifest = (root / "llmdo.toml").read_text()
    (root / "llmdo.toml").write_text(manifest.replace("[workspace]\n", '[workspace]\nroot = "../site"\n'))
    assert "`../site` is not here" in (named(root, environ)["workspace/root"].problem or "")
    (root.parent / "site").mkdir()
    item = named(root, environ)["workspace/root"]
    assert (item.state, item.problem) == (str(root.resolve().parent / "site"), None)


def test_files_that_are_wrong_stand_in_the_way(root: Path, environ: dict[str, str]) -> None:
    (root / "main.worker").write_text("no header")
    assert "`llmdo check` shows them" in (named(root, environ)["workspace/files"].problem or "")
    (root / "llmdo.toml").write_text("")
    assert named(root, environ)["workspace/files"].problem


def llmdo(cwd: Path, environ: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return commands.llmdo(cwd, "doctor", *words, environ=environ)


@pytest.mark.long
def test_the_command_fails_where_something_is_missing(root: Path, environ: dict[str, str]) -> None:
    done = llmdo(root, environ)
    assert done.returncode == 1, done.stderr
    assert (
        "missing: openai:gpt-5: `openai:gpt-5` needs the environment variable `OPENAI_API_KEY`" in done.stdout
    )
    document = json.loads(llmdo(root, environ, "--format", "json").stdout)
    assert (document["schema"], document["status"]) == ("llmdo.doctor/1", "missing")
    assert llmdo(root, environ | {"OPENAI_API_KEY": "x"}).returncode == 0


def test_the_command_works_outside_of_a_workspace(tmp_path: Path, environ: dict[str, str]) -> None:
    done = llmdo(tmp_path, environ)
    assert (done.returncode, done.stderr) == (0, "")
    assert "workspace" not in done.stdout.splitlines()


def test_nothing_that_it_says_moves_a_terminal() -> None:
    item = Item(section="models", name="\x1b[2J", state="\u202e", problem="a\x1b\nb\u202e", hint="\r")
    assert all(line.isprintable() for line in render.lines([item]))


@pytest.mark.long
@pytest.mark.parametrize("mode", [0o000, 0o500])
def test_a_folder_for_journals_that_is_somebody_elses_is_a_problem(root: Path, mode: int) -> None:
    (root / ".llmdo").mkdir()
    (root / ".llmdo").chmod(mode)
    words = commands.unprivileged([sys.executable, "-m", "llmdo", "doctor"])
    done = subprocess.run(words, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    (root / ".llmdo").chmod(0o700)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert f"`{root / '.llmdo'}` cannot be written" in done.stdout
