"""Sessions of other clients in the page: a list, and the decisions of one; nothing of theirs is more than text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from llmdo.features.hook.view import LONGEST_TEXT, MOST_DECISIONS
from tests.features.hook.conftest import MANIFEST
from tests.features.hook.sessions import Session, write
from tests.features.hook.test_kept import HOSTILE as JOURNALS
from tests.features.hook.test_kept import NAME, decided, forged, keep, worked
from tests.features.page.conftest import Served, go
from tests.features.page.test_access import axe, check_in_both_themes
from tests.features.page.test_hostile_names import HOSTILE
from tests.features.page.test_runs import api

__all__ = ["axe"]

Serve = Callable[..., Served]
EVERYTHING = "".join(f"[{text}]" for text in HOSTILE.values())


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session of Claude Code in a project of two agents, of the person whom the page is for."""
    root = write(tmp_path / "shop", MANIFEST, triage="", fixer="Read, Edit, Write, Bash")
    session = Session(root, tmp_path / "home")
    session.home.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(session.home / ".local/state"))
    session.start()
    worked(session)
    return session


def hostile(**more: object) -> dict[str, object]:
    """A decision of which every text is hostile."""
    texts = {
        name: [EVERYTHING] if isinstance(value, list) else EVERYTHING
        for name, value in decided().items()
        if isinstance(value, str | list) and name not in ("kind", "decision", "time")
    }
    return decided(**{**texts, "arguments": {EVERYTHING: EVERYTHING, "deep": [{EVERYTHING: 1}]}, **more})


def test_the_page_has_the_facts_of_the_audit(serve: Serve, session: Session) -> None:
    served = serve(session.root)
    code, data = api(served, "/api/sessions")
    assert (code, data["most"], data["notes"]) == (200, None, [])
    (listed,) = data["sessions"]
    assert (listed["session"], listed["chain"], listed["agents"]) == (
        NAME,
        "holds",
        ["main-session", "triage"],
    )
    code, shown = api(served, f"/api/session?session={NAME}")
    last = json.loads(session.journal.read_text().splitlines()[-1])
    assert (code, shown["session"], shown["head"], shown["chosen"]) == (200, listed, last["hash"], 5)
    decision = shown["decisions"][-1]
    assert (decision["path"], decision["tool"], decision["word"]) == ("main-session/Write", "Write", "asks")
    assert decision["why"] == [f"{last['reasons'][0]}"]
    assert [each["name"] for each in decision["arguments"]] == ["file_path", "content"]
    words = [each["word"] for each in shown["decisions"]]
    assert words == ["allowed", "allowed", "allowed", "denied", "asks"]
    _, stopped = api(served, f"/api/session?session={NAME}&only=stopped")
    assert [each["word"] for each in stopped["decisions"]] == ["denied", "asks"]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("session=claude", 404),
        ("session=" + quote("../hook/" + NAME, safe=""), 404),
        ("session=%2Fetc%2Fpasswd", 404),
        (f"session={NAME}%00", 404),
        (f"session={NAME}&after=-1", 400),
        (f"session={NAME}&after=x", 400),
        (f"session={NAME}&only=all", 400),
        (f"session={NAME}&path=x", 400),
        ("", 400),
    ],
)
def test_a_request_names_a_session_of_the_project_or_none(
    serve: Serve, session: Session, words: str, status: int
) -> None:
    code, why = api(serve(session.root), f"/api/session?{words}")
    assert (code, "error" in why) == (status, True)


def test_a_session_of_another_project_is_not_shown(serve: Serve, session: Session, tmp_path: Path) -> None:
    served = serve(write(tmp_path / "other"))
    assert api(served, "/api/sessions")[1]["sessions"] == []
    assert api(served, f"/api/session?session={NAME}")[0] == 404


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.long) if kind == "blank lines" else kind for kind in JOURNALS],
)
def test_a_journal_that_is_no_journal_is_shown_as_broken(serve: Serve, session: Session, kind: str) -> None:
    keep(session, "2-bad", JOURNALS[kind])
    served = serve(session.root)
    code, data = api(served, "/api/session?session=claude-2-bad")
    assert (code, data["decisions"]) == (200, [])
    assert data["session"]["chain"] == "broken" or data["session"]["unfinished"]
    assert api(served, "/api/sessions")[0] == 200


def test_what_is_long_or_deep_is_cut_and_every_answer_is_json(serve: Serve, session: Session) -> None:
    deep: object = []
    for _ in range(150):
        deep = [deep]
    odd = [
        decided(arguments={"a": "x" * 900_000}),
        decided(arguments={"a": [deep]}),
        decided(arguments={"a": [0] * 300_000}),
        decided(arguments=[float("nan"), float("inf"), "\ud800"]),
        decided(arguments=None, reasons=["x" * 90_000] * 10, capabilities={}, labels=[["x"]] * 1000),
        decided(tool=["x"] * 100_000, path=None, worker=3, by={"a": 1}, time=[]),
    ]
    keep(session, "2-odd", forged(*odd))
    code, data = api(serve(session.root), "/api/session?session=claude-2-odd")
    assert (code, data["session"]["chain"], len(data["decisions"])) == (200, "holds", 6)
    assert len(json.dumps(data, allow_nan=False)) < 500_000
    for each in data["decisions"]:
        texts = (*each["why"], *each["labels"], each["tool"])
        assert all(len(text) < LONGEST_TEXT + 50 for text in texts)


def test_a_long_session_is_shown_in_parts(serve: Serve, session: Session) -> None:
    keep(session, "2-long", forged(*(decided(tool=f"T{number}") for number in range(MOST_DECISIONS + 5))))
    served = serve(session.root)
    _, first = api(served, "/api/session?session=claude-2-long")
    _, last = api(served, f"/api/session?session=claude-2-long&after={MOST_DECISIONS}")
    _, none = api(served, "/api/session?session=claude-2-long&after=99999")
    assert [len(each["decisions"]) for each in (first, last, none)] == [MOST_DECISIONS, 5, 0]
    assert last["decisions"][0]["tool"] == f"T{MOST_DECISIONS}"


@pytest.mark.browser
def test_the_decisions_of_a_session_are_shown_in_their_order(
    page: Page, serve: Serve, session: Session, provoked: list[str]
) -> None:
    serve(session.root).open(page)
    page.keyboard.press("g")
    page.keyboard.press("s")
    row = page.locator("table.sessions tbody tr")
    expect(row).to_contain_text("main-session, triage")
    expect(row.locator("td.number")).to_have_text(["3", "1", "1"])
    row.get_by_role("link").click()
    rows = page.locator("table.decisions tbody tr")
    expect(rows).to_have_count(5)
    expect(page.locator("main")).to_contain_text("The chain holds, with the head")
    expect(rows.nth(3)).to_contain_text("denied")
    expect(rows.nth(3)).to_contain_text("main-session/triage/Bash")
    expect(rows.nth(3)).to_contain_text("is outside the ceiling of")
    expect(rows.nth(4)).to_contain_text("(llmdo.toml:8)")
    rows.nth(3).locator("summary").focus()
    page.keyboard.press("Enter")
    expect(rows.nth(3).locator(".value").first).to_contain_text("make")
    expect(rows.nth(3).locator(".tags").first).to_contain_text("proc.exec.unlisted")
    page.keyboard.press("d")
    expect(rows).to_have_count(2)
    assert page.url.endswith("?only=stopped")
    session.call("Write", file_path="docs/b.md", content="")
    expect(rows).to_have_count(3)  # it is looked at again by itself
    provoked.append("status of 404")
    go(page, "#/session/claude-no-such")
    expect(page.locator(".state")).to_contain_text("this project has no such session")


@pytest.mark.browser
@pytest.mark.long
def test_hostile_sessions_are_text(page: Page, serve: Serve, session: Session) -> None:
    keep(session, "2-hostile", forged(hostile(), hostile(decision="blocked", allowed=False)))
    (session.journal.parent / f"{HOSTILE['bidi']}<b>bold<b>.jsonl").touch()
    served = serve(session.root)
    for view in ("#/sessions", "#/session/claude-2-hostile"):
        served.open(page, view)
        for summary in page.locator("summary").all():
            summary.click()
        expect(page.locator("main")).to_contain_text("\\u{202e}gnp.exe")
        everything = page.evaluate("document.documentElement.innerText + document.title")
        assert not [sign for sign in ("\u202e", "\u2066", "\u200b", "\u0007", "\u001b") if sign in everything]
        assert page.locator("main img, main b, main script").count() == 0
        assert "hit" not in page.title()
    expect(page.locator(".value").first).to_contain_text("<img src=x onerror=")


@pytest.mark.browser
@pytest.mark.long
def test_a_broken_chain_is_said_to_be_broken_and_half_a_record_is_not(
    page: Page, serve: Serve, session: Session
) -> None:
    with session.journal.open("a") as file:
        file.write('{"n":6,"ki')
    served = serve(session.root)
    served.open(page, f"#/session/{NAME}")
    expect(page.locator("main")).to_contain_text("another record is being written")
    session.journal.write_text(session.journal.read_text().replace('"make"', '"true"'))
    expect(page.locator(".note.blocked")).to_contain_text("line 4: this record was changed")
    go(page, "#/sessions")
    expect(page.locator("table.sessions tbody tr")).to_contain_text("broken")


@pytest.mark.browser
@pytest.mark.long
def test_a_long_session_is_turned_by_keys_and_links(page: Page, serve: Serve, session: Session) -> None:
    keep(session, "2-long", forged(*(decided(tool=f"T{number}") for number in range(2 * MOST_DECISIONS + 5))))
    serve(session.root).open(page, "#/session/claude-2-long")
    rows = page.locator("table.decisions tbody tr")
    expect(rows).to_have_count(MOST_DECISIONS)
    page.keyboard.press("[")
    page.keyboard.press("]")
    expect(rows.first).to_contain_text(f"T{MOST_DECISIONS} of")
    page.get_by_role("link", name="Later").click()
    expect(rows).to_have_count(5)
    page.keyboard.press("]")
    page.keyboard.press("[")
    expect(rows.first).to_contain_text(f"T{MOST_DECISIONS} of")


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.window(bypass_csp=True)
def test_axe_finds_nothing_on_sessions(page: Page, serve: Serve, session: Session, axe: str) -> None:
    keep(session, "2-long", forged(*(decided(tool=f"T{number}") for number in range(MOST_DECISIONS + 5))))
    keep(session, "3-broken", forged(decided(), decided()) + b"x\n")
    keep(session, "4-hostile", forged(hostile()))
    served = serve(session.root)
    served.open(page)
    views = ["#/sessions", f"#/session/{NAME}?only=stopped", "#/session/claude-2-long?after=200"]
    check_in_both_themes(page, axe, [*views, "#/session/claude-3-broken", "#/session/claude-4-hostile"])
    go(page, f"#/session/{NAME}")
    page.locator("summary").first.click()
    check_in_both_themes(page, axe, [f"#/session/{NAME}"])


@pytest.mark.browser
@pytest.mark.long
def test_without_sessions_the_page_says_how_they_come_to_be(page: Page, serve: Serve, tmp_path: Path) -> None:
    serve(write(tmp_path / "empty")).open(page, "#/sessions")
    expect(page.locator(".state")).to_contain_text("llmdo hook install CLIENT")
