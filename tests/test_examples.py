"""Every example, through the command line, as its README tells: it checks clean, its lock is current, it runs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
ALL = sorted(path.parent.name for path in EXAMPLES.glob("*/llmdo.toml"))

OUTPUTS = {
    "greeter": "Hello Ada, how nice to meet you!\n",
    "calculator": "factorial of 7: 5040\nprime factors of 360: 2 x 2 x 2 x 3 x 3 x 5\n",
    "confused_deputy": "published v1.2.0\n",
}
WORDS = {"confused_deputy": ["release"], "pitchdeck": ["pitchdeck"]}


def copied(name: str, tmp_path: Path) -> Path:
    root = tmp_path / name
    shutil.copytree(EXAMPLES / name, root, ignore=shutil.ignore_patterns("__pycache__", "reports", ".mypy_cache"))
    return root


def llmdo(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "llmdo", *words], cwd=root, capture_output=True, text=True)


@pytest.mark.parametrize("name", ALL)
def test_an_example_checks_clean_and_its_lock_is_current(name: str, tmp_path: Path) -> None:
    root = copied(name, tmp_path)
    done = llmdo(root, "check", "--locked", "--strict")
    assert (done.returncode, done.stdout) == (0, "no findings\n")
    assert llmdo(root, "lock", "--check").returncode == 0


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_example_runs_as_locked(name: str, tmp_path: Path) -> None:
    done = llmdo(copied(name, tmp_path), "run", *WORDS.get(name, []), "--locked")
    assert (done.returncode, done.stdout) == (0, OUTPUTS[name])
    assert "rules, not a language model" in done.stderr


def test_every_example_is_run_by_a_test() -> None:
    assert set(ALL) == {*OUTPUTS, "pitchdeck"}
