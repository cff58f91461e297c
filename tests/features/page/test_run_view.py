"""The view of one run in a real browser: its calls and requests on one time, their messages, its errors alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from llmdo.journal import Runs
from tests.features.page.conftest import Served
from tests.features.page.test_runs import allowing, api, asked, llmdo_elsewhere
from tests.support.asking import path_of, workspace

pytestmark = pytest.mark.browser

Serve = Callable[..., Served]

MEASURED = """
import time
from pydantic_ai.usage import RequestUsage


def measured(messages, info):
    time.sleep(0.05)
    response = answer(messages, info)
    response.usage = RequestUsage(input_tokens=1000 + len(messages), output_tokens=7)
    return response


rules = FunctionModel(measured)
"""
FAILING = """
from pydantic_ai.exceptions import ModelHTTPError


def failing(messages, info):
    if "1" in str(messages[0].parts[-1].content):
        raise ModelHTTPError(418, "a teapot")
    return answer(messages, info)


rules = FunctionModel(failing)
"""


def with_models(root: Path, more: str) -> Path:
    with (root / "models.py").open("a", encoding="utf-8") as models:
        models.write(more)
    return root


def spans(page: Page) -> list[tuple[float, float]]:
    """Where the bar of each row that is drawn begins and ends, in pixels of the window."""
    script = "rows => rows.map(row => row.querySelector('.bar').getBoundingClientRect()).map(r => [r.left, r.right])"
    return [(left, right) for left, right in page.locator(".call").evaluate_all(script)]


def test_messages_tokens_and_a_waterfall_are_there_without_a_click(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    root = with_models(allowing(tmp_path, 1), MEASURED)
    assert llmdo_elsewhere(root, "run", "main").returncode == 0
    serve(root).open(page, f"#/run/{Runs(root).names()[-1]}")
    names = ["main", "request 1", "writer#1", "request 1", "write_file#1", "request 2", "request 2"]
    expect(page.locator(".call .call-name")).to_contain_text(names)
    tokens = page.locator(".call .call-tokens").all_inner_texts()
    assert tokens == ["2,004 + 14", "1,001 + 7", "2,004 + 14", "1,001 + 7", "", "1,003 + 7", "1,003 + 7"]
    whole, first, writer, its_first, write, its_second, second = spans(page)
    for above, below in ((whole, first), (whole, writer), (writer, its_first), (writer, write)):
        assert above[0] <= below[0] + 1, "a bar begins within that of its caller"
        assert below[1] <= above[1] + 1
    assert first[1] <= writer[0] + 1
    assert its_first[1] <= write[0] + 1
    assert write[1] <= its_second[0] + 1
    assert its_second[1] <= second[0] + 1
    assert page.locator(".axis .tick").first.inner_text() == "0 s"
    requests = page.locator(".messages .request")
    expect(requests).to_have_count(4)
    expect(requests.nth(0)).to_contain_text("Given · Input")
    expect(requests.nth(1)).to_contain_text("main/writer#1 Request 1")
    expect(requests.nth(1)).to_contain_text("1,001 + 7")
    expect(requests.nth(2)).to_contain_text("created out/0.txt")
    expect(requests.nth(3)).to_contain_text("Answered · Text")
    expect(requests.nth(0)).to_contain_text("instructions")
    expect(requests.nth(3)).not_to_contain_text("instructions")  # they are above, and the same


@pytest.mark.long
def test_a_request_is_chosen_by_keys_and_has_an_address(page: Page, serve: Serve, tmp_path: Path) -> None:
    root = allowing(tmp_path, 1)
    assert llmdo_elsewhere(root, "run", "main").returncode == 0
    run = Runs(root).names()[-1]
    serve(root).open(page, f"#/run/{run}")
    expect(page.locator(".messages .request")).to_have_count(4)
    for _ in range(6):
        page.keyboard.press("j")
    assert page.url.endswith(f"#/run/{run}/call/main/writer%231?request=2")
    expect(page.locator(".messages .request")).to_have_count(1)
    expect(page.locator(".messages")).to_contain_text("created out/0.txt")
    expect(page.locator(".messages")).to_contain_text("instructions")  # alone, so that nothing is above it
    page.reload()
    expect(page.locator('.call[aria-selected="true"]')).to_contain_text("request 2")
    expect(page.locator(".messages")).to_contain_text("created out/0.txt")
    page.keyboard.press("h")
    expect(page.locator(".call-pane h2")).to_have_text("main/writer#1")
    expect(page.locator(".messages .request")).to_have_count(2)
    page.get_by_label("Replay", exact=True).fill("8")
    expect(page.locator(".messages .request")).to_have_count(1)


def test_e_shows_errors_alone_and_again_all(page: Page, serve: Serve, tmp_path: Path) -> None:
    root = with_models(allowing(tmp_path, 3), FAILING)
    llmdo_elsewhere(root, "run", "main")
    run = Runs(root).names()[-1]
    serve(root).open(page, f"#/run/{run}")
    expect(page.get_by_role("button", name="Errors alone: 2")).to_be_visible()
    every = page.locator(".call").count()
    assert every > 2
    page.keyboard.press("e")
    expect(page.locator(".call")).to_have_count(2)
    assert page.url.endswith("?errors=1")
    expect(page.locator(".call .call-name")).to_have_text(["main/writer#2", "main/writer#2/request 1"])
    expect(page.locator(".call").first).to_contain_text("teapot")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.url.endswith(f"#/run/{run}/call/main/writer%232?attempt=1&errors=1")
    expect(page.locator(".messages .failed")).to_contain_text("418")
    page.reload()
    expect(page.locator(".call")).to_have_count(2)
    page.keyboard.press("e")
    expect(page.locator(".call")).to_have_count(every)
    expect(page.locator('.call[aria-selected="true"]')).to_contain_text("failed")


@pytest.mark.long
def test_where_nothing_went_wrong_errors_alone_are_none(page: Page, serve: Serve, tmp_path: Path) -> None:
    root = allowing(tmp_path, 1)
    assert llmdo_elsewhere(root, "run", "main").returncode == 0
    serve(root).open(page, f"#/run/{Runs(root).names()[-1]}?errors=1")
    expect(page.locator(".call-tree")).to_contain_text("Nothing went wrong in it.")
    expect(page.locator(".call")).to_have_count(0)
    page.get_by_role("button", name="All calls").click()
    expect(page.locator(".call")).to_have_count(7)


@pytest.mark.long
def test_the_time_of_a_person_is_set_apart_and_none_of_a_call(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    root = workspace(tmp_path, number=1)
    asked(root)
    assert llmdo_elsewhere(root, "approve", "last", "--yes", path_of(1)).returncode == 0
    assert llmdo_elsewhere(root, "resume", "last").returncode == 0
    run = Runs(root).names()[-1]
    serve(root).open(page, f"#/run/{run}")
    expect(page.locator(".badge")).to_have_text("completed")
    expect(page.locator(".call .bar.wait")).to_have_count(3)  # of the call, and of the two above it
    expect(page.locator(".axis .pause")).to_have_count(1)
    with Runs(root).read(run) as journal:
        at = {(entry.kind, entry.path): entry.at for entry in journal.entries()}
        ends = [entry.at for entry in journal.entries("end")]
        begins = [entry.at for entry in journal.entries("session")]
    stood = begins[1] - ends[0]
    whole = at["end", "main"] - at["run", "main"] - stood
    took = page.locator(".run-facts div").filter(has_text="Took").locator("dd").inner_text()
    assert abs(float(took.split()[0]) - whole) < 0.02, (took, whole, stood)
    own = page.locator(".call").nth(4).locator(".call-took").inner_text()
    assert float(own.split()[0]) <= ends[-1] - begins[1] + 0.01


@pytest.mark.long
@pytest.mark.timeout(240)
def test_of_a_long_run_messages_come_as_somebody_reads_on(page: Page, serve: Serve, tmp_path: Path) -> None:
    root = allowing(tmp_path, 30)
    assert llmdo_elsewhere(root, "run", "main").returncode == 0
    served = serve(root)
    served.open(page, f"#/run/{Runs(root).names()[-1]}")
    requests = page.locator(".messages .request")
    expect(requests).to_have_count(12)
    expect(page.locator(".messages")).to_contain_text("50 more requests")
    for _ in range(20):
        page.locator(".run-page .beside").evaluate("place => { place.scrollTop = place.scrollHeight }")
        page.wait_for_timeout(100)
        if requests.count() == 62:
            break
    expect(requests).to_have_count(62)
    expect(page.locator(".messages")).not_to_contain_text("more request")
    expect(requests.last).to_contain_text("created out/29.txt")


@pytest.mark.long
def test_requests_after_a_number_are_answered_alone(page: Page, serve: Serve, tmp_path: Path) -> None:
    del page
    root = allowing(tmp_path, 1)
    assert llmdo_elsewhere(root, "run", "main").returncode == 0
    served = serve(root)
    _, every = api(served, "/api/run/requests?run=last&path=main")
    _, later = api(served, "/api/run/requests?run=last&path=main&after=1")
    assert json.dumps(every["requests"][1:]) == json.dumps(later["requests"])
    assert len(every["requests"]) == 2
