"""The queue of a fleet: whole runs by their ids, each taken by one worker at a time. DBOS keeps it in PostgreSQL.

Workers take the entries with the digest of their own lock. An entry of the queue is `RUN@n`: one that ends before its
run is over, as when that waits for an answer, is put in again under the next number.

Only JSON texts come out of it. DBOS unpickles every value whose row says that it is pickled, whichever serializer is
configured, so that who can write rows could run code on every worker: here nothing is ever unpickled.
"""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import dbos
from dbos import DBOS, DBOSClient, DBOSConfig
from dbos._serialization import DBOSPortableJSON, DefaultSerializer

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.batch.fleets import PRIORITY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

Result = TypeVar("Result")

SCHEMA = "llmdo_queue"
"""The schema of the tables of DBOS, in the database of the journals."""
LOOKING, TAKING = 2, 3
"""The connections of a process that puts in and looks, and of a worker that takes, one of which listens."""
AT_ONCE = 500  # runs that are looked for in one statement
"""The default priority; lower numbers are taken first."""

LEAST = 8
"""Connections that a worker needs, with those of its journals and its lease."""
PATIENCE = 15.0  # seconds for which whoever connects tries again where a connection breaks
_PAUSE = 0.2  # seconds between two attempts

_NO_MORE = ("too many connections", "too many clients", "connection slots")
"""Messages of a server that refuses further connections."""
_APPLICATION = "llmdo"
_WORKFLOW = "llmdo_item"
_QUEUES = "llmdo."
_WAITING, _AT_WORK = ("ENQUEUED", "DELAYED"), "PENDING"
_FOR_EVER = 100 * 365 * 24 * 60 * 60.0  # seconds
_CONNECTION = {
    "connect_timeout": 10,
    "application_name": "llmdo queue",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 20_000,
}
"""Settings by which no statement waits for ever on a network that is gone."""


def _refuse(_serializer: object, _data: str) -> NoReturn:
    raise ValueError("a pickled row is not read")


DefaultSerializer.deserialize = _refuse  # type: ignore[method-assign,assignment]  # by serializer alone it is read


class QueuedRun(NamedTuple):
    """A run in the queue, or at work."""

    name: str
    """`RUN@n`."""
    entry: str
    lock: str
    """The digest of the lock that its worker has to have."""
    worker: str | None
    """Its worker; None if it waits."""
    since: float
    """The time it was put in, or taken, in seconds since 1970."""
    priority: int = PRIORITY

    @property
    def run(self) -> str:
        """The id of the run."""
        return run_of(self.name)


def run_of(name: str) -> str:
    """The id of the run of a queue entry."""
    return name.rpartition("@")[0]


def number_of(name: str) -> int:
    """How often the run of a queue entry was put in by then."""
    return int(name.rpartition("@")[2])


def first_name(run: str) -> str:
    """The first queue entry of a run."""
    return f"{run}@1"


def next_name(name: str) -> str:
    """The entry after this one of the same run."""
    return f"{run_of(name)}@{number_of(name) + 1}"


def _url(address: str) -> str:
    """The address in the scheme of SQLAlchemy."""
    return f"postgresql://{address.partition('://')[2]}"


def make_tables(address: str) -> None:
    """Makes the tables of the queue, or brings them up to date.

    Raises:
        LlmdoError: The database does not allow it.
    """
    logging.getLogger("dbos").setLevel("ERROR")
    with _translated():
        DBOS.migrate(_url(address), schema=SCHEMA)


class Queue:
    """The queue for processes that put in and look."""

    def __init__(self, address: str) -> None:
        """Connects.

        Raises:
            LlmdoError: There is no queue.
        """
        logging.getLogger("dbos").setLevel("ERROR")
        with _translated():
            self._client = DBOSClient(
                system_database_url=_url(address),
                dbos_system_schema=SCHEMA,
                serializer=DBOSPortableJSON,
                application_name=_APPLICATION,
                system_database_pool_size=LOOKING,
                retry_connection_errors=False,
                lazy=True,
            )
        try:
            self._listed(_AT_WORK)
        except LlmdoError:
            self.close()
            raise

    def close(self) -> None:
        """Closes the connection."""
        self._client.destroy()

    def enqueue(
        self, name: str, *, entry: str, lock: str, priority: int = PRIORITY, is_later: bool = False
    ) -> None:
        """Puts a run in under the name `RUN@n`, for workers with that lock; idempotent.

        One that `is_later` is taken after `release`: the engine would go by the clock of a worker.
        """
        options: dbos.EnqueueOptions = {
            "workflow_name": _WORKFLOW,
            "queue_name": f"{_QUEUES}{entry}",
            "workflow_id": name,
            "app_version": lock,
            "priority": priority,
        }
        if is_later:
            options["delay_seconds"] = _FOR_EVER
        _patiently(lambda: self._client.enqueue(options, name))

    def enqueue_again(
        self, run: str, *, entry: str, lock: str, moved: str | None = None, priority: int = PRIORITY
    ) -> None:
        """Puts a run in once more, whatever its earlier result: for workers with its last lock.

        `moved` is the lock that it was moved to since, if any; `lock` and `priority` count if it was never in.
        """
        known = self._found(workflow_id_prefix=f"{run}@")
        last = max(known, key=lambda each: number_of(each.workflow_id), default=None)
        self.enqueue(
            f"{run}@{number_of(last.workflow_id) + 1 if last else 1}",
            entry=entry,
            lock=moved or (last.app_version if last else None) or lock,
            priority=(last.priority if last else None) or priority,
        )

    def follow(self, name: str, *, is_later: bool = False) -> None:
        """Puts the run of this entry in once more under the next number; idempotent.

        Does nothing for a forgotten one: all of its batch is over.
        """
        for known in self._found(workflow_ids=[name]):
            self.enqueue(
                next_name(name),
                entry=(known.queue_name or "").removeprefix(_QUEUES),
                lock=known.app_version or "",
                priority=known.priority or PRIORITY,
                is_later=is_later,
            )

    def release(self, names: Sequence[str]) -> tuple[str, ...]:
        """Releases these entries that were put in for later; gives those of them that were found."""
        if not names:
            return ()
        known = tuple(each.workflow_id for each in self._found(workflow_ids=[*names]))
        for name in known:
            _patiently(partial(self._client.set_workflow_delay, name, delay_until_epoch_ms=0))
        return known

    def rebind(self, waiting: QueuedRun, lock: str) -> None:
        """Moves a waiting entry to workers with another lock."""
        name = next_name(waiting.name)
        self.enqueue(name, entry=waiting.entry, lock=lock, priority=waiting.priority)
        self.cancel([waiting.name])  # last: whoever is killed in between has lost nothing

    def cancel(self, names: Sequence[str]) -> None:
        """Cancels these entries; a worker finishes those it has."""
        _patiently(lambda: self._client.cancel_workflows([*names]))

    def forget(self, runs: Iterable[str]) -> None:
        """Removes the records of these runs, all of which are over."""
        for run in runs:
            names = [each.workflow_id for each in self._found(workflow_id_prefix=f"{run}@")]
            _patiently(partial(self._client.delete_workflows, names))

    def reap(self, alive: Collection[str]) -> tuple[QueuedRun, ...]:
        """Gives the entries of workers not in `alive` to others, and returns them.

        Only one process may call this at a time: an entry taken meanwhile would go to a second worker.
        """
        left = tuple(each for each in self.at_work() if each.worker not in alive)
        self.give_back(left)
        return left

    def give_back(self, taken: Iterable[QueuedRun]) -> None:
        """Gives these to other workers."""
        by_entry: dict[str, list[str]] = {}
        for each in taken:
            by_entry.setdefault(each.entry, []).append(each.name)
        for entry, names in by_entry.items():
            _patiently(partial(self._client.resume_workflows, names, queue_name=f"{_QUEUES}{entry}"))

    def at_work(self) -> tuple[QueuedRun, ...]:
        """The entries that workers have."""
        return self._listed(_AT_WORK)

    def waiting(self) -> tuple[QueuedRun, ...]:
        """The entries not yet taken, in the order in which they were put in."""
        return self._listed(*_WAITING)

    def runs(self) -> frozenset[str]:
        """The runs that wait, or that workers have."""
        return frozenset(each.run for each in self._listed(*_WAITING, _AT_WORK))

    def earlier(self, runs: Sequence[str]) -> frozenset[str]:
        """The runs among these that were put in before, whatever their result."""
        names = [*map(first_name, runs)]
        parts = (names[at : at + AT_ONCE] for at in range(0, len(names), AT_ONCE))
        return frozenset(run_of(row.workflow_id) for part in parts for row in self._found(workflow_ids=part))

    def is_idle(self) -> bool:
        """Whether nothing can be taken now."""
        return not self._found(status=_WAITING[0], name=_WORKFLOW, limit=1)

    def _listed(self, *states: str) -> tuple[QueuedRun, ...]:
        return tuple(
            QueuedRun(
                name=row.workflow_id,
                entry=(row.queue_name or "").removeprefix(_QUEUES),
                lock=row.app_version or "",
                worker=row.executor_id if row.status == _AT_WORK else None,
                since=((row.dequeued_at if row.status == _AT_WORK else row.created_at) or 0) / 1000,
                priority=row.priority or PRIORITY,
            )
            for row in self._found(status=[*states], name=_WORKFLOW)
        )

    def _found(self, **wanted: Any) -> list[dbos.WorkflowStatus]:
        """The matching rows, without their content."""
        return _patiently(lambda: self._client.list_workflows(load_input=False, load_output=False, **wanted))


@contextmanager
def work(
    address: str,
    *,
    worker: str,
    lock: str,
    jobs: int,
    entries: Iterable[tuple[str, int | None]],
    seconds: float,
    execute: Callable[[str], None],
) -> Iterator[Callable[[], None]]:
    """Takes runs for as long as the block runs, and calls `execute` with the name of each, in its own thread.

    The block gets a function that stops taking, and returns when all taken runs are over.

    `entries` are those to take, with how many runs of each the whole fleet may have at work; of each at most
    `jobs` are taken here at a time. `seconds` lie between two looks for something to do.

    Raises:
        LlmdoError: There is no queue.
    """
    try:
        _patiently(
            lambda: _launch(_configuration(address, worker, lock), jobs, entries, seconds, execute),
            lambda: DBOS.destroy(destroy_registry=True),
        )
        yield lambda: DBOS.destroy(workflow_completion_timeout_sec=10**9)
    finally:
        DBOS.destroy(destroy_registry=True)


def _patiently(work: Callable[[], Result], clean_up: Callable[[], None] = lambda: None) -> Result:
    """The result of `work`, which is repeated after `clean_up` if a connection broke: all of it is idempotent.

    Raises:
        LlmdoError: The queue is not there, or not in time.
    """
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with _translated():
                return work()
        except LlmdoError as error:
            if time.monotonic() > end or error.hint is not None or "closed" not in error.message:
                raise
            clean_up()
            time.sleep(_PAUSE)


def _launch(
    configuration: DBOSConfig,
    jobs: int,
    entries: Iterable[tuple[str, int | None]],
    seconds: float,
    execute: Callable[[str], None],
) -> None:
    engine = DBOS(config=configuration)
    DBOS.workflow(name=_WORKFLOW, max_recovery_attempts=None)(_named(execute))
    for entry, most in entries:
        # A queue that its table describes has one `worker_concurrency` for all workers, whatever their `jobs`
        engine._registry._register_internal_queue(  # noqa: SLF001
            f"{_QUEUES}{entry}", worker_concurrency=jobs, concurrency=most, polling_interval_sec=seconds
        )
    with _silent():
        DBOS.launch()
        with ExitStack() as opened:
            # At once, as the journals of runs may take what connections the server has left
            for _ in range(TAKING - 1):
                opened.enter_context(engine._sys_db.engine.connect())  # noqa: SLF001


@contextmanager
def _silent() -> Iterator[None]:
    """Keeps the engine from writing traces of errors that are raised anyway."""
    logger = logging.getLogger("dbos")
    level = logger.level
    logger.setLevel("CRITICAL")
    try:
        yield
    finally:
        logger.setLevel(level)


def _configuration(address: str, worker: str, lock: str) -> DBOSConfig:
    return {
        "name": _APPLICATION,
        "system_database_url": _url(address),
        "dbos_system_schema": SCHEMA,
        "serializer": DBOSPortableJSON,
        "executor_id": worker,
        "application_version": lock,
        "run_migrations": False,
        "log_level": "ERROR",
        "sys_db_pool_size": TAKING,
        "db_engine_kwargs": {"connect_args": _CONNECTION},
    }


def _named(execute: Callable[[str], None]) -> Callable[[str], None]:
    """The function that the engine calls with the content of a row, which may be anything."""

    def item(name: str) -> None:
        if name != DBOS.workflow_id:
            raise ValueError("an entry of the queue is for the run that it is named by")
        execute(name)

    return item


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise _failure(error) from error


def _failure(error: Exception) -> LlmdoError:
    """The error in a line that repeats no address."""
    if isinstance(error, LlmdoError):
        return error
    text = str(getattr(error, "orig", None) or error)
    hint = (
        "`llmdo fleet store migrate` makes its tables"
        if "does not exist" in text or "version" in text
        else None
    )
    if any(sign in text for sign in _NO_MORE):
        hint = f"a worker needs at least {LEAST} connections"
    return LlmdoError(f"the queue failed: {next(iter(text.splitlines()), type(error).__name__)}", hint=hint)
