"""The file of a batch: its items, on disk before anything starts. Several processes may share it."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.journal.disk import force_folder, is_left, private_folder
from llmdo.journal.items import OPEN, Batches, BatchStore, new_rows
from llmdo.journal.naming import first_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llmdo.journal.items import Batch, InputFile, NewItem

PLACE = (".llmdo", "batches")
SUFFIX = ".sqlite"
FILES = ".files"
UNFINISHED = ".new"
_LOGS = (f"{SUFFIX}-wal", f"{SUFFIX}-shm")

_LEFT_OUT = re.compile(r"llmdo\.|, behind = .*| FOR UPDATE SKIP LOCKED")
"""The parts of a statement that a file lacks: it holds one batch, never put back, and is locked as a whole."""

APPLICATION = 0x6C6C6D62  # "llmb", which tells the file of a batch from any other SQLite file
VERSION = 4
"""The version of the layout. Earlier files are migrated, later ones refused.

4: `title`.
3: `begun`: whether the run of an item may have begun.
2: `retry` in place of `word`, its value `resume` in place of `go-on`, `attempt`, and the usage in columns.
"""

_TABLES = (
    """CREATE TABLE batch (
        id TEXT PRIMARY KEY, entry TEXT NOT NULL, lock TEXT NOT NULL, began REAL NOT NULL, settings TEXT NOT NULL
    )""",
    """CREATE TABLE item (
        number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, input TEXT, files TEXT NOT NULL,
        run TEXT NOT NULL UNIQUE, state TEXT NOT NULL, tries INTEGER NOT NULL, retry TEXT NOT NULL,
        requests INTEGER NOT NULL, cost TEXT, result TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 0,
        tokens INTEGER, earlier_requests INTEGER NOT NULL DEFAULT 0, earlier_tokens INTEGER,
        earlier_cost REAL NOT NULL DEFAULT 0,
        earlier_unpriced INTEGER NOT NULL DEFAULT 0, begun INTEGER NOT NULL DEFAULT 0, title TEXT
    )""",
    "CREATE INDEX item_state ON item (state, number)",
)

_PUT_IN = """
INSERT INTO item (number, key, input, files, run, title, state, tries, retry, requests, result)
VALUES (?, ?, ?, ?, ?, ?, 'queued', 0, '', 0, '{}')
"""

_TO_SECOND = (
    "ALTER TABLE item RENAME COLUMN word TO retry",
    "UPDATE item SET retry = 'resume' WHERE retry = 'go-on'",
    "ALTER TABLE item ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE item ADD COLUMN tokens INTEGER",
    "ALTER TABLE item ADD COLUMN earlier_requests INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE item ADD COLUMN earlier_tokens INTEGER",
    "ALTER TABLE item ADD COLUMN earlier_cost REAL NOT NULL DEFAULT 0",
    "ALTER TABLE item ADD COLUMN earlier_unpriced INTEGER NOT NULL DEFAULT 0",
    "UPDATE item SET tokens = json_extract(result, '$.input_tokens') + json_extract(result, '$.output_tokens')",
)

_TO_THIRD = (
    "ALTER TABLE item ADD COLUMN begun INTEGER NOT NULL DEFAULT 0",
    "UPDATE item SET begun = tries > 0",  # nobody knows of which of them that is so
)
_TO_FOURTH = ("ALTER TABLE item ADD COLUMN title TEXT",)
_STEPS = (_TO_SECOND, _TO_THIRD, _TO_FOURTH)
"""The migrations from each version to the next, from version 1."""


@dataclass(frozen=True, slots=True)
class FileBatches(Batches):
    """The batches of one workspace."""

    root: Path

    @property
    def folder(self) -> Path:
        """The folder of their files."""
        return self.root.joinpath(*PLACE)

    def names(self) -> list[str]:
        """The ids of all, which sort by time."""
        if not self.folder.is_dir():
            return []
        return sorted(path.name.removesuffix(SUFFIX) for path in self.folder.glob(f"*{SUFFIX}"))

    def of_run(self, run: str) -> str | None:
        """The batch with an item of that run, if any."""
        for name in reversed(self.names()):
            with self.open(name) as store:
                if store.has_run(run):
                    return name
        return None

    def open_runs(self) -> frozenset[str]:
        """The unfinished runs of all items; the end of each other run is on disk.

        Raises:
            LlmdoError: A batch cannot be read.
        """
        runs: set[str] = set()
        for name in self.names():
            with self.open(name) as store:
                runs.update(item.run for item in store.items(*OPEN))
                store.force()
        return frozenset(runs)

    def unfinished(self) -> list[str]:
        """The batches with queued or running items, in order of creation."""
        unfinished = []
        for name in self.names():
            with self.open(name) as store:
                if {"queued", "running"}.intersection(store.counts()):
                    unfinished.append(name)
        return unfinished

    def create(self, batch: Batch, items: Iterable[NewItem], new_run: Callable[[], str]) -> FileBatch:
        """The batch with all these items, or none; `new_run` gives an unused id.

        Raises:
            LlmdoError: Cannot be written, or an item is unfit.
        """
        try:
            folder = private_folder(self.root, PLACE)
        except OSError as error:
            raise LlmdoError(
                f"no batch can be kept: cannot write `{error.filename}`: {error.strerror}"
            ) from error
        path = folder / f"{batch.id}{SUFFIX}"
        if path.exists():
            raise LlmdoError(f"there is a batch `{batch.id}` already")
        unfinished = path.with_suffix(UNFINISHED)
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        files = folder / f"{batch.id}{FILES}"
        try:
            with FileBatch(batch.id, unfinished, files) as store:
                store.fill(batch, items, new_run)
            unfinished.rename(path)  # a batch is there when all of it is
            force_folder(folder)
        except BaseException:
            import shutil  # loads what compresses, which lists have no use for

            unfinished.unlink(missing_ok=True)
            shutil.rmtree(files, ignore_errors=True)
            raise
        return self.open(batch.id)

    def remove(self, batch: str) -> bool:
        """Removes that batch unless an item is open; whether it did.

        Raises:
            LlmdoError: Cannot be removed.
        """
        import shutil  # loads what compresses, which lists have no use for

        with self.open(batch) as store:
            if next(store.items(*OPEN), None) is not None:
                return False
            try:
                store.path.unlink()
                for ending in _LOGS:
                    store.path.with_suffix(ending).unlink(missing_ok=True)
            except OSError as error:
                raise LlmdoError(f"cannot remove batch `{batch}`: {error.strerror}") from error
        shutil.rmtree(self.folder / f"{batch}{FILES}", ignore_errors=True)
        return True

    def sweep(self) -> None:
        """Removes leftovers of killed processes: of removed batches, and, a day later, of half-created ones."""
        import shutil

        left = self.folder.iterdir() if self.folder.is_dir() else ()
        for path in sorted(
            left, key=lambda path: path.suffix == FILES
        ):  # last: what is unfinished needs them
            batch, ending = path.stem, path.suffix
            is_unfinished = ending.startswith(UNFINISHED) and is_left(path)
            is_rest = ending in (FILES, *_LOGS) and not (self.folder / f"{batch}{UNFINISHED}").exists()
            with suppress(OSError):
                if is_unfinished or (is_rest and not (self.folder / f"{batch}{SUFFIX}").exists()):
                    shutil.rmtree(path) if ending == FILES else path.unlink()

    def open(self, batch: str) -> FileBatch:
        """The batch of that id.

        Raises:
            LlmdoError: Cannot be read.
        """
        path = self.folder / f"{batch}{SUFFIX}"
        if path.is_symlink() or not path.is_file():
            raise LlmdoError(f"`{path}` is not a file")
        store = FileBatch(batch, path, self.folder / f"{batch}{FILES}")
        store.require_layout()
        store.share()
        return store


class FileBatch(BatchStore):
    """The items of one batch."""

    def __init__(self, batch: str, path: Path, files: Path) -> None:
        self.id, self.path = batch, path
        self._files = files
        """The folder of the items' files, each below its digest."""
        self._connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=30,
            isolation_level=None,
            check_same_thread=False,
        )
        self._connection.execute("PRAGMA trusted_schema = OFF")

    def close(self) -> None:
        """Closes it."""
        self._connection.close()

    def require_layout(self) -> None:
        """Checks that this llmdo can read the file; migrates one of an earlier llmdo.

        Raises:
            LlmdoError: It is not a batch, or too new.
        """
        with self._translated():
            application = self._connection.execute("PRAGMA application_id").fetchone()[0]
            version = self._version()
        if application != APPLICATION:
            raise LlmdoError(f"`{self.path}` is not a batch")
        if version > VERSION:
            raise LlmdoError(
                f"`{self.path}` has version {version}, and this llmdo reads version {VERSION}",
                hint="use a newer llmdo",
            )
        if version < VERSION:
            with self._translated():
                self._migrate()

    def _version(self) -> int:
        version: int = self._connection.execute("PRAGMA user_version").fetchone()[0]
        return version

    def _migrate(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        for steps in _STEPS[self._version() - 1 :]:  # none, where another process did it meanwhile
            for statement in steps:
                self._connection.execute(statement)
        self._connection.execute(f"PRAGMA user_version = {VERSION}")
        self._connection.execute("COMMIT")

    def share(self) -> None:
        """Shortens the waits of processes that share it.

        Results are in the journals of the runs, so a commit is not forced to disk.
        """
        with self._translated():
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")

    def force(self) -> None:
        """Returns when all commits are on disk; SQLite itself forces those moved to the file.

        Raises:
            LlmdoError: Cannot be forced there.
        """
        log = self.path.with_name(f"{self.path.name}-wal")
        try:
            descriptor = os.open(log, os.O_RDWR)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            return
        except OSError as error:
            raise LlmdoError(f"cannot write `{log}`: {error.strerror}") from error

    def fill(self, batch: Batch, items: Iterable[NewItem], new_run: Callable[[], str]) -> None:
        """Puts all the items in, on disk when this returns."""
        with self._translated():
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("BEGIN IMMEDIATE")
            for statement in _TABLES:
                self._connection.execute(statement)
            self._connection.execute(
                "INSERT INTO batch VALUES (?, ?, ?, ?, ?)",
                (batch.id, batch.entry, batch.lock, batch.began, json.dumps(batch.settings)),
            )
            self._connection.executemany(_PUT_IN, new_rows(items, self._keep, new_run))
            self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
            self._connection.execute(f"PRAGMA user_version = {VERSION}")
            self._connection.execute("COMMIT")

    def _keep(self, file: InputFile, content: bytes) -> None:
        path = self.path_of(file)
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as stream:
                stream.write(content)
                os.fsync(stream.fileno())

    def path_of(self, file: InputFile) -> Path:
        """The path of a file's content, under its name, which tells its type."""
        return self._files / file.digest[:16] / Path(file.name).name

    def has_run(self, run: str) -> bool:
        """Whether an item has the run."""
        return bool(self._rows("SELECT 1 FROM item WHERE run = :run", run=first_run(run)))

    def _rows(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        # That a commit is not forced to disk, `share` says of all; and no reply is lost on the way.
        with self._translated():
            return self._connection.execute(_of_file(query), values).fetchall()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            hint = (
                "what runs did is in their journals, and nothing of it is lost"
                if "full" in str(error)
                else None
            )
            raise LlmdoError(f"the batch `{self.path}` cannot be used: {error}", hint=hint) from error


@cache
def _of_file(query: str) -> str:
    """A statement adapted to the file of a batch."""
    return _LEFT_OUT.sub("", query).replace("batch = :batch", "true").replace(", behind", ", 0")
