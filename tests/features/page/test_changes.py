"""Two revisions in a real browser: what widened and what narrowed, on one graph, and the lines that did it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from llmdo.features.page.subject import Subject
from tests.features.page.conftest import Served, go
from tests.support.commands import llmdo

pytestmark = pytest.mark.browser

Serve = Callable[..., Served]


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def widened(example: Callable[[str], Path]) -> Path:
    """The example of the README, with the line that widens it, which is not committed."""
    root = example("confused_deputy")
    git(root, "init")
    git(root, "add", "-A")
    git(root, "commit", "-m", "before")
    git(root, "apply", "delegate.patch")
    assert llmdo(root, "lock").returncode == 0
    return root


@pytest.mark.long
def test_what_widened_is_red_with_the_line_that_did_it(page: Page, serve: Serve, widened: Path) -> None:
    serve(widened).open(page, "#/diff")
    expect(page.locator("h1")).to_have_text("Widened")
    expect(page.locator(".row[aria-pressed=true] .capability")).to_contain_text("proc.exec")
    expect(page.locator(".graph .line.way.widens")).to_have_count(2)
    expect(page.locator(".graph .label.way.widens text")).to_have_text(["new, no gate"])
    [cause] = page.locator(".source li.widens").all()
    expect(cause).to_have_text("workers/triage.worker:6+ - releaser")
    page.get_by_text("As llmdo diff prints it").click()
    assert page.locator(".whole pre").inner_text() == llmdo(widened, "diff").stdout


@pytest.mark.long
def test_what_narrowed_is_green_and_drawn_where_it_was(page: Page, serve: Serve, widened: Path) -> None:
    git(widened, "commit", "-am", "wide")
    git(widened, "apply", "-R", "delegate.patch")
    assert llmdo(widened, "lock").returncode == 0
    served = serve(widened)
    served.open(page, "#/diff/HEAD..worktree")
    expect(page.locator("h1")).to_have_text("Narrowed")
    expect(page.locator(".graph .box.only-before")).to_have_count(1)
    expect(page.locator(".graph .label.way.narrows text")).to_have_text(["gone, no gate"])
    expect(page.locator(".source li.narrows")).to_contain_text("releaser")
    go(page, "#/diff/HEAD~1..HEAD")
    expect(page.locator("h1")).to_have_text("Widened")
    go(page, "#/diff/HEAD..HEAD")
    expect(page.locator("h1")).to_have_text("Nothing changed")


@pytest.mark.long
def test_a_revision_that_is_none_is_reported_and_another_can_be_asked_for(
    page: Page, serve: Serve, widened: Path, provoked: list[str]
) -> None:
    provoked.append("status of 422")
    served = serve(widened)
    served.open(page, "#/diff/nonsense..worktree")
    expect(page.get_by_role("alert")).to_contain_text("nonsense")
    go(page, "#/diff")
    page.get_by_role("textbox", name="to").fill("HEAD")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("h1")).to_have_text("Nothing changed")
    assert page.url.endswith("#/diff/HEAD..HEAD")


@pytest.mark.long
def test_a_project_of_another_tool_is_compared_as_well(
    page: Page, serve: Serve, example: Callable[[str], Path]
) -> None:
    root = example("claude_agents")
    git(root, "init")
    git(root, "add", "-A")
    git(root, "commit", "-m", "before")
    agent = root / ".claude" / "agents" / "triage.md"
    agent.write_text(
        agent.read_text(encoding="utf-8").replace("tools: ", "tools: Write, ", 1), encoding="utf-8"
    )
    served = serve(Subject(origin=("claude", str(root))))
    served.open(page, "#/diff")
    expect(page.locator("h1")).to_have_text("Widened")
    go(page, "#/reach/triage")
    expect(page.locator(".top .tag")).to_have_text("read from claude, not enforced")


@pytest.mark.long
def test_what_only_an_import_tells_is_not_known_and_never_nothing(
    page: Page, serve: Serve, widened: Path
) -> None:
    """Also where the lock is behind its sources."""
    git(widened, "commit", "-am", "wide")
    (widened / "tools").mkdir(exist_ok=True)
    (widened / "tools/orders.py").write_text(
        "from pydantic_ai import FunctionToolset\n\n\ndef make():\n    return FunctionToolset()\n\n\norders = make()\n",
        encoding="utf-8",
    )
    manifest = widened / "llmdo.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(f'{text}\n[toolsets.orders]\npython = "tools/orders.py:orders"\n', encoding="utf-8")
    worker = widened / "workers/triage.worker"
    text = worker.read_text(encoding="utf-8")
    worker.write_text(text.replace("- releaser", "- releaser\n  - orders", 1), encoding="utf-8")
    served = serve(widened)
    served.open(page, "#/diff")
    expect(page.locator("h1")).to_have_text("Not known")
    expect(page.locator(".row[aria-pressed=true] .capability")).to_contain_text("x.orders.any")
    go(page, "#/reach/triage")
    expect(page.locator(".decided h2.unknown")).to_contain_text("Not known")
    expect(page.locator(".row.unknown .way")).to_have_text("triage \u203a orders (not known)")
    go(page, "#/reach")
    expect(page.locator("th", has_text="Not known")).to_have_count(1)
