"""The pages of a survey in a browser: the table sorts, by keys too, and axe finds nothing in either theme."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.features.page.test_access import axe as axe
from tests.features.page.test_access import findings
from tests.features.survey.conftest import listed
from tests.support import commands

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of pages about a list."""
    projects = listed(tmp_path_factory.mktemp("clones"))
    commands.llmdo(projects.folder, "scan", "--many", "list.txt", "--to", "to")
    return projects.folder / "to"


def column(page: Page, number: int) -> list[str]:
    return page.locator(f"tbody tr > :nth-child({number})").all_inner_texts()


def test_the_table_sorts_by_each_column_and_by_keys(page: Page, report: Path) -> None:
    page.goto((report / "index.html").as_uri())
    names = column(page, 1)
    assert names == sorted(names, key=str.casefold)
    page.get_by_role("button", name="Repository").click()
    assert column(page, 1) == sorted(names, key=str.casefold, reverse=True)
    page.get_by_role("button", name="Agents").focus()
    page.keyboard.press("Enter")
    agents = column(page, 4)
    assert agents == sorted(agents, key=int)
    page.keyboard.press("Space")
    assert column(page, 4) == sorted(agents, key=int, reverse=True)
    assert page.locator("#sorted").inner_text() == "Sorted by agents, descending."
    assert page.locator("th[aria-sort=descending]").all_inner_texts() == ["Agents"]
    page.get_by_role("button", name="Findings").click()
    assert column(page, 1)[-3:] != names[-3:]
    assert all("is no" in text or "git" in text for text in page.locator("tbody tr").all_inner_texts()[-3:])


def test_a_page_is_reached_by_keys_and_leads_back(page: Page, report: Path) -> None:
    page.goto((report / "index.html").as_uri())
    page.get_by_role("link", name="evil/markup").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/projects/evil.markup.*")
    assert page.get_by_role("heading", level=1).inner_text() == "evil/markup"
    page.get_by_role("link", name="All repositories").click()
    page.wait_for_url("**/index.html")


def check(page: Page, report: Path, axe: str) -> None:
    for path in (report / "index.html", *sorted(report.glob("projects/*"))[:4]):
        page.goto(path.as_uri())
        assert findings(page, axe) == [], path.name
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path.name


@pytest.mark.window(color_scheme="light", bypass_csp=True)
def test_axe_finds_nothing_in_light(page: Page, report: Path, axe: str) -> None:
    check(page, report, axe)


@pytest.mark.window(color_scheme="dark", bypass_csp=True, viewport={"width": 390, "height": 844})
def test_axe_finds_nothing_in_a_narrow_dark_window(page: Page, report: Path, axe: str) -> None:
    check(page, report, axe)
