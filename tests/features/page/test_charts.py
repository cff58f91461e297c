"""Runs over time as charts in a real browser: days without runs, costs that nobody knows, and the same as a table."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from llmdo.journal import Runs
from llmdo.journal.entries import JournalEntry, Kind, pack
from tests.features.page.conftest import Served, go
from tests.features.page.test_access import axe as axe
from tests.features.page.test_access import check_in_both_themes
from tests.features.page.test_long_runs import DECIDED
from tests.features.page.test_runs import api
from tests.support.asking import workspace

Serve = Callable[..., Served]

DAY = 86_400
ASKED = {"worker": "main", "toolset": "filesystem", "tool": "write_file", "terminal_only": False}


def kept(
    root: Path, entry: str, days_ago: int, *, cost: str | None, questions: int = 0, refused: int = 0
) -> None:
    """The journal of a run that began so long ago, and asked a model once."""
    began = time.time() - days_ago * DAY
    number = len(Runs(root).names())
    name = f"{datetime.fromtimestamp(began, UTC):%Y%m%dT%H%M%S}{number:03}-{number:08x}"
    with Runs(root).create(name) as journal:

        def add(path: str, kind: Kind, outcome: str = "", **data: object) -> None:
            journal.add(
                JournalEntry(path=path, kind=kind, step=1, outcome=outcome, at=began, body=pack(data))
            )

        add(entry, "run", entry=entry, input="go", prompts={}, continues=None)
        add(entry, "session", llmdo="0", limits={})
        add(entry, "call", worker="main", input="go", depth=0)
        usage = {"input_tokens": 5, "output_tokens": 1, "cost": cost}
        parts = [{"part_kind": "text", "content": "done"}]
        add(entry, "request", asked={"model": "m"}, response={"usage": usage, "parts": parts})
        for asking in range(questions):
            add(f"{entry}/write_file#{asking + 1}", "asked", **ASKED, reasons=["why"])
        for call in range(refused):
            denied = {**DECIDED, "worker": "main", "decision": "blocked", "allowed": False, "refusal": "no"}
            add(f"{entry}/read_file#{call + 1}", "decision", "denied", **denied)
        edited = {**DECIDED, "worker": "main", "allowed": False, "changed": {"path": "b"}}
        add(f"{entry}/edit_file#1", "decision", "denied", **edited)
        add(entry, "end", "completed", error=None)
        journal.commit()


@pytest.fixture
def used(tmp_path: Path) -> Path:
    root = workspace(tmp_path)
    kept(root, "main", 3, cost="0.25", questions=2)
    kept(root, "main", 3, cost=None, refused=1)
    kept(root, "triage", 3, cost="0.5")
    kept(root, "triage", 1, cost=None)
    return root


def day(days_ago: int) -> str:
    return f"{datetime.fromtimestamp(time.time() - days_ago * DAY, UTC):%Y-%m-%d}"


def test_days_are_added_up_by_entry(serve: Serve, used: Path) -> None:
    status, answer = api(serve(used), "/api/days?since=7d")
    assert (status, answer["first"]) == (200, day(7))
    keys = ("name", "runs", "cost_usd", "unpriced", "questions", "refusals")
    assert [
        (each["day"], [[total[key] for key in keys] for total in each["entries"]]) for each in answer["days"]
    ] == [
        (day(3), [["main", 2, "0.25", 1, 2, 1], ["triage", 1, "0.5", 0, 0, 0]]),
        (day(1), [["triage", 1, None, 1, 0, 0]]),
    ]


@pytest.mark.browser
def test_charts_have_every_day_and_say_what_has_no_price(page: Page, serve: Serve, used: Path) -> None:
    serve(used).open(page, "#/totals?since=7d")
    charts = page.locator("figure.chart")
    expect(charts).to_have_count(4)
    expect(page.locator(".chart-legend li")).to_have_text(["main", "triage"])
    labels = page.locator("figure.chart svg").evaluate_all(
        "all => all.map(one => one.getAttribute('aria-label'))"
    )
    assert labels == [
        f"Runs: 4 in all, most of it {day(3)}: 3",
        f"Cost: $0.75 in all, most of it {day(3)}: $0.75; 2 requests without a price",
        f"Questions: 2 in all, most of it {day(3)}: 2",
        f"Refusals: 1 in all, most of it {day(3)}: 1",
    ]
    expect(charts.nth(0).locator("svg rect")).to_have_count(3)
    assert charts.nth(0).locator("svg").get_attribute("viewBox") == "0 -8 8 108", (
        "eight days, five of them without a run"
    )
    expect(charts.nth(1).locator("rect.unknown")).to_have_count(2)
    page.get_by_text("The charts as a table").click()
    rows = page.locator(".chart-table tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.children].map(cell => cell.textContent))"
    )
    assert rows == [
        *([day(ago), "no run", "0", "$0.00", "0", "0"] for ago in (7, 6, 5, 4)),
        [day(3), "main", "2", "$0.25 and 1 request without a price", "2", "1"],
        [day(3), "triage", "1", "$0.50", "0", "0"],
        [day(2), "no run", "0", "$0.00", "0", "0"],
        [day(1), "triage", "1", "no price", "0", "0"],
        [day(0), "no run", "0", "$0.00", "0", "0"],
    ]


@pytest.mark.long
@pytest.mark.browser
def test_a_year_is_drawn_by_weeks_and_where_no_price_is_known_no_cost_is(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    root = workspace(tmp_path)
    for number in range(8):
        kept(root, f"entry_{number}", 20 * number, cost=None)
    serve(root).open(page, "#/totals?since=365d")
    charts = page.locator("figure.chart")
    expect(charts.nth(1)).to_have_text(
        "Cost no priceThe price of no request is known, so that nothing can be drawn."
    )
    assert (charts.nth(0).locator("svg").get_attribute("viewBox") or "").split()[2] == "53"
    expect(page.locator(".chart-legend li").last).to_have_text("3 other entries")
    expect(page.locator("details summary")).to_have_text("The charts as a table, by week in UTC")


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.window(bypass_csp=True)
def test_axe_finds_nothing_on_charts(page: Page, serve: Serve, used: Path, axe: str) -> None:
    serve(used).open(page)
    check_in_both_themes(page, axe, ["#/totals?since=7d", "#/totals?since=365d&by=entry"])
    go(page, "#/totals?since=7d")
    page.get_by_text("The charts as a table").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
