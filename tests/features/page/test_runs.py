"""Runs in a real browser: what waits is answered there, and a run is watched as it grows."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from llmdo.features.page.subject import Subject
from llmdo.journal import Runs
from llmdo.journal.tree import full_tree, walk
from tests.features.page.conftest import Served, go, serving
from tests.runtime.test_truncation import cutting
from tests.support import asking, commands, forking
from tests.support.asking import files, path_of, workspace

SLOW = 60_000  # ms that a process may take to go on with a run on a busy machine
LONG = "".join(f"line {number}\n" for number in range(60))

Serve = Callable[..., Served]


def asked(root: Path) -> None:
    with ThreadPoolExecutor(1) as elsewhere:  # this thread may have the event loop of the browser
        elsewhere.submit(asking.asked, root).result()


def llmdo_elsewhere(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    with ThreadPoolExecutor(1) as elsewhere:
        return elsewhere.submit(commands.llmdo, root, *words).result()


def question_at(root: Path, number: int) -> str:
    run = Runs(root).names()[-1]
    return f"#/inbox/{run}/main/writer%23{number}/write_file%231"


def api(served: Served, path: str, body: object = None) -> tuple[int, Any]:
    """What the server answers a program that knows the token."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    headers = {"Authorization": f"Bearer {served.token}"}
    if body is None:
        connection.request("GET", path, headers=headers)
    else:
        headers["Content-Type"] = "application/json"
        connection.request("POST", path, json.dumps(body).encode(), headers)
    response = connection.getresponse()
    data = json.loads(response.read())
    connection.close()
    return response.status, data


def allowing(root: Path, number: int) -> Path:
    workspace(root, number=number)
    manifest = (root / "llmdo.toml").read_text(encoding="utf-8")
    limits = 'limits = { requests = 5000 }\n\n[approvals.rules]\n"fs.write" = "allowed"\n'
    (root / "llmdo.toml").write_text(manifest + limits, encoding="utf-8")
    return root


@pytest.mark.browser
def test_a_question_is_shown_whole_and_allowed_only_once_it_was_unfolded(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    root = workspace(tmp_path, number=1, content=LONG + "rm -rf \u202e~")
    asked(root)
    serve(root).open(page, "#/inbox")
    card = page.locator(".question")
    expect(card).to_contain_text("write_file of filesystem")
    expect(card).to_contain_text("main › writer#1 › write_file#1")  # noqa: RUF001
    allow = card.get_by_role("button", name="Allow", exact=True)
    expect(allow).to_be_disabled()
    expect(card).not_to_contain_text("line 30")
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    card.get_by_role("button", name="more lines").first.click()
    expect(card).to_contain_text("line 30")
    expect(card.locator(".spelled").first).to_have_text("\\u{202e}")
    if card.get_by_role("button", name="Unfold all").count():
        page.keyboard.press("u")
    expect(allow).to_be_enabled()
    page.keyboard.press("a")
    expect(allow).to_be_focused()
    page.keyboard.press("Enter")
    expect(card).to_contain_text("Allowed. The run goes on.")
    go(page, f"#/run/{Runs(root).names()[-1]}")
    expect(page.locator(".badge")).to_have_text("completed", timeout=SLOW)
    assert files(root) == {"0.txt": LONG + "rm -rf \u202e~"}


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.timeout(240)
def test_three_questions_are_answered_over_a_restart_of_the_server(
    page: Page, tmp_path: Path, provoked: list[str]
) -> None:
    provoked.append("Failed to load resource")  # by a page whose server ended
    root = workspace(tmp_path)
    asked(root)
    card = page.locator(".question")
    with serving(Subject(project=str(root))) as first:
        first.open(page, question_at(root, 1))
        card.get_by_role("button", name="Allow", exact=True).click()
        expect(card).to_contain_text("Allowed. The run goes on.")
        card.get_by_role("button", name="Next question").click()
        expect(card).to_contain_text("2 like calls")
        card.locator("tbody a").first.click()
        expect(card).to_contain_text("writer#2")
        page.keyboard.press("e")
        page.get_by_label("The arguments, as JSON").fill('{"path": "out/edited.txt", "content": "by hand"}')
        page.get_by_role("button", name="Have this decided").click()
        expect(card).to_contain_text("Changed.", timeout=SLOW)
    with serving(Subject(project=str(root))) as second:
        second.open(page, question_at(root, 3))
        expect(card).to_contain_text("writer#3")
        page.keyboard.press("x")
        page.get_by_label("Why not?").fill("not now")
        page.keyboard.press("Enter")
        expect(card).to_contain_text("Refused.", timeout=SLOW)
        go(page, "#/inbox")
        expect(page.locator(".waiting-row")).to_have_count(1, timeout=SLOW)
        expect(card).to_contain_text("out/edited.txt")
        expect(card).to_contain_text("a person changed its arguments")
        card.get_by_role("button", name="Allow", exact=True).click()
        expect(card).to_contain_text("Allowed.", timeout=SLOW)
        go(page, f"#/run/{Runs(root).names()[-1]}")
        expect(page.locator(".badge")).to_have_text("completed", timeout=SLOW)
        go(page, "#/runs")
    assert files(root) == {"0.txt": "0", "edited.txt": "by hand"}
    with Runs(root).read(Runs(root).names()[-1]) as journal:
        calls = {node.path: node for node in walk(full_tree(journal))}
    assert next(call.changed for call in calls[path_of(2)].decisions) == {
        "path": "out/edited.txt",
        "content": "by hand",
    }
    assert "not now" in calls[path_of(3)].answer


@pytest.mark.long
@pytest.mark.browser
def test_an_answer_to_what_waits_no_more_is_answered_409(
    page: Page, serve: Serve, tmp_path: Path, provoked: list[str]
) -> None:
    root = workspace(tmp_path, number=1)
    asked(root)
    serve(root).open(page, "#/inbox")
    card = page.locator(".question")
    expect(card).to_contain_text("write_file")
    assert llmdo_elsewhere(root, "approve", "last", "--no", path_of(1)).returncode == 0
    provoked.append("status of 409")
    with page.expect_response(lambda response: response.status == 409):
        card.get_by_role("button", name="Allow", exact=True).click()
    expect(card.get_by_role("alert")).to_contain_text("answered it")
    expect(card.get_by_role("button", name="Refuse")).to_be_disabled()
    assert files(root) == {}


@pytest.mark.long
@pytest.mark.browser
def test_what_is_hostile_is_text(page: Page, serve: Serve, tmp_path: Path, provoked: list[str]) -> None:
    markup = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    root = workspace(
        tmp_path, number=1, path=f"out/{markup.replace('/', '')}\u202etxt", content=markup + "\x1b[2J"
    )
    asked(root)
    served = serve(root)
    served.open(page, "#/inbox")
    expect(page.locator(".question")).to_contain_text("<script>alert(2)</script>\\u{1b}[2J")
    run = Runs(root).names()[-1]
    go(page, f"#/run/{run}/call/main/writer%231/write_file%231")
    expect(page.locator(".call-pane")).to_contain_text("<img src=x onerror=alert(1)>")
    provoked.append("status of 422")
    with page.expect_response(lambda response: response.status == 422):
        go(page, f"#/run/{run}/call/{'%3Cscript%3E'}")
    expect(page.locator(".beside")).to_contain_text("No such call")
    assert page.locator("main img, main script").count() == 0


@pytest.mark.browser
def test_a_run_whose_output_was_cut_off_says_so(page: Page, serve: Serve, tmp_path: Path) -> None:
    root = cutting(tmp_path, "content_filter")
    assert llmdo_elsewhere(root, "run", "main", "x").returncode == 0
    serve(root).open(page, "#/runs?status=truncated")
    expect(page.locator("tbody td.status")).to_have_text("truncated")
    page.locator("tbody a").first.click()
    expect(page.locator(".badge")).to_have_text("truncated")
    expect(page.locator(".run-news")).to_have_text(
        "The output is not complete: a content filter of its provider ended it"
    )


def test_a_protected_call_cannot_be_allowed_by_any_request(serve: Serve, tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1, path="llmdo.toml", scope="**")
    asked(root)
    before = (root / "llmdo.toml").read_bytes()
    served, run = serve(root), Runs(root).names()[-1]
    place = f"run={run}&path={path_of(1).replace('#', '%23').replace('/', '%2F')}"
    status, question = api(served, f"/api/question?{place}")
    assert (status, question["terminal_only"]) == (200, True)
    answer = {"run": run, "path": path_of(1), "digest": question["digest"]}
    for verb in ("allow", "always"):
        status, why = api(served, "/api/answer", {**answer, "verb": verb})
        assert (status, "person at a terminal" in why["error"]) == (403, True)
    for more in ({"at_terminal": True}, {"allowed": True}, {"by": "root"}, {"lasts": True}):
        assert api(served, "/api/answer", {**answer, "verb": "allow", **more})[0] == 400
    assert (root / "llmdo.toml").read_bytes() == before
    with Runs(root).read(run) as journal:
        assert journal.counted().get("answered") is None


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ([], 400),
        ({"run": "last"}, 400),
        ({"run": "last", "path": 1, "digest": "", "verb": "allow"}, 400),
        ({"run": "last", "path": "main", "digest": "", "verb": "yes"}, 400),
        ({"run": "nothing", "path": "main", "digest": "", "verb": "allow"}, 403),
        ({"run": "../../x", "path": "main", "digest": "", "verb": "allow"}, 403),
        ({"run": "last", "path": path_of(1), "digest": "sha256:0", "verb": "allow"}, 409),
        ({"run": "last", "path": "main", "digest": "sha256:0", "verb": "stop"}, 409),
        ({"run": "last", "path": path_of(1), "digest": "sha256:0", "verb": "stop"}, 409),
        ({"run": "last", "path": path_of(1), "digest": "sha256:0", "verb": "edit", "instead": []}, 400),
        ({"run": "last", "path": path_of(1), "digest": "sha256:0", "verb": "edit"}, 403),
        ({"run": "last", "path": path_of(1), "digest": "sha256:0", "verb": "allow", "instead": {}}, 403),
        ({"run": "last", "path": path_of(1), "digest": "", "verb": "allow", "allowed": True}, 400),
    ],
)
def test_what_is_no_answer_to_what_waits_is_refused(
    serve: Serve, tmp_path: Path, body: object, status: int
) -> None:
    root = workspace(tmp_path, number=1)
    asked(root)
    assert api(serve(root), "/api/answer", body)[0] == status
    assert files(root) == {}


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "asked",
    [
        "/api/run/events?run=last&after=x",
        "/api/run/events?run=last&after=-1",
        f"/api/run/watch?run=last&after={'9' * 40}",
        "/api/totals?by=colour",
        "/api/run/call?run=last",
        "/api/runs?state=waiting",
    ],
)
def test_a_place_or_a_choice_that_is_none_is_refused(serve: Serve, tmp_path: Path, asked: str) -> None:
    served = serve(workspace(tmp_path, number=1))
    commands.llmdo(tmp_path, "run", "main", "--approvals", "later")
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    connection.request("GET", asked, headers={"Authorization": f"Bearer {served.token}"})
    response = connection.getresponse()
    content = response.read()
    connection.close()
    assert b"not a place in a journal" in content or response.status == 400, content


def test_an_answer_to_a_run_that_goes_on_is_423_and_not_kept(serve: Serve, tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1)
    asked(root)
    run = Runs(root).names()[-1]
    served = serve(root)
    with Runs(root).claim(run):
        body = {"run": run, "path": path_of(1), "digest": "sha256:0", "verb": "allow"}
        assert api(served, "/api/answer", body)[0] == 423


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.timeout(240)
def test_a_live_run_of_200_calls_is_seen_without_a_lost_event(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    root = allowing(tmp_path, 100)
    served = serve(root)
    served.open(page, "#/runs")
    with forking.Popen(
        [sys.executable, "-m", "llmdo", "run", "main"],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while not Runs(root).names() or api(served, "/api/run?run=last")[0] != 200:
            assert process.poll() is None
        run = Runs(root).names()[-1]
        go(page, f"#/run/{run}")
        expect(page.locator(".badge")).to_have_text("completed", timeout=SLOW)
        assert process.wait(60) == 0
    silent = {"kept", "sources", "history", "messages"}
    with Runs(root).read(run) as journal:
        recorded = sum(row.entry.kind not in silent for row in journal.rows())
        calls = sum(1 for _ in walk(full_tree(journal)))
    assert page.evaluate("Number(document.body.dataset.events)") == recorded
    assert calls == 201
    expect(page.locator(".run-facts")).to_contain_text("201")


@pytest.mark.long
@pytest.mark.browser
def test_a_run_is_gone_through_by_keyboard_and_replayed(page: Page, serve: Serve, tmp_path: Path) -> None:
    root = allowing(tmp_path, 3)
    assert llmdo_elsewhere(root, "run", "main").returncode == 0
    run = Runs(root).names()[-1]
    serve(root).open(page, f"#/run/{run}")
    rows = page.locator(".call")
    expect(rows).to_have_count(7 + 8)
    for _ in range(5):
        page.keyboard.press("j")
    expect(page.locator('.call[aria-selected="true"]')).to_contain_text("write_file#1")
    expect(page.locator(".call-pane")).to_contain_text("created out/0.txt")
    assert page.url.endswith(f"#/run/{run}/call/main/writer%231/write_file%231")
    page.keyboard.press("h")
    page.keyboard.press("h")
    expect(rows).to_have_count(7 + 8 - 3)
    page.keyboard.press("l")
    slider = page.get_by_label("Replay")
    last = int(slider.get_attribute("max") or 0)
    page.keyboard.press("[")
    expect(slider).to_have_value(str(last - 1))
    expect(page.locator(".badge")).to_have_text("replayed")
    slider.fill("3")
    expect(rows).to_have_count(1)
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("f")
    expect(rows).to_have_count(7 + 8)
    expect(page.locator(".badge")).to_have_text("completed")
    page.reload()
    expect(page.locator(".call-pane")).to_contain_text("main/writer#1")
