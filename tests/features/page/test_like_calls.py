"""Like calls in a real browser: side by side, ticked one by one, answered at once, each by its own digest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from llmdo.journal import Runs
from tests.features.page.conftest import Served, go
from tests.features.page.test_access import axe, findings
from tests.features.page.test_runs import LONG, SLOW, api, asked, llmdo_elsewhere, question_at
from tests.journal.test_waits import thought_about
from tests.support.asking import files, path_of, workspace
from tests.support.sourced import sourced

__all__ = ["axe", "thought_about"]

Serve = Callable[..., Served]


@pytest.mark.browser
@pytest.mark.window(bypass_csp=True)
def test_like_calls_are_ticked_and_allowed_by_keyboard_alone(
    page: Page, serve: Serve, tmp_path: Path, axe: str
) -> None:
    root = workspace(tmp_path)
    asked(root)
    serve(root).open(page, "#/inbox")
    card = page.locator(".question")
    expect(page.locator(".waiting-row")).to_have_count(1)
    expect(card.locator("tbody tr")).to_have_count(3)
    expect(card.locator("tbody tr").nth(1)).to_contain_text("out/1.txt")
    expect(card.locator("tbody tr").nth(1)).to_contain_text("too short to tell")
    expect(card.get_by_role("button", name="Allow 0")).to_be_disabled()
    assert findings(page, axe) == []
    page.keyboard.press("t")
    expect(card.get_by_role("button", name="Allow 3")).to_be_enabled()
    box = card.get_by_role("checkbox", name="call 2")
    for _ in range(60):
        page.keyboard.press("Tab")
        if box.evaluate("box => box === document.activeElement"):
            break
    page.keyboard.press("Space")
    page.keyboard.press("a")
    allow = card.get_by_role("button", name="Allow 2")
    expect(allow).to_be_focused()
    expect(allow).to_contain_text("Enter confirms")
    assert findings(page, axe) == []
    page.keyboard.press("Enter")
    expect(card).to_contain_text("2 calls allowed.")
    expect(card.locator("tbody tr").nth(0)).to_contain_text("allowed")
    page.keyboard.press("t")
    page.keyboard.press("x")
    page.get_by_label("Why not?").fill("not now")
    page.keyboard.press("Enter")
    expect(card).to_contain_text("1 call refused.", timeout=SLOW)
    go(page, f"#/run/{Runs(root).names()[-1]}")
    expect(page.locator(".badge")).to_have_text("completed", timeout=SLOW)
    assert files(root) == {"0.txt": "0", "2.txt": "2"}


@pytest.mark.browser
def test_of_like_calls_those_that_wait_no_more_say_so_and_the_others_are_kept(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    root = workspace(tmp_path)
    asked(root)
    serve(root).open(page, f"{question_at(root, 1)}?like=1")
    card = page.locator(".question")
    expect(card.locator("tbody tr")).to_have_count(3)
    card.get_by_role("checkbox", name="all of them").check()
    assert llmdo_elsewhere(root, "approve", "last", "--no", path_of(2)).returncode == 3
    card.get_by_role("button", name="Allow 3").click()
    expect(card).to_contain_text("2 calls allowed.")
    expect(card.locator("tbody tr").nth(1).get_by_role("alert")).to_contain_text("answered it")
    go(page, f"#/run/{Runs(root).names()[-1]}")
    expect(page.locator(".badge")).to_have_text("completed", timeout=SLOW)
    assert files(root) == {"0.txt": "0", "2.txt": "2"}


@pytest.mark.browser
def test_no_call_is_allowed_of_which_a_part_is_folded(page: Page, serve: Serve, tmp_path: Path) -> None:
    root = workspace(tmp_path, number=2, content="{} " + LONG)
    asked(root)
    serve(root).open(page, "#/inbox")
    card = page.locator(".question")
    card.get_by_role("checkbox", name="call 1").check()
    expect(card.get_by_role("button", name="Allow 1")).to_be_disabled()
    expect(card).to_contain_text("1 part of these calls is folded.")
    expect(card).not_to_contain_text("line 30")
    card.get_by_role("button", name="Unfold all").click()
    expect(card).to_contain_text("line 30")
    expect(card.get_by_role("button", name="Allow 1")).to_be_enabled()
    card.get_by_role("checkbox", name="call 2").check()
    expect(card.get_by_role("button", name="Allow 2")).to_be_disabled()


def test_each_answer_is_for_its_own_digest(serve: Serve, tmp_path: Path) -> None:
    root = workspace(tmp_path)
    asked(root)
    served, run = serve(root), Runs(root).names()[-1]
    place = f"run={run}&path={path_of(1).replace('#', '%23').replace('/', '%2F')}"
    status, like = api(served, f"/api/like?{place}")
    assert (status, like["differing"], len({each["digest"] for each in like["calls"]})) == (
        200,
        ["path", "content"],
        3,
    )
    answers = [
        {"run": run, "path": each["path"], "digest": like["calls"][0]["digest"], "verb": "refuse"}
        for each in like["calls"]
    ]
    wrong: list[dict[str, object]] = [{}, {"answers": {}}, {"answers": [*answers, {}]}]
    for body in (*wrong, {"answers": answers, "verb": "allow"}):
        assert api(served, "/api/answers", body)[0] == 400
    assert len(api(served, "/api/inbox")[1]["waiting"]) == 3, "none is kept of what is no list of answers"
    status, outcome = api(served, "/api/answers", {"answers": answers})
    assert (status, [each.get("status") for each in outcome["answers"]]) == (200, [None, 409, 409])


def test_like_calls_for_a_terminal_alone_are_allowed_by_no_request(serve: Serve, tmp_path: Path) -> None:
    root = workspace(tmp_path, number=2, path="llmdo.toml", scope="**")
    asked(root)
    served = serve(root)
    groups = api(served, "/api/inbox")[1]["groups"]
    assert [len(group["calls"]) for group in groups] == [2]
    assert "terminal" in groups[0]["obstacle"]
    first = groups[0]["calls"][0]
    place = f"run={first['run']}&path={first['path'].replace('#', '%23').replace('/', '%2F')}"
    answers = [
        {"run": first["run"], "path": each["path"], "digest": each["digest"], "verb": "allow"}
        for each in api(served, f"/api/like?{place}")[1]["calls"]
    ]
    outcome = api(served, "/api/answers", {"answers": answers})[1]
    assert [each["status"] for each in outcome["answers"]] == [403, 403]


@pytest.mark.browser
@pytest.mark.window(bypass_csp=True)
def test_a_question_says_where_its_values_come_from_and_what_waits(
    page: Page, serve: Serve, tmp_path: Path, axe: str
) -> None:
    root = sourced(tmp_path)
    assert llmdo_elsewhere(root, "lock").returncode == 0
    assert llmdo_elsewhere(root, "run", "main", "--approvals", "later").returncode == 3
    serve(root).open(page, "#/inbox")
    card = page.locator(".question")
    for words in ("to: read_file (main/read_file#1)", "note: not known", "urgent: too short to tell"):
        expect(card).to_contain_text(words)
    expect(card).to_contain_text("read_file (main/read_file#1) fs.read:mail/a.txt, label data.untrusted")
    expect(card).to_contain_text("Labels: data.untrusted.")
    expect(card).to_contain_text("its run stands still until there is an answer")
    assert findings(page, axe) == []


@pytest.mark.browser
def test_a_call_does_not_take_what_a_person_thought(page: Page, serve: Serve, thought_about: Path) -> None:
    run = Runs(thought_about).names()[-1]
    serve(thought_about).open(page, f"#/run/{run}")
    took = page.locator(".call:not(.is-request) .call-took")
    expect(took).to_have_count(3)
    assert all(text.endswith(" s") and "min" not in text for text in took.all_inner_texts())
    go(page, f"#/run/{run}/call/main/writer%231/write_file%231")
    expect(page.locator(".call-pane")).to_contain_text("waited 1 h 23 min for a person")


@pytest.mark.browser
def test_a_link_to_a_run_leads_to_its_question(page: Page, serve: Serve, tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1)
    for _ in range(2):
        asked(root)
    first, second = Runs(root).names()
    serve(root).open(page, f"#/inbox/{second}")
    expect(page.locator(".question tbody tr")).to_have_count(2)
    assert llmdo_elsewhere(root, "approve", second, "--no", path_of(1)).returncode == 0
    go(page, "#/inbox")
    go(page, f"#/inbox/{second}")
    expect(page.locator(".beside")).to_contain_text("Nothing of this run waits any more.")
    go(page, f"#/inbox/{first}")
    expect(page.locator(".question")).to_contain_text(first)


@pytest.mark.browser
def test_the_bar_and_the_title_of_the_window_say_how_many_wait(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    root = workspace(tmp_path)
    asked(root)
    serve(root).open(page, "#/runs")
    link = page.get_by_role("navigation", name="Views").get_by_role("link", name="Inbox")
    expect(link).to_have_text("Inbox (3)")
    expect(page).to_have_title("(3) Runs · asking · llmdo")
    assert llmdo_elsewhere(root, "approve", "last", "--no", path_of(1)).returncode == 3
    go(page, "#/inbox")
    expect(link).to_have_text("Inbox (2)")
    expect(page).to_have_title("(2) Inbox · asking · llmdo")
