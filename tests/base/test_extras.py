"""How a missing extra is installed: from the clone in use, or by the name of the published package."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo.base.extras import installing


def test_in_a_clone_its_own_files_are_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)
    assert installing("web", str(tmp_path)) == "`pip install -e '.[web]'`"
    monkeypatch.chdir("below")
    assert installing("web", str(tmp_path)) == f"`pip install -e '{tmp_path}[web]'`"


def test_of_an_installed_package_it_is_named(tmp_path: Path) -> None:
    assert installing("web", str(tmp_path)) == "`pip install 'llmdo-workspace[web]'`"
