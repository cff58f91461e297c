"""The views in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.features.page.conftest import EXAMPLES, Served

pytestmark = pytest.mark.browser


def test_an_entry_is_shown_with_what_it_reaches_and_how(page: Page, serve: Callable[..., Served]) -> None:
    serve(EXAMPLES / "approvals_demo").open(page, "#/reach/demo?to=fs.delete%3Adrafts%2F**")
    expect(page.locator(".capabilities h2")).to_have_text(["Allowed 4", "Asks 4", "Blocked 10"])
    expect(page.locator(".witness")).to_contain_text("office (shred)")
    expect(page.locator(".witness")).to_contain_text("no rule names")
    page.get_by_role("button", name="net.connect").click()
    expect(page.locator(".witness .because")).to_contain_text('"net" = "blocked" llmdo.toml:')
    assert "net.connect" in page.url


@pytest.mark.long
def test_the_token_leaves_the_address_and_stays_in_the_tab(page: Page, serve: Callable[..., Served]) -> None:
    served = serve(EXAMPLES / "confused_deputy")
    served.open(page)
    assert served.token not in page.url
    assert page.evaluate("document.cookie") == ""
    page.reload()
    expect(page.locator(".day-worst")).to_contain_text("release")


@pytest.mark.long
def test_a_new_tab_of_the_page_is_handed_the_token(page: Page, serve: Callable[..., Served]) -> None:
    served = serve(EXAMPLES / "confused_deputy")
    served.open(page)
    other = page.context.new_page()
    other.goto(served.at("#/reach/triage"))
    expect(other.locator(".capabilities")).to_contain_text("data.untrusted")


@pytest.mark.long
def test_a_tab_without_the_token_is_told_how_to_get_in(page: Page, serve: Callable[..., Served]) -> None:
    page.goto(serve(EXAMPLES / "confused_deputy").at())
    expect(page.get_by_role("alert")).to_contain_text("open the link that llmdo page prints")


@pytest.mark.long
def test_names_are_text_whatever_they_hold(page: Page, serve: Callable[..., Served], tmp_path: Path) -> None:
    (tmp_path / "llmdo.toml").write_text(
        'schema = 1\n[workspace]\nname = "w"\nworkers = ["*/*.worker"]\n', encoding="utf-8"
    )
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    folder.mkdir()
    text = "---\nname: main\nentry: true\ntoolsets:\n  filesystem: { write: ['<script>alert(1)</script>\u202e/**'] }\n---\nGo.\n"
    (folder / "a.worker").write_text(text, encoding="utf-8")
    serve(tmp_path).open(page, "#/reach/main")
    expect(page.locator(".capabilities")).to_contain_text("<script>alert(1)</script>")
    expect(page.locator(".capabilities")).to_contain_text("\\u{202e}")
    assert page.locator("img, main script").count() == 0
