"""What we hand to CI systems: every command in it exists, and the steps of the action do what they say."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from llmdo.cli.app import command_line
from tests.cli.conftest import Llmdo
from tests.cli.conftest import llmdo as llmdo
from tests.cli.test_diff import commit, git, let_triage_publish
from tests.cli.test_diff import team as team

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}

COMMAND = re.compile(r"(?:^|[\s$`-])(llmdo (?!:)[a-z][^|>`#\n]*)", re.MULTILINE)


def commands(text: str) -> list[list[str]]:
    return [shlex.split(command.strip()) for command in COMMAND.findall(text)]


def blocks(page: str) -> str:
    return "\n".join(re.findall(r"```\w*\n(.*?)```", page, re.DOTALL))


SCRIPTS = "\n".join(step["run"] for step in STEPS.values() if "run" in step)
ALL = [*commands(SCRIPTS), *commands(blocks(PAGE)), *(shlex.split(hook["entry"]) for hook in HOOKS)]


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_command_is_one_that_the_parser_accepts(words: list[str]) -> None:
    words = [{"$FAIL_ON": "widened"}.get(word, word) for word in words]
    group: Any = typer.main.get_command(command_line())
    # Commands are made once for all tests, and each keeps the options of help that its first context has.
    above = typer.Context(group, **group.context_settings)
    group.commands[words[1]].make_context(words[1], words[2:], parent=above)


def test_the_commands_were_found() -> None:
    names = {words[1] for words in ALL}
    assert names == {"lock", "check", "diff"}
    assert len(commands(SCRIPTS)) == 5
    assert len(commands(blocks(PAGE))) >= 9


def test_the_hooks_run_once_for_the_whole_workspace() -> None:
    assert [hook["id"] for hook in HOOKS] == ["llmdo-check", "llmdo-lock-check"]
    for hook in HOOKS:
        assert (hook["language"], hook["pass_filenames"], hook["require_serial"]) == ("python", False, True)
        for path in ("llmdo.toml", "team/llmdo.lock", "a/b.worker", "b.worker.md", "tools/calc.py"):
            assert re.search(hook["files"], path)
        assert not re.search(hook["files"], "README.md")


def test_no_script_of_the_action_holds_what_somebody_else_can_write() -> None:
    for step in STEPS.values():
        assert "${{" not in step.get("run", "")


def test_every_input_is_used_and_every_used_input_exists() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.([a-z-]+)", text)) == set(ACTION["inputs"])


def test_the_lock_is_derived_before_anything_believes_it() -> None:
    names = list(STEPS)
    assert names.index("Derive the lock again") < names.index("Check") < names.index("Compare")
    assert STEPS["Derive the lock again"]["run"].startswith("env -i ")
    assert "steps.lock.outcome == 'success'" in STEPS["Compare"]["if"]


class Runner:
    """Runs steps of the action as a runner does, with what they would get from GitHub."""

    def __init__(self, workspace: Path, folder: Path) -> None:
        programs = folder / "bin"
        programs.mkdir()
        (programs / "llmdo").write_text(f'#!/bin/sh\nexec {sys.executable} -m llmdo "$@"\n', encoding="utf-8")
        (programs / "llmdo").chmod(0o755)
        self.workspace = workspace
        self.summary = folder / "summary.md"
        self.environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(folder),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_WORKSPACE": str(workspace.parent),
            "RUNNER_TEMP": str(folder),
            "CI": "true",
        }

    def run(self, name: str, **environment: str) -> subprocess.CompletedProcess[str]:
        step = STEPS[name]
        assert set(step.get("env", {})) == set(environment)
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.workspace,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
        )


@pytest.fixture
def runner(team: Path, tmp_path: Path) -> Runner:
    folder = tmp_path / "runner"
    folder.mkdir()
    return Runner(team, folder)


@pytest.mark.long
def test_the_steps_pass_where_nothing_changed(runner: Runner) -> None:
    for done in (
        runner.run("Derive the lock again"),
        runner.run("Check"),
        runner.run("Compare", BASE="HEAD", FAIL_ON="widened", FROM=""),
        runner.run("Write SARIF"),
    ):
        assert done.returncode == 0, done.stderr
    assert "### llmdo: same" in runner.summary.read_text(encoding="utf-8")
    assert '"version": "2.1.0"' in (Path(runner.environment["RUNNER_TEMP"]) / "llmdo.sarif").read_text(
        encoding="utf-8"
    )


@pytest.mark.long
def test_a_widening_fails_and_is_in_the_summary(runner: Runner, llmdo: Llmdo) -> None:
    let_triage_publish(runner.workspace, llmdo)
    commit(runner.workspace, "let triage publish")
    done = runner.run("Compare", BASE="HEAD~1", FAIL_ON="widened", FROM="")
    assert done.returncode == 1
    assert "#### `triage`: widened" in runner.summary.read_text(encoding="utf-8")
    assert runner.run("Compare", BASE="HEAD~1", FAIL_ON="never", FROM="").returncode == 0


@pytest.mark.long
def test_a_base_that_is_not_in_the_clone_is_fetched(runner: Runner, llmdo: Llmdo, tmp_path: Path) -> None:
    base = git(runner.workspace, "rev-parse", "HEAD")
    let_triage_publish(runner.workspace, llmdo)
    commit(runner.workspace, "let triage publish")
    git(runner.workspace, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{runner.workspace.parent}", "shallow")
    runner.workspace = tmp_path / "shallow/team"
    done = runner.run("Compare", BASE=base, FAIL_ON="widened", FROM="")
    assert done.returncode == 1, done.stderr
    assert "#### `triage`: widened" in runner.summary.read_text(encoding="utf-8")


@pytest.mark.parametrize("base", ["", "0" * 40])
def test_without_a_base_it_says_so(runner: Runner, base: str) -> None:
    done = runner.run("Compare", BASE=base, FAIL_ON="widened", FROM="")
    assert (done.returncode, done.stdout) == (0, "llmdo: there is no revision to compare with\n")


def test_a_base_that_exists_nowhere_fails(runner: Runner) -> None:
    done = runner.run("Compare", BASE="1" * 40, FAIL_ON="widened", FROM="")
    assert done.returncode not in (0, 1)


def test_a_stale_lock_fails_and_is_annotated(runner: Runner) -> None:
    (runner.workspace / "workers/helper.worker").write_text(
        "---\nname: helper\n---\nOther.\n", encoding="utf-8"
    )
    assert runner.run("Derive the lock again").returncode == 1
    done = runner.run("Check")
    assert done.returncode == 1
    assert "::error " in done.stdout
    assert runner.run("Write SARIF").returncode == 0


@pytest.mark.long
def test_the_lock_is_derived_without_the_secrets_of_the_job(runner: Runner) -> None:
    (runner.workspace / "tools.py").write_text(
        "import os\n\nraise RuntimeError(' '.join(sorted(os.environ)) + ' were seen')\n", encoding="utf-8"
    )
    manifest = runner.workspace / "llmdo.toml"
    text = manifest.read_text(encoding="utf-8").replace(
        "[approvals.rules]", 'toolset-modules = ["tools.py"]\n\n[approvals.rules]'
    )
    manifest.write_text(text, encoding="utf-8")
    runner.environment["SECRET_TOKEN"] = "canary"
    done = runner.run("Derive the lock again")
    output = done.stdout + done.stderr
    assert "were seen" in output
    assert "SECRET_TOKEN" not in output


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("version", "requirements", "installed"),
    [
        ("", "", ["$GITHUB_ACTION_PATH"]),
        ("1.2.3", "", ["llmdo-workspace==1.2.3"]),
        ("", "needed by tools.txt", ["$GITHUB_ACTION_PATH", "--requirement><needed by tools.txt"]),
    ],
)
def test_the_action_installs_what_it_was_checked_out_with_or_the_version_asked_for(
    runner: Runner, tmp_path: Path, version: str, requirements: str, installed: list[str]
) -> None:
    python = tmp_path / "runner/bin/python"
    python.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\necho\n", encoding="utf-8")
    python.chmod(0o755)
    runner.environment["GITHUB_ACTION_PATH"] = "/an action"
    done = runner.run("Install llmdo", VERSION=version, REQUIREMENTS=requirements)
    wanted = [name.replace("$GITHUB_ACTION_PATH", "/an action") for name in installed]
    assert done.stdout.splitlines() == [f"<-m><pip><install><--quiet><{name}>" for name in wanted]


@pytest.mark.long
@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_started_at_the_top_of_the_repository_stops_a_stale_lock(
    hook: dict[str, Any], runner: Runner
) -> None:
    """As pre-commit starts it: the words of `entry`, then those of `args`, and git's variables around a commit."""
    words = [*shlex.split(hook["entry"]), "--project", runner.workspace.name]
    top = runner.workspace.parent
    environment = {
        **runner.environment,
        "CI": "",
        "PRE_COMMIT": "1",
        "GIT_INDEX_FILE": str(top / ".git/index.lock"),
    }

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=top, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )

    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    helper = runner.workspace / "workers/helper.worker"
    helper.write_text("---\nname: helper\n---\nOther.\n", encoding="utf-8")
    assert run().returncode == 1
    (runner.workspace / "llmdo.lock").unlink()
    assert run().returncode == 1
