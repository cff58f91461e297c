"""A database that was put back to an earlier backup: a machine that saw more in it stops, and what is open is unsure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.postgres.runs import PostgresRuns
from llmdo.features.postgres.seen import FILE
from llmdo.journal.entries import JournalEntry, PutBackError
from llmdo.journal.items import NewItem, Result
from llmdo.journal.opening import batches_of, declare_restored
from tests.journal.test_batches import BATCH
from tests.support import postgres

pytestmark = pytest.mark.fleet


@pytest.fixture
def put_back(cluster: postgres.Cluster, store: str) -> Callable[[], Callable[[], None]]:
    """Takes a backup of the store, and returns what puts that back in its place."""

    def backup() -> Callable[[], None]:
        end_connections()
        kept = cluster.new_database(like=store).rpartition("/")[2]

        def restore() -> None:
            name = store.rpartition("/")[2]
            end_connections()
            with psycopg.connect(cluster.address(), autocommit=True) as connection:
                connection.execute(f"DROP DATABASE {name}".encode())
                connection.execute(f"CREATE DATABASE {name} TEMPLATE {kept}".encode())

        return restore

    def end_connections() -> None:
        with psycopg.connect(cluster.address(), autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s",
                [store.rpartition("/")[2]],
            )

    return backup


def begun(runs: PostgresRuns, run: str, steps: int = 1) -> None:
    with runs.claim(run), runs.create(run) as journal:
        for step in range(1, steps + 1):
            journal.add(JournalEntry(path="main", kind="call", step=step))
            journal.commit()


def test_an_earlier_store_is_told_by_what_this_machine_saw_in_it(
    store: str, root: Path, put_back: Callable[[], Callable[[], None]]
) -> None:
    begun(PostgresRuns(root, store), "a")
    restore = put_back()
    begun(PostgresRuns(root, store), "b")
    with PostgresRuns(root, store).claim("c"):
        pass
    restore()
    runs = PostgresRuns(root, store)
    for _ in range(2):
        with pytest.raises(
            PutBackError, match="does not hold what this machine saw in it of run `b`"
        ) as error:
            runs.claim("c")
    assert "llmdo fleet store restored" in str(error.value.hint)
    with runs.read("a"):  # what is there can be looked at
        pass
    with PostgresRuns(root.parent / "other", store).claim(
        "c"
    ):  # a machine that saw nothing of it cannot tell
        pass
    assert declare_restored(store) == (0, 1)
    with pytest.raises(LlmdoError, match="run `a` is unsure"):
        runs.claim("a", "worker")
    begun(runs, "b", 2)
    restore()
    with pytest.raises(PutBackError, match="of an earlier such moment"):
        PostgresRuns(root, store).claim("c")


def test_an_entry_more_is_enough_and_a_run_that_was_removed_is_no_loss(
    store: str, root: Path, put_back: Callable[[], Callable[[], None]]
) -> None:
    runs = PostgresRuns(root, store)
    begun(runs, "a")
    restore = put_back()
    with runs.claim("a"), runs.open("a") as journal:
        journal.add(JournalEntry(path="main", kind="call", step=2))
        journal.commit()
    restore()
    with pytest.raises(PutBackError, match="of run `a`"):
        runs.claim("b")
    declare_restored(store)
    begun(runs, "b")
    runs.remove("b")
    begun(runs, "c")


def test_what_this_machine_saw_stays_small_and_need_not_be_there(store: str, root: Path) -> None:
    runs = PostgresRuns(root, store)
    begun(runs, "a", 100)
    file = runs.folder / FILE
    assert len(file.read_text().splitlines()) == 100
    file.write_text(file.read_text() * 50)  # as after as many runs
    assert file.stat().st_size > 256 * 1024
    with file.open("a") as added:
        added.write("a line that was cut sh")
    with runs.claim("b"):
        assert len(file.read_text().splitlines()) == 64
    file.unlink()
    with runs.claim("b"):
        pass


def test_a_process_at_work_on_what_is_open_writes_nothing_any_more(store: str, root: Path) -> None:
    runs = PostgresRuns(root, store)
    with runs.claim("a"), runs.create("a") as journal:
        journal.add(JournalEntry(path="main", kind="call", step=1))
        journal.commit()
        assert declare_restored(store) == (0, 1)
        journal.add(JournalEntry(path="main", kind="call", step=2))
        with pytest.raises(LlmdoError, match="writes nothing any more"):
            journal.commit()


def test_an_open_item_whose_error_holds_any_character_is_unsure_in_a_restored_store(
    store: str, root: Path
) -> None:
    batches = batches_of(root, {"LLMDO_STORE": store})
    with batches.create(BATCH, [NewItem(key="a", place="x")], lambda: "r1") as opened:
        item = opened.take()
        assert item is not None
        assert opened.end(item, Result(state="waiting", error="\0 and \ud800"))
        assert declare_restored(store) == (1, 0)
        (item,) = opened.items()
        assert item.state == "unsure"
        assert "was put back" in str(item.result.error)
