"""Batches, runs over time and two runs side by side, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from llmdo.journal import Runs
from llmdo.journal.tree import tree, walk
from llmdo.services.runs import metrics
from tests.features.page.conftest import Served, go
from tests.features.page.test_runs import SLOW, allowing, api, llmdo_elsewhere
from tests.support import commands
from tests.support.waiting import until

Serve = Callable[..., Served]


def batched(root: Path) -> None:
    """A workspace with a batch of three items, of which the second fails as long as there is a file `fails`."""
    allowing(root, 1)
    models = (root / "models.py").read_text(encoding="utf-8")
    failing = 'if "two" in str(text) and (Path(__file__).parent / "fails").exists(): raise ValueError("no")'
    models = models.replace("    if returns:\n", f"    {failing}\n    if returns:\n")
    (root / "models.py").write_text(f"from pathlib import Path\n{models}", encoding="utf-8")
    with (root / "llmdo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write('\n[entries.write]\nworker = "writer"\n')
    (root / "fails").touch()
    lines = [json.dumps({"key": key, "text": key}) for key in ("one", "two", "three")]
    (root / "in.jsonl").write_text("\n".join(lines), encoding="utf-8")
    words = ("batch", "write", "--inputs", "in.jsonl", "--key", "key", "--input", "{text}")
    done = llmdo_elsewhere(root, *words)
    assert "2 completed" in done.stderr, done.stderr


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.timeout(240)
def test_items_of_a_batch_that_failed_are_chosen_and_taken_once_more(
    page: Page, serve: Serve, tmp_path: Path, problems: list[str]
) -> None:
    batched(tmp_path)
    serve(tmp_path).open(page, "#/batches")
    page.locator("tbody a").first.click()
    rows = page.locator(".item")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("failed")
    expect(rows.nth(0).locator("input")).to_have_count(0)
    (tmp_path / "fails").unlink()
    rows.nth(1).locator("input").check()
    page.get_by_role("button", name="Retry 1 chosen item").click()
    expect(page.locator(".lead")).to_contain_text("3 completed", timeout=SLOW)
    expect(rows.nth(1)).to_contain_text("try 2")
    batch = page.url.rpartition("/")[2]
    expect(rows.nth(2).locator(".call-text .dim")).to_have_text("three")  # its title
    rows.nth(2).locator("a").click()
    expect(page.locator(".heading h1")).to_have_text("three")
    page.locator(".heading a").click()
    assert page.url.endswith(f"#/batch/{batch}")
    page.goto(page.url.replace(f"batch/{batch}", "runs"))
    expect(page.locator("tbody .below a")).to_have_count(3)
    search = page.get_by_role("searchbox")
    search.fill("item ~ t and title != two")
    search.press("Enter")
    expect(page.locator("tbody .below a")).to_have_text(["three"])
    page.reload()
    expect(search).to_have_value("item ~ t and title != two")
    search.fill("tilte ~ t")
    search.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("did you mean title?")
    assert [problem for problem in problems if "422" not in problem] == []
    problems.clear()
    search.fill("")
    search.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(3)


@pytest.mark.long
def test_only_items_that_failed_are_taken_once_more(serve: Serve, tmp_path: Path) -> None:
    batched(tmp_path)
    served = serve(tmp_path)
    for items in (["one"], ["nothing"], ["--unsure=again"]):
        assert api(served, "/api/batch/retry", {"batch": "last", "items": items})[0] == 422
    for body in ([], {"batch": 1}, {"batch": "last", "items": [1]}, {"batch": "last", "more": 1}):
        assert api(served, "/api/batch/retry", body)[0] == 400
    refused = commands.llmdo(tmp_path, "batch", "retry", "last", "--item", "thre")
    assert (refused.returncode, "`three`" in refused.stderr) == (2, True)
    (tmp_path / "fails").unlink()
    assert "3 completed" in commands.llmdo(tmp_path, "batch", "retry", "last", "--item", "two").stderr


def test_decisions_are_counted_by_rule_and_calls_by_time(tmp_path: Path) -> None:
    root = allowing(tmp_path, 3)
    assert commands.llmdo(root, "run", "main").returncode == 0
    outcome = metrics(root, 0, pytest.fail)
    assert outcome.runs == 1
    counted = {line.reason: (line.decision, line.allowed, line.denied) for line in outcome.decisions}
    assert counted == {
        '"agent.delegate" = "allowed" (built in)': ("allowed", 3, 0),
        '"fs.write" = "allowed" (llmdo.toml:14)': ("allowed", 3, 0),
    }
    assert sorted(call.path for call in outcome.slowest) == [
        f"main/writer#{n}/write_file#1" for n in (1, 2, 3)
    ]
    seconds = [call.seconds for call in outcome.slowest]
    assert seconds == sorted(seconds, reverse=True)
    assert outcome.dearest == ()
    assert metrics(root, 4e12, pytest.fail).runs == 0


def test_the_slowest_calls_of_tools_are_those_of_all_runs_however_long_workers_took(tmp_path: Path) -> None:
    root = allowing(tmp_path, 30)
    for _ in range(2):
        assert commands.llmdo(root, "run", "main").returncode == 0
    tools: dict[tuple[str, str], float] = {}
    for journal in Runs(root).each():
        calls = (node for node in walk(tree(journal)) if node.worker is None and not node.only_decided)
        tools.update({(journal.run, node.path): node.ended - node.began for node in calls})
    slowest = metrics(root, 0, pytest.fail).slowest
    assert [call.seconds for call in slowest] == sorted(tools.values(), reverse=True)[:20]


@pytest.mark.long
@pytest.mark.browser
def test_runs_are_added_up_and_two_are_compared(page: Page, serve: Serve, tmp_path: Path) -> None:
    root = allowing(tmp_path, 2)
    assert llmdo_elsewhere(root, "run", "main").returncode == 0
    text = (root / "models.py").read_text(encoding="utf-8")
    (root / "models.py").write_text(text.replace("= 2, ", "= 3, "), encoding="utf-8")
    assert llmdo_elsewhere(root, "run", "main").returncode == 0
    serve(root).open(page, "#/totals?by=worker")
    expect(page.locator("tbody").first).to_contain_text("writer")
    expect(page.get_by_role("region", name="Decisions by rule")).to_contain_text("agent.delegate")
    go(page, "#/runs")
    for box in page.locator("tbody input").all():
        box.check()
    page.get_by_role("button", name="Compare two").click()
    expect(page.locator(".virtual .pair")).to_have_count(7)
    expect(page.locator(".side.none")).to_have_count(2)
    page.keyboard.press("n")
    expect(page.locator(".pair.is-at")).to_have_count(1)
    before, after = Runs(root).names()
    assert page.url.endswith(f"#/compare/{before}/{after}")


@pytest.mark.browser
def test_a_view_that_loads_again_is_not_there_before_its_answer(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    serve(allowing(tmp_path, 1)).open(page, "#/totals")
    held: list[Route] = []
    page.route("**/api/totals?by=worker*", lambda route: held.append(route))  # it is looked into
    page.evaluate("location.hash = '#/totals?by=worker'")
    expect(page.get_by_text("Loading")).to_be_visible()
    expect(page.locator("body[data-ready]")).to_have_count(0)
    until(lambda: page.evaluate("0") == 0 and held)  # what a browser tells is heard while it is asked
    held[0].continue_()
    expect(page.locator("body[data-ready]")).to_have_count(1)
    expect(page.locator("h1")).to_have_text("Over time")
