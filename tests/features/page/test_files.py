"""The page as one file, opened where there is no network and no server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bench.generate import Shape, generate
from llmdo.journal import Runs
from tests.features.page.conftest import EXAMPLES, go, ready
from tests.features.page.test_changes import widened
from tests.features.page.test_runs import allowing, asked, llmdo_elsewhere
from tests.features.page.test_shell import held
from tests.support.asking import path_of, workspace
from tests.support.commands import llmdo

__all__ = ["widened"]


def opened(page: Page, path: Path) -> None:
    page.context.set_offline(True)
    page.goto(path.as_uri())
    ready(page)


@pytest.mark.long
@pytest.mark.browser
def test_a_file_shows_reach_and_changes_without_a_server(page: Page, widened: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    done = llmdo(widened, "page", "--export", str(file), "--rev", "HEAD..worktree")
    assert done.returncode == 0, done.stderr
    opened(page, file)
    expect(page.locator("h1")).to_have_text("Widened")
    expect(page.locator(".graph .line.way.widens")).to_have_count(2)
    go(page, "#/reach/triage?to=proc.exec")
    expect(page.locator(".graph .label.ungated text")).to_have_text("no gate")
    expect(page.get_by_role("textbox", name="Selector")).to_have_count(0)
    page.keyboard.press("/")
    page.keyboard.type("release")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("release")


@pytest.mark.browser
@pytest.mark.long
def test_a_file_offers_nothing_that_it_does_not_hold(
    page: Page, example: Callable[[str], Path], tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    assert llmdo(example("greeter"), "page", "--export", str(file)).returncode == 0
    opened(page, file)
    expect(page.get_by_role("navigation")).to_have_text("TodayEntries")
    go(page, "#/diff/a..b")
    expect(page.get_by_role("alert")).to_contain_text("this file has no page diff/a..b")
    go(page, "#/reach/nobody")
    expect(page.get_by_role("alert")).to_contain_text("this file does not hold that")
    go(page, "#/no/such/page")
    expect(page.get_by_role("alert")).to_contain_text("this file has no page no/such/page")


@pytest.mark.long
def test_a_file_of_sixty_workers_is_small(tmp_path: Path) -> None:
    generate(tmp_path, Shape(workers=60))
    file = tmp_path / "page.html"
    assert llmdo(tmp_path, "page", "--export", str(file)).returncode == 0
    assert (
        len(json.dumps(llmdo(tmp_path, "reach", "--format", "json").stdout)) > 30_000
    )  # there is something in it
    assert file.stat().st_size < 185_000, "asked for are 250 kB; it has 172"


@pytest.mark.browser
def test_a_file_shows_a_run_with_every_call_and_message(page: Page, tmp_path: Path) -> None:
    root = allowing(tmp_path / "w", 2)
    assert llmdo_elsewhere(root, "run", "main").returncode == 0
    run, file = Runs(root).names()[-1], tmp_path / "run.html"
    done = llmdo_elsewhere(root, "page", "--export", str(file), "--run", run[-8:])
    assert done.returncode == 0, done.stderr
    opened(page, file)
    assert page.url.endswith(f"#/run/{run}")
    expect(page.locator(".badge")).to_have_text("completed")
    rows = page.locator(".call")
    expect(rows).to_have_count(5 + 6)
    expect(page.locator(".messages .request")).to_have_count(6)
    for path in ["main", "main/writer#1", path_of(1), "main/writer#2", path_of(2)]:
        for _ in range(4):
            page.keyboard.press("j")
            if f"/call/{path.replace('#', '%23')}" == page.evaluate("location.hash").partition(run)[2]:
                break
        expect(page.locator(".call-pane h2")).to_have_text(path)
    expect(page.locator(".call-pane")).to_contain_text('"fs.write" = "allowed"')
    expect(page.locator(".call-pane")).to_contain_text("created out/1.txt")
    go(page, f"#/run/{run}/call/main")
    expect(page.locator(".request")).to_have_count(2)
    expect(page.locator(".request").nth(1)).to_contain_text("created out/0.txt")
    page.get_by_label("Replay", exact=True).fill("3")
    expect(page.locator(".badge")).to_have_text("replayed")
    page.get_by_role("link", name="Runs").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("button", name="Compare")).to_have_count(0)
    page.keyboard.press("/")
    page.keyboard.type(run)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("go")
    expect(page.locator(".heading")).to_contain_text("main")


@pytest.mark.browser
@pytest.mark.long
def test_a_file_leads_nowhere_that_it_does_not_hold(page: Page, tmp_path: Path) -> None:
    root, file = workspace(tmp_path / "w", number=1), tmp_path / "run.html"
    asked(root)
    assert llmdo_elsewhere(root, "page", "--export", str(file), "--run", "last").returncode == 0
    opened(page, file)
    expect(page.locator(".run-news")).to_have_text("1 question waiting.")
    go(page, f"#/run/{Runs(root).names()[-1]}/call/{path_of(1).replace('#', '%23')}")
    expect(page.locator(".call-pane")).to_contain_text("It waits for an answer")
    go(page, "#/runs")
    hashes = page.locator("a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert [each for each in hashes if "inbox" in each] == []
    go(page, "#/run/another")
    expect(page.get_by_role("alert")).to_contain_text("this file does not hold that")


def test_a_file_has_of_a_run_what_its_journal_has_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "hunter2-is-a-long-secret")
    root = workspace(tmp_path / "w", number=1, content="key: hunter2-is-a-long-secret")
    manifest = (root / "llmdo.toml").read_text(encoding="utf-8")
    (root / "llmdo.toml").write_text(
        f'{manifest}\n[approvals.rules]\n"fs.write" = "allowed"\n', encoding="utf-8"
    )
    assert llmdo(root, "run", "main").returncode == 0
    file = tmp_path / "run.html"
    assert llmdo(root, "page", "--export", str(file), "--run", "last").returncode == 0
    text = json.dumps(held(file.read_text(encoding="utf-8")))
    assert "hunter2" not in text
    assert text.count("ACME_API_KEY") > 1
    assert llmdo(root, "page", "--export", str(file), "--run", "nothing").returncode == 2


def test_a_run_is_for_a_file_of_a_workspace(tmp_path: Path) -> None:
    file = str(tmp_path / "page.html")
    served = llmdo(workspace(tmp_path), "page", "--run", "last")
    foreign = llmdo(
        EXAMPLES / "claude_agents", "page", "--from", "claude", ".", "--export", file, "--run", "last"
    )
    assert (served.returncode, "`--run` is for `--export`" in served.stderr) == (2, True)
    assert (foreign.returncode, "has no runs here" in foreign.stderr) == (2, True)


@pytest.mark.parametrize("revisions", ["HEAD", "a..b..c", ""])
def test_two_revisions_have_to_be_two(example: Callable[[str], Path], tmp_path: Path, revisions: str) -> None:
    done = llmdo(example("greeter"), "page", "--export", str(tmp_path / "x.html"), "--rev", revisions)
    assert done.returncode == 2
    assert "does not name two revisions" in done.stderr
    assert not (tmp_path / "x.html").exists()


def test_revisions_are_for_a_file(example: Callable[[str], Path]) -> None:
    done = llmdo(example("greeter"), "page", "--rev", "a..b")
    assert done.returncode == 2
    assert "`--rev` is for `--export`" in done.stderr
