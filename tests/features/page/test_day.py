"""The first view in a real browser, the list of entries by gravity with its filter, and colours that say danger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from llmdo.features.page.subject import Subject
from llmdo.journal import Runs
from tests.features.page.conftest import Served, go, ready
from tests.features.page.teams import team
from tests.features.page.test_access import axe, check_in_both_themes
from tests.features.page.test_changes import git, widened
from tests.features.page.test_runs import api, asked, llmdo_elsewhere
from tests.support.asking import workspace

__all__ = ["axe", "widened"]

Serve = Callable[..., Served]

RED, GREEN = "rgb(179, 18, 31)", "rgb(15, 107, 51)"
SHELL = '"fs.write" = "allowed"\n"proc.exec" = "allowed"\n"proc.exec.unlisted" = "allowed"\n'


def part(page: Page, name: str) -> Locator:
    return page.locator(f".day-{name}")


def used(root: Path) -> Path:
    """A workspace with questions, a failure, and sources that its lock is behind."""
    workspace(root, number=4)
    asked(root)
    manifest = root / "llmdo.toml"
    text = f"{manifest.read_text(encoding='utf-8')}limits = {{ requests = 1 }}\n"
    manifest.write_text(text, encoding="utf-8")
    assert llmdo_elsewhere(root, "run", "main").returncode == 1
    assert llmdo_elsewhere(root, "lock").returncode == 0
    manifest.write_text(f"{text}\n[approvals.rules]\n{SHELL}", encoding="utf-8")
    (root / "main.worker").write_text(
        "---\nname: main\ntoolsets:\n  writer: {}\n  shell: {}\n---\nGo.\n", encoding="utf-8"
    )
    return root


@pytest.mark.browser
def test_the_page_starts_with_what_waits_what_failed_what_changed_and_the_worst(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    root = used(tmp_path)
    waits, failed = Runs(root).names()
    serve(root).open(page)
    expect(part(page, "waiting").locator("header a")).to_have_text("4 questions")
    expect(part(page, "waiting").locator("li")).to_have_count(3)
    expect(part(page, "failed").locator("li")).to_contain_text("the run's limit of 1 request is reached")
    expect(part(page, "changed").locator(".verdict-word")).to_have_text("WIDENED")
    expect(part(page, "changed").locator("li").first).to_have_text(
        "+ proc.exec.unlisted of main: allowed without approval"
    )
    expect(part(page, "worst").locator("li")).to_have_text("mainproc.exec.unlistedmain > shell")
    part(page, "changed").locator("li a").first.click()
    expect(page.locator(".row[aria-pressed=true] .capability")).to_contain_text("proc.exec.unlisted")
    go(page, "#/")
    part(page, "waiting").locator("li a").first.click()
    expect(page.locator(".question")).to_contain_text("write_file of filesystem")
    assert waits in page.url
    go(page, "#/")
    part(page, "failed").locator("li a").click()
    expect(page.locator(".badge")).to_have_text("failed")
    assert failed in page.url


@pytest.mark.browser
def test_where_nothing_waits_failed_or_changed_the_day_says_so(
    page: Page, serve: Serve, example: Callable[[str], Path]
) -> None:
    root = example("greeter")
    served = serve(root)
    served.open(page)
    expect(part(page, "waiting")).to_contain_text("Nothing waits for an answer.")
    expect(part(page, "failed")).to_contain_text("There is no run yet.")
    expect(part(page, "changed")).to_contain_text("Nothing: entries can do what they could.")
    (root / "llmdo.lock").unlink()
    page.keyboard.press("r")
    expect(part(page, "changed")).to_contain_text("There is no llmdo.lock: run llmdo lock, and commit it.")
    (root / "llmdo.lock").write_text("<<<<<<< ours\n", encoding="utf-8")
    page.keyboard.press("r")
    expect(part(page, "changed").locator(".note").first).to_contain_text("llmdo.lock")


@pytest.mark.browser
@pytest.mark.long
def test_a_project_of_another_tool_has_no_runs_and_is_compared_with_its_last_commit(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    agents = tmp_path / ".claude/agents"
    agents.mkdir(parents=True)
    (agents / "helper.md").write_text(
        "---\nname: helper\ndescription: Helps.\ntools: Read\n---\nHelp.\n", encoding="utf-8"
    )
    git(tmp_path, "init")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-m", "before")
    (agents / "helper.md").write_text(
        "---\nname: helper\ndescription: Helps.\ntools: Read, Write\n---\nHelp.\n", encoding="utf-8"
    )
    serve(Subject(origin=("claude", str(tmp_path)))).open(page)
    expect(part(page, "changed").locator("h2")).to_have_text("Changed since the last commit")
    expect(part(page, "changed").locator(".verdict-word")).to_have_text("WIDENED")
    expect(part(page, "waiting")).to_have_count(0)
    expect(part(page, "failed")).to_have_count(0)


def test_a_part_that_cannot_be_had_says_why_and_the_others_are_there(
    serve: Serve, example: Callable[[str], Path]
) -> None:
    root = example("greeter")
    (root / "llmdo.lock").write_text("<<<<<<< ours\n", encoding="utf-8")
    status, data = api(serve(root), "/api/day")
    assert status == 200
    assert "llmdo.lock" in data["changed"]["error"]
    assert data["waiting"] == {"number": 0, "oldest": [], "notes": []}
    assert data["failed"] == {"runs": [], "number": 0, "of": 0, "notes": []}


@pytest.mark.browser
def test_a_file_shows_of_the_day_what_it_holds(page: Page, widened: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assert llmdo_elsewhere(widened, "page", "--export", str(file)).returncode == 0
    page.context.set_offline(True)
    page.goto(file.as_uri())
    ready(page)
    expect(page.locator(".day-part h2")).to_have_text(["Worst without a question"])
    done = llmdo_elsewhere(widened, "page", "--export", str(file), "--rev", "HEAD..worktree")
    assert done.returncode == 0, done.stderr
    page.goto(f"{file.as_uri()}#/")
    page.reload()
    ready(page)
    expect(page.locator(".day-part h2")).to_have_text(["Changes", "Worst without a question"])
    part(page, "changed").get_by_role("link").click()
    expect(page.locator("h1")).to_have_text("Widened")


def entries(page: Page) -> list[str]:
    return page.locator("tbody th").all_inner_texts()


@pytest.mark.browser
def test_entries_are_listed_by_gravity_and_filtered_by_what_they_reach(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    workers = {"aaa": [], "mmm": ["filesystem:out"], "zzz": ["shell"]}
    team(tmp_path, workers, SHELL)
    for name in ("mmm", "zzz"):
        file = tmp_path / f"{name}.worker"
        file.write_text(file.read_text(encoding="utf-8").replace("false", "true"), encoding="utf-8")
    serve(tmp_path).open(page, "#/reach")
    expect(page.locator("tbody th")).to_have_text(["zzz", "mmm", "aaa"])
    page.keyboard.press("f")
    expect(page.get_by_label("Filter")).to_be_focused()
    page.keyboard.type("reaches proc.exec")
    expect(page.locator("tbody th")).to_have_text(["zzz"])
    expect(page.locator(".lead")).to_have_text("1 of 3 entries, 3 workers.")
    assert page.url.endswith("#/reach?filter=reaches+proc.exec")
    page.reload()
    expect(page.locator("tbody th")).to_have_text(["zzz"])
    go(page, "#/reach?filter=unasked+fs.write")
    expect(page.locator("tbody th")).to_have_text(["mmm"])
    go(page, "#/reach?filter=reaches+fs.write.code")
    expect(page.locator("tbody th")).to_have_text(["mmm"])
    go(page, "#/reach?filter=unasked+fs.write.code")  # these ask
    expect(page.locator(".note")).to_contain_text("No entry is like that.")
    go(page, "#/reach?filter=AA")
    expect(page.locator("tbody th")).to_have_text(["aaa"])


@pytest.mark.browser
@pytest.mark.window(color_scheme="light")
def test_a_shell_that_nobody_is_asked_about_is_red_wherever_it_is_shown(
    page: Page, serve: Serve, example: Callable[[str], Path]
) -> None:
    colour = "element => getComputedStyle(element).color"
    serve(example("confused_deputy")).open(page)
    shell = part(page, "worst").locator("li", has_text="release").locator("code")
    expect(shell).to_have_text("proc.exec")
    assert shell.evaluate(colour) == RED
    go(page, "#/reach")
    row = page.locator("tbody tr", has_text="release")
    assert row.locator("td.worst code").first.evaluate(colour) == RED
    assert row.locator("td.number").nth(1).evaluate(colour) == RED
    go(page, "#/reach/release?to=proc.exec")
    expect(page.locator(".row[aria-pressed=true]")).to_have_css("border-left-color", RED)
    assert page.locator(".witness .verdict strong").evaluate(colour) == RED
    stroke = "element => getComputedStyle(element).stroke"
    assert {each.evaluate(stroke) for each in page.locator(".area .line.way path:first-child").all()} == {RED}
    assert page.locator(".area .badge.way .sign").evaluate("element => getComputedStyle(element).fill") == RED
    page.locator(".row", has_text="agent").or_(page.locator(".row").last).first.click()
    go(page, "#/reach/release?at=releaser")
    assert page.locator(".witness .gate").first.evaluate(colour) == RED
    assert (
        page.locator('.area [data-id="worker:releaser"] .badge .sign').evaluate(
            "element => getComputedStyle(element).fill"
        )
        == RED
    )
    green = "green => [...document.querySelectorAll('.columns .allowed')].some(e => getComputedStyle(e).color === green)"
    assert page.evaluate(green, GREEN) is False


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.window(bypass_csp=True)
def test_axe_finds_nothing_on_the_day(page: Page, serve: Serve, tmp_path: Path, axe: str) -> None:
    served = serve(used(tmp_path))
    served.open(page)
    expect(part(page, "waiting").locator("li")).to_have_count(3)
    check_in_both_themes(page, axe, ["#/", "#/reach", "#/reach?filter=reaches+proc.exec", "#/reach/main"])
