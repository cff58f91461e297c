"""Commits of runs that go on beside each other: forced to disk off the event loop, and together where they can be."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from llmdo.journal import JournalEntry, JournalError, Runs
from llmdo.journal.entries import StoreError
from llmdo.journal.sqlite import anchor
from llmdo.journal.sqlite.store import LONG, Journal, open_journal
from llmdo.runtime.recording.log import Commits
from tests.support.waiting import comes

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.journal.stored import Hold

SLOW = 0.05  # seconds that a forced write takes here


class SlowDisk:
    """A journal on a disk that is slow."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.forced: list[str] = []
        """The threads in which something was forced to disk."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def force(self, hold: Hold) -> None:
        self.forced.append(threading.current_thread().name)
        time.sleep(SLOW)
        self._journal.force(hold)


def entry(number: int) -> JournalEntry:
    return JournalEntry(path=f"main/tool#{number}", kind="started", step=1)


def test_one_forced_write_serves_all_calls_that_wait_for_it(tmp_path: Path) -> None:
    async def work() -> None:
        with Runs(tmp_path).create("r") as journal:
            commits = Commits(disk := SlowDisk(journal))  # type: ignore[arg-type]

            async def call(number: int) -> None:
                journal.add(entry(number))
                await commits.commit()
                anchored = anchor.anchored(journal.path)
                assert anchored is not None
                assert journal.get(f"main/tool#{number}", "started") is not None
                numbers.append(anchored.entries.number)

            await asyncio.gather(*map(call, range(1, 21)))
            return disk.forced

    numbers: list[int] = []
    forced = asyncio.run(work())
    assert all(number >= call for call, number in enumerate(numbers, 1))
    assert len(forced) <= 2, "for the first, and for all that came meanwhile"


def test_the_event_loop_does_not_wait_for_the_disk(tmp_path: Path) -> None:
    async def work() -> tuple[int, list[str]]:
        with Runs(tmp_path).create("r") as journal:
            commits = Commits(disk := SlowDisk(journal))  # type: ignore[arg-type]
            journal.add(entry(1))
            going = asyncio.create_task(commits.commit())
            rounds = 0
            while not going.done():
                await asyncio.sleep(0)
                rounds += 1
            return rounds, disk.forced

    rounds, forced = asyncio.run(work())
    assert rounds > 100
    assert forced
    assert "MainThread" not in forced


def test_a_run_that_is_cancelled_while_it_waits_for_the_disk_leaves_a_whole_journal(tmp_path: Path) -> None:
    async def work() -> None:
        with Runs(tmp_path).create("r") as journal:
            commits = Commits(disk := SlowDisk(journal))  # type: ignore[arg-type]
            journal.add(entry(1))
            going = asyncio.create_task(commits.commit())
            await comes(lambda: disk.forced)
            going.cancel()
            journal.add(entry(2))
            await commits.commit()

    asyncio.run(work())
    with open_journal(Runs(tmp_path).path("r")) as journal:
        assert len(list(journal.entries())) == 2


def test_a_disk_that_fails_is_told_to_all_that_wait(tmp_path: Path) -> None:
    async def work() -> list[object]:
        with Runs(tmp_path).create("r") as journal:
            journal.add(entry(9))
            journal.commit()
            reads, writes = os.pipe()
            os.dup2(writes, journal._log)  # which cannot be forced to anything
            for end in (reads, writes):
                os.close(end)
            commits = Commits(journal)

            async def call(number: int) -> None:
                journal.add(entry(number))
                await commits.commit()

            return list(await asyncio.gather(*map(call, range(3)), return_exceptions=True))

    outcomes = asyncio.run(work())
    assert [type(outcome) for outcome in outcomes] == [StoreError] * 3
    assert "Invalid argument" in str(outcomes[0])


def test_a_log_begins_anew_when_it_is_long(tmp_path: Path) -> None:
    with Runs(tmp_path).create("r") as journal:
        commits = Commits(journal)

        async def work() -> None:
            for number in range(3 * LONG):
                journal.add(entry(number))
                await commits.commit("written")

        asyncio.run(work())
        log = journal.path.with_name("r.sqlite-wal").stat().st_size
        assert log < 6 * LONG * 4096
        assert len(list(journal.entries())) == 3 * LONG


def test_what_the_calls_of_one_turn_add_is_written_at_once(tmp_path: Path) -> None:
    statements: list[str] = []

    async def work() -> None:
        with Runs(tmp_path).create("r") as journal:
            commits = Commits(journal)
            journal._connection.set_trace_callback(statements.append)

            async def call(number: int) -> None:
                journal.add(entry(number))
                await commits.commit("written")
                with Runs(tmp_path).read("r") as other:
                    assert other.get(f"main/tool#{number}", "started") is not None

            await asyncio.gather(*map(call, range(20)))

    asyncio.run(work())
    assert statements.count("COMMIT") == 1


def test_a_write_that_fails_is_told_to_all_that_wait(tmp_path: Path) -> None:
    async def work() -> list[object]:
        with Runs(tmp_path).create("r") as journal:
            commits = Commits(journal)
            journal.path.unlink()

            async def call(number: int) -> None:
                journal.add(entry(number))
                await commits.commit("written")

            return list(await asyncio.gather(*map(call, range(3)), return_exceptions=True))

    outcomes = asyncio.run(work())
    assert [type(outcome) for outcome in outcomes] == [JournalError] * 3
    assert "was removed" in str(outcomes[2])


def test_a_call_that_is_cancelled_takes_no_other_calls_write_along(tmp_path: Path) -> None:
    async def work() -> None:
        with Runs(tmp_path).create("r") as journal:
            commits = Commits(journal)

            async def call(number: int) -> None:
                journal.add(entry(number))
                await commits.commit("written")

            calls = [asyncio.create_task(call(number)) for number in range(3)]
            await asyncio.sleep(0)
            calls[0].cancel()
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
            assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError, type(None), type(None)]

    asyncio.run(work())
    with open_journal(Runs(tmp_path).path("r")) as journal:
        assert len(list(journal.entries())) == 3
