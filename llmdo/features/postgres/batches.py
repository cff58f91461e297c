"""Batches in the database: several machines may work on one at the same time."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.features.postgres.database import FORCED, BrokenError, Database
from llmdo.features.postgres.migrations import require_current
from llmdo.features.postgres.runs import PLACE, folder_of
from llmdo.journal.disk import private_folder
from llmdo.journal.entries import JournalError
from llmdo.journal.items import OPEN, Batches, BatchStore, new_rows
from llmdo.journal.naming import first_run, later_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from llmdo.journal.items import Batch, InputFile, NewItem

AT_ONCE = 1000  # items in one statement

_VALUE = re.compile(r":(\w+)")

_UNFORCED = ", set_config('synchronous_commit', 'off', true)"
"""The last column of statements that are not forced to disk."""

_PUTTING_IN = "SELECT pg_advisory_xact_lock(1819045224, hashtext(%s))"
"""One process at a time creates a batch, or checks that it is there."""
_KEEP = "INSERT INTO llmdo.file VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
_PUT_IN = """
INSERT INTO llmdo.item (batch, number, key, input, files, run, title)
SELECT %s, a.* FROM unnest(%s::bigint[], %s::text[], %s::bytea[], %s::text[], %s::text[], %s::bytea[]) AS a
"""


@dataclass(frozen=True, slots=True)
class StoredBatches(Batches):
    """The batches of one workspace in its database."""

    root: Path
    """Of the workspace."""
    database: Database

    @classmethod
    def at(cls, root: Path, address: str) -> StoredBatches:
        """Those in the database at `address`.

        Raises:
            LlmdoError: The address is invalid, or the database unreachable or without the tables.
        """
        database = Database(address)
        require_current(database)
        return cls(root, database)

    def names(self) -> list[str]:
        """The ids of all, in order of creation."""
        return [name for (name,) in self.database.rows("SELECT batch FROM llmdo.batch ORDER BY number")]

    def of_run(self, run: str) -> str | None:
        """The batch with an item of that run, if any."""
        rows = self.database.rows("SELECT batch FROM llmdo.item WHERE run = %s", first_run(run))
        return rows[0][0] if rows else None

    def open_runs(self) -> frozenset[str]:
        """The unfinished runs of all items."""
        rows = self.database.rows("SELECT run, attempt FROM llmdo.item WHERE state = ANY(%s)", list(OPEN))
        return frozenset(later_run(first, attempt) for first, attempt in rows)

    def unfinished(self) -> list[str]:
        """The batches with queued or running items, in order of creation."""
        query = (
            "SELECT batch FROM llmdo.batch WHERE EXISTS (SELECT FROM llmdo.item WHERE item.batch = batch.batch "
            "AND state IN ('queued', 'running')) ORDER BY number"
        )
        return [name for (name,) in self.database.rows(query)]

    def create(self, batch: Batch, items: Iterable[NewItem], new_run: Callable[[], str]) -> StoredBatch:
        """The batch with all these items, or none; `new_run` gives an unused id.

        Raises:
            LlmdoError: Cannot be written, or an item is unfit.
        """
        try:
            self._put_in(batch, items, new_run)
        except BrokenError:  # nobody knows yet whether it was
            if not self.database.again(lambda: self._is_in(batch.id), lambda: None):
                raise
        return self.open(batch.id)

    def _put_in(self, batch: Batch, items: Iterable[NewItem], new_run: Callable[[], str]) -> None:
        with self.database.transaction() as execute:
            execute(f"SELECT set_config('synchronous_commit', {FORCED}, true)")
            execute(_PUTTING_IN, batch.id)
            execute(
                "INSERT INTO llmdo.batch (batch, entry, lock, began, settings) VALUES (%s, %s, %s, %s, %s)",
                *(batch.id, batch.entry, batch.lock, batch.began, json.dumps(batch.settings)),
            )

            def keep(file: InputFile, content: bytes) -> None:
                execute(_KEEP, batch.id, file.digest, content)

            rows = new_rows(items, keep, new_run)
            while some := [*islice(rows, AT_ONCE)]:
                numbers, keys, texts, files, runs, titles = map(list, zip(*some, strict=True))
                execute(_PUT_IN, batch.id, numbers, keys, _bytes(texts), files, runs, _bytes(titles))

    def _is_in(self, batch: str) -> bool:
        """Whether that batch is there, once nobody is creating it."""
        with self.database.transaction() as execute:
            execute(_PUTTING_IN, batch)
            return bool(execute("SELECT 1 FROM llmdo.batch WHERE batch = %s", batch))

    def remove(self, batch: str) -> bool:
        """Removes that batch unless an item is open; whether it did."""
        return bool(
            self.database.rows(
                "DELETE FROM llmdo.batch WHERE batch = %s AND NOT EXISTS "
                "(SELECT FROM llmdo.item WHERE item.batch = batch.batch AND state = ANY(%s)) RETURNING batch",
                *(batch, list(OPEN)),
            )
        )

    def sweep(self) -> None:
        """Nothing: a batch is created as a whole or not at all."""

    def open(self, batch: str) -> StoredBatch:
        """The batch of that id.

        Raises:
            LlmdoError: Cannot be read.
        """
        if not self.database.rows("SELECT 1 FROM llmdo.batch WHERE batch = %s", batch):
            raise LlmdoError(f"the store {self.database.name} has no batch `{batch}`")
        return StoredBatch(self, batch)


def _bytes(texts: Iterable[str | None]) -> list[bytes | None]:
    """Texts for columns that take any character."""
    return [None if text is None else text.encode() for text in texts]


class StoredBatch(BatchStore):
    """The items of one batch."""

    def __init__(self, batches: StoredBatches, batch: str) -> None:
        self.id, self._root, self._database = batch, batches.root, batches.database

    def close(self) -> None:
        """Closes the connection, which is made again on demand."""
        self._database.close()

    def path_of(self, file: InputFile) -> Path:
        """The local path of a file's content, fetched once; its name tells its type.

        Raises:
            JournalError: Cannot be written, or has changed.
        """
        names = (*PLACE, folder_of(self._database), "files", self.id, file.digest[:16])
        path = self._root.joinpath(*names, Path(file.name).name)
        with suppress(OSError):
            if sha256(path.read_bytes()).hexdigest() == file.digest:
                return path
        rows = self._rows(
            "SELECT bytes FROM llmdo.file WHERE batch = :batch AND digest = :digest", digest=file.digest
        )
        if not rows or sha256(rows[0][0]).hexdigest() != file.digest:
            raise JournalError(f"the store {self._database.name} no longer has `{file.name}`")
        try:
            folder = private_folder(self._root, names)
            with NamedTemporaryFile(dir=folder, delete=False) as written:  # several processes may write it
                written.write(rows[0][0])
            Path(written.name).replace(path)
        except OSError as error:
            raise JournalError(f"cannot write `{path}`: {error.strerror}") from error
        return path

    def _rows(
        self, query: str, *, is_forced: bool = True, otherwise: str = "", **values: object
    ) -> list[tuple[Any, ...]]:
        named, is_sent_again = {**values, "batch": self.id}, False

        def with_values(text: str) -> tuple[Any, ...]:
            return _VALUE.sub("%s", text), *(named[name] for name in _VALUE.findall(text))

        def send_again() -> None:
            nonlocal is_sent_again
            is_sent_again = True

        wanted = with_values(query if is_forced else query.rstrip() + _UNFORCED)
        rows = self._database.again(lambda: self._database.rows_at_once(*wanted), send_again)
        if otherwise and not rows and is_sent_again:  # the statement whose reply was lost may have done it
            return self._database.rows(*with_values(otherwise))
        return rows if is_forced else [row[:-1] for row in rows]
