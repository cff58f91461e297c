"""Batches, runs over time and two runs side by side, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from llmdo.journal import Runs
from llmdo.journal.spent import spent
from llmdo.journal.tree import tree, walk
from llmdo.services.runs import metrics
from tests.features.page.conftest import Served, go
from tests.features.page.test_runs import SLOW, allowing, api, llmdo_elsewhere
from tests.support import asking, commands
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
    page: Page, serve: Serve, tmp_path: Path, provoked: list[str]
) -> None:
    batched(tmp_path)
    serve(tmp_path).open(page, "#/batches")
    page.locator("tbody a").first.click()
    rows = page.locator(".item")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("failed")
    expect(rows.nth(0).locator("input")).to_have_count(0)
    for row in rows.all():
        expect(row.locator(".number").nth(1)).to_have_text("1 try")
        expect(row.locator(".number").nth(2)).to_have_text(re.compile(r"^\d+\.\d\d s$"))
    buttons = page.locator(".batch-tools button")
    expect(buttons).to_have_text(["Retry all 1 that failed"])
    (tmp_path / "fails").unlink()
    rows.nth(1).locator("input").check()
    expect(buttons).to_have_text(["Retry 1 chosen item", "Retry all 1 that failed"])
    page.get_by_role("button", name="Retry 1 chosen item").click()
    expect(page.locator(".lead")).to_contain_text("3 completed", timeout=SLOW)
    expect(rows.nth(1)).to_contain_text("2 tries")
    expect(buttons).to_have_count(0)  # nothing is left that one of them could do
    batch = page.url.rpartition("/")[2]
    expect(rows.nth(2).locator(".call-text .dim")).to_have_text("three")  # its title
    rows.nth(2).locator("a").click()
    expect(page.locator(".heading h1")).to_have_text("three")
    page.locator(".heading a.mono").click()
    assert page.url.endswith(f"#/batch/{batch}")
    page.goto(page.url.replace(f"batch/{batch}", "runs"))
    expect(page.locator("tbody .below a")).to_have_count(3)
    search = page.get_by_role("searchbox")
    search.fill("item ~ t and title != two")
    search.press("Enter")
    expect(page.locator("tbody .below a")).to_have_text(["three"])
    page.reload()
    expect(search).to_have_value("item ~ t and title != two")
    provoked.append("status of 422")
    search.fill("tilte ~ t")
    search.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("did you mean title?")
    search.fill("")
    search.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(3)


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.timeout(240)
def test_every_button_of_a_batch_does_what_it_says_or_says_why_not(
    page: Page, serve: Serve, tmp_path: Path, provoked: list[str]
) -> None:
    batched(tmp_path)
    served = serve(tmp_path)
    served.open(page, f"#/batch/{api(served, '/api/batches')[1]['batches'][0]['batch']}")
    page.get_by_role("button", name="Retry all 1 that failed").click()
    expect(page.locator(".item").nth(1)).to_contain_text("2 tries", timeout=SLOW)
    expect(page.locator(".item").nth(1)).to_contain_text("failed", timeout=SLOW)
    page.get_by_role("button", name="Retry all 1 that failed").wait_for(timeout=SLOW)
    provoked.append("status of 409")
    page.route(
        "**/api/batch/retry",
        lambda route: route.fulfill(status=409, body='{"error": "it is busy", "hint": "wait"}'),
    )
    page.keyboard.press("c")
    page.keyboard.press("t")
    expect(page.get_by_role("alert")).to_have_text("it is busy wait")
    expect(page.get_by_role("button", name="Retry 1 chosen item")).to_be_enabled()  # it can be tried again
    page.unroute("**/api/batch/retry")


@pytest.mark.long
def test_the_time_of_runs_is_that_of_their_processes(serve: Serve, tmp_path: Path) -> None:
    batched(tmp_path)
    served = serve(tmp_path)
    batch = api(served, "/api/batches")[1]["batches"][0]["batch"]
    runs = [item["run"] for item in api(served, f"/api/batch?batch={batch}")[1]["items"]]
    status, answer = api(served, f"/api/batch/took?runs={','.join([*runs, 'nothing'])}")
    assert status == 200
    assert [*answer["seconds"]] == [*runs, "nothing"]
    assert answer["seconds"].pop("nothing") is None
    with Runs(tmp_path).read(runs[0]) as journal:
        assert answer["seconds"][runs[0]] == spent(journal).seconds > 0
    assert api(served, f"/api/batch/took?runs={',' * 200}")[0] == 400


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
    expect(page.get_by_role("region", name="By worker")).to_contain_text("writer")
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


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.timeout(240)
def test_what_waits_says_which_item_it_is_for(page: Page, serve: Serve, tmp_path: Path) -> None:
    asking.workspace(tmp_path, number=1)
    (tmp_path / "in.jsonl").write_text('{"id": "order-7", "text": "a letter"}\n', encoding="utf-8")
    llmdo_elsewhere(tmp_path, "batch", "main", "--inputs", "in.jsonl", "--key", "id", "--input", "{text}")
    served = serve(tmp_path)
    for view in ("#/inbox", "#/"):
        served.open(page, view)
        expect(page.get_by_text("[order-7] a letter").first).to_be_visible()
