"""Runs started from the page, in a real browser and by requests: behind the same trust and the same gate."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from llmdo.features.page.subject import Subject
from llmdo.journal import Runs
from llmdo.journal.binding import binding_of
from tests.features.page.conftest import Served, go
from tests.features.page.test_access import axe, check_in_both_themes
from tests.features.page.test_runs import SLOW, allowing, api, llmdo_elsewhere
from tests.support.asking import files, workspace
from tests.support.commands import llmdo

__all__ = ["axe"]

Serve = Callable[..., Served]

TYPED = """\
from pydantic import BaseModel


class Word(BaseModel):
    word: str
    times: int = 1
    notes: str | None = None
"""
ECHO = """\
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel


def echo(messages, info):
    said = [part.content for message in messages for part in message.parts if part.part_kind == "user-prompt"]
    return ModelResponse(parts=[TextPart(" then ".join(said))])


rules = FunctionModel(echo)
"""


def echoing(root: Path, header: str = "") -> Path:
    """A workspace whose entry repeats what it was told."""
    (root / "models.py").write_text(ECHO, encoding="utf-8")
    (root / "schemas.py").write_text(TYPED, encoding="utf-8")
    (root / "llmdo.toml").write_text(
        'schema = 1\n\n[workspace]\nname = "echo"\nworkers = ["*.worker"]\nmodel = "python:models.py:rules"\n',
        encoding="utf-8",
    )
    (root / "main.worker").write_text(
        f"---\nname: main\nentry: true\n{header}---\nSay it.\n", encoding="utf-8"
    )
    return root


def inputs(root: Path) -> list[str]:
    """The inputs of all runs."""
    runs = Runs(root)
    given = []
    for name in runs.names():
        with runs.read(name) as journal:
            given.append(binding_of(journal).input)
    return given


@pytest.mark.browser
@pytest.mark.timeout(240)
def test_a_run_is_started_asks_in_the_inbox_and_is_run_again_with_another_input(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    root = workspace(tmp_path, number=1)
    serve(root).open(page, "#/start")
    expect(page.get_by_label("The input")).to_have_attribute("placeholder", "Left empty: go")
    page.get_by_role("button", name="Start the run").click()
    expect(page.locator(".run-news")).to_contain_text("1 question waiting", timeout=SLOW)
    assert files(root) == {}, "nothing was done unasked"
    page.get_by_role("link", name="answer", exact=True).click()
    card = page.locator(".question")
    card.get_by_role("button", name="Allow", exact=True).click()
    expect(card).to_contain_text("Allowed. The run goes on.")
    [run] = Runs(root).names()
    go(page, f"#/run/{run}")
    expect(page.locator(".badge")).to_have_text("completed", timeout=SLOW)
    assert files(root) == {"0.txt": "0"}
    page.get_by_role("link", name="Run again with another input").click()
    area = page.get_by_label("The input")
    expect(area).to_have_value("go")
    area.fill("gö\n$(touch x) --no-journal")
    page.get_by_role("button", name="Start the run").click()
    expect(page.locator(".run-news")).to_contain_text("1 question waiting", timeout=SLOW)
    assert inputs(root) == ["go", "gö\n$(touch x) --no-journal"]


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.timeout(240)
def test_more_is_said_to_a_run_that_is_complete(page: Page, serve: Serve, tmp_path: Path) -> None:
    root = echoing(tmp_path)
    serve(root).open(page, "#/start/main")
    page.get_by_label("The input").fill("one")
    page.get_by_role("button", name="Start the run").click()
    expect(page.locator(".badge")).to_have_text("completed", timeout=SLOW)
    page.get_by_role("link", name="Say more to it").click()
    expect(page.locator(".lead")).to_contain_text("It goes on from")
    page.get_by_label("The input").fill("two")
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".run-news")).to_contain_text("Goes on from", timeout=SLOW)
    expect(page.locator(".badge")).to_have_text("completed", timeout=SLOW)
    assert "one then two" in llmdo_elsewhere(root, "runs", "show", "last", "--messages").stdout


@pytest.mark.browser
@pytest.mark.timeout(240)
def test_a_typed_input_has_a_field_for_each_of_its_own(page: Page, serve: Serve, tmp_path: Path) -> None:
    root = echoing(tmp_path, "schema_in_ref: schemas.py:Word\n")
    serve(root).open(page, "#/start/main")
    expect(page.locator(".answer-form label")).to_have_text(
        ["word str", "times int, may be left empty", "notes str | None, may be left empty"]
    )
    expect(page.get_by_label("times")).to_have_value("1")
    page.get_by_label("times").fill("many")
    page.get_by_label("word").fill("ü")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_role("alert")).to_have_text("times is no number")
    assert Runs(root).names() == []
    page.get_by_label("times").fill("3")
    page.get_by_role("button", name="Start the run").click()
    expect(page.locator(".badge")).to_have_text("completed", timeout=SLOW)
    assert inputs(root) == ['{"word":"ü","times":3}']


@pytest.mark.browser
@pytest.mark.timeout(240)
def test_code_that_nobody_answered_for_is_not_started(
    page: Page, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LLMDO_TRUST")
    root = echoing(tmp_path)
    with (root / "models.py").open("a", encoding="utf-8") as file:
        file.write('from pathlib import Path\nPath("executed").touch()\n')
    serve(root).open(page, "#/start/main")
    page.get_by_label("The input").fill("x")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_role("alert")).to_contain_text("trust", timeout=SLOW)
    assert not (root / "executed").exists()
    assert Runs(root).names() == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ([], 400),
        ({}, 400),
        ({"entry": 1}, 400),
        ({"entry": "main", "input": None}, 400),
        ({"entry": "main", "approve": "all"}, 400),
        ({"entry": "main", "input": "\ud800"}, 400),
        ({"entry": "mian"}, 422),
        ({"entry": "--no-journal"}, 422),
        ({"entry": "main", "continues": "../x"}, 422),
    ],
)
def test_what_is_no_start_is_refused_and_starts_nothing(
    serve: Serve, tmp_path: Path, body: object, status: int
) -> None:
    root = workspace(tmp_path, number=1)
    assert api(serve(root), "/api/start", body)[0] == status
    assert Runs(root).names() == []


def test_an_agent_of_another_tool_is_not_started(serve: Serve, tmp_path: Path) -> None:
    agents = tmp_path / ".claude/agents"
    agents.mkdir(parents=True)
    (agents / "main.md").write_text(
        "---\nname: main\ndescription: d\ntools: Read\n---\nHelp.\n", encoding="utf-8"
    )
    served = serve(Subject(origin=("claude", str(tmp_path))))
    status, why = api(served, "/api/start", {"entry": "main"})
    assert (status, "has no runs here" in why["error"]) == (422, True)


def test_why_a_run_could_not_begin_is_told(serve: Serve, tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1)
    (root / "main.worker").write_text("---\nname: main\ntoolsets: [nobody]\n---\nGo.\n", encoding="utf-8")
    served = serve(root)
    status, started = api(served, "/api/start", {"entry": "main"})
    assert status == 200
    state = {"is_at_work": True}
    while state["is_at_work"]:
        state = api(served, f"/api/started?run={started['run']}")[1]
    assert "nobody" in state["fault"]
    assert state["has_begun"] is False


def test_the_id_of_a_run_is_given_once(tmp_path: Path) -> None:
    root = allowing(tmp_path, 1)
    assert llmdo(root, "run", "main", "--run", "20261126T000000000-00000000").returncode == 0
    assert Runs(root).names() == ["20261126T000000000-00000000"]
    again = llmdo(root, "run", "main", "--run", "20261126T000000000-00000000")
    assert (again.returncode, "cannot write" in again.stderr) == (2, True)
    odd = llmdo(root, "run", "main", "--run", "../x")
    assert (odd.returncode, "is not the id of a run" in odd.stderr) == (2, True)


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.window(bypass_csp=True)
def test_axe_finds_nothing_where_a_run_is_started(page: Page, serve: Serve, tmp_path: Path, axe: str) -> None:
    root = echoing(tmp_path, "schema_in_ref: schemas.py:Word\n")
    with (root / "llmdo.toml").open("a", encoding="utf-8") as file:
        file.write('[entries.other]\nworker = "plain"\ninput = "x"\n')
    (root / "plain.worker").write_text("---\nname: plain\n---\nGo.\n", encoding="utf-8")
    serve(root).open(page)
    check_in_both_themes(page, axe, ["#/start/main", "#/start/other"])


@pytest.mark.browser
@pytest.mark.long
def test_a_run_is_started_by_the_keyboard_alone(page: Page, serve: Serve, tmp_path: Path) -> None:
    root = echoing(tmp_path)
    serve(root).open(page)
    page.keyboard.press("g")
    page.keyboard.press("n")
    expect(page.locator("h1")).to_have_text("Start")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "input":
            break
    page.keyboard.type("by hand")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#/run/"), timeout=SLOW)
    expect(page.locator(".badge")).to_have_text("completed", timeout=SLOW)
    assert inputs(root) == ["by hand"]
