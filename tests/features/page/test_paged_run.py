"""`llmdo run ENTRY --page`: the run in a browser as it goes on, and answers from there or from the terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from llmdo.journal import Runs
from tests.features.page.test_runs import SLOW
from tests.support import commands, forking
from tests.support.asking import files, workspace
from tests.support.ptys import Person
from tests.support.waiting import until

LINK = re.compile(r"http://127\.0\.0\.1:\d+/#token=\S+")


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "BROWSER")}


def seen(person: Person, pattern: re.Pattern[str]) -> str:
    """What stands on the screen, once it does."""
    match = until(lambda: pattern.search(person.text()), person.text, SLOW / 1000)
    assert match
    return match[0]


@contextmanager
def running(root: Path) -> Iterator[tuple[forking.Popen, str]]:
    """The process of a run without a terminal, and the link that it prints."""
    with forking.Popen(
        [sys.executable, "-m", "llmdo", "run", "main", "--page"],
        cwd=root,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if match := LINK.search(line):
                break
        else:
            pytest.fail("".join(lines))
        try:
            yield process, match[0]
        finally:
            process.kill()


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.timeout(240)
def test_a_run_without_a_terminal_is_answered_in_its_page(
    page: Page, tmp_path: Path, provoked: list[str]
) -> None:
    provoked.append("Failed to load resource")  # one answer does not fit, and its server ends before it
    root = workspace(tmp_path, number=2)
    with running(root) as (process, link):
        page.goto(link)
        expect(page.locator(".run-news")).to_contain_text("2 questions waiting", timeout=SLOW)
        assert "/run/" in page.url
        assert "token" not in page.url
        page.keyboard.press("o")
        card = page.locator(".question")
        expect(card).to_contain_text(re.compile(r"writer#\d"))
        first = 1 if "writer#1" in card.inner_text() else 2  # both run at once, and either may ask first
        page.keyboard.press("e")
        page.get_by_label("The arguments, as JSON").fill('{"path": "out/x.txt"}')
        page.get_by_role("button", name="Have this decided").click()
        expect(card.locator(".notice")).to_contain_text("the tool does not take this: content")
        card.get_by_role("button", name="Allow", exact=True).first.click()
        expect(card).to_contain_text("Allowed.")
        card.get_by_role("button", name="Next question").click()
        expect(card).to_contain_text(f"writer#{3 - first}")
        page.keyboard.press("x")
        page.get_by_label("Why not?").fill("enough")
        page.keyboard.press("Enter")
        expect(card).to_contain_text("Refused.")
        assert process.wait(60) == 0
        assert process.stdout is not None
        name = f"{first - 1}.txt"
        printed = process.stdout.read()
        assert printed.startswith("success: "), "the answer alone"
        assert f"success: created out/{name}" in printed
    assert files(root) == {name: f"{first - 1}"}
    done = commands.process(root, "runs", "audit", "last", "--verify")
    assert done.returncode == 0, done.stderr


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.timeout(240)
def test_what_the_terminal_answered_first_is_stale_in_the_page(
    page: Page, tmp_path: Path, provoked: list[str]
) -> None:
    provoked.append("Failed to load resource")
    root = workspace(tmp_path, number=1)
    with Person(columns=200) as person:
        process = person.start([sys.executable, "-m", "llmdo", "run", "main", "--page"], root, environment())
        page.goto(seen(person, LINK))
        expect(page.locator(".run-news")).to_contain_text("1 question waiting", timeout=SLOW)
        page.keyboard.press("o")
        card = page.locator(".question")
        expect(card).to_contain_text("writer#1")
        seen(person, re.compile("allow\\?"))
        person.type("once\n")
        seen(person, re.compile("until Ctrl-C"))
        card.get_by_role("button", name="Allow", exact=True).first.click()
        expect(card.locator(".notice")).to_contain_text("waits")
        page.goto("about:blank")
        person.type("\x03")
        assert process.wait(60) == 0
    assert files(root) == {"0.txt": "0"}


@pytest.mark.long
def test_a_page_needs_a_journal(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1)
    refused = commands.process(root, "run", "main", "--page", "--no-journal")
    assert refused.returncode == 2
    assert "`--page` needs a journal" in refused.stderr
    assert Runs(root).names() == []
    assert files(root) == {}
