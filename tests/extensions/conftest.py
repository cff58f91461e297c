"""The example's extension, installed in a folder outside of its workspace, and listed by the person's policy."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.examples import EXAMPLES, LEFT_OVER

SOURCES = EXAMPLES / "extension"
LISTED = 'schema = 1\nextensions = ["Acme_llmdo"]\n'
"""A person's policy: the name of a distribution is written in any of its spellings."""


def install(folder: Path, version: str = "1.0", points: str = "acme = acme_llmdo:EXTENSION") -> Path:
    """The distribution of the example as an installer leaves it in a folder."""
    shutil.copytree(
        SOURCES / "acme_llmdo", folder / "acme_llmdo", ignore=shutil.ignore_patterns("__pycache__")
    )
    facts = folder / "acme_llmdo-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: acme-llmdo\nVersion: {version}\n")
    (facts / "entry_points.txt").write_text(f"[llmdo.extension]\n{points}\n")
    files = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
    (facts / "RECORD").write_text("".join(f"{file},,\n" for file in (*files, f"{facts.name}/RECORD")))
    return facts


def plant(folder: Path) -> Path:
    """A file that is there once the package in a folder was imported."""
    canary, package = folder.parent / "canary", folder / "acme_llmdo/__init__.py"
    package.write_text(f"open({str(canary)!r}, 'w').close()\n{package.read_text()}")
    return canary


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages outside of the workspace, with the extension."""
    folder = tmp_path / "packages"
    install(folder)
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    forget()


def forget() -> None:
    """Nothing of the extension is imported, as in a process that begins."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "acme_llmdo"]:
        del sys.modules[name]


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's policy, which lists the extension."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file = tmp_path / "config/llmdo/policy.toml"
    file.parent.mkdir(parents=True)
    file.write_text(LISTED)
    return file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The workspace of the example."""
    root = tmp_path / "workspace"
    shutil.copytree(SOURCES / "workspace", root, ignore=shutil.ignore_patterns(*LEFT_OVER))
    return root


def change(file: Path, before: str, after: str) -> None:
    """Replaces a text that is in a file."""
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def commit(root: Path) -> None:
    """All of the workspace but its environment, as a commit."""
    (root / ".gitignore").write_text(".venv\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "--quiet"), ("add", "."), (*who, "commit", "--quiet", "--message", "a")):
        subprocess.run(["git", *words], cwd=root, check=True)
