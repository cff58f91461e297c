"""The memory that the page loads: there is room for it to grow, and what does not fit into Pyodide's own works too."""

from __future__ import annotations

import io
import shutil
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from playground import checker, site
from tests.playground.conftest import PATIENCE

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

ROOM = 2 * 1024 * 1024  # bytes that are left at least
OF_PYODIDE = 30 * 1024 * 1024  # bytes that it begins with

LARGER = """
FILLING = [str(number).rjust(1000) for number in range(6000)]
_answer = answer


def answer(subject, question):
    assert FILLING == [str(number).rjust(1000) for number in range(6000)], "the memory is not as it was"
    return _answer(subject, question)
"""


def test_there_is_room_for_the_checker_to_grow(built: Path) -> None:
    left = site.MOST_MEMORY - (built / "checker.bin").stat().st_size
    assert left >= ROOM, (
        f"of the {site.MOST_MEMORY:,} bytes of memory that the playground may begin with, {left:,} are left: "
        "import less in `playground/answers.py`; or raise `MOST_MEMORY` in `playground/site.py`, if "
        "`python -m bench.playground` then still prints no more than what it allows"
    )


@pytest.mark.browser
class TestMoreThanPyodideBeginsWith:
    @pytest.fixture
    def built(self, built: Path, tmp_path: Path) -> Path:
        """The playground with a checker that takes six megabytes more."""
        folder = tmp_path / "playground"
        shutil.copytree(built, folder)
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for path, data in checker.files().items():
                archive.writestr(path, data + LARGER.encode() * (path == "playground/answers.py"))
        site.remember(folder, content.getvalue())
        return folder

    def test_it_starts_and_answers(self, page: Page, address: str, built: Path) -> None:
        assert (built / "checker.bin").stat().st_size > OF_PYODIDE + 4_000_000
        page.goto(f"{address}?example=triage")
        page.wait_for_selector(".findings, .failing", timeout=PATIENCE)
        expect(page.locator(".failing")).to_have_count(0)
