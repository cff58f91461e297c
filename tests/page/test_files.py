"""The page as one file, opened where there is no network and no server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bench.generate import Shape, generate
from tests.commands import llmdo
from tests.page.conftest import go, ready
from tests.page.test_changes import widened

__all__ = ["widened"]


def opened(page: Page, path: Path) -> None:
    page.context.set_offline(True)
    page.goto(path.as_uri())
    ready(page)


@pytest.mark.browser
def test_a_file_shows_reach_and_changes_without_a_server(page: Page, widened: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    done = llmdo(widened, "page", "--export", str(file), "--rev", "HEAD..worktree")
    assert done.returncode == 0, done.stderr
    opened(page, file)
    expect(page.locator("h1")).to_have_text("Widened")
    expect(page.locator(".graph .line.way.widens")).to_have_count(2)
    go(page, "#/reach/triage?to=proc.exec")
    expect(page.locator(".graph .label.ungated text")).to_have_text("no gate")
    expect(page.get_by_role("textbox", name="Selector")).to_have_count(0)
    page.keyboard.press("/")
    page.keyboard.type("release")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("release")


@pytest.mark.browser
@pytest.mark.long
def test_a_file_offers_nothing_that_it_does_not_hold(
    page: Page, example: Callable[[str], Path], tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    assert llmdo(example("greeter"), "page", "--export", str(file)).returncode == 0
    opened(page, file)
    expect(page.get_by_role("navigation")).to_have_text("Entries")
    go(page, "#/diff/a..b")
    expect(page.get_by_role("alert")).to_contain_text("this file does not hold that")
    go(page, "#/reach/nobody")
    expect(page.get_by_role("alert")).to_contain_text("this file does not hold that")
    go(page, "#/no/such/page")
    expect(page.get_by_role("alert")).to_contain_text("there is no page no/such/page")


@pytest.mark.long
def test_a_file_of_sixty_workers_is_small(tmp_path: Path) -> None:
    generate(tmp_path, Shape(workers=60))
    file = tmp_path / "page.html"
    assert llmdo(tmp_path, "page", "--export", str(file)).returncode == 0
    assert (
        len(json.dumps(llmdo(tmp_path, "reach", "--format", "json").stdout)) > 30_000
    )  # there is something in it
    assert file.stat().st_size < 250_000


@pytest.mark.parametrize("revisions", ["HEAD", "a..b..c", ""])
def test_two_revisions_have_to_be_two(example: Callable[[str], Path], tmp_path: Path, revisions: str) -> None:
    done = llmdo(example("greeter"), "page", "--export", str(tmp_path / "x.html"), "--rev", revisions)
    assert done.returncode == 2
    assert "names no two revisions" in done.stderr
    assert not (tmp_path / "x.html").exists()


def test_revisions_are_for_a_file(example: Callable[[str], Path]) -> None:
    done = llmdo(example("greeter"), "page", "--rev", "a..b")
    assert done.returncode == 2
    assert "`--rev` is for `--export`" in done.stderr
