"""The database, and its errors in words for readers."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.postgres import pool as pools
from llmdo.journal.entries import JournalError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Result = TypeVar("Result")

PATIENCE = 15.0  # seconds for a database that restarts: less than two thirds of a lease
_PAUSE = 0.2  # seconds between two attempts

RENEWING = "llmdo lease"
"""The name of the connection for leases and beats, as the server shows it."""

FORCED = "coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on')"
"""The value of `synchronous_commit`: the disk at least, or more if the server is set up so."""

_SETTINGS: dict[str, str | int] = {
    "connect_timeout": 10,
    "application_name": "llmdo",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 20_000,
}
"""Settings that an address may override: no statement waits for ever on a dead network."""


class BrokenError(StoreError):
    """The connection broke: the last statement may have been executed or not."""


class TwiceError(StoreError):
    """The rows to write are there already."""


class Statement(Protocol):
    """Runs a statement in a transaction."""

    def __call__(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Its rows."""
        ...


class Database:
    """One database. The process makes connections on demand, and again after they broke; threads may share it."""

    def __init__(self, address: str, *, is_renewing: bool = False) -> None:
        """With `is_renewing`, its connection is for leases and beats: no other statement holds it up."""
        try:
            parts = conninfo_to_dict(address)
        except psycopg.Error as error:
            raise LlmdoError(
                "the address of the store is not one of PostgreSQL",
                hint="postgresql://USER@HOST:PORT/DATABASE; `%` and `@` in a password are written %25 and %40",
            ) from error
        self.name = (
            f"`{parts.get('dbname') or parts.get('user') or ''}` at `{parts.get('host') or 'this machine'}`"
        )
        """Its name in messages, without a password."""
        self.place = f"{parts.get('host', '')}:{parts.get('port', '')}/{parts.get('dbname', '')}"
        settings = {**_SETTINGS, "application_name": RENEWING} if is_renewing else _SETTINGS
        whole = make_conninfo(
            address, **{name: value for name, value in settings.items() if name not in parts}
        )
        self._pool = pools.pool_of(whole, 1 if is_renewing else pools.BOUND)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a statement that may run twice: it does if the connection broke.

        Raises:
            JournalError: Cannot be executed.
        """
        return self.again(lambda: self.rows_at_once(query, *values), lambda: None)

    def again(self, work: Callable[[], Result], before: Callable[[], None]) -> Result:
        """The result of `work`, repeated, after `before`, if the connection broke.

        In a block that holds a connection it is done once: the block's owner begins it again.

        Raises:
            JournalError: The database is not back in time, or it cannot be executed.
        """
        end: float | None = None
        while True:
            try:
                if end is not None:
                    self.reconnect()
                    before()
                return work()
            except BrokenError:
                end = end or time.monotonic() + PATIENCE
                if time.monotonic() > end or self._pool.is_held:
                    raise

    def rows_at_once(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a statement.

        Raises:
            BrokenError: Nobody knows whether it was executed.
            JournalError: It was not.
        """
        with self._connected() as connection, self._translated(connection):
            return _rows(connection, query, values)

    @contextmanager
    def transaction(self) -> Iterator[Statement]:
        """Runs statements in a transaction; others of this thread belong to it, too."""
        with self._connected() as connection, self._translated(connection), connection.transaction():
            yield lambda query, *values: _rows(connection, query, values)

    @contextmanager
    def connection(self) -> Iterator[float]:
        """Holds one connection for this thread's statements in the block; yields when it was made, by `time.monotonic`.

        Raises:
            JournalError: The database cannot be reached.
        """
        with self._held() as held:
            yield held.made

    def reconnect(self) -> None:
        """Returns when there is a connection again.

        Raises:
            JournalError: The database is not back in time.
        """
        end = time.monotonic() + PATIENCE
        while True:
            try:
                with self._connected():
                    return
            except JournalError:
                if time.monotonic() > end:
                    raise
                time.sleep(_PAUSE)

    def close(self) -> None:
        """Closes the idle connections; new ones are made on demand."""
        self._pool.close()

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection]:
        with self._held() as held:
            yield held.connection

    @contextmanager
    def _held(self) -> Iterator[pools.HeldConnection]:
        with ExitStack() as stack:
            try:
                held = stack.enter_context(self._pool.connection())
            except psycopg.Error as error:
                # Of a store that was there before, it is waited whether it comes back.
                kind = BrokenError if self._pool.was_connected else StoreError
                raise kind(
                    f"the store {self.name} cannot be reached: {_why(error)}",
                    hint="`--no-journal` runs without a journal",
                ) from error
            yield held

    @contextmanager
    def _translated(self, connection: psycopg.Connection) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            is_twice = isinstance(error, psycopg.errors.UniqueViolation)
            kind = BrokenError if connection.closed else TwiceError if is_twice else StoreError
            raise kind(f"the store {self.name} failed: {_why(error)}") from error
        except (UnicodeEncodeError, ValueError) as error:
            raise JournalError(f"the store {self.name} cannot keep this: {error}") from error


def _rows(connection: psycopg.Connection, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
    cursor = connection.execute(query.encode(), values or None, binary=bool(values))
    return cursor.fetchall() if cursor.description else []


def _why(error: psycopg.Error) -> str:
    text = error.diag.message_primary or next(iter(str(error).splitlines()), "")
    return text or type(error).__name__
