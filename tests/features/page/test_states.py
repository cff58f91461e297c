"""The states around what is shown: nothing there, not yet, failing, very much of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from bench.generate import Shape, generate
from tests.features.page.conftest import EXAMPLES, Served, ready
from tests.features.page.teams import team

pytestmark = pytest.mark.browser

Serve = Callable[..., Served]


@pytest.mark.long
def test_a_workspace_without_an_entry_says_how_there_comes_to_be_one(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    (tmp_path / "llmdo.toml").write_text('schema = 1\n[workspace]\nname = "w"\n', encoding="utf-8")
    serve(tmp_path).open(page)
    expect(page.locator(".state")).to_contain_text("entry: true")


@pytest.mark.long
def test_what_takes_long_says_so_and_what_fails_can_be_tried_again(
    page: Page, serve: Serve, provoked: list[str]
) -> None:
    provoked.append("Failed to load resource")
    served = serve(EXAMPLES / "confused_deputy")
    served.open(page)
    held: list[Route] = []
    page.route("**/api/reach?*", lambda route: held.append(route))  # it is looked into
    page.evaluate("location.hash = '#/reach/triage'")
    expect(page.get_by_role("status")).to_have_text("Loading reach")
    held.pop().abort()
    expect(page.get_by_role("alert")).to_contain_text("llmdo page does not answer")
    page.unroute("**/api/reach?*")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".capabilities")).to_contain_text("data.untrusted")


@pytest.mark.long
def test_an_error_of_the_server_is_a_sentence_with_its_hint(
    page: Page, serve: Serve, provoked: list[str]
) -> None:
    provoked.append("status of 422")
    serve(EXAMPLES / "confused_deputy").open(page, "#/reach/triag")
    expect(page.get_by_role("alert")).to_contain_text("there is no entry triag")
    expect(page.get_by_role("alert")).to_contain_text("triage")


@pytest.mark.long
def test_a_workspace_with_errors_says_that_something_may_be_missing(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    team(tmp_path, {"main": ["nobody"]})
    serve(tmp_path).open(page, "#/reach/main")
    expect(page.locator(".note")).to_contain_text("the workspace has 1 error")


@pytest.mark.long
def test_a_thousand_workers_are_folded_and_can_all_be_drawn(page: Page, serve: Serve, tmp_path: Path) -> None:
    generate(tmp_path, Shape(workers=1_000))
    served = serve(tmp_path)
    served.open(page, "#/reach")
    expect(page.locator("tbody tr")).to_have_count(20)
    served.open(page, "#/reach/entry_00")
    ready(page)
    folded = page.locator(".graph [data-id]").count()
    assert folded < 40
    expect(page.locator(".tools .dim")).to_have_text(re.compile(r"^\d+ of \d\d+ workers$"))
    page.keyboard.press("a")
    expect(page.locator(".unfold")).to_have_count(0)
    assert page.locator(".graph [data-id]").count() > folded
