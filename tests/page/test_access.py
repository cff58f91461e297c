"""Accessibility: no finding of axe on any view, in both themes; what is focused is seen; nobody has to watch motion."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import Served, go
from tests.page.teams import chain
from tests.page.test_changes import widened

__all__ = ["widened"]

pytestmark = pytest.mark.browser

Serve = Callable[..., Served]


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core, as a package for tests has it."""
    spec = find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        (pytest.fail if os.environ.get("LLMDO_TEST_CHROMIUM") else pytest.skip)(
            "there is no axe-playwright-python"
        )
    return (Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8")


def findings(page: Page, axe: str) -> list[str]:
    page.evaluate(axe)
    report = page.evaluate("axe.run().then(report => JSON.stringify(report.violations))")
    return [
        f"{each['id']}: {node['html'][:160]}: {node.get('failureSummary', '')[:300]}"
        for each in json.loads(report)
        for node in each["nodes"]
    ]


VIEWS = [
    "#/",
    "#/reach/triage",
    "#/reach/triage?at=releaser",
    "#/diff",
    "#/diff/HEAD..HEAD",
    "#/no/such/page",
]


def check_everything(page: Page, served: Served, axe: str, views: list[str]) -> None:
    served.open(page)
    for view in views:
        go(page, view)
        assert findings(page, axe) == [], view
        for key in ("?", "/"):
            page.keyboard.press(key)
            assert findings(page, axe) == [], f"{view} {key}"
            page.keyboard.press("Escape")
    go(page, "#/reach/triage")
    page.keyboard.press("t")
    assert findings(page, axe) == []


@pytest.mark.window(color_scheme="light", bypass_csp=True)
def test_axe_finds_nothing_in_light(page: Page, serve: Serve, widened: Path, axe: str) -> None:
    check_everything(page, serve(widened), axe, VIEWS[:2])


@pytest.mark.long
@pytest.mark.window(color_scheme="dark", bypass_csp=True)
def test_axe_finds_nothing_in_dark(page: Page, serve: Serve, widened: Path, axe: str) -> None:
    check_everything(page, serve(widened), axe, VIEWS)


@pytest.mark.long
@pytest.mark.window(color_scheme="light", bypass_csp=True, viewport={"width": 390, "height": 844})
def test_axe_finds_nothing_in_a_narrow_window(page: Page, serve: Serve, widened: Path, axe: str) -> None:
    check_everything(page, serve(widened), axe, VIEWS)


@pytest.mark.long
@pytest.mark.window(color_scheme="light", bypass_csp=True)
def test_axe_finds_nothing_where_much_is_gated_and_folded(
    page: Page, serve: Serve, tmp_path: Path, axe: str
) -> None:
    served = serve(chain(tmp_path, 6, '"agent.delegate" = "needs_approval"\n"fs.write" = "blocked"\n'))
    served.open(page, "#/reach/worker_0?at=worker_1")
    assert findings(page, axe) == []
    go(page, "#/reach/worker_0?to=fs.write%3Aout%2F**")
    assert findings(page, axe) == []


@pytest.mark.long
def test_whatever_has_the_focus_shows_it(page: Page, serve: Serve, widened: Path) -> None:
    serve(widened).open(page, "#/reach/triage")
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        what = page.evaluate(
            """() => {
              const element = document.activeElement;
              const outline = element.querySelector(':scope > .outline') ?? element;
              const style = getComputedStyle(outline);
              const isMarked = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
              return [element.tagName, element.className?.baseVal ?? element.className, isMarked || parseFloat(style.strokeWidth) >= 3];
            }"""
        )
        if what[0] == "BODY":
            break
        seen.add((what[0], what[1]))
        assert what[2], what
    assert len(seen) > 6


@pytest.mark.long
@pytest.mark.window(reduced_motion="reduce")
def test_nothing_moves_where_motion_is_not_wanted(page: Page, serve: Serve, widened: Path) -> None:
    serve(widened).open(page, "#/reach/triage")
    moving = (
        "[...document.querySelectorAll('*')].filter(e => getComputedStyle(e).animationName !== 'none').length"
    )
    assert page.evaluate(moving) == 0
    expect(page.locator(".area .graph")).to_be_visible()
