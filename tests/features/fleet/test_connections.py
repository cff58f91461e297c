"""The connections of a worker: as many as docs/fleet.md says, however many runs it has, and enough where there are few."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.features.batch.conftest import effects, inputs
from tests.features.fleet.conftest import Rows, until
from tests.support import postgres

if lacking := postgres.lacking():
    pytest.skip(lacking, allow_module_level=True)

import psycopg

from llmdo.features.fleet import queue
from llmdo.features.postgres import pool
from llmdo.features.postgres.database import Database
from tests.features.fleet.test_worker import STATES, put_in
from tests.features.fleet.working import process, working

pytestmark = pytest.mark.fleet

MOST = pool.BOUND + 1 + queue.LOOKING + queue.TAKING
CONNECTIONS = """
SELECT application_name FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND backend_type = 'client backend'
"""
AT_WORK = "SELECT count(*) FROM llmdo.run WHERE owner IS NOT NULL AND status = 'running'"


def test_a_worker_has_as_many_connections_as_is_documented(fleet: str, workspace: Path, rows: Rows) -> None:
    assert f"at most {MOST} connections" in (Path(__file__).parents[3] / "docs/fleet.md").read_text()
    (workspace / "hold").touch()
    inputs(workspace, *(f"careful {name}" for name in "abcd"), *(f"slow {number}" for number in range(12)))
    put_in(workspace, fleet, rows)
    until(lambda: not rows(CONNECTIONS))
    seen: Counter[str] = Counter()
    most = 0

    def looked(wanted: str, number: int) -> bool:
        nonlocal most
        names = [name for (name,) in rows(CONNECTIONS)]
        most = max(most, len(names))
        for name, times in Counter(names).items():
            seen[name] = max(seen[name], times)
        return bool(rows(wanted)[0][0] == number)

    with process(workspace, fleet, "--jobs", "8"):
        until(lambda: looked(AT_WORK, 8))
        (workspace / "hold").unlink()
        until(lambda: looked("SELECT count(*) FROM llmdo.item WHERE state IN ('completed', 'waiting')", 16))
    assert most <= MOST, seen
    assert seen["llmdo lease"] == 1, seen
    assert seen["llmdo"] <= pool.BOUND, seen


def test_where_a_server_has_few_connections_left_a_worker_goes_on_with_fewer(
    fleet: str, workspace: Path, rows: Rows
) -> None:
    user = f"few_{fleet.rpartition('/')[2]}"
    rows(f"CREATE ROLE {user} LOGIN CONNECTION LIMIT 8")  # fewer than it would have
    for schema in ("llmdo", "llmdo_queue"):
        rows(f"GRANT USAGE ON SCHEMA {schema} TO {user}")
        rows(f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {user}")
        rows(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA {schema} TO {user}")
        rows(f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO {user}")
    try:
        names = [f"n{number}" for number in range(16)]
        inputs(workspace, *(f"effect {name}" for name in names))
        put_in(workspace, fleet, rows)
        with working(workspace, fleet.replace("postgres@", f"{user}@"), jobs=8) as worker:
            until(lambda: not rows("SELECT 1 FROM llmdo.item WHERE state IN ('queued', 'running')"))
        assert {state for _, state in rows(STATES)} == {"completed"}
        assert sorted(effects(workspace)) == sorted(names)
        assert not [line for line in worker.lines if "warning" in line]
    finally:
        rows(f"REVOKE ALL ON ALL TABLES IN SCHEMA llmdo, llmdo_queue FROM {user}")
        rows(f"DROP OWNED BY {user}")
        until(lambda: not rows(f"SELECT 1 FROM pg_stat_activity WHERE usename = '{user}'"))
        rows(f"DROP ROLE {user}")


def test_threads_share_as_many_connections_as_the_bound_says(fleet: str, rows: Rows) -> None:
    database, together = Database(fleet), threading.Barrier(pool.BOUND)

    def asked(_: int) -> int:
        together.wait(60)  # else one connection might do for all
        [(process,)] = database.rows("SELECT pg_backend_pid() FROM pg_sleep(0.1)")
        return int(process)

    with ThreadPoolExecutor(pool.BOUND * 4) as threads:
        processes = set(threads.map(asked, range(pool.BOUND * 4)))
    assert len(processes) == pool.BOUND
    assert len(rows(CONNECTIONS)) == pool.BOUND
    database.close()
    until(lambda: not rows(CONNECTIONS))


def test_a_thread_in_a_transaction_waits_for_no_second_connection(fleet: str) -> None:
    database, together = Database(fleet), threading.Barrier(pool.BOUND)

    def asked(_: int) -> bool:
        with database.transaction() as execute:
            together.wait(60)  # every connection is in use
            return database.rows("SELECT pg_backend_pid()") == execute("SELECT pg_backend_pid()")

    with ThreadPoolExecutor(pool.BOUND) as threads:
        assert all(threads.map(asked, range(pool.BOUND)))


def test_a_connection_that_the_server_ended_is_handed_to_nobody(fleet: str, rows: Rows) -> None:
    database = Database(fleet)
    [(before,)] = database.rows_at_once("SELECT pg_backend_pid()")
    rows(f"SELECT pg_terminate_backend({before}, 60000)")
    [(after,)] = database.rows_at_once("SELECT pg_backend_pid()")
    assert after != before


def test_a_process_that_gets_no_further_connection_waits_for_its_own(fleet: str, rows: Rows) -> None:
    user = f"one_{fleet.rpartition('/')[2]}"
    rows(f"CREATE ROLE {user} LOGIN CONNECTION LIMIT 1")
    database = Database(fleet.replace("postgres@", f"{user}@"))
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda _: database.rows_at_once("SELECT 1"), range(32))) == [[(1,)]] * 32
    with psycopg.connect(fleet) as connection:
        connection.execute("SELECT 1")
    database.close()
    until(lambda: not rows(f"SELECT 1 FROM pg_stat_activity WHERE usename = '{user}'"))
    rows(f"DROP ROLE {user}")
