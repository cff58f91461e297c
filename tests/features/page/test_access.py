"""Accessibility: no finding of axe on any view, in both themes; what is focused is seen; nobody has to watch motion."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from llmdo.journal import Runs
from tests.features.page.conftest import Served, go
from tests.features.page.teams import chain
from tests.features.page.test_changes import widened
from tests.features.page.test_over_time import batched
from tests.features.page.test_runs import api, llmdo_elsewhere

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
    "#/reach",
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


def check_in_both_themes(page: Page, axe: str, views: Sequence[str]) -> None:
    """No finding and nothing wider than the window, in both themes, in a wide and in a narrow one."""
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            for view in views:
                go(page, view)
                page.wait_for_timeout(100)  # what is drawn in the frame after
                assert findings(page, axe) == [], f"{view} {scheme} {width}"
                assert page.evaluate("document.documentElement.scrollWidth") <= width, view


@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.window(bypass_csp=True)
def test_axe_finds_nothing_on_views_of_runs(page: Page, serve: Serve, tmp_path: Path, axe: str) -> None:
    batched(tmp_path)
    assert llmdo_elsewhere(tmp_path, "run", "main").returncode == 0
    manifest = (tmp_path / "llmdo.toml").read_text(encoding="utf-8")
    asking = manifest.replace('"fs.write" = "allowed"', '"fs.write" = "needs_approval"')
    (tmp_path / "llmdo.toml").write_text(asking, encoding="utf-8")
    assert llmdo_elsewhere(tmp_path, "run", "main", "--approvals", "later").returncode == 3
    *_, done, waiting = Runs(tmp_path).names()
    served = serve(tmp_path)
    served.open(page)
    batch = api(served, "/api/batches")[1]["batches"][0]["batch"]
    call = "call/main/writer%231/write_file%231"
    views = [
        "#/runs",
        f"#/run/{done}",
        f"#/run/{done}?errors=1",
        f"#/run/{done}/{call}",
        f"#/run/{done}/call/main?request=2",
        f"#/run/{waiting}",
        f"#/run/{waiting}/{call}",
    ]
    views += [
        f"#/compare/{done}/{waiting}",
        "#/totals",
        "#/totals?by=worker",
        "#/batches",
        f"#/batch/{batch}",
    ]
    check_in_both_themes(
        page, axe, [*views, "#/inbox", f"#/inbox/{waiting}/main/writer%231/write_file%231?like=1"]
    )
    go(page, f"#/run/{done}/call/main")
    expect(page.locator(".request .part")).to_have_count(4)
    assert findings(page, axe) == []


@pytest.mark.long
def test_whatever_has_the_focus_shows_it(page: Page, serve: Serve, widened: Path) -> None:
    serve(widened).open(page, "#/reach/triage")
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            """() => {
              const element = document.activeElement;
              const outline = element.querySelector(':scope > .outline') ?? element;
              const style = getComputedStyle(outline);
              const isMarked = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
              return [element.tagName, element.className?.baseVal ?? element.className, isMarked || parseFloat(style.strokeWidth) >= 3];
            }"""
        )
        if focused[0] == "BODY":
            break
        seen.add((focused[0], focused[1]))
        assert focused[2], focused
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
