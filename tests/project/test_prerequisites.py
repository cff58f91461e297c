"""The list of the programs that llmdo and its tests need: everyone who names them names those of the list."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from llmdo.base.prerequisites import BUBBLEWRAP, GIT, PREREQUISITES, PYTHON
from llmdo.services.doctor import examine
from tests.support import prerequisites

ROOT = Path(__file__).parents[2]
VARIABLE = re.compile(
    r"\bLLMDO_TEST_(?!CONTAINER|RELEASE)[A-Z]+\b"
)  # those two ask for what no list has: an image, a release


def test_contributing_names_each_package_and_no_other() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (named,) = re.findall(
        r"these packages of Debian .*?\(`llmdo/base/prerequisites\.py`\):(.*?)\.\n", text, re.DOTALL
    )
    assert re.findall(r"`([a-z0-9-]+)`", named) == [needed.package for needed in PREREQUISITES]
    assert re.findall(r"`([a-z0-9-]+)` \(`(\w+)`\)", named) == [
        (needed.package, needed.asked_by) for needed in PREREQUISITES if needed.asked_by
    ]


def test_every_variable_that_asks_for_tests_is_of_a_package_and_read_by_a_test() -> None:
    read = {
        name
        for path in (ROOT / "tests").rglob("*.py")
        if path != Path(__file__)
        for name in VARIABLE.findall(path.read_text())
    }
    assert read == {needed.asked_by for needed in PREREQUISITES if needed.asked_by}


def test_the_doctor_says_what_each_is_for_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    items = {item.name: item for item in examine(None, {"PATH": str(tmp_path), "HOME": "/dev/null/nobody"})}
    assert items["git"].hint == GIT.use
    assert items["isolation"].state != "none" or BUBBLEWRAP.use in (items["isolation"].hint or "")
    assert [needed for needed in PREREQUISITES if needed.use] == [PYTHON, GIT, BUBBLEWRAP]


def started(*words: str, path: str) -> list[str]:
    """The lines of `python -m tests.support.prerequisites`."""
    command = [sys.executable, "-m", "tests.support.prerequisites", *words]
    environment = {**os.environ, "PATH": path}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()


def test_the_links_are_of_what_the_list_names_and_start_it(tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    *asked, python = started(str(tmp_path / "links"), path=os.environ["PATH"])
    links = {path.name for path in (tmp_path / "links").iterdir()}
    there = [needed for needed in PREREQUISITES if prerequisites.is_there(needed)]
    assert {name for needed in there for name in needed.programs} <= links
    assert links == {
        name for needed in PREREQUISITES for name, file in prerequisites.programs(needed).items() if file
    }
    assert asked == [f"{needed.asked_by}=1" for needed in there if needed.asked_by]
    assert python == f"PYTHON={Path(sys.executable).resolve()}"
    environment = {"PATH": str(tmp_path / "links"), "HOME": str(tmp_path)}
    script = "set -e; cat /dev/null; git --version; python3 -c 'import sys; print(sys.version)'"
    done = subprocess.run(
        [str(tmp_path / "links/sh"), "-c", script], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert sys.version.splitlines()[0] in done.stdout


def test_what_is_not_there_is_named_by_its_package(tmp_path: Path) -> None:
    for name in ("git", "sh"):
        (tmp_path / name).symlink_to("/usr/bin/true")
    missing = started("--missing", path=str(tmp_path))
    assert {"bash", "bubblewrap", "chromium", "make"} <= {*missing}
    assert not {"git", "dash", "python3"} & {*missing}
