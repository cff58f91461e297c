"""The store in PostgreSQL: what is forced, who may write, and what a killed process or server leaves."""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support import forking, postgres

if lacking := postgres.lacking():
    if os.environ.get("LLMDO_TEST_POSTGRES"):
        pytest.fail(lacking, pytrace=False)
    pytest.skip(lacking, allow_module_level=True)

import psycopg

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.postgres import migrations
from llmdo.features.postgres.database import Database
from llmdo.features.postgres.runs import PostgresRuns
from llmdo.journal import ClaimedError, JournalEntry, JournalError
from llmdo.journal.items import NewItem
from llmdo.journal.opening import batches_of, migrate, runs_of
from llmdo.journal.secrets import Known
from tests.journal.test_batches import BATCH
from tests.support.alive import running
from tests.support.commands import llmdo, process
from tests.support.locks import locked
from tests.support.losing import LosingReplies
from tests.support.waiting import until

pytestmark = pytest.mark.fleet

COUNTED = "SELECT (SELECT count(*) FROM llmdo.entry), (SELECT count(*) FROM llmdo.audit)"
EXPIRE = "UPDATE llmdo.run SET until = clock_timestamp() - interval '1 s'"


def rows(store: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(store, autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


def called(step: int, body: bytes = b"{}") -> JournalEntry:
    return JournalEntry(path="main", kind="call", step=step, body=body)


def test_who_lost_the_run_writes_nothing(store: str, root: Path) -> None:
    slow, quick = PostgresRuns(root, store), PostgresRuns(root, store)
    with slow.claim("r"), slow.create("r") as journal:
        journal.add(called(1))
        journal.commit()
        with pytest.raises(ClaimedError, match="another process has run `r`: "):
            quick.claim("r")
        rows(store, EXPIRE)
        with quick.claim("r"), quick.open("r") as later:
            later.add(called(2))
            later.commit()
            before = rows(store, COUNTED)
            journal.add(called(3), {"a": b"content"})
            for hold in ("anchored", "written"):
                with pytest.raises(ClaimedError, match="taken over"):
                    journal.commit(hold)  # type: ignore[arg-type]
            with pytest.raises(ClaimedError):
                slow.discard("r")
            assert rows(store, COUNTED) == before
            assert rows(store, "SELECT count(*) FROM llmdo.content") == [(0,)]
        assert rows(store, "SELECT epoch FROM llmdo.run") == [(2,)]


def test_who_lost_the_run_gives_nothing_back(store: str, root: Path) -> None:
    slow, quick = PostgresRuns(root, store), PostgresRuns(root, store)
    claim = slow.claim("r")
    slow.create("r").close()
    rows(store, EXPIRE)
    with quick.claim("r"):
        claim.give_back()
        assert quick.is_claimed("r")


def test_one_of_many_takes_a_run(store: str, root: Path) -> None:
    indexes = [PostgresRuns(root, store) for _ in range(8)]
    start = threading.Barrier(len(indexes))

    def take(runs: PostgresRuns) -> object:
        start.wait()
        try:
            return runs.claim("r")
        except ClaimedError:
            return None

    with ThreadPoolExecutor(len(indexes)) as pool:
        claims = [claim for claim in pool.map(take, indexes) if claim is not None]
    assert len(claims) == 1
    claims[0].give_back()  # type: ignore[attr-defined]
    assert rows(store, "SELECT count(*) FROM llmdo.run") == [(0,)], "a run that was never made leaves nothing"


ENDLESS = """
import sys
from itertools import count
from pathlib import Path
from llmdo.journal import JournalEntry
from llmdo.features.postgres.runs import PostgresRuns
from llmdo.journal.eligibility import end_process

store, watched = sys.argv[1:]
end = end_process if watched == "watched" else lambda why: None
runs = PostgresRuns(Path.cwd(), store, seconds=1.0, end=end)
with runs.claim("r"), runs.create("r") as journal:
    for step in count(1):
        journal.add(JournalEntry(path="main", kind="call", step=step))
        journal.commit()
"""


@pytest.mark.long
@pytest.mark.parametrize("watched", ["watched", "fenced"])
def test_a_process_that_sleeps_through_a_takeover_wakes_to_nothing(
    store: str, root: Path, watched: str
) -> None:
    words = [sys.executable, "-c", ENDLESS, store, watched]
    child = forking.Popen(words, cwd=root, stderr=-1, text=True)
    try:
        until(lambda: rows(store, COUNTED)[0][0] > 5)
        os.kill(child.pid, signal.SIGSTOP)
        runs = PostgresRuns(root, store)
        until(lambda: not runs.is_claimed("r"))
        with runs.claim("r"), runs.open("r") as journal:
            journal.add(JournalEntry(path="main", kind="return", step=1))
            journal.commit()
            before = rows(store, COUNTED)
            os.kill(child.pid, signal.SIGCONT)
            assert child.wait(30) != 0
            assert rows(store, COUNTED) == before
            journal.require_whole()
    finally:
        child.kill()
        child.communicate()


@pytest.mark.long
def test_a_killed_process_is_followed_by_another(store: str, root: Path) -> None:
    child = forking.Popen([sys.executable, "-c", ENDLESS, store, "watched"], cwd=root, stderr=-1, text=True)
    until(lambda: rows(store, COUNTED)[0][0] > 5)
    child.kill()
    child.communicate()
    runs = PostgresRuns(root, store)
    until(lambda: not runs.is_claimed("r"))
    with runs.claim("r"), runs.open("r") as journal:
        steps = [entry.step for entry in journal.entries()]
        assert steps == [*range(1, len(steps) + 1)]
        journal.add(called(len(steps) + 1))
        journal.commit()


@pytest.mark.long
def test_a_lease_is_renewed_for_as_long_as_it_is_held(store: str, root: Path) -> None:
    ended: list[str] = []
    runs, other = PostgresRuns(root, store, seconds=3, end=ended.append), PostgresRuns(root, store)
    with runs.claim("r"):
        first = rows(store, "SELECT until FROM llmdo.run")
        until(lambda: rows(store, "SELECT until FROM llmdo.run") > first)
        assert other.is_claimed("r")
        assert not ended
    assert not other.is_claimed("r")


@pytest.mark.long
def test_a_process_ends_itself_before_its_lease_does(own_cluster: postgres.Cluster, root: Path) -> None:
    store = own_cluster.new_database()
    migrate(store)
    child = forking.Popen(
        [
            sys.executable,
            "-c",
            ENDLESS.replace("journal.commit()", "journal.commit(); __import__('threading').Event().wait()"),
            store,
            "watched",
        ],
        cwd=root,
        stdin=-1,
        stderr=-1,
        text=True,
    )
    until(lambda: rows(store, COUNTED)[0][0])
    own_cluster.stop()
    _, stderr = child.communicate()
    own_cluster.start()
    assert (child.returncode, "could not be renewed" in stderr) == (2, True), stderr


@pytest.mark.long
def test_a_server_that_restarts_loses_and_doubles_nothing(own_cluster: postgres.Cluster, root: Path) -> None:
    store = own_cluster.new_database()
    migrate(store)
    runs = PostgresRuns(root, store)
    with runs.claim("r"), runs.create("r") as journal:
        for step in range(1, 31):
            journal.add(called(step))
            journal.commit("written" if step % 10 else "anchored")
            if step in (10, 20):
                own_cluster.stop()
                own_cluster.start()
    with runs.read("r", whole=True) as journal:
        assert [entry.step for entry in journal.entries()] == [*range(1, 31)]


@pytest.mark.parametrize("added", ["entry", "content"])
def test_a_commit_whose_reply_is_lost_counts_once(
    cluster: postgres.Cluster, store: str, root: Path, added: str
) -> None:
    between = LosingReplies(cluster.port)
    runs = PostgresRuns(root, store.replace(f":{cluster.port}/", f":{between.port}/"))
    with runs.claim("r"), runs.create("r") as journal:
        for number in range(1, 4):
            if added == "entry":
                journal.add(called(number))
            else:
                journal.keep(b"content %d" % number)
            if number == 2:
                between.loses.set()
            journal.commit()
        assert not between.loses.is_set()
    between.close()
    assert rows(store, f"SELECT count(*) FROM llmdo.{added}") == [(3,)]
    runs.read("r", whole=True)


@pytest.mark.parametrize("times", [1, 3])
def test_a_forced_write_whose_connection_breaks_is_made_again(
    cluster: postgres.Cluster, store: str, root: Path, times: int
) -> None:
    between = LosingReplies(cluster.port, times)
    runs = PostgresRuns(root, store.replace(f":{cluster.port}/", f":{between.port}/"))
    with runs.claim("r"), runs.create("r") as journal:
        for number in range(1, 4):
            journal.add(called(number))
            journal.commit("written")
            between.loses.set()
            journal.force("anchored")
            assert not between.loses.is_set()
    between.close()
    with runs.read("r", whole=True) as journal:
        assert [entry.step for entry in journal.entries()] == [1, 2, 3]


def test_a_commit_that_is_still_under_way_when_its_connection_breaks_counts_once(
    cluster: postgres.Cluster, store: str, root: Path
) -> None:
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO llmdo.entry%'"
    between = LosingReplies(cluster.port)
    runs = PostgresRuns(root, store.replace(f":{cluster.port}/", f":{between.port}/"))
    with runs.claim("r"), runs.create("r") as journal, ThreadPoolExecutor(1) as another:
        journal.add(called(1))
        journal.commit()
        journal.add(called(2))
        with psycopg.connect(store) as connection:
            connection.execute("SELECT FROM llmdo.run FOR UPDATE")
            committed = another.submit(journal.commit)
            until(lambda: rows(store, waits) == [(1,)])
            between.cut()
            until(lambda: rows(store, waits) == [(2,)] or committed.done())
        committed.result()
    between.close()
    with runs.read("r", whole=True) as journal:
        assert [entry.step for entry in journal.entries()] == [1, 2]


def is_up(store: str) -> bool:
    try:
        rows(store, "SELECT 1")
    except psycopg.Error:
        return False
    return True


@pytest.mark.long
@pytest.mark.parametrize("then", ["forced", "written"])
def test_what_a_server_lost_that_failed_at_once_is_written_again(
    own_cluster: postgres.Cluster, root: Path, then: str
) -> None:
    store = own_cluster.new_database()
    migrate(store)
    runs = PostgresRuns(root, store)
    with runs.claim("r"), runs.create("r") as journal:
        journal.add(called(1))
        journal.commit()
        asked = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
        [(writer,)] = rows(store, asked)
        os.kill(writer, signal.SIGSTOP)
        for step in range(2, 6):
            journal.add(called(step))
            journal.commit("written")
        os.kill(writer, signal.SIGKILL)  # which ends all of the server, and has it begin again
        until(lambda: is_up(store) and rows(store, asked) != [(writer,)])
        assert rows(store, "SELECT count(*) FROM llmdo.entry") == [(1,)], "the server lost nothing"
        if then == "written":
            journal.add(called(6))
            journal.commit("written")
        journal.force("forced")
    with runs.read("r", whole=True) as journal:
        assert [entry.step for entry in journal.entries()] == [*range(1, 6 if then == "forced" else 7)]


def test_what_is_forced_is_on_disk_and_what_is_not_need_not_be(
    own_cluster: postgres.Cluster, root: Path
) -> None:
    store = own_cluster.new_database()
    migrate(store)
    runs = PostgresRuns(root, f"{store}?options=-csynchronous_commit%3Doff")  # whatever the default is
    lacking = "SELECT pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn()"
    with runs.claim("r"), runs.create("r") as journal, psycopg.connect(store, autocommit=True) as other:
        for step, (hold, is_lacking) in enumerate(
            [("written", True), ("forced", False), ("anchored", False)], 1
        ):
            journal.add(called(step))
            journal.commit(hold)  # type: ignore[arg-type]
            assert other.execute(lacking).fetchone() == (is_lacking,)
        journal.add(called(4))
        journal.commit("written")
        journal.force("forced")
        assert other.execute(lacking).fetchone() == (False,)


def test_no_secret_is_in_any_table(store: str, root: Path) -> None:
    runs = PostgresRuns(root, store)
    with runs.create("r") as journal:
        journal.know(Known.of({"A_KEY": "correct-horse-battery"}))
        journal.add(called(1, b'{"input":"correct-horse-battery"}'), {"a": b"correct-horse-battery"})
        journal.commit()
    tables = [name for (name,) in rows(store, "SELECT tablename FROM pg_tables WHERE schemaname = 'llmdo'")]
    assert {"run", "entry", "content", "secret", "audit"} <= {*tables}
    for table in tables:
        for row in rows(store, f"SELECT * FROM llmdo.{table}"):
            assert "correct" not in str(row)
    with runs.open("r") as journal:
        journal.know(Known.of({"A_KEY": "correct-horse-battery"}))
        assert [journal.whole(entry) for entry in journal.entries()] == [{"input": "correct-horse-battery"}]


@pytest.mark.parametrize("change", ["body = 'x'", "outcome = 'x'", "seq = 7", "head = 'x'"])
def test_a_row_that_was_changed_is_found(store: str, root: Path, change: str) -> None:
    runs = PostgresRuns(root, store)
    with runs.create("r") as journal:
        for step in (1, 2):
            journal.add(called(step))
        journal.commit()
    rows(store, f"UPDATE llmdo.entry SET {change} WHERE seq = 1")
    with pytest.raises(JournalError, match="damaged"):
        runs.open("r")
    assert not runs.is_claimed("r")


def test_a_store_is_migrated_before_it_is_used(cluster: postgres.Cluster, root: Path) -> None:
    address = cluster.new_database()
    with pytest.raises(JournalError, match="is at migration 0") as lacking:
        runs_of(root, {"LLMDO_STORE": address})
    assert lacking.value.hint == "`llmdo fleet store migrate` brings it up to date"
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(migrate, [address] * 4)) == len(migrations.MIGRATIONS)
    assert migrate(address) == 0
    rows(address, "INSERT INTO llmdo.migration VALUES (99, now())")
    for work in (lambda: runs_of(root, {"LLMDO_STORE": address}), lambda: migrate(address)):
        with pytest.raises(JournalError, match="is at migration 99") as newer:
            work()
        assert newer.value.hint == "use a newer llmdo"


@pytest.mark.parametrize(
    "address",
    [
        "mysql://u:hunter2-long@127.0.0.1/x",
        "postgresql://u:hunter2-long@127.0.0.1:1/x",
        "postgresql://u:hunter2-long@127.0.0.1:notaport/x",
        "postgresql://u:hunter2-long%zz@127.0.0.1/x",
    ],
)
def test_no_address_is_repeated(root: Path, address: str) -> None:
    with pytest.raises(LlmdoError) as error:
        runs_of(root, {"LLMDO_STORE": address})
    assert "hunter2" not in f"{error.value}{error.value.hint}"


MODELS = """\
import os
from pathlib import Path
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

def answer(messages, info):
    returns = [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if returns and not Path("alive").exists():
        os.kill(os.getpid(), 9)
    with open("asked.log", "a") as log:
        log.write("asked\\n")
    return ModelResponse(parts=[TextPart(str(returns)) if returns else ToolCallPart("pay", {})])

rules = FunctionModel(answer)
"""
MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:rules"

[entries.main]
worker = "main"

[toolsets.tools]
python = "tools.py:tools"
"""
TOOLS = """\
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")

@tools.tool_plain(metadata={"capabilities": ["x.tools.pay"]})
def pay() -> str:
    with open("effects.log", "a") as log:
        log.write("paid\\n")
    return "paid"
"""
WORKER = "---\nname: main\ntoolsets: [tools]\n---\nPay.\n"


@pytest.fixture
def workspace(root: Path) -> Path:
    files = {"llmdo.toml": MANIFEST, "models.py": MODELS, "tools.py": TOOLS, "main.worker": WORKER}
    for name, text in files.items():
        (root / name).write_text(text)
    locked(root)
    return root


@pytest.mark.long
def test_the_commands_work_on_a_run_in_a_store(
    store: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "alive").touch()
    waiting = llmdo(workspace, "run", "main", "x", "--approvals", "later", "--store", store)
    assert waiting.returncode == 3, waiting.stderr
    assert not [*workspace.glob(".llmdo/runs/*.sqlite")]
    listed = llmdo(workspace, "runs", "--store", store)
    assert "waiting" in listed.stdout, listed
    approved = llmdo(workspace, "approve", "last", "--yes", "main/pay#1", "--store", store)
    assert approved.returncode == 0, approved
    monkeypatch.setenv("LLMDO_STORE", store)
    resumed = llmdo(workspace, "resume", "last")
    assert (resumed.returncode, "paid" in resumed.stdout) == (0, True), resumed
    assert "completed" in llmdo(workspace, "runs").stdout
    assert "pay" in llmdo(workspace, "runs", "show", "last").stdout
    audit = llmdo(workspace, "runs", "audit", "last", "--verify")
    assert (audit.returncode, "the chain holds" in audit.stdout) == (0, True), audit
    assert "pay" in llmdo(workspace, "runs", "audit", "last").stdout
    assert "paid" in llmdo(workspace, "runs", "replay", "last").stdout
    assert llmdo(workspace, "runs", "export", "last", "out.sqlite").returncode == 0
    assert "paid" in llmdo(workspace, "runs", "replay", "out.sqlite").stdout
    assert (workspace / "effects.log").read_text() == "paid\n"
    refused = llmdo(workspace, "runs", "import", "out.sqlite")
    assert "is here already" in refused.stderr
    assert llmdo(workspace, "runs", "prune", "last").returncode == 0
    assert rows(store, COUNTED) == [(0, 0)]


@pytest.mark.long
def test_a_run_that_was_killed_goes_on_and_pays_once(
    store: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMDO_STORE", store)
    killed = process(workspace, "run", "main", "x", "--approve-all")
    assert killed.returncode == -9, killed.stderr
    (workspace / "alive").touch()
    held = llmdo(workspace, "resume", "last")
    assert (held.returncode, "another process has run" in held.stderr) == (2, True), held
    rows(store, EXPIRE)
    resumed = llmdo(workspace, "resume", "last", "--approve-all")
    assert (resumed.returncode, "paid" in resumed.stdout) == (0, True), resumed
    assert (workspace / "effects.log").read_text() == "paid\n"
    assert (workspace / "asked.log").read_text() == "asked\n" * 2
    assert rows(store, "SELECT status, entry, epoch, owner FROM llmdo.run") == [
        ("completed", "main", 2, None)
    ]


@pytest.mark.long
def test_a_statement_that_fails_says_so_without_a_traceback(store: str, root: Path) -> None:
    runs = PostgresRuns(root, store)
    with runs.create("r") as journal:
        journal.add(JournalEntry(path="a\0b", kind="call", step=1))
        with pytest.raises(JournalError, match=r"cannot keep this|failed"):
            journal.commit()
    rows(store, "DROP SCHEMA llmdo CASCADE")
    with pytest.raises(JournalError, match="failed"):
        runs.names()
    assert Database(store).rows("SELECT 1") == [(1,)]


def test_that_a_run_began_is_on_disk_before_it_does(own_cluster: postgres.Cluster, tmp_path: Path) -> None:
    address = own_cluster.new_database()
    migrate(address)
    batches = batches_of(tmp_path, {"LLMDO_STORE": address})
    with batches.create(BATCH, [NewItem(key="a", place="x")], lambda: "r1") as store:
        item = store.take()
        assert item is not None
        assert store.note_begun(item)
        own_cluster.stop()
        own_cluster.start()
        assert [each.has_begun for each in store.items()] == [True]


@pytest.mark.long
def test_a_server_of_a_test_that_fails_is_stopped(own_cluster: postgres.Cluster) -> None:
    del own_cluster  # where there is none, it is skipped
    servers: list[postgres.Cluster] = []

    def fail() -> None:
        with postgres.cluster() as server:
            servers.append(server)
            assert running(str(server.data))
            raise RuntimeError("the test fails")

    with pytest.raises(RuntimeError, match="the test fails"):
        fail()
    assert not running(str(servers[0].data))
    assert not servers[0].data.parent.exists()
