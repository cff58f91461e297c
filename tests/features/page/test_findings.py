"""The findings of `check` in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from llmdo.features.page.subject import Subject
from tests.features.page.conftest import Served, go
from tests.features.page.teams import team
from tests.features.page.test_access import axe, check_in_both_themes
from tests.features.page.test_runs import api
from tests.support.commands import llmdo

__all__ = ["axe"]

Serve = Callable[..., Served]


def faulty(root: Path) -> Path:
    """A workspace with an error in a worker, and a gain through another worker."""
    team(root, {"main": ["helper", "helpr"], "helper": ["filesystem:out"]}, '"fs.write" = "allowed"\n')
    return root


@pytest.mark.browser
def test_a_finding_is_shown_with_its_line_its_hint_and_what_it_is_about(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    serve(faulty(tmp_path)).open(page, "#/findings")
    unknown = page.locator('.finding[data-code="LDO202"]')
    expect(unknown).to_contain_text("main.worker:6:3")
    expect(unknown).to_contain_text("error")
    expect(unknown.locator("pre")).to_have_text("  helpr: {}\n  ^^^^^")
    expect(unknown).to_contain_text("did you mean helper?")
    unknown.get_by_role("link", name="worker main").click()
    expect(page.locator(".witness h2")).to_have_text("main")
    go(page, "#/findings")
    worker = tmp_path / "main.worker"
    worker.write_text(worker.read_text(encoding="utf-8").replace("  helpr: {}\n", ""), encoding="utf-8")
    expect(unknown).to_have_count(0)
    gain = page.locator('.finding[data-code="LDO502"]')
    gain.get_by_role("link", name="entry main").click()
    expect(page.locator(".row[aria-pressed=true] .capability")).to_have_text(re.compile(r"^fs\.write"))


def test_every_finding_of_the_command_is_there_in_its_order(serve: Serve, tmp_path: Path) -> None:
    status, data = api(serve(faulty(tmp_path)), "/api/check")
    assert status == 200
    shown = [f"{each['path']}: {each['severity']}[{each['code']}]" for each in data["findings"]]
    printed = llmdo(tmp_path, "check", "--format", "concise").stdout.splitlines()
    assert shown == [re.sub(r"(:\d+:\d+)?: (\w+\[\w+\]): .*", r": \2", line) for line in printed]


@pytest.mark.browser
def test_where_there_is_none_it_says_so(page: Page, serve: Serve, example: Callable[[str], Path]) -> None:
    serve(example("greeter")).open(page, "#/findings")
    expect(page.locator(".state h2")).to_have_text("No findings")


@pytest.mark.long
def test_a_project_of_another_tool_has_findings_too(serve: Serve, tmp_path: Path) -> None:
    agents = tmp_path / ".claude/agents"
    agents.mkdir(parents=True)
    (agents / "main.md").write_text(
        "---\nname: main\ndescription: Helps.\ntools: Bash, WebFetch, Read\n---\nHelp.\n", encoding="utf-8"
    )
    _, data = api(serve(Subject(origin=("claude", str(tmp_path)))), "/api/check")
    printed = llmdo(tmp_path, "check", "--from", "claude", ".", "--format", "concise").stdout.splitlines()
    assert len(data["findings"]) == len(printed) - 1 > 0  # the last line says whence they are read
    assert any(each["excerpt"] for each in data["findings"])


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.window(bypass_csp=True)
def test_axe_finds_nothing_on_findings(page: Page, serve: Serve, tmp_path: Path, axe: str) -> None:
    serve(faulty(tmp_path)).open(page)
    check_in_both_themes(page, axe, ["#/findings"])
