"""What tests of the playground share: its folder, built once for all processes, and a window that is watched."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from playground import site
from playground.document import Hosts
from tests.features.page.conftest import Browsing, browsing, provoked, pytest_pyfunc_call
from tests.playground.github import GitHub, served

__all__ = ["browsing", "provoked", "pytest_pyfunc_call"]

ROOT = Path(__file__).parents[2]
PATIENCE = 120_000  # ms until Python has started, on a busy machine


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the playground, which asks the server that it comes from in place of GitHub."""
    if not shutil.which("node") or not shutil.which("npm"):
        (pytest.fail if os.environ.get("LLMDO_TEST_NPM") else pytest.skip)("there is no npm")
    shared = (
        tmp_path_factory.getbasetemp().parent
        if os.environ.get("PYTEST_XDIST_WORKER")
        else tmp_path_factory.getbasetemp()
    )
    folder = shared / "playground"
    with (shared / "playground.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "service.js").is_file():
            try:
                pyodide = site.fetched(ROOT / ".playground")
            except subprocess.CalledProcessError:
                pytest.skip("npm cannot bring Pyodide: no registry answers")
            site.write(folder, pyodide, Hosts(api="./api", raw="./raw", site="https://github.com"))
    return folder


@pytest.fixture
def github() -> GitHub:
    return GitHub()


@pytest.fixture
def address(built: Path, github: GitHub) -> Iterator[str]:
    with served(built, github) as base:
        yield f"{base}/"


@pytest.fixture
def page(
    browsing: Browsing, provoked: list[str], request: pytest.FixtureRequest, address: str
) -> Iterator[Page]:
    """A new window, in which no script may fail and no request may go to any other server."""
    mark = request.node.get_closest_marker("window")
    problems: list[str] = []
    options: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, **(mark.kwargs if mark else {})}

    def is_elsewhere(url: str) -> bool:
        return not url.startswith((address, "data:", "blob:"))

    def opened() -> Page:
        page = browsing.window(**options)
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: problems.append(f"script: {error}"))
        page.on("console", lambda line: line.type == "error" and problems.append(f"console: {line.text}"))
        page.context.on(
            "request", lambda sent: is_elsewhere(sent.url) and problems.append(f"request: {sent.url}")
        )
        return page

    page = browsing.run(opened)
    yield page
    browsing.run(page.context.close)
    assert [line for line in problems if not any(part in line for part in provoked)] == []


@pytest.fixture
def repository(tmp_path: Path, github: GitHub) -> Callable[..., Path]:
    """Makes a repository of a folder's files or of texts, which GitHub then has."""

    def made(name: str, files: Path | dict[str, str]) -> Path:
        folder = tmp_path / name.replace("/", "-")
        if isinstance(files, Path):
            shutil.copytree(files, folder, symlinks=True)
        else:
            for path, text in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text, encoding="utf-8")
        commit(folder, "first")
        github.repositories[name] = folder
        return folder

    return made


def commit(folder: Path, message: str) -> None:
    words = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for each in (("init", "-q", "-b", "main"), ("add", "-A", "-f"), (*words, "commit", "-q", "-m", message)):
        subprocess.run(["git", "-C", str(folder), *each], check=True, capture_output=True)
