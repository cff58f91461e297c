"""The limits of a conversation: what each run reserves of them, over both stores, against a simple model."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal import JournalEntry, JournalStore, RunIndex, Runs
from llmdo.journal.conversation import Earlier
from llmdo.journal.entries import ClaimedError, ReservedError, pack
from llmdo.journal.opening import migrate, runs_of
from llmdo.journal.shares import ConversationShares, Share
from llmdo.journal.spending import NAMES, Claims, allot, shared_out
from tests.support import postgres
from tests.support.laws import tried

MOST = {"requests": 12, "total_tokens": 60}
TOKENS = 7  # of a request
PATIENCE = 10.0  # seconds


@dataclass
class Simple:
    """A run as the model knows it: what it used, and its share while a process works on it."""

    used: int = 0
    share: dict[str, float] | None = None

    def held(self, name: str) -> float:
        """What nobody else may use because of it."""
        used = self.used * (1 if name == "requests" else TOKENS)
        return used if self.share is None else max(used, self.share[name])


@dataclass
class Real:
    """The same run in a store."""

    journal: JournalStore
    claim: AbstractContextManager[object]
    sessions: int = 0


@dataclass
class Conversation:
    """A conversation in a store, and its model."""

    index: RunIndex
    earlier: Earlier
    simple: dict[str, Simple] = field(default_factory=dict)
    real: dict[str, Real] = field(default_factory=dict)

    def opened(self, run: str, *, is_new: bool) -> Real:
        claim = self.index.claim(run)
        journal = self.index.create(run) if is_new else self.index.open(run)
        sessions = journal.counted().get("session", 0)
        return Real(journal, claim, sessions)

    def go_on(self, run: str, want: int | None) -> None:
        """Has a process begin or resume the run, or fail to, as the model says."""
        is_new = run not in self.simple
        simple, real = self.simple.get(run, Simple()), self.opened(run, is_new=is_new)
        others = [other for name, other in self.simple.items() if name != run]
        free = {name: most - sum(other.held(name) for other in others) for name, most in MOST.items()}
        left = {
            name: most - sum(other.used for other in others) * (1 if name == "requests" else TOKENS)
            for name, most in MOST.items()
        }
        mine = {"requests": simple.used, "total_tokens": simple.used * TOKENS}
        expected: dict[str, float] | type[LlmdoError] = {
            name: max(0, amount if want is None or name != "requests" else min(amount, want))
            for name, amount in free.items()
        }
        for name in MOST:
            if isinstance(expected, dict):
                if is_new and left[name] <= 0:
                    expected = LlmdoError
                elif free[name] <= mine[name] < left[name]:
                    expected = ReservedError
        try:
            share: object = allot(
                real.journal, "main", self.earlier, MOST, {"requests": want, "total_tokens": None}
            ).share
        except LlmdoError as error:
            share = type(error)
        assert share == expected
        if not isinstance(expected, dict):
            self.leave(real)
            if is_new:
                self.index.remove(run)
            return
        if is_new:
            add(real.journal, "run", 1, {"continues": self.earlier.data})
        real.sessions += 1
        add(real.journal, "session", real.sessions, {"limits": {}})
        simple.share = expected
        self.simple[run], self.real[run] = simple, real

    def use(self, run: str) -> None:
        """Has the run use what it may."""
        simple, real = self.simple[run], self.real[run]
        share = simple.share
        if share and simple.used < share["requests"] and simple.used * TOKENS < share["total_tokens"]:
            simple.used += 1
            add(real.journal, "sent", simple.used)
            usage = {"input_tokens": 3, "output_tokens": TOKENS - 3}
            add(real.journal, "request", simple.used, {"response": {"usage": usage}})

    def stop(self, run: str, outcome: str | None) -> None:
        """Has the process at work end, with a word about it or without."""
        real, simple = self.real.pop(run), self.simple[run]
        simple.share = None
        if outcome is not None:
            add(real.journal, "end", real.sessions, outcome=outcome)
        self.leave(real)

    @staticmethod
    def leave(real: Real) -> None:
        real.journal.close()
        real.claim.__exit__(None, None, None)


def add(
    journal: JournalStore, kind: Any, step: int, data: dict[str, object] | None = None, outcome: str = ""
) -> None:
    entry = JournalEntry(
        path="main", kind=kind, step=step, body=pack(data or {}), outcome=outcome, at=float(step)
    )
    journal.add(entry)
    journal.commit()


def begun(index: RunIndex) -> Earlier:
    """The end of the run that a conversation begins with, which used one request."""
    index.prepare()
    with index.claim("first"), index.create("first") as journal:
        add(journal, "run", 1, {"continues": None})
        add(journal, "session", 1, {"limits": {}})
        add(journal, "sent", 1)
        usage = {"input_tokens": 3, "output_tokens": TOKENS - 3}
        add(journal, "request", 1, {"response": {"usage": usage}})
        add(journal, "end", 1, outcome="completed")
        return Earlier(run="first", number=1, head="", first="first", turn=2)


RUN = st.integers(0, 3)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("go on"), RUN, st.one_of(st.none(), st.integers(1, 6))),
        st.tuples(st.just("use"), RUN, st.integers(1, 4)),
        st.tuples(st.just("stop"), RUN, st.sampled_from([None, "completed", "failed", "interrupted"])),
    ),
    max_size=20,
)


def hold_against_the_model(index: RunIndex, steps: list[tuple[str, int, Any]]) -> None:
    conversation = Conversation(index, begun(index))
    conversation.simple["first"] = Simple(used=1)
    over: set[str] = set()
    try:
        for what, number, detail in steps:
            run = f"r{number}"
            if what == "go on" and run not in conversation.real and run not in over:
                conversation.go_on(run, detail)
            elif what == "use" and run in conversation.real:
                for _ in range(detail):
                    conversation.use(run)
            elif what == "stop" and run in conversation.real:
                conversation.stop(run, detail)
                over |= {run} if detail == "completed" else set()
            assert sum(run.used for run in conversation.simple.values()) <= MOST["requests"]
    finally:
        for run in [*conversation.real]:
            conversation.stop(run, None)


KILLED: list[tuple[str, int, Any]] = [
    ("go on", 0, 6), ("use", 0, 2), ("stop", 0, None), ("go on", 1, None), ("stop", 1, "failed"), ("go on", 0, 6),
]  # fmt: skip


@tried(200)
@example(steps=KILLED)
@given(steps=STEPS)
def test_shares_are_those_of_a_simple_model(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, Any]]
) -> None:
    hold_against_the_model(Runs(tmp_path_factory.mktemp("w")), steps)


NOTHING: dict[str, float] = dict.fromkeys(NAMES, 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_every_limit_is_shared_alike(name: str) -> None:
    def share(most: float, want: float | None, used: float, held: float = 0.0) -> float:
        claims = Claims(used={**NOTHING, name: used}, held={"r": {name: held}, "other": {}})
        return shared_out({name: most}, {name: want}, claims, is_new=True)[name]

    assert share(10, None, 4) == 6
    assert share(10, None, 4, 5) == 1
    assert share(10, 2, 4) == 2
    assert share(10, 9, 4) == 6
    assert isinstance(share(10, None, 4.0), int)
    assert share(2.5, None, 1.0, 0.5) == 1.0
    key = name.replace("_", "-")
    with pytest.raises(ReservedError, match=f"run `r` has reserved all .* `{key} = 10`"):
        share(10, None, 4, 6)
    with pytest.raises(ReservedError):
        share(1.1, None, 0.7, 0.4)  # of which binary fractions leave a little
    if name == "tool_calls":
        assert share(10, None, 10) == 0, "a run without them may still answer"
        return
    with pytest.raises(LlmdoError, match=f"`{key} = 10` is reached"):
        share(10, None, 10)


@pytest.fixture(scope="session")
def migrated_store(cluster: postgres.Cluster) -> str:
    """The address of a store without a run, of which copies are made."""
    address = cluster.new_database()
    migrate(address)
    return address


@pytest.mark.fleet
@tried(20)
@example(steps=KILLED)
@given(steps=STEPS)
def test_shares_in_a_database_are_those_of_a_simple_model(
    cluster: postgres.Cluster,
    migrated_store: str,
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str, int, Any]],
) -> None:
    store = cluster.new_database(like=migrated_store)
    hold_against_the_model(runs_of(tmp_path_factory.mktemp("w"), {"LLMDO_STORE": store}), steps)


@pytest.fixture(params=["files", pytest.param("postgres", marks=pytest.mark.fleet)])
def indexes(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], RunIndex]:
    """Makes the index of the runs of one store, as each process has its own."""
    environ = {} if request.param == "files" else {"LLMDO_STORE": request.getfixturevalue("store")}
    return lambda: runs_of(tmp_path, environ)


def test_one_process_at_a_time_has_the_shares_of_a_conversation(indexes: Callable[[], RunIndex]) -> None:
    index, other = indexes(), indexes()
    begun(index)
    entered = threading.Event()

    def enter(shares: ConversationShares) -> list[Share]:
        entered.set()
        return shares.of_conversation()

    share = Share(run="first", conversation="first", reserved={"requests": 3})
    index.sharing("first", enter)
    entered.clear()
    with ThreadPoolExecutor(1) as pool:

        def hold(shares: ConversationShares) -> Future[list[Share]]:
            waiting = pool.submit(other.sharing, "first", enter)
            assert not entered.wait(0.5)
            shares.put(share)
            return waiting

        assert index.sharing("first", hold).result() == [share]


def test_what_is_kept_with_an_error_is_not_kept(indexes: Callable[[], RunIndex]) -> None:
    index = indexes()
    begun(index)

    def fail(shares: ConversationShares) -> None:
        shares.put(Share(run="first", conversation="first"))
        raise ReservedError("no")

    with pytest.raises(ReservedError):
        index.sharing("first", fail)
    assert index.sharing("first", lambda shares: shares.of_conversation()) == []


def test_a_removed_run_has_no_share(indexes: Callable[[], RunIndex]) -> None:
    index = indexes()
    begun(index)
    index.sharing("first", lambda shares: shares.put(Share(run="first", conversation="first")))
    index.remove("first")
    assert index.sharing("first", lambda shares: shares.of_conversation()) == []


@pytest.mark.fleet
def test_all_is_done_again_where_the_connection_breaks_in_between(store: str, tmp_path: Path) -> None:
    import psycopg

    index = runs_of(tmp_path, {"LLMDO_STORE": store})
    begun(index)
    attempts: list[list[str]] = []

    def work(shares: ConversationShares) -> list[str]:
        shares.put(Share(run="first", conversation="first"))
        attempts.append([share.run for share in shares.of_conversation()])
        if len(attempts) == 1:
            with psycopg.connect(store, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'"
                )
        return index.names()

    began = time.monotonic()
    assert index.sharing("first", work) == ["first"]
    assert attempts == [["first"], ["first"]]
    assert time.monotonic() - began < PATIENCE, "what is inside of a transaction is not tried again by itself"


@pytest.mark.fleet
def test_who_lost_the_run_reserves_nothing(store: str, tmp_path: Path) -> None:
    import psycopg

    slow, quick = (runs_of(tmp_path, {"LLMDO_STORE": store}) for _ in range(2))
    earlier = begun(slow)
    with slow.claim("r"), slow.create("r") as journal:
        with psycopg.connect(store, autocommit=True) as connection:
            connection.execute("UPDATE llmdo.run SET until = clock_timestamp() - interval '1 s'")
        with quick.claim("r"), quick.open("r") as later:
            assert allot(later, "main", earlier, MOST, {}).share == {"requests": 11, "total_tokens": 53}
            with pytest.raises(ClaimedError, match="taken over"):
                allot(journal, "main", earlier, MOST, {"requests": 1})


GOING: Path | None = None


def _remove(event: str, arguments: tuple[object, ...]) -> None:
    if GOING is not None and event == "sqlite3.connect" and GOING.name in str(arguments[0]):
        GOING.unlink(missing_ok=True)


def test_a_run_that_is_removed_as_it_is_read_counts_nothing(tmp_path: Path) -> None:
    global GOING
    index = Runs(tmp_path)
    earlier = begun(index)
    conversation = Conversation(index, earlier, {"first": Simple(used=1)})
    conversation.go_on("failed", 2)
    conversation.use("failed")
    conversation.stop("failed", "failed")
    conversation.go_on("r", None)
    conversation.stop("r", "failed")
    index.create("new").close()
    sys.addaudithook(_remove)
    for name in ("new", "failed"):
        GOING = index.path(name)
        with index.claim("s"), index.create("s") as journal:
            share = allot(journal, "main", earlier, MOST, {}).share
        assert share["requests"] == (10 if name == "new" else 11)
        assert not GOING.exists()
        index.remove("s")
    GOING = None


@pytest.mark.parametrize("left", ["a damaged file", "a link"])
def test_a_file_of_shares_that_is_none_is_an_error(tmp_path: Path, left: str) -> None:
    index = Runs(tmp_path)
    begun(index)
    path = index.folder / "conversations"
    if left == "a link":
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.write_bytes(b"no database" * 100)
    with pytest.raises(LlmdoError, match="conversations"):
        index.sharing("first", lambda shares: shares.of_conversation())
    assert not (tmp_path / "elsewhere").exists()
