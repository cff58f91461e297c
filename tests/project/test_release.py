"""The workflows: who may start them, what each job may do, that only what was tested is published, and that all is tested."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from llmdo.version import __version__

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
WORKFLOW = yaml.load(TEXT, Loader=yaml.BaseLoader)  # by which `on` is no truth value
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
STEPS = [(job, step) for job, its in JOBS.items() for step in its["steps"]]
WORKFLOWS = sorted((ROOT / ".github/workflows").iterdir())

each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def steps(path: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def uses(job: str) -> list[str]:
    return [step["uses"].partition("@")[0] for step in JOBS[job]["steps"] if "uses" in step]


def test_a_tag_releases_and_nothing_that_a_stranger_can_send() -> None:
    assert WORKFLOW["on"] == {"push": {"tags": ["v[0-9]*"]}, "workflow_dispatch": ""}
    assert JOBS["publish"]["if"] == "github.event_name == 'push' && github.ref_type == 'tag'"


def test_only_the_job_that_publishes_may_write_and_it_needs_a_protected_environment() -> None:
    assert WORKFLOW["permissions"] == {}
    assert {name: job["permissions"] for name, job in JOBS.items()} == {
        "build": {"contents": "read"},
        "test": {},
        "publish": {"id-token": "write", "attestations": "write"},
    }
    assert {name for name, job in JOBS.items() if "environment" in job} == {"publish"}


@each_workflow
def test_there_is_no_secret_in_it_and_no_token_stays_behind(path: Path) -> None:
    assert not re.search(r"secrets\b|github\.token|password|GITHUB_TOKEN", path.read_text(encoding="utf-8"))
    for step in steps(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_what_is_built_once_is_tested_and_published() -> None:
    assert (JOBS["test"]["needs"], JOBS["publish"]["needs"]) == ("build", ["build", "test"])
    assert [job for job, step in STEPS if "make dist" in step.get("run", "")] == ["build"]
    assert [job for job, step in STEPS if step.get("uses", "").startswith("actions/checkout@")] == ["build"]
    assert uses("test")[0] == uses("publish")[0] == "actions/download-artifact"


def test_the_job_that_publishes_runs_no_script_and_no_other_action() -> None:
    assert uses("publish") == ["actions/download-artifact", "actions/attest", "pypa/gh-action-pypi-publish"]
    assert not [step for step in JOBS["publish"]["steps"] if "run" in step]
    assert JOBS["publish"]["steps"][-1]["with"] == {"attestations": "true"}


def test_every_action_is_named_by_its_commit_and_with_its_version() -> None:
    named = [
        action for path in WORKFLOWS for action in re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    ]
    assert len(named) == len([step for path in WORKFLOWS for step in steps(path) if "uses" in step])
    for action in named:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
    assert len(set(named)) == len({action.partition("@")[0] for action in named})


@each_workflow
def test_no_script_holds_what_somebody_else_can_write(path: Path) -> None:
    for step in steps(path):
        assert "${{" not in step.get("run", "")


def test_every_command_of_a_script_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for _, step in STEPS:
        for target in re.findall(r"make (?:-C \w+ )?(\w+)", step.get("run", "")):
            assert f"\n{target}:" in makefile


@pytest.mark.parametrize(
    ("tag", "section", "code"),
    [(f"v{__version__}", __version__, 0), ("v9.9.9", __version__, 1), (f"v{__version__}", "9.9.9", 1)],
    ids=["right", "another-tag", "no-section"],
)
def test_a_tag_that_is_not_the_version_or_has_no_changelog_is_refused(
    tmp_path: Path, tag: str, section: str, code: int
) -> None:
    (tmp_path / "llmdo").mkdir()
    (tmp_path / "llmdo/version.py").write_bytes((ROOT / "llmdo/version.py").read_bytes())
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## {section} (2026-01-01)\n", encoding="utf-8")
    (script,) = [step["run"] for _, step in STEPS if step.get("name", "").startswith("Compare")]
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", f"python() {{ python3 \"$@\"; }}\n{script}"],
        cwd=tmp_path, env={"PATH": os.environ["PATH"], "GITHUB_REF_NAME": tag}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    assert ("::error::" in done.stdout) is bool(code)


def test_ci_runs_what_every_clone_runs_and_may_write_nothing() -> None:
    workflow = yaml.load(
        (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"), Loader=yaml.BaseLoader
    )
    assert workflow["on"] == {"push": "", "pull_request": "", "workflow_dispatch": ""}
    assert workflow["permissions"] == {}
    (job,) = workflow["jobs"].values()
    assert job["permissions"] == {"contents": "read"}
    assert job["steps"][-1]["run"] == ".ci/run"
    assert (ROOT / ".ci/run").stat().st_mode & stat.S_IXUSR
    assert job["container"]["image"].endswith(instructions("FROM")[0].rpartition("-")[2])


def test_ci_runs_lint_the_lowest_and_everything_in_a_clean_environment() -> None:
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert re.findall(r"^run (.*)", script, re.MULTILINE) == [
        "make lint",
        "make test-lowest",
        "make test-all",
    ]
    assert re.search(r'^run\(\) \{ env -i HOME="\$own/home" PATH="\$own/programs" ', script, re.MULTILINE)
    assert script.endswith("make test-all\n"), "its last lines are those of pytest"


DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def instructions(name: str) -> list[str]:
    joined = DOCKERFILE.replace("\\\n", " ")
    return [line.partition(" ")[2].strip() for line in joined.splitlines() if line.startswith(f"{name} ")]


def test_the_image_starts_from_a_version_and_runs_as_nobody_in_particular() -> None:
    (base,) = instructions("FROM")
    assert re.fullmatch(r"python:\d+\.\d+\.\d+-slim-\w+", base)
    (user,) = instructions("USER")
    assert user.isdigit()
    assert int(user) >= 1000
    assert DOCKERFILE.index("\nUSER ") > DOCKERFILE.rindex("\nRUN ")
    assert instructions("ENTRYPOINT") == ['["llmdo"]']


def test_the_image_is_given_the_wheel_and_nothing_else() -> None:
    assert (ROOT / ".dockerignore").read_text(encoding="utf-8").split() == ["*", "!dist/*.whl"]
    assert instructions("COPY") == ["dist/*.whl /tmp/dist/"]
    assert not instructions("ADD")
    assert not instructions("ARG")
    assert instructions("ENV") == ["HOME=/home/llmdo"]
    assert any("bubblewrap" in line for line in instructions("RUN"))
