"""The playground in a real Chromium, with a GitHub of ours: it says what the command line says, and asks nobody else."""

from __future__ import annotations

import io
import json
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from playground.links import examples, packed
from tests.features.page.test_access import axe, findings
from tests.playground.conftest import PATIENCE, ROOT, commit
from tests.playground.github import GitHub, git
from tests.support import forking

__all__ = ["axe"]

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(400)]

CASES = Path(__file__).parents[1] / "foreign" / "cases"
PROJECTS = sorted(path for path in CASES.glob("*/*") if path.is_dir())[::3][:20]
COMMANDS = {
    "scan": ["scan", "."],
    "check": ["check", "--from", "auto", "."],
    "reach": ["reach", "--from", "auto", "."],
}

AGENT = "---\nname: helper\ndescription: Helps.\ntools: Bash, WebFetch, Read\n---\nHelp.\n"
Made = Callable[..., Path]


def opened(page: Page, address: str) -> None:
    """Opens an address and waits until findings are shown, or what hinders that."""
    page.goto(address)
    page.wait_for_selector(".findings, .failing", timeout=PATIENCE)


def until(page: Page, expression: str) -> None:
    """Waits until an expression is true, without the `eval` that the policy forbids."""
    for _ in range(PATIENCE // 100):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    pytest.fail(f"never true: {expression}")


def shown(page: Page, address: str, repository: str) -> str:
    opened(page, f"{address}?repo={repository}")
    return page.locator("main").inner_text()


def printed(page: Page, command: str) -> str:
    question = (
        "command => modules['session.js'].session.ask('/api/printed', { command }).then(({ text }) => text)"
    )
    return str(page.evaluate(question, command))


def on_the_command_line(folder: Path, command: str) -> str:
    words = [sys.executable, "-m", "llmdo", *COMMANDS[command], "--format", "json"]
    environment = {**os.environ, "LLMDO_NO_CACHE": "1"}
    done = forking.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_twenty_projects_read_as_on_the_command_line(page: Page, address: str, repository: Made) -> None:
    assert len(PROJECTS) == 20
    page.goto(address)
    for number, project in enumerate(PROJECTS):
        folder = repository(f"acme/case-{number}", project)
        page.fill("input[name=repo]", f"acme/case-{number}")
        page.press("input[name=repo]", "Enter")
        page.wait_for_selector(".findings, .failing", timeout=PATIENCE)
        for command in COMMANDS:
            assert printed(page, command) == on_the_command_line(folder, command), f"{project} {command}"
        page.get_by_role("button", name="Open another project").click()


def test_links_between_folders_are_followed_as_on_the_command_line(
    page: Page, address: str, repository: Made, tmp_path: Path
) -> None:
    project = tmp_path / "linked"
    (project / "content/agents").mkdir(parents=True)
    (project / "content/agents/helper.md").write_text(AGENT, encoding="utf-8")
    (project / ".claude").mkdir()
    (project / ".claude/agents").symlink_to("../content/agents")
    (project / ".claude/commands").symlink_to("../../outside")
    (project / ".claude/settings.json").symlink_to("nothing.json")
    folder = repository("acme/linked", project)
    assert "helper" in shown(page, address, "acme/linked")
    for command in COMMANDS:
        assert printed(page, command) == on_the_command_line(folder, command), command


def test_a_link_names_the_commit_and_shows_it_again(page: Page, address: str, repository: Made) -> None:
    folder = repository("acme/shop", {".claude/agents/helper.md": AGENT})
    first = git(folder, "rev-parse", "HEAD").strip()
    assert "helper" in shown(page, address, "acme/shop")
    assert page.url.startswith(f"{address}?repo=acme/shop@{first}")
    (folder / ".claude/agents/helper.md").write_text(AGENT.replace("helper", "other"), encoding="utf-8")
    commit(folder, "second")
    opened(page, page.url)
    assert "helper" in page.locator("main").inner_text()
    place = page.locator("a.place").first.get_attribute("href")
    assert str(place).startswith(f"https://github.com/acme/shop/blob/{first}/.claude/agents/helper.md#L")


def test_only_files_that_are_read_are_asked_for(
    page: Page, address: str, github: GitHub, repository: Made
) -> None:
    files = {f"src/module_{number}.py": "x = 1\n" for number in range(30)}
    repository("acme/shop", {".claude/agents/helper.md": AGENT, "LICENSE": "Nobody may read it.", **files})
    shown(page, address, "acme/shop")
    raw = [path for path in github.asked if path.startswith("/raw/")]
    assert any(path.endswith("helper.md") for path in raw)
    assert not any("module_" in path for path in raw)
    assert len([path for path in github.asked if path.startswith("/api/")]) == 2


def test_a_pull_request_shows_what_it_lets_agents_do(page: Page, address: str, repository: Made) -> None:
    folder = repository("acme/shop", {".claude/agents/helper.md": AGENT.replace("Bash, ", "")})
    git(folder, "checkout", "-q", "-b", "feature")
    (folder / ".claude/agents/helper.md").write_text(AGENT, encoding="utf-8")
    commit(folder, "second")
    page.goto(f"{address}?repo=acme/shop&diff=main...feature#/diff")
    page.wait_for_selector("[data-view=diff] h1", timeout=PATIENCE)
    expect(page.locator("main")).to_contain_text("proc.exec", timeout=PATIENCE)
    expect(page.locator("main")).to_contain_text("widened")


def test_it_works_without_a_network_after_the_first_time(page: Page, address: str, built: Path) -> None:
    page.goto(address)
    until(page, "navigator.serviceWorker.controller !== null")
    page.context.set_offline(True)
    page.goto(f"{address}?example=agents")
    page.wait_for_selector(".findings", timeout=PATIENCE)
    page.context.set_offline(False)


def test_texts_can_be_edited_and_are_compared_with_what_they_were(page: Page, address: str) -> None:
    page.goto(f"{address}?example=agents#/files/.claude/agents/reviewer.md")
    area = page.locator("textarea")
    area.wait_for(timeout=PATIENCE)
    area.fill(area.input_value().replace("tools: Read, Grep, Task", "tools: Read, Bash"))
    until(page, "modules['session.js'].session.edited.size === 1")
    page.get_by_role("link", name="Changes").or_(page.locator("nav a", has_text="Changes")).first.click()
    expect(page.locator("main")).to_contain_text("no longer reached", timeout=PATIENCE)


def test_a_broken_manifest_is_told_as_somebody_types(page: Page, address: str) -> None:
    page.goto(f"{address}?example=confused_deputy#/files/llmdo.toml")
    area = page.locator("textarea")
    area.wait_for(timeout=PATIENCE)
    area.fill(f"{area.input_value()}\nmissspelt = 1\n")
    expect(page.locator(".editing section")).to_contain_text("unknown key", timeout=PATIENCE)


def test_the_tutorial_can_be_done_in_it(page: Page, address: str) -> None:
    """As far as `check`, `reach` and what changed: each step's link opens what a reader has by then."""
    *_, last = examples((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"))
    page.goto(f"{address}?files={packed(last)}")
    page.wait_for_selector(".findings", timeout=PATIENCE)
    assert '"entries"' in printed(page, "reach")
    page.goto(f"{address}?files=broken")
    page.wait_for_selector(".failing", timeout=PATIENCE)


def test_no_link_writes_beside_the_project(page: Page, address: str) -> None:
    """Such as over the checker itself, which the worker would then run."""
    files = {
        ".claude/agents/helper.md": AGENT,
        "../checker/rpds.py": "raise SystemExit",
        "a/../../home/x": "x",
    }
    page.goto(f"{address}?files={packed(files)}")
    page.wait_for_selector(".findings", timeout=PATIENCE)
    expect(page.locator(".left-out")).to_contain_text("2 files have names that cannot be kept")
    page.goto(f"{address}?example=confused_deputy#/files/llmdo.toml")
    area = page.locator("textarea")
    area.wait_for(timeout=PATIENCE)
    area.fill("schema = 2\n")
    expect(page.locator(".editing section")).to_contain_text("llmdo.toml", timeout=PATIENCE)


def test_what_could_not_be_read_is_told(page: Page, address: str, repository: Made) -> None:
    broken = {
        ".claude/agents/helper.md": AGENT,
        ".claude/settings.json": '{"permissions": {"allow": [}',
        ".mcp.json": "{",
    }
    hooks = '{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "scripts/start.sh"}]}]}}'
    assert "Not read" in shown(page, address, repository("acme/broken", broken) and "acme/broken")
    started = {".claude/agents/helper.md": AGENT, ".claude/settings.json": hooks}
    assert "hook SessionStart" in shown(page, address, repository("acme/hooks", started) and "acme/hooks")


def test_a_zip_and_a_folder_of_this_machine_are_read(
    page: Page, address: str, github: GitHub, tmp_path: Path
) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("shop-main/.claude/agents/helper.md", AGENT)
        archive.writestr("shop-main/../../outside.md", "x")
    (tmp_path / "shop.zip").write_bytes(content.getvalue())
    page.goto(address)
    page.locator("input[accept='.zip']").set_input_files(tmp_path / "shop.zip")
    page.wait_for_selector(".findings", timeout=PATIENCE)
    expect(page.locator("main")).to_contain_text("helper")
    expect(page.locator(".left-out")).to_contain_text("outside.md")
    page.get_by_role("button", name="Open another project").click()
    folder = tmp_path / "local"
    (folder / ".claude/agents").mkdir(parents=True)
    (folder / ".claude/agents/second.md").write_text(AGENT.replace("helper", "second"), encoding="utf-8")
    page.locator("input[webkitdirectory]").set_input_files(folder)
    page.wait_for_selector(".findings", timeout=PATIENCE)
    expect(page.locator("main")).to_contain_text("second")
    assert not [path for path in github.asked if path.startswith(("/api/", "/raw/"))]


def test_what_github_does_not_say_is_a_sentence(
    page: Page, address: str, github: GitHub, provoked: list[str]
) -> None:
    provoked.append("status of 40")
    assert "no public repository" in shown(page, address, "acme/private")
    assert "no repository" in shown(page, address, "a/b/c/d")
    github.is_exhausted = True
    assert "answers no more questions" in shown(page, address, "acme/shop")


def hostile(sizes: int) -> dict[str, Any]:
    """A listing of many files with strange names and sizes."""
    names = [f"data/{number % 200}/file {number}.bin" for number in range(sizes)]
    names += [
        "<img src=x onerror=alert(1)>.md",
        ".claude/agents/<b>bold<b>.md",
        ".claude/agents/\u202egnp.md",
        "a/../b",
        ".",
    ]
    tree: list[dict[str, Any]] = [
        {"path": name, "mode": "100644", "type": "blob", "size": 2 * 1024**3} for name in names
    ]
    tree += [
        {"path": ".claude/agents/helper.md", "mode": "100644", "type": "blob", "size": len(AGENT)},
        {"path": ".claude/agents/bomb.md", "mode": "100644", "type": "blob", "size": 600},
        {"path": ".claude/agents/pointer.md", "mode": "100644", "type": "blob", "size": 60},
        {"path": ".claude/agents/link.md", "mode": "120000", "type": "blob", "size": 10},
        {"path": "vendor/other", "mode": "160000", "type": "commit"},
    ]
    return {"tree": tree, "truncated": True}


BOMB = "---\nname: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\ndescription: [*c, *c, *c]\n---\n"


def test_a_hostile_repository_is_read_as_far_as_can_be(
    page: Page, address: str, github: GitHub, provoked: list[str]
) -> None:
    provoked.append("status of 404")
    github.trees["acme/huge"] = hostile(50_000)
    github.texts = {
        ".claude/agents/helper.md": AGENT.encode(),
        ".claude/agents/bomb.md": BOMB.encode(),
        ".claude/agents/pointer.md": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    }
    page.goto(f"{address}?repo=acme/huge@{'0' * 40}")
    page.wait_for_selector("#progress:not([hidden])")
    began = page.evaluate("performance.now()")
    page.evaluate("new Promise(resolve => setTimeout(resolve, 50))")
    assert page.evaluate("performance.now()") - began < 5_000  # the window answers while Python works
    page.wait_for_selector(".findings", timeout=PATIENCE)
    text = page.locator(".left-out").inner_text()
    for sentence in (
        "GitHub lists only the first",
        "Submodules are not read",
        "Git LFS",
        "names that cannot be kept",
    ):
        assert sentence in text
    assert page.locator("img, main b b").count() == 0
    assert "\u202e" not in page.locator("body").inner_text()


@pytest.mark.window(bypass_csp=True)
def test_axe_finds_nothing(page: Page, address: str, axe: str, repository: Made) -> None:
    repository("acme/shop", {".claude/agents/helper.md": AGENT})
    opened(page, f"{address}?repo=acme/shop")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.locator("details").first.evaluate("each => { each.open = true }")
            page.wait_for_timeout(100)
            assert findings(page, axe) == [], f"findings {scheme} {width}"
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    for address_ in (address, f"{address}?example=agents#/files"):
        page.goto(address_)
        page.wait_for_selector(".start, .editing", timeout=PATIENCE)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 844})
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                assert findings(page, axe) == [], f"{address_} {scheme} {width}"
                assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_keyboard_is_enough(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(".start", timeout=PATIENCE)
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.example") == "agents":
            break
    page.keyboard.press("Enter")
    page.wait_for_selector(".findings", timeout=PATIENCE)
    page.keyboard.press("g")
    page.keyboard.press("e")
    page.wait_for_selector("[data-view=overview] table", timeout=PATIENCE)


def test_the_switch_shows_what_a_flow_rule_would_ask(page: Page, address: str) -> None:
    page.goto(f"{address}?example=triage")
    page.wait_for_selector(".findings", timeout=PATIENCE)
    page.locator(".switch input").check()
    page.wait_for_selector(".switch input:checked", timeout=PATIENCE)
    reach = "modules['session.js'].session.ask('/api/reach', { entry: 'triage/triage' }).then(JSON.stringify)"
    after = json.loads(page.evaluate(reach))["after"]
    assert after
    assert {row["decision"] for row in after} == {"needs_approval"}
