"""The connections of one process to one database, never more than a bound.

Statements of all threads share them: each has one while it runs, a thread during its transaction. Leases are rows and
locks end with their transactions, so neither depends on the connection. Losses of a server do: an older, unbroken
connection proves that the server has not failed since (`HeldConnection.made`).
"""

from __future__ import annotations

import os
import selectors
import threading
import time
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import psycopg
from psycopg.pq import TransactionStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

BOUND = 4
"""Connections for statements of any number of runs: a statement takes about a millisecond."""
_CONTENT = 5.0  # seconds for which a process whose next connection was refused asks for no other


class HeldConnection(NamedTuple):
    """A connection that a thread has for itself."""

    connection: psycopg.Connection
    made: float
    """When it was made, by `time.monotonic`."""


class Pool:
    """Connections to one address, made on demand, and again after they broke."""

    def __init__(self, address: str, bound: int) -> None:
        self._address, self._bound = address, bound
        self._changed = threading.Condition()
        self._free: list[HeldConnection] = []
        self._number = 0
        """Of connections free, in use or being made."""
        self._refused_until = 0.0
        self._own = threading.local()
        self.was_connected = False
        weakref.finalize(self, _close_all, self._free)

    @contextmanager
    def connection(self) -> Iterator[HeldConnection]:
        """A connection for the block: the thread's own one, if any, so that it never waits for a second.

        Raises:
            psycopg.Error: None exists, and this process has no other one to wait for.
        """
        own: HeldConnection | None = getattr(self._own, "held", None)
        if own is not None:
            yield own
            return
        held = self._own.held = self._taken()
        try:
            yield held
        finally:
            self._own.held = None
            self._give_back(held)

    @property
    def is_held(self) -> bool:
        """Whether this thread is in a block with a connection."""
        return getattr(self._own, "held", None) is not None

    def close(self) -> None:
        """Closes the idle connections."""
        with self._changed:
            self._number -= len(self._free)
            _close_all(self._free)
            self._changed.notify_all()

    def _taken(self) -> HeldConnection:
        while True:
            if (held := self._free_one()) is not None:
                return held
            try:
                connection = psycopg.connect(self._address, autocommit=True)
            except BaseException as error:
                with self._changed:
                    self._number -= 1
                    self._changed.notify()
                    # The server may have no more to give: what this process has does, one statement after the other.
                    if self._number and isinstance(error, psycopg.Error):
                        self._refused_until = time.monotonic() + _CONTENT
                        continue
                raise
            self.was_connected = True
            return HeldConnection(connection, time.monotonic())

    def _free_one(self) -> HeldConnection | None:
        """A free connection, after waiting for it; None if a new one may be made."""
        with self._changed:
            while True:
                while self._free:
                    held = self._free.pop()
                    if not _is_over(held.connection):
                        return held
                    held.connection.close()
                    self._number -= 1
                is_refused = self._number > 0 and time.monotonic() < self._refused_until
                if self._number < self._bound and not is_refused:
                    self._number += 1
                    return None
                self._changed.wait(_CONTENT if is_refused else None)

    def _give_back(self, held: HeldConnection) -> None:
        connection = held.connection
        is_usable = not connection.closed and connection.info.transaction_status == TransactionStatus.IDLE
        if not is_usable:
            connection.close()
        with self._changed:
            if is_usable:
                self._free.append(held)
            else:
                self._number -= 1
            self._changed.notify()


def _is_over(connection: psycopg.Connection) -> bool:
    """Whether the server ended it: an idle connection can receive nothing else."""
    if connection.closed:
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return bool(selector.select(0))


def _close_all(free: list[HeldConnection]) -> None:
    while free:
        free.pop().connection.close()


_pools: weakref.WeakValueDictionary[tuple[int, str, int], Pool] = weakref.WeakValueDictionary()
"""Those of this process, not of its parents: no other place can bound a process."""
_looking = threading.Lock()


def pool_of(address: str, bound: int) -> Pool:
    """The process's pool for that address, closed with its last user."""
    key = (os.getpid(), address, bound)
    with _looking:
        pool = _pools.get(key)
        if pool is None:
            pool = _pools[key] = Pool(address, bound)
        return pool
