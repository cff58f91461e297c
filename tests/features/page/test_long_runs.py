"""Runs of ten thousand calls in a real browser: what is seen is drawn, and no more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import CDPSession, Page, expect

from llmdo.journal import Runs
from llmdo.journal.entries import JournalEntry, Kind, pack
from tests.features.page.conftest import Served, go
from tests.features.page.test_runs import asked
from tests.support.asking import workspace

Serve = Callable[..., Served]

RUN = "20261123T000000000-aaaaaaaa"
WORKERS, TOOLS = 100, 99
FRAME = 50  # ms of its thread that a frame may take while somebody scrolls
FRAMES = 200
MEMORY = 200  # MB

DECIDED = {
    "worker": "writer",
    "toolset": "filesystem",
    "tool": "write_file",
    "decision": "allowed",
    "by": "rules",
    "allowed": True,
    "asks": False,
    "answer": "",
    "refusal": None,
    "changed": None,
    "raised": [],
    "declared": [],
    "reasons": ['`fs.write:out/a.txt`: "fs.write" = "allowed"'],
}
DONE = {"return_value": "created out/a.txt (1,000 bytes), and some more words of what a tool has to say"}

SCROLL = """async frames => {
  const list = document.querySelector(".virtual.calls");
  const step = (list.scrollHeight - list.clientHeight) / frames;
  for (let number = 1; number <= frames; number += 1) {
    list.scrollTop = step * number;
    await new Promise(requestAnimationFrame);
  }
  return [list.scrollTop + list.clientHeight >= list.scrollHeight - 60, list.querySelectorAll(".call").length];
}"""


def kept(root: Path) -> None:
    """A journal as such a run leaves it."""
    with Runs(workspace(root)).create(RUN) as journal:

        def add(path: str, kind: Kind, outcome: str = "", **data: object) -> None:
            journal.add(JournalEntry(path=path, kind=kind, step=1, outcome=outcome, body=pack(data)))

        add("main", "run", entry="main", input="go", prompts={}, continues=None)
        add("main", "session", llmdo="0")
        add("main", "call", worker="main", input="go", depth=0)
        for number in range(1, WORKERS + 1):
            above = f"main/writer#{number}"
            add(above, "call", worker="writer", input="x", depth=1)
            for tool in range(1, TOOLS + 1):
                path = f"{above}/write_file#{tool}"
                add(path, "decision", "allowed", **DECIDED)
                add(path, "started")
                add(path, "finished", "success", **DONE)
            add(above, "return", "success", output="done", error=None)
        add("main", "end", "completed", error=None)
        journal.commit()


def metrics(session: CDPSession) -> dict[str, float]:
    return {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.timeout(240)
def test_ten_thousand_calls_scroll_within_a_frame_and_a_bound_of_memory(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    kept(tmp_path)
    session = page.context.new_cdp_session(page)
    session.send(
        "Performance.enable", {"timeDomain": "threadTicks"}
    )  # what others do on the machine counts not
    serve(tmp_path).open(page, f"#/run/{RUN}")
    expect(page.locator(".run-facts")).to_contain_text("10,001", timeout=60_000)
    before = metrics(session)
    is_at_end, rows = page.evaluate(SCROLL, FRAMES)
    after = metrics(session)
    assert is_at_end
    assert rows < 60, "only what is seen is drawn"
    assert (after["TaskDuration"] - before["TaskDuration"]) * 1000 / FRAMES < FRAME
    session.send("HeapProfiler.collectGarbage")
    assert metrics(session)["JSHeapUsedSize"] / 1e6 < MEMORY


@pytest.mark.long
@pytest.mark.browser
def test_a_long_value_is_in_the_page_whole_once_it_is_unfolded(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    line = "x" * 5_000
    root = workspace(tmp_path, number=1, content="LONG")
    models = (root / "models.py").read_text(encoding="utf-8")
    long_text = '"x" * 5_000 + "".join(f"\\nline {number}" for number in range(20_000))'
    (root / "models.py").write_text(models.replace("'LONG'", long_text), encoding="utf-8")
    asked(root)
    serve(root).open(page, "#/inbox")
    card = page.locator(".question")
    allow = card.get_by_role("button", name="Allow", exact=True)
    expect(allow).to_be_disabled()
    page.keyboard.press("u")
    expect(allow).to_be_enabled()
    shown = page.evaluate("document.querySelectorAll('.question .lines')[1].textContent")
    assert line in shown
    assert all(f"line {number}" in shown for number in range(0, 20_000, 500))
    go(page, "#/runs")
