"""One journal on disk: entries outlive the process and a crash of the machine once `commit` returns."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from errno import EEXIST
from threading import Lock
from typing import TYPE_CHECKING, Any

from llmdo.journal.content import digest_of
from llmdo.journal.disk import force_folder
from llmdo.journal.entries import DamagedError, Heads, JournalEntry, JournalError, StoreError
from llmdo.journal.naming import belongs, require_id
from llmdo.journal.spans import marked
from llmdo.journal.sqlite.anchor import Anchor, anchored, force
from llmdo.journal.sqlite.connection import Translated, connect, lay_out, mark, require_file, require_layout
from llmdo.journal.stored import JournalStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from llmdo.journal.stored import Hold

__all__ = ["SUFFIX", "Journal", "create_journal", "digest_of", "open_journal", "read_journal"]

SUFFIX = ".sqlite"

UNFINISHED = ".new"
"""The suffix of a journal until its layout is complete."""

LONG = 500  # commits, of about four pages each: then the log is moved to the file

_ADD = (
    "INSERT INTO entry VALUES (?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "INSERT OR IGNORE INTO content VALUES (?, ?, ?)",
    "INSERT INTO secret VALUES (?, ?, ?, ?)",
)


class Journal(JournalStore):
    """The entries of one run, never changed; additions wait for `commit`."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        anchor: Anchor | None = None,
        heads: Heads | None = None,
    ) -> None:
        """Made by `open_journal`, `create_journal` and `read_journal`; without `anchor`, it is a single file.

        `heads` are those of its content, if known.
        """
        super().__init__(path, heads)
        self._connection = connection
        self._anchor = anchor
        self.written = heads or Heads()
        """The heads written to the file, forced to disk or not."""
        self._forcing = Lock()
        self._commits = 0
        """The number of commits since the log was begun."""
        self._forced = anchor.heads if anchor else Heads()
        self._inode: int | None = None
        self._log: int | None = None

    @property
    def run(self) -> str:
        """The run's id."""
        return self.path.name.removesuffix(SUFFIX)

    def close(self) -> None:
        """Closes the file; uncommitted entries are lost."""
        with self._forcing:
            if self._anchor is not None:
                self._anchor.close()
                self._anchor = None
            if self._log is not None:
                os.close(self._log)
                self._log = None
        with suppress(sqlite3.Error):
            self._connection.close()

    def commit(self, hold: Hold = "anchored") -> None:
        """Returns when all additions are on disk and kept as `hold` says.

        Raises:
            JournalError: Cannot be written; only the earlier entries remain.
        """
        if self.has_uncommitted:
            self._write()
        if hold != "written":
            self.force(hold)

    def needs_force(self, wanted: Heads, hold: Hold) -> bool:
        """Whether the written heads `wanted` are not yet kept as `hold` says."""
        if self._anchor is None:
            return False
        if hold == "written":
            return self._commits > LONG
        return not (self._anchor.heads if hold == "anchored" else self._forced).cover(wanted)

    def force(self, hold: Hold) -> None:
        """Returns when everything written is kept as `hold` says, while another thread may write.

        Raises:
            JournalError: Cannot be forced to disk.
        """
        with self._forcing:
            if self._anchor is None:
                return
            try:
                if self._forced != self.written:
                    self._force()
                if hold == "anchored" and self._anchor.heads != self._forced:
                    self._anchor.put_down(self._forced)
            except OSError as error:
                raise StoreError(f"the journal `{self.path}` cannot be written: {error.strerror}") from error
            if self._commits > LONG:
                self._shorten()

    def _shorten(self) -> None:
        """Moves the log to the file, so that a new log begins."""
        self._commits = 0
        with Translated(self.path, "written"), closing(connect(self.path, "rw")) as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _write(self) -> None:
        self._require_place()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for statement, rows in zip(_ADD, self._uncommitted(), strict=True):
                if rows:
                    self._connection.executemany(statement, rows)
            self._connection.execute("COMMIT")
        except sqlite3.Error:
            with Translated(self.path, "written"):
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise
        self.written = self._is_committed()
        self._commits += 1

    def _force(self) -> None:
        """Returns when everything written is on disk, including file names."""
        written = self.written
        if self._log is None:
            self._log = os.open(self.path.with_name(f"{self.path.name}-wal"), os.O_RDWR)
            force_folder(self.path.parent)
        force(self._log)
        self._forced = written

    def _require_place(self) -> None:
        """Raises if the file is gone: nobody could read further writes."""
        try:
            inode = self.path.stat().st_ino
        except OSError:
            inode = None
        self._inode = inode if self._inode is None else self._inode
        if inode is None or inode != self._inode:
            raise JournalError(
                f"the journal `{self.path}` was removed or replaced while the run went on",
                hint="the run stops here: nothing of what follows would be recorded",
            )

    def faults(self) -> Iterator[str]:
        """The signs of changed entries: a sentence each. Reads all entries."""
        yield from (str(message) for (message,) in self._read("PRAGMA integrity_check(3)") if message != "ok")
        yield from super().faults()

    def require_anchored(self, heads: Heads | None) -> None:
        """Checks that everything forced to disk before an action is still there.

        Raises:
            JournalError: Some is gone, or `heads`, which says how much that is.
        """
        if heads is None:
            last = next(self._read("SELECT kind FROM entry ORDER BY seq DESC LIMIT 1"), ("end",))
            if self.keeps_log and last != ("end",):
                raise DamagedError(
                    f"the anchor beside `{self.path}` is gone, so nobody can tell how much of the run is missing",
                    hint="`llmdo runs export` writes a run as one file",
                )
            return
        entry = next(self._read("SELECT head FROM entry WHERE seq = ?", heads.entries.number), None)
        line = next(self._read("SELECT line FROM audit WHERE n = ?", heads.records.number), None)
        is_whole = not heads.entries.number or entry == (heads.entries.head,)
        if heads.records.number:
            is_whole &= line is not None and str(line[0]).endswith(f'"{heads.records.head}"}}')
        if not is_whole:
            raise self.damaged("it and its log held more of the run than can be read of them")

    @property
    def keeps_log(self) -> bool:
        """Whether the last commits may be in a log; an exported run has none."""
        return next(self._read("PRAGMA journal_mode")) == ("wal",)

    def _read(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        with Translated(self.path, "read"):
            yield from self._connection.execute(query, values)

    def sibling(self, run: str) -> Journal | None:
        """The journal of another run in the folder, read-only, if any.

        Raises:
            LlmdoError: No id of a run, or its journal is damaged.
        """
        path = self.path.with_name(f"{require_id(run)}{SUFFIX}")
        return read_journal(path, whole=True) if path.exists() else None

    def copy_to(
        self,
        path: Path,
        added: Sequence[JournalEntry] = (),
        contents: Mapping[str, bytes] | None = None,
        *,
        without_secrets: Callable[[bytes], bytes] = bytes,
    ) -> None:
        """As `JournalStore.copy_to`."""
        self.require_whole()
        write_copy(path, self._connection.backup, added, contents, without_secrets)


def write_copy(
    path: Path,
    fill: Callable[[sqlite3.Connection], None],
    added: Sequence[JournalEntry],
    contents: Mapping[str, bytes] | None,
    without_secrets: Callable[[bytes], bytes],
) -> None:
    """Writes an exported run as `JournalStore.copy_to` does, with tables from `fill`.

    Raises:
        JournalError: Cannot be written.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise JournalError(f"cannot write `{path}`: {error.strerror}") from error
    with Translated(path, "written"), closing(sqlite3.connect(path, isolation_level=None)) as target:
        fill(target)
        mark(target)
        target.execute("PRAGMA journal_mode = DELETE")
        copy = Journal(path, target)
        lines = [*copy.lines()]
        _redact(copy, target, without_secrets)
        if [*copy.lines()] != lines:  # the audit says what was there, and keeps its head
            kept = sum(1 for _ in copy.kept_lines())
            target.executemany("INSERT INTO audit VALUES (?, ?)", [*enumerate(lines, 1)][kept:])
        for entry in added:
            copy.add(entry, contents)
        if added:
            copy.commit()


def fill_tables(connection: sqlite3.Connection, tables: Mapping[str, Iterable[tuple[object, ...]]]) -> None:
    """Makes a journal's tables with another store's rows, by name."""
    lay_out(connection)
    connection.execute("BEGIN")
    for name, rows in tables.items():
        for row in rows:
            values = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO {name} VALUES ({values})", row)  # noqa: S608  # names of ours
    connection.execute("COMMIT")


def _redact(copy: Journal, connection: sqlite3.Connection, without_secrets: Callable[[bytes], bytes]) -> None:
    """Removes secrets, and anything to test a guess against, from the file."""
    changed = []
    for row in copy.rows():
        entry = row.entry
        try:
            clean = without_secrets(marked(entry.body, entry.spans))
        except ValueError as error:
            raise copy.damaged(str(error)) from error
        if clean != entry.body:
            changed.append((clean, row.original or row.body_digest, row.number))
    connection.execute("BEGIN")
    connection.executemany(
        "UPDATE entry SET body = ?, original = ?, spans = '', salt = NULL WHERE seq = ?", changed
    )
    for digest, spans in connection.execute(
        "SELECT digest, spans FROM content WHERE bytes IS NOT NULL"
    ).fetchall():
        (content,) = connection.execute("SELECT bytes FROM content WHERE digest = ?", (digest,)).fetchone()
        if spans or without_secrets(content) != content:
            connection.execute("UPDATE content SET bytes = NULL, spans = '' WHERE digest = ?", (digest,))
    connection.execute("DELETE FROM secret")
    connection.execute("COMMIT")
    connection.execute("VACUUM")


def create_journal(path: Path) -> Journal:
    """A new journal at `path`, for its owner only. A process killed meanwhile leaves no half of one.

    Raises:
        JournalError: Cannot be made, or there is one.
    """
    unfinished = path.with_suffix(UNFINISHED)
    try:
        if path.exists():
            raise FileExistsError(EEXIST, os.strerror(EEXIST))
        for left in path.parent.glob(
            f"{path.stem}.*"
        ):  # a log of an earlier one would become part of this one
            if left.suffix != ".lock" and belongs(left.name, path.stem):
                left.unlink()
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with Translated(path, "written"), closing(connect(unfinished, "rw")) as connection:
            lay_out(connection)  # before there is a log, so that it is in the file itself whatever happens
            _keep_log(connection)
        anchor = Anchor.create(path, Heads())
        unfinished.rename(path)
    except OSError as error:
        raise JournalError(
            f"cannot write `{path}`: {error.strerror}", hint="`--no-journal` runs without a journal"
        ) from error
    with Translated(path, "written"):
        connection = connect(path, "rw")
        _keep_log(connection)
    return Journal(path, connection, anchor, Heads())


def _keep_log(connection: sqlite3.Connection) -> None:
    """Makes SQLite write to a log, moved to the file on demand only."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")


def open_journal(path: Path) -> Journal:
    """The journal at `path`, to read and to add to.

    Raises:
        JournalError: It is no journal, is damaged or cannot be written.
    """
    with read_journal(path, whole=True) as seen:  # which leaves a log as it is, whatever is wrong with it
        heads = Heads(seen.entry_link, seen.kept_link)
        keeps_log = seen.keeps_log
    try:
        anchor = Anchor.open(path) if keeps_log else Anchor.create(path, heads)
    except OSError as error:
        raise StoreError(f"the anchor of `{path}` cannot be opened: {error.strerror}") from error
    with Translated(path, "opened"):
        connection = connect(path, "rw")
        _keep_log(connection)
        mark(connection)
    return Journal(path, connection, anchor, heads)


def read_journal(path: Path, *, whole: bool = False) -> Journal:
    """The journal at `path`, read-only, also in a read-only folder.

    Always checks that nothing is missing; `whole` first checks its chains.

    Raises:
        JournalError: It is no journal, is damaged, or lost entries that were on disk before an action.
    """
    require_file(path)
    heads = anchored(path)  # first: a process that goes on adds to the journal before it says so
    with Translated(path, "opened"):
        try:
            connection = connect(path, "ro")
            require_layout(path, connection)
        except sqlite3.OperationalError:
            # Reading makes SQLite write a file beside it, unless it is told that nothing will change.
            if os.access(path.parent, os.W_OK) or path.with_name(f"{path.name}-wal").exists():
                raise
            connection = connect(path, "ro&immutable=1")
            require_layout(path, connection)
    journal = Journal(path, connection)
    try:
        journal.require_anchored(heads)
        if whole:
            journal.require_whole()
    except JournalError:
        journal.close()
        raise
    return journal
