"""A fleet in a real browser: its workers and their beats, what each has, what waits, and its batches."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.features.batch.conftest import effects, inputs
from tests.features.fleet.conftest import Rows, fleet, migrated, rows, workspace
from tests.features.page.conftest import EXAMPLES, Served, go
from tests.features.page.test_access import axe, check_in_both_themes
from tests.features.page.test_runs import SLOW, api, llmdo_elsewhere
from tests.support import postgres

if lacking := postgres.lacking():
    pytest.skip(lacking, allow_module_level=True)

from llmdo.features.fleet.queue import Queue
from llmdo.features.fleet.worker import Presence
from llmdo.journal.opening import workers_of
from tests.features.fleet.test_queue import taken_by
from tests.features.fleet.working import working

__all__ = ["axe", "fleet", "migrated", "rows", "workspace"]

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(240)]

Serve = Callable[..., Served]

REVIEWED, OLD = "sha256:0123456789abcdef", "sha256:fedcba9876543210"
HOSTILE = "<img src=x onerror=alert(1)>\u202egnp"


@pytest.fixture
def queue(fleet: str) -> Any:
    queue = Queue(fleet)
    yield queue
    queue.close()


@pytest.fixture
def stored(fleet: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of the fleet, which the environment names."""
    monkeypatch.setenv("LLMDO_STORE", fleet)
    return fleet


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.window(bypass_csp=True)
def test_workers_their_beats_and_what_they_have_are_shown_as_they_are(
    page: Page, serve: Serve, stored: str, queue: Queue, rows: Rows, workspace: Path, axe: str
) -> None:
    for name in ("a@1", "b@1", "c@1"):
        queue.enqueue(name, entry="main", lock=REVIEWED)
    queue.enqueue("d@1", entry=HOSTILE, lock=OLD)
    with (
        Presence(workers_of(stored), lock=REVIEWED, jobs=2) as worker,
        Presence(workers_of(stored), lock="sha256:another", jobs=1) as idle,
        Presence(workers_of(stored), lock=REVIEWED, jobs=1) as dead,
    ):
        rows(f"UPDATE llmdo.worker SET beat = beat - interval '1 hour' WHERE id = '{dead.id}'")
        taken_by(rows, "a@1", worker.id)
        taken_by(rows, "b@1", dead.id)
        serve(workspace).open(page, "#/fleet")
        expect(page.locator(".lead").first).to_contain_text("2 workers, 2 items at work, 2 waiting")
        line = {each: page.locator("tr", has_text=each.id) for each in (worker, idle, dead)}
        expect(line[worker]).to_contain_text("working")
        expect(line[worker]).to_contain_text("1 of 2")
        expect(line[worker].get_by_role("link", name="a")).to_have_attribute("href", "#/run/a")
        expect(line[idle]).to_contain_text("another lock than what waits")
        expect(line[dead]).to_contain_text("dead")
        expect(line[dead]).to_contain_text("60 min ago")
        waiting = page.get_by_role("region", name="Waiting")
        expect(waiting.locator("tr", has_text="0123456789ab")).to_contain_text("main")
        expect(waiting.locator("tr", has_text="fedcba987654")).to_contain_text("no worker has it")
        expect(waiting).to_contain_text("<img src=x onerror=alert(1)>\\u{202e}gnp")
        expect(page.locator(".block", has_text="Left over")).to_contain_text(dead.id)
        check_in_both_themes(page, axe, ["#/fleet"])
        rows(f"UPDATE llmdo.worker SET state = 'leaving' WHERE id = '{idle.id}'")
        idle.state = "leaving"
        rows(
            "DELETE FROM llmdo_queue.workflow_status WHERE workflow_uuid LIKE '%c@1' OR workflow_uuid LIKE '%d@1'"
        )
        expect(line[idle]).to_contain_text("leaving")  # it is looked at again by itself
        expect(page.get_by_role("region", name="Waiting")).to_have_count(0)
    assert page.locator("main img").count() == 0


@pytest.mark.long
@pytest.mark.browser
def test_a_fleet_without_a_worker_says_how_one_is_started(
    page: Page, serve: Serve, stored: str, workspace: Path
) -> None:
    serve(workspace).open(page)
    page.keyboard.press("g")
    page.keyboard.press("f")
    expect(page.locator(".state")).to_contain_text("llmdo fleet worker --fleet URL")


def test_the_page_has_the_facts_of_fleet_status(
    serve: Serve, stored: str, queue: Queue, workspace: Path
) -> None:
    queue.enqueue("a@1", entry="main", lock=REVIEWED)
    with Presence(workers_of(stored), lock=REVIEWED, jobs=2):
        code, data = api(serve(workspace), "/api/fleet")
        printed = json.loads(llmdo_elsewhere(workspace, "fleet", "status", "--format", "json").stdout)
    assert code == 200
    assert data.keys() == printed.keys()
    for each in (*data["workers"], *printed["workers"], *data["waiting"], *printed["waiting"]):
        for name in ("age_s", "silent_s", "longest_s"):
            each.pop(name, None)
    assert data == printed


def test_where_journals_are_files_there_is_no_fleet(serve: Serve, workspace: Path) -> None:
    served = serve(workspace)
    assert api(served, "/api/project")[1]["has_store"] is False
    assert api(served, "/api/fleet")[0] == 404


def test_the_store_may_be_that_of_the_manifest(
    serve: Serve, fleet: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = (workspace / "llmdo.toml").read_text(encoding="utf-8")
    named = manifest.replace("[workspace]\n", '[workspace]\nstore = "ACME_STORE"\n')
    (workspace / "llmdo.toml").write_text(named, encoding="utf-8")
    served = serve(workspace)
    assert api(served, "/api/project")[1]["has_store"] is True
    code, why = api(served, "/api/fleet")
    assert (code, "`ACME_STORE`, which is not set" in why["error"]) == (422, True)
    monkeypatch.setenv("ACME_STORE", fleet)
    assert api(served, "/api/fleet")[1]["workers"] == []


def test_a_store_that_cannot_be_reached_is_reported_without_its_password(
    serve: Serve, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMDO_STORE", "postgresql://u:hunter2-long@127.0.0.1:1/x")
    code, why = api(serve(workspace), "/api/fleet")
    assert (code, "hunter2" in json.dumps(why)) == (422, False)
    assert "cannot be reached" in why["error"]


@pytest.mark.browser
@pytest.mark.long
def test_a_batch_of_workers_is_shown_answered_and_taken_once_more_by_them(
    page: Page, serve: Serve, stored: str, workspace: Path, provoked: list[str]
) -> None:
    # An answer is given once more while the worker that asked still lets go of the run.
    provoked.append("status of 423")
    inputs(workspace, "effect a", "careful c", "wrong d", "wrong e")
    with working(workspace, stored) as worker:
        words = ("batch", "main", "--inputs", "in.jsonl", "--fleet", stored)
        assert "1 waiting" in llmdo_elsewhere(workspace, *words).stderr
        serve(workspace).open(page, "#/batches")
        page.locator("tbody a").first.click()
        expect(page.locator(".lead")).to_contain_text("1 completed, 1 waiting, 2 failed")
        go(page, "#/inbox")
        page.get_by_role("button", name="Allow", exact=True).click()
        expect(page.locator(".question")).to_contain_text("A worker of the fleet goes on with the run.")
        (workspace / "mended").touch()
        go(page, "#/batches")
        page.locator("tbody a").first.click()
        expect(page.locator(".lead")).to_contain_text("2 completed", timeout=SLOW)
        failed = page.locator(".item", has_text="failed")
        failed.first.locator("input").check()
        page.get_by_role("button", name="Retry 1 chosen item").click()
        expect(page.locator(".lead")).to_contain_text("3 completed, 1 failed", timeout=SLOW)
    assert effects(workspace) == ["a", "c"]
    again = [end for end in worker.ends if end[1] == "completed"]
    assert sorted(again) == [("1", "completed"), ("2", "completed"), ("3", "completed")], "all by the worker"


def test_a_page_without_a_store_has_no_place_for_it(serve: Serve) -> None:
    assert "LLMDO_STORE" not in os.environ
    assert api(serve(EXAMPLES / "greeter"), "/api/project")[1]["has_store"] is False
