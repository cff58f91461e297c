"""The records of an item, found apart: whoever finds them so brings them together, and takes no absence for a state."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from llmdo.cli.approving import ApprovalOptions, approving
from llmdo.features.batch.item_run import BatchBasis, basis_of, execute
from llmdo.features.batch.queueing import take_up
from llmdo.journal import FileBatches, Runs
from llmdo.journal.items import BatchItem, Result
from llmdo.journal.sqlite.batches import FileBatch
from llmdo.services.run import EntryRequest, prepare
from llmdo.workspace.trust import Consent
from tests.cli.conftest import Llmdo
from tests.support.waiting import waited_for

from .conftest import effects, inputs, rows

START = ("batch", "main", "--inputs", "in.jsonl", "--jobs", "1")


def only_batch(root: Path) -> FileBatch:
    batches = FileBatches(root)
    return batches.open(batches.find("last"))


def only_item(root: Path) -> BatchItem:
    with only_batch(root) as store:
        (item,) = store.items()
        return item


def put_in(llmdo: Llmdo, root: Path, *texts: str) -> None:
    """A batch of which nothing has begun."""
    inputs(root, "hello", *texts)
    assert llmdo(*START, "--limit", "1", cwd=root).code == (1 if texts else 0)
    with closing(sqlite3.connect(only_batch(root).path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM item WHERE number = 1")


@contextmanager
def basis(root: Path, store: FileBatch) -> Iterator[BatchBasis]:
    consent = Consent()
    start = EntryRequest(entry="main", project=str(root), environ=os.environ)
    prepared = prepare(start, lambda _: None, consent)
    answering = approving(ApprovalOptions(later=True), prepared.graph, os.environ)
    with basis_of(prepared, store, answering, os.environ, consent, is_bound=True) as made:
        yield made


CONNECTED: list[str] | None = None


class LateRuns(Runs):
    """The runs as somebody sees them who looked a moment ago, when none was claimed."""

    def is_claimed(self, run: str) -> bool:
        return False


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if CONNECTED is not None and event == "sqlite3.connect":
        CONNECTED.append(str(arguments[0]))


def test_an_item_whose_run_another_process_has_is_waited_for(llmdo: Llmdo, root: Path) -> None:
    global CONNECTED
    put_in(llmdo, root, "effect a")
    run = only_item(root).run
    sys.addaudithook(_hear)
    thread = threading.Thread(target=lambda: llmdo("batch", "resume", "last", cwd=root))
    with Runs(root).claim(run):
        CONNECTED = []
        thread.start()
        try:
            assert waited_for(
                lambda: not thread.is_alive() or sum(f"{run}.lock" in each for each in CONNECTED or ()) > 3
            )
        finally:
            CONNECTED = None
        assert thread.is_alive(), "it left an item that it has"
    thread.join(60)
    assert (only_item(root).state, effects(root)) == ("completed", ["a"])


def test_a_journal_that_whoever_lost_an_item_takes_away_again_was_never_begun(
    llmdo: Llmdo, root: Path
) -> None:
    global CONNECTED
    put_in(llmdo, root, "effect a")
    sys.addaudithook(_hear)
    runs, results = Runs(root), list[Result | None]()
    with only_batch(root) as store, basis(root, store) as made:
        item = store.take()
        assert item is not None
        thread = threading.Thread(target=lambda: results.append(asyncio.run(execute(made, item))))
        with runs.claim(item.run), runs.create(item.run) as journal:
            CONNECTED = []
            thread.start()
            waits = waited_for(lambda: any(f"{item.run}.lock" in each for each in CONNECTED or ()))
            CONNECTED = None
            journal.close()
            runs.discard(item.run)
        thread.join(60)
        assert waits
        result = results[0]
        if result is None:  # it gave up before the claim was given back, and asks again
            result = asyncio.run(execute(made, item))
        assert result is not None
        assert (result.state, result.error, effects(root)) == ("completed", None, ["a"])


def test_an_item_is_put_back_by_nobody_while_another_process_has_its_run(llmdo: Llmdo, root: Path) -> None:
    """Whoever reads that it is at work, and looks whether its run is claimed, is late for both by then."""
    put_in(llmdo, root, "effect a")
    runs = Runs(root)
    with only_batch(root) as store:
        item = store.take()
        assert item is not None

        def seen() -> Iterator[BatchItem]:
            yield item

        taken = runs.claim(item.run)
        runs_late = LateRuns(root)
        take_up(store, runs_late, seen())
        assert only_item(root).state == "running"
        taken.give_back()
        take_up(store, runs_late, seen())
        assert only_item(root).state == "queued"


def test_whoever_lost_an_item_to_another_does_not_go_on_with_its_run(llmdo: Llmdo, root: Path) -> None:
    put_in(llmdo, root, "careful a")
    assert llmdo("batch", "resume", "last", cwd=root).code == 3
    run = only_item(root).run
    assert llmdo("approve", run, "--yes", "main/careful#1", cwd=root).code == 0
    with only_batch(root) as store, basis(root, store) as made:
        store.queue(store.items("waiting"))
        late = store.take()
        assert late is not None
        store.queue(store.items("running"))
        now = store.take()
        assert now is not None
        assert asyncio.run(execute(made, late)) is None
        assert effects(root) == []
        result = asyncio.run(execute(made, now))
        assert result is not None
        assert (result.state, effects(root)) == ("completed", ["a"])


def test_that_a_person_has_an_item_tried_again_outlives_the_process_that_took_it(
    llmdo: Llmdo, root: Path
) -> None:
    put_in(llmdo, root, "wrong")
    assert llmdo("batch", "resume", "last", cwd=root).code == 1
    with only_batch(root) as store:
        store.queue(store.items("failed"), "resume")
        assert store.take()  # by a process that is killed before it goes on with the run
    (root / "mended").touch()
    assert llmdo("batch", "resume", "last", cwd=root).code == 0
    assert only_item(root).state == "completed"


def test_what_a_person_said_of_calls_holds_for_no_attempt_after_the_one_that_was_cut_off(
    llmdo: Llmdo, root: Path
) -> None:
    put_in(llmdo, root, "effect a")
    (root / "hold").touch()
    with only_batch(root) as store, basis(root, store) as made:

        async def cut_off(retry: str) -> None:
            item = store.take()
            assert item is not None
            assert item.retry == retry
            before = len(effects(root))
            task = asyncio.create_task(execute(made, item))
            assert await asyncio.to_thread(waited_for, lambda: len(effects(root)) > before)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        asyncio.run(cut_off(""))
        assert llmdo("batch", "resume", "last", cwd=root).code == 1
        assert only_item(root).state == "unsure"
        store.queue(store.items("unsure"), "again")
        asyncio.run(cut_off("again"))
    (root / "hold").unlink()
    assert llmdo("batch", "resume", "last", cwd=root).code == 1
    assert (only_item(root).state, effects(root)) == ("unsure", ["a", "a"])


def test_a_run_that_is_stopped_as_it_begins_is_begun_by_the_next_process(llmdo: Llmdo, root: Path) -> None:
    put_in(llmdo, root, "effect a")
    run = only_item(root).run
    with only_batch(root) as store, basis(root, store) as made:
        item = store.take()
        assert item is not None

        async def stopped() -> None:
            with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")  # so that it cannot be noted yet that the run may have begun
                task = asyncio.create_task(execute(made, item))
                assert await asyncio.to_thread(waited_for, lambda: Runs(root).has(run))
                task.cancel()
                await asyncio.sleep(0)
                other.execute("ROLLBACK")
            await asyncio.gather(task, return_exceptions=True)

        asyncio.run(stopped())
        assert effects(root) == []
        (left,) = store.items()
        assert (left.state, left.has_begun, Runs(root).has(run)) == ("running", False, False)
    assert llmdo("batch", "resume", "last", cwd=root).code == 0
    assert (only_item(root).state, effects(root)) == ("completed", ["a"])


def test_before_a_journal_is_removed_it_is_on_disk_that_its_item_is_over(
    llmdo: Llmdo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in(llmdo, root, "effect a")
    forced: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        journal = Runs(root).path(only_item(root).run) if not forced else None
        forced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        assert journal is None or journal.exists()

    with only_batch(root) as store:  # what else has it open keeps its log
        assert llmdo("batch", "resume", "last", cwd=root).code == 0
        assert Path(f"{store.path}-wal").stat().st_size
        monkeypatch.setattr(os, "fsync", fsync)
        assert llmdo("runs", "prune", "--keep", "0", cwd=root).out
    assert [Path(path).suffix for path in forced[:1]] == [".sqlite-wal"]


def test_a_batch_that_was_cancelled_by_a_process_which_was_killed_is_cancelled_once_more(
    llmdo: Llmdo, root: Path
) -> None:
    put_in(llmdo, root, "careful a")
    assert llmdo("batch", "resume", "last", cwd=root).code == 3
    run = only_item(root).run
    with only_batch(root) as store:
        store.cancel()  # and then it was killed
    assert llmdo("batch", "cancel", "last", cwd=root).code == 0
    late = llmdo("approve", run, "--yes", "main/careful#1", cwd=root)
    assert (late.code, "was called off: nothing in it waits" in late.err) == (2, True), late


def test_where_the_store_fails_one_item_what_others_have_begun_is_not_cut_off(
    llmdo: Llmdo, root: Path
) -> None:
    put_in(llmdo, root, "effect a", "hello")
    (root / "hold").touch()
    with only_batch(root) as store:
        runs = [item.run for item in store.items()]
        (Runs(root).folder / f"{runs[1]}.lock").mkdir()
        done = []
        thread = threading.Thread(
            target=lambda: done.append(llmdo("batch", "resume", "last", "--jobs", "2", cwd=root))
        )
        thread.start()
        assert waited_for(lambda: effects(root) or not thread.is_alive())
        (root / "hold").unlink()
        thread.join(60)
        assert (done[0].code, "cannot write" in done[0].err) == (2, True), done
        assert [item.state for item in store.items()] == ["completed", "running"]
        (Runs(root).folder / f"{runs[1]}.lock").rmdir()
    assert llmdo("batch", "resume", "last", cwd=root).code == 0
    assert effects(root) == ["a"]


def test_what_another_process_left_meanwhile_is_taken_up_at_the_end(llmdo: Llmdo, root: Path) -> None:
    put_in(llmdo, root, "effect a", "hello")
    (root / "hold").touch()
    with only_batch(root) as store:
        runs = [item.run for item in store.items()]
        done = []
        with Runs(root).claim(runs[1]):
            left = store.take(runs[1])  # by a process that is killed before it goes on with the run
            assert left is not None
            thread = threading.Thread(
                target=lambda: done.append(llmdo("batch", "resume", "last", "--out", "out.jsonl", cwd=root))
            )
            thread.start()
            assert waited_for(lambda: effects(root) or not thread.is_alive())
        (root / "hold").unlink()
        thread.join(60)
        assert [item.state for item in store.items()] == ["completed", "completed"], done
    assert [row["output"] for row in rows(root)] == ["did a", "echo hello"]


def test_an_item_that_another_process_ended_has_its_row_as_well(llmdo: Llmdo, root: Path) -> None:
    put_in(llmdo, root, "effect a", "hello")
    (root / "hold").touch()
    with only_batch(root) as store:
        runs = [item.run for item in store.items()]
        with Runs(root).claim(runs[1]):
            others = store.take(runs[1])
            assert others is not None
            thread = threading.Thread(
                target=lambda: llmdo("batch", "resume", "last", "--out", "out.jsonl", cwd=root)
            )
            thread.start()
            assert waited_for(lambda: effects(root) or not thread.is_alive())
            assert store.end(others, Result(state="completed", output="another"))
        (root / "hold").unlink()
        thread.join(60)
    assert [row["output"] for row in rows(root)] == ["did a", "another"]
