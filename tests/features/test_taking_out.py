"""Each feature taken out: what is left works, does not list it, and says what is missing; and all of them at once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import llmdo
from llmdo.extensions.registry import features
from llmdo.extensions.spec import Extension
from tests.project.test_architecture import FOLDERS

PACKAGE = Path(llmdo.__file__).parent
EXAMPLE = PACKAGE.parent / "examples/greeter"

ALL = """
import sys
from importlib import import_module
from pathlib import Path
import llmdo
root = Path(llmdo.__file__).parent
assert root.parent == Path(sys.argv[1]), root
for path in sorted(root.rglob("*.py")):
    name = ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
    if path.stem not in ("__main__", *sys.argv[2:]):
        import_module(name)
"""


def needing(feature: Extension) -> set[str]:
    """The names of a feature and of all that need it."""
    names = {feature.name}
    while more := {each.name for each in features() if not names.isdisjoint(each.needs)} - names:
        names |= more
    return names


@pytest.fixture(params=features(), ids=lambda feature: feature.name)
def feature(request: pytest.FixtureRequest) -> Extension:
    return request.param


@pytest.fixture
def without(feature: Extension, tmp_path: Path) -> Iterator[Path]:
    """A folder with the package, but for the folder of the feature."""
    shutil.copytree(PACKAGE, tmp_path / "llmdo")  # with what is compiled, which holds for the copies as well
    shutil.copytree(PACKAGE.parent / "schemas", tmp_path / "schemas")
    shutil.rmtree(tmp_path / "llmdo/features" / FOLDERS[feature.name])
    shutil.copytree(EXAMPLE, tmp_path / "w", ignore=shutil.ignore_patterns(".llmdo"))
    yield tmp_path
    shutil.rmtree(tmp_path / "llmdo", ignore_errors=True)  # what it started may still write what it compiled


def run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A program with the package of `root`, in its workspace."""
    environ = {"PYTHONPATH": str(root), "HOME": str(root), "PATH": "/usr/bin:/bin", "LLMDO_TRUST": "1"}
    command = [sys.executable, "-P", *words]
    return subprocess.run(command, cwd=root / "w", env=environ, capture_output=True, text=True)


def test_each_page_of_the_docs_that_a_feature_names_is_there_and_is_of_no_other() -> None:
    named = [page for each in features() for page in each.pages]
    assert len(named) == len({*named})
    assert not [page for page in named if not (PACKAGE.parent / "docs" / page).is_file()]


@pytest.mark.long
def test_the_rest_works_and_does_not_list_it(feature: Extension, without: Path) -> None:
    kept = [each for each in features() if each.name not in needing(feature)]
    lost = {word for each in features() if each not in kept for word in each.commands}
    printed = run(without, "-m", "llmdo", "help", "all").stdout
    listed = {*re.findall(r"^  (\w+)  ", printed, re.MULTILINE)}
    assert {word for each in kept for word in each.commands} <= listed
    assert not lost & listed
    for word in lost:
        done = run(without, "-m", "llmdo", word)
        assert done.returncode == 2, word
        assert "this installation of llmdo is without" in done.stderr
    for words in (["check"], ["lock"], ["run"], ["reach"]):
        done = run(without, "-m", "llmdo", *words)
        assert done.returncode == 0, (words, done.stderr)


@pytest.mark.long
def test_no_other_module_misses_it(feature: Extension, without: Path) -> None:
    for name in needing(feature) - {feature.name}:
        shutil.rmtree(without / "llmdo/features" / FOLDERS[name])
    alone = ["view"] if feature.name == "page" else []  # views of others, which the page alone imports
    done = run(without, "-c", ALL, str(without), *alone)
    assert (done.returncode, done.stderr) == (0, "")


CORE = ("base", "syntax", "policy", "graph", "formats", "reach", "workspace", "diff")
"""Packages whose tests that are not long take less than a minute together."""


@pytest.fixture
def core(tmp_path: Path) -> Iterator[Path]:
    """A folder with the repository, but for all features, their tests, and those of formats of other tools."""
    repository = PACKAGE.parent
    for name in ("adapters", "docs", "examples", "schemas", "templates"):
        shutil.copytree(repository / name, tmp_path / name, ignore=shutil.ignore_patterns(".llmdo"))
    shutil.copy(repository / "pyproject.toml", tmp_path)
    shutil.copytree(PACKAGE, tmp_path / "llmdo")  # with what is compiled, which holds for the copies as well
    others = shutil.ignore_patterns("__pycache__", "cases", "features", "foreign")
    shutil.copytree(repository / "tests", tmp_path / "tests", ignore=others)
    for name in FOLDERS.values():
        shutil.rmtree(tmp_path / "llmdo/features" / name)
    yield tmp_path
    shutil.rmtree(tmp_path / "llmdo", ignore_errors=True)  # what it started may still write what it compiled


@pytest.mark.long
@pytest.mark.timeout(600)
def test_without_any_feature_the_tests_of_the_core_pass(core: Path) -> None:
    environ = {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST_", "LLMDO_"))}
    command = [sys.executable, "-m", "pytest", "-m", "not long", *(f"tests/{name}" for name in CORE)]
    command += ["--basetemp", str(core / "folders")]
    done = subprocess.run(
        command, cwd=core, env={**environ, "PYTHONPATH": str(core)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
