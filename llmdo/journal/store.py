"""One journal on disk: entries that are there once `commit` returns, whatever happens to the process or the machine."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Self

from llmdo import audit
from llmdo.journal.entries import Entry, JournalError, Kind
from llmdo.journal.layout import VERSION, bring_up, lay_out, lines_beside, version_of
from llmdo.journal.wal import least, readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from llmdo.audit import Link

MAX_ENTRY = 64 * 1024 * 1024  # bytes of one entry, or of one piece of binary content
MAX_FILE = 2 * 1024 * 1024 * 1024  # bytes of one journal

_PAGE = 4096

_ADD = "INSERT INTO entry (path, kind, step, outcome, digest, body, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
_GET = (
    "SELECT path, kind, step, outcome, digest, body, at FROM entry WHERE path = ? AND kind = ? AND step = ?"
)
_LAST = (
    "SELECT path, kind, step, outcome, digest, body, at FROM entry WHERE kind = ? ORDER BY seq DESC LIMIT 1"
)
_LIST = "SELECT path, kind, step, outcome, digest, body, at FROM entry{} ORDER BY seq"
_SOME = " WHERE seq IN (SELECT seq FROM entry WHERE {})"  # which an index answers, that holds no bodies


class Journal:
    """The entries of one run. Nothing in it is ever changed; what is added waits for `commit`."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, version: int = VERSION, *, is_new: bool = False
    ) -> None:
        """`open_journal`, `create_journal` and `read_journal` make it; `version` is that of its file."""
        self.path = path
        self._connection = connection
        self._version = version
        self._link: Link | None = None
        self.head: Link | None = None
        """The last record of the audit that is on disk; None where no record was added to it."""
        self._lines: list[tuple[int, str]] = []
        self._added: list[Entry] = []
        self._keys: set[tuple[str, str, int]] = set()
        self._known: set[tuple[str, str, int]] | None = set() if is_new else None
        """The keys of all entries, where all were added here: most that is looked for is not there."""
        self._contents: dict[str, bytes] = {}
        self._inode: int | None = None

    @property
    def run(self) -> str:
        """The run's id."""
        return self.path.name.removesuffix(SUFFIX)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; what was not committed is lost."""
        with suppress(sqlite3.Error):
            self._connection.close()

    def add(self, entry: Entry, contents: Mapping[str, bytes] | None = None) -> None:
        """Keeps `entry` for the next commit, with the binary contents that its body names by their digests.

        Raises:
            JournalError: It is too large.
        """
        largest = max([len(entry.body), *map(len, (contents or {}).values())])
        if largest > MAX_ENTRY:
            raise JournalError(
                f"{entry.path}: {largest // 1024**2} MiB are too much for one entry of the journal",
                hint="`--no-journal` runs without one",
            )
        self._added.append(entry)
        key = (entry.path, entry.kind, entry.step)
        self._keys.add(key)
        if self._known is not None:
            self._known.add(key)
        self._contents.update(contents or {})

    def keep(self, digest: str, content: bytes) -> None:
        """Keeps content for the next commit that entries name by its digest."""
        self._contents[digest] = content

    def chain(self, record: Mapping[str, object]) -> None:
        """Adds `record` to the audit with the next commit.

        Raises:
            JournalError: The audit that is there does not hold.
        """
        line, link = audit.chained(record, self.link)
        self._link = link
        self._lines.append((link.number, line))

    @property
    def link(self) -> Link:
        """The last record of the audit, whether committed or not.

        Raises:
            JournalError: The audit that is there does not hold.
        """
        if self._link is None:
            found = audit.read(self.lines())
            if not all(fault.is_end for fault in found.faults):
                raise JournalError(
                    f"the audit in `{self.path}` does not hold, so nothing is added to it",
                    hint=f"`llmdo audit {self.run} --verify` says where",
                )
            self._link = found.last
        return self._link

    def lines(self) -> Iterator[str]:
        """The committed lines of the audit."""
        if self._version == 1:
            yield from lines_beside(self.path)
            return
        with Translated(self.path, "read"):
            for (line,) in self._connection.execute("SELECT line FROM audit ORDER BY n"):
                yield line

    def commit(self, *, forced: bool = True) -> None:
        """Returns when all that was added is on disk.

        Where it is not `forced`, it outlives this process, and the machine from the next commit on that is.

        Raises:
            JournalError: It cannot be written; nothing of it is, and what was there before still is.
        """
        if not self._added and not self._contents and not self._lines:
            return
        self._require_place()
        now = time.time()
        with Translated(self.path, "written"), self._forcing(forced=forced):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.executemany(
                    "INSERT OR IGNORE INTO content VALUES (?, ?)", self._contents.items()
                )
                self._connection.executemany(
                    _ADD,
                    [
                        (one.path, one.kind, one.step, one.outcome, one.digest, one.body, one.at or now)
                        for one in self._added
                    ],
                )
                self._connection.executemany("INSERT INTO audit VALUES (?, ?)", self._lines)
                self._connection.execute("COMMIT")
            except sqlite3.Error:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise
        self._added.clear()
        self._keys.clear()
        self._contents.clear()
        self._lines.clear()
        self.head = self._link

    def _require_place(self) -> None:
        """Raises where the file is not there any more: what is written to it then, nobody can read."""
        try:
            found = self.path.stat().st_ino
        except OSError:
            found = None
        self._inode = found if self._inode is None else self._inode
        if found is None or found != self._inode:
            raise JournalError(
                f"the journal `{self.path}` was removed or replaced while the run went on",
                hint="the run stops here: nothing of what follows would be recorded",
            )

    @contextmanager
    def _forcing(self, *, forced: bool) -> Iterator[None]:
        if not forced:
            self._connection.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            if not forced:
                self._connection.execute("PRAGMA synchronous = FULL")

    def get(self, path: str, kind: Kind, step: int = 1) -> Entry | None:
        """The entry at this place, whether committed or not."""
        if self._known is not None and (path, kind, step) not in self._known:
            return None
        if (path, kind, step) in self._keys:
            return next(one for one in self._added if (one.path, one.kind, one.step) == (path, kind, step))
        with Translated(self.path, "read"):
            row = self._connection.execute(_GET, (path, kind, step)).fetchone()
        return _entry(row) if row else None

    def entries(self, *kinds: Kind, below: str | None = None) -> Iterator[Entry]:
        """The committed entries in the order in which they were added: of these kinds, or all; below a path, or all."""
        wanted = [f"kind IN ({', '.join('?' * len(kinds))})"] if kinds else []
        wanted += ["path >= ? AND path < ?"] if below is not None else []
        bounds = (f"{below}/", f"{below}0") if below is not None else ()  # "0" follows "/"
        chosen = _SOME.format(" AND ".join(wanted)) if wanted else ""
        with Translated(self.path, "read"):
            yield from map(_entry, self._connection.execute(_LIST.format(chosen), (*kinds, *bounds)))

    def last(self, kind: Kind) -> Entry | None:
        """The last committed entry of that kind."""
        with Translated(self.path, "read"):
            row = self._connection.execute(_LAST, (kind,)).fetchone()
        return _entry(row) if row else None

    def counted(self) -> dict[str, int]:
        """How many entries there are of each kind."""
        with Translated(self.path, "read"):
            rows = self._connection.execute("SELECT kind, count(*) FROM entry GROUP BY kind").fetchall()
        return dict(rows)

    def content(self, digest: str) -> bytes:
        """The binary content with that digest.

        Raises:
            JournalError: It is not there, or is not what it was.
        """
        if digest in self._contents:
            return self._contents[digest]
        with Translated(self.path, "read"):
            row = self._connection.execute("SELECT bytes FROM content WHERE digest = ?", (digest,)).fetchone()
        if row is None or not isinstance(row[0], bytes) or digest_of(row[0]) != digest:
            raise JournalError(f"`{self.path}` is damaged: the content `{digest}` is not what it was")
        found: bytes = row[0]
        return found

    def copy_to(
        self, path: Path, added: Entry | None = None, contents: Mapping[str, bytes] | None = None
    ) -> None:
        """Writes a copy of what is committed to `path`, where no file may be, with one more entry where one is given.

        Raises:
            JournalError: It cannot be written.
        """
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as error:
            raise JournalError(f"cannot write `{path}`: {error.strerror}") from error
        with Translated(path, "written"):
            target = sqlite3.connect(path, isolation_level=None)
            with Journal(path, target) as copy:
                self._connection.backup(target)
                target.execute("PRAGMA journal_mode = DELETE")
                if self._version < VERSION:
                    bring_up(self.path, target)
                if added is not None:
                    copy.add(added, contents)
                copy.commit()


SUFFIX = ".sqlite"


def create_journal(path: Path) -> Journal:
    """A new journal at `path`, for its owner only.

    Raises:
        JournalError: It cannot be made, or there is one.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise JournalError(
            f"cannot write `{path}`: {error.strerror}", hint="`--no-journal` runs without a journal"
        ) from error
    with Translated(path, "written"):
        connection = _connect(path, "rw")
        connection.execute("PRAGMA journal_mode = WAL")
        lay_out(connection)
    return Journal(path, connection, is_new=True)


def open_journal(path: Path) -> Journal:
    """The journal at `path`, to read and to add to.

    Raises:
        JournalError: It is no journal, is damaged or cannot be written.
    """
    _require_file(path)
    expected = least(path)
    if expected is None:
        raise JournalError(f"`{path}-wal` is damaged: it is not a log", hint=DAMAGED)
    with Translated(path, "opened"):
        connection = _connect(path, "rw")
        version = version_of(path, connection)
        if (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            connection.close()
            raise JournalError(f"`{path}` is damaged: {found}", hint=DAMAGED)
        if expected and readable(connection) < expected:
            connection.close()
            raise JournalError(
                f"`{path}-wal` is damaged: it held more of the run than can be read of it", hint=DAMAGED
            )
        connection.execute("PRAGMA journal_mode = WAL")
        if version < VERSION:
            bring_up(path, connection)
    return Journal(path, connection)


def read_journal(path: Path) -> Journal:
    """The journal at `path`, to read; works in a folder that cannot be written as well.

    Raises:
        JournalError: It is no journal, or is damaged.
    """
    _require_file(path)
    with Translated(path, "opened"):
        try:
            connection = _connect(path, "ro")
            version = version_of(path, connection)
        except sqlite3.OperationalError:
            # Reading makes SQLite write a file beside it, unless it is told that nothing will change.
            if os.access(path.parent, os.W_OK) or path.with_name(f"{path.name}-wal").exists():
                raise
            connection = _connect(path, "ro&immutable=1")
            version = version_of(path, connection)
    return Journal(path, connection, version)


DAMAGED = "a copy from before may be whole; nothing in this one can be relied on"


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=5,
        isolation_level=None,
        check_same_thread=False,  # a run stays in one thread, which need not be the one that opened it
    )
    connection.execute("PRAGMA trusted_schema = OFF")  # the file may be a stranger's
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_ENTRY + 1024 * 1024)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA max_page_count = {MAX_FILE // _PAGE}")
    return connection


def _require_file(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        raise JournalError(f"cannot read `{path}`: {error.strerror}") from error
    if not stat.S_ISREG(mode):
        raise JournalError(f"cannot read `{path}`: it is not a file")


class Translated:
    """Says of an error of SQLite's what it means for whoever reads it."""

    __slots__ = ("_path", "_work")

    def __init__(self, path: Path, work: str) -> None:
        self._path = path
        self._work = work

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, sqlite3.Error):
            return
        path, work, text = self._path, self._work, str(error)
        if "full" in text:
            raise JournalError(
                f"the journal `{path}` cannot be {work}: {_what_is_full(path)}",
                hint="nothing that was recorded is lost: make room, then `llmdo resume`",
            ) from error
        if "malformed" in text or "not a database" in text:
            raise JournalError(f"`{path}` is damaged: {text}", hint=DAMAGED) from error
        if "locked" in text:
            raise JournalError(f"the journal `{path}` cannot be {work}: another process uses it") from error
        raise JournalError(f"the journal `{path}` cannot be {work}: {text}") from error


def _what_is_full(path: Path) -> str:
    with suppress(OSError):
        if path.stat().st_size > MAX_FILE * 0.99:
            return f"it has reached its limit of {MAX_FILE // 1024**3} GiB"
    return "the disk is full"


def digest_of(content: bytes) -> str:
    """The digest that names `content`."""
    return f"sha256:{sha256(content).hexdigest()}"


def _entry(row: tuple[str, Kind, int, str, str, bytes, float]) -> Entry:
    path, kind, step, outcome, digest, body, at = row
    return Entry(path=path, kind=kind, step=step, outcome=outcome, digest=digest, body=body, at=at)
