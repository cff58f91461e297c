"""What the release workflow does, done: each script of it in its order, from a tag in a fresh clone to what is published.

`LLMDO_TEST_RELEASE=1` asks for it, as it takes minutes: it installs from the package index, and runs the tests that the
source distribution brings.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llmdo.version import __version__
from tests.project.test_dist import clone
from tests.project.test_release import JOBS

MACHINE = "Install bubblewrap and let it make namespaces"
"""The step that changes the machine: where these tests run, that is for its owner to do."""
OURS = re.compile(r"(PYTHON|PYTEST|LLMDO|VIRTUAL_ENV|GIT|XDG|CI$|COLUMNS)")
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]

pytestmark = [
    pytest.mark.long,
    pytest.mark.registry,
    pytest.mark.timeout(3000),
    pytest.mark.skipif(not os.environ.get("LLMDO_TEST_RELEASE"), reason="LLMDO_TEST_RELEASE is not set"),
]


class Job:
    """A job of the workflow, in a folder of its own as on a machine of its own."""

    def __init__(self, name: str, folder: Path, **environment: str) -> None:
        programs = folder.parent / f"{name}-programs"
        programs.mkdir()
        for program in ("python", "python3"):  # as `setup-python` puts them there
            (programs / program).symlink_to(Path(sys.executable).resolve())
        home = folder.parent / f"{name}-home"
        home.mkdir()
        outside = {key: value for key, value in os.environ.items() if not OURS.match(key)}
        path = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(home)}
        self.folder = folder
        self.environment = {**outside, **path, "CI": "true", **environment}
        self.steps: list[dict[str, Any]] = [step for step in JOBS[name]["steps"] if "run" in step]

    def run(self) -> Iterator[tuple[str, str]]:
        """The name of each script and what it printed."""
        for step in self.steps:
            if step["name"] == MACHINE:
                continue
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=self.folder,
                env={**self.environment, **step.get("env", {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            assert done.returncode == 0, f"{step['name']}:\n{done.stdout[-20_000:]}"
            yield step["name"], done.stdout


def tagged(folder: Path) -> Path:
    """A fresh clone, with the commit and the tag that make a release."""
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(clone()), str(folder)], check=True)
    changes = folder / "CHANGELOG.md"
    text = changes.read_text(encoding="utf-8")
    released = text.replace("## Unreleased\n", f"## {__version__} (2026-01-01)\n", 1)
    changes.write_text(released, encoding="utf-8")
    if released != text:
        subprocess.run([*GIT, "commit", "--quiet", "--all", "--message", "release"], cwd=folder, check=True)
    subprocess.run([*GIT, "tag", f"v{__version__}"], cwd=folder, check=True)
    return folder


def test_every_script_from_the_tag_to_what_is_published_succeeds(tmp_path: Path) -> None:
    built = Job("build", tagged(tmp_path / "build"), GITHUB_REF_NAME=f"v{__version__}", GITHUB_REF_TYPE="tag")
    assert [name for name, _ in built.run()] == ["Compare the tag with the version", "Build"]
    distributions = sorted(path.name for path in (built.folder / "dist").iterdir())
    assert distributions == [
        f"llmdo_workspace-{__version__}-py3-none-any.whl",
        f"llmdo_workspace-{__version__}.tar.gz",
    ]
    (tmp_path / "test").mkdir()
    shutil.copytree(built.folder / "dist", tmp_path / "test/dist")  # as an artifact gets there
    printed = dict(Job("test", tmp_path / "test").run())
    assert [*printed] == [
        "Use the wheel as its users do",
        "Run the tests that the source distribution brings",
    ]
    assert "helper" in printed["Use the wheel as its users do"]
    assert re.search(r"\[100%\]", printed["Run the tests that the source distribution brings"])
