"""`.llmdo/runs/` of a workspace, the folder of its journals, and the right to work on one of them."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path  # noqa: TC003  # a field's type
from typing import TYPE_CHECKING, Self

from llmdo.base.values import dataclass
from llmdo.journal.entries import ClaimedError, JournalError, StoreError
from llmdo.journal.sqlite.store import SUFFIX, create_journal, open_journal, read_journal
from llmdo.journal.stored import RunIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from llmdo.journal.shares import ConversationShares
    from llmdo.journal.sqlite.store import Journal
    from llmdo.journal.stored import Result, Taker

PATIENCE = 0.25  # seconds: whoever only asks whether a run is claimed holds the lock for a moment
ATTEMPTS = 100  # each is quick; the file vanishes when its owner ends


@dataclass(frozen=True, slots=True)
class Claim:
    """One process's right to one run: an SQLite lock on an empty file, which works on every system."""

    path: Path
    held: sqlite3.Connection

    @classmethod
    def take(cls, path: Path) -> Claim | None:
        """The right of the file `path`; None if another process has it.

        Raises:
            StoreError: The file cannot be made.
        """
        why: Exception | None = None
        for _ in range(ATTEMPTS):
            try:
                path.touch(mode=0o600)
                file = _file(path)  # before SQLite opens it: afterwards another one may be at its place
                held = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            except (OSError, sqlite3.Error) as error:
                why = error
                continue
            try:
                held.execute("BEGIN EXCLUSIVE")
            except sqlite3.Error as error:
                held.close()
                if "locked" in str(error):
                    return None
                why = error if file == _file(path) else None  # of a file that vanished meanwhile
                continue
            if file is not None and file == _file(path):
                return cls(path, held)
            held.close()
            why = None
        if why is not None:
            raise StoreError(f"cannot write `{path}`: {_why(why)}") from why
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.give_back()

    def give_back(self) -> None:
        """Frees the run for other processes."""
        with suppress(OSError):
            self.path.unlink()
        self.held.close()


def is_claimed(path: Path) -> bool:
    """Whether a process works on the run of the file `path`.

    Raises:
        StoreError: Nobody can tell now.
    """
    why: sqlite3.Error | None = None
    for _ in range(ATTEMPTS):
        if not path.exists():
            return False
        try:
            with closing(
                sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0)
            ) as connection:
                connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except sqlite3.Error as error:
            if "locked" in str(error):
                return True
            why = error  # unless the file vanished meanwhile
        else:
            return False
    raise StoreError(f"cannot read `{path}`: {why}") from why


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _file(path: Path) -> tuple[int, int] | None:
    """The identity of the file at `path`, which no successor has, even under the same number; None for no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_ctime_ns


PLACE = (".llmdo", "runs")
LOCK = ".lock"
CONVERSATIONS = "conversations"
"""The file of the runs' shares in their conversations' limits."""
ORDER = "order"
"""The file that lists the runs in order of arrival."""


@dataclass(frozen=True, slots=True)
class Runs(RunIndex):
    """The runs of one workspace that have a journal."""

    root: Path
    """Of the workspace."""
    _place = PLACE
    _suffix = SUFFIX

    @property
    def title(self) -> str:
        """Their location, in words for messages."""
        return f"`{self.folder}`"

    def names(self) -> list[str]:
        """The ids of the runs in the order of their arrival, whatever the clock said."""
        try:
            files = [file.name for file in self.folder.iterdir()]
            names = {name.removesuffix(SUFFIX) for name in files if name.endswith(SUFFIX)}
        except FileNotFoundError:
            return []
        except OSError as error:
            raise JournalError(f"cannot read `{self.folder}`: {error.strerror}") from error
        noted = [name for name in self._noted() if name in names]
        return [*noted, *sorted(names.difference(noted))]

    def _noted(self) -> dict[str, None]:
        """The ids in the list of runs, which may name removed ones, and lack copied ones."""
        try:
            return dict.fromkeys((self.folder / ORDER).read_text("ascii", "replace").splitlines())
        except OSError:
            return {}

    def has(self, run: str) -> bool:
        """Whether the run has a journal."""
        return self.path(run).exists()

    def note(self, run: str) -> None:
        """Puts the run at the end of the list.

        Raises:
            JournalError: The list cannot be written.
        """
        noted = self._noted()
        lacking = [name for name in self.names() if name not in noted and name != run]
        try:
            with (self.folder / ORDER).open("a", encoding="ascii") as file:
                file.write("".join(f"{name}\n" for name in (*lacking, run)))
        except OSError as error:
            raise JournalError(f"cannot write `{self.folder / ORDER}`: {error.strerror}") from error

    def _may_be_last(self, run: str) -> bool:
        """Whether that journal holds a run; an empty file does not."""
        return not self._is_empty(run) and self._has_begun(run)

    def _has_begun(self, run: str) -> bool:
        """Whether that journal holds a run, or is unreadable, which its opener will report."""
        try:
            with self.read(run) as journal:
                return journal.last("run") is not None
        except JournalError:
            return True

    def unbegun(self) -> list[str]:
        """The journals without a run: the process that made each was killed."""
        return [name for name in self.names() if not self._has_begun(name) and not self.is_claimed(name)]

    def create(self, run: str) -> Journal:
        """A new journal for the run.

        Raises:
            JournalError: Cannot be made.
        """
        self.prepare()
        path = self.path(run)
        self.note(run)
        return self._indexed(create_journal(path))

    def adopt(self, run: str, file: Path) -> None:
        """Adopts the exported run in `file`, in the same folder, under the id `run`, as the last run.

        Raises:
            JournalError: Cannot be kept, or there is such a run.
        """
        target = self.path(run)
        try:
            os.link(file, target)  # never over a file that has come there meanwhile
        except OSError as error:
            raise JournalError(f"cannot write `{target}`: {error.strerror}") from error
        self.note(run)

    def open(self, run: str) -> Journal:
        """The journal of that run, writable."""
        return self._indexed(open_journal(self.path(run)))

    def read(self, run: str, *, whole: bool = False) -> Journal:
        """That journal, read-only; `whole` first checks its chains."""
        return self._indexed(read_journal(self.path(run), whole=whole))

    def claim(self, run: str, by: Taker = "person") -> Claim:
        """The right to work on that run.

        Raises:
            ClaimedError: Another process has it.
            NotOpenError: For a worker: the run is over or waits for a person.
        """
        if not self.folder.is_dir():  # of a new run, or somebody removed all journals
            self.prepare()
        claim = Claim.take(self._lock(run))
        if claim is None:
            raise ClaimedError(
                f"another process is using run `{run}`", hint="wait until it is done, or stop it"
            )
        if by == "worker":
            self._require_open(run, claim)
        return claim

    def _require_open(self, run: str, claim: Claim) -> None:
        from llmdo.journal.eligibility import require_open  # which lists have no use for

        try:
            if self.has(run):
                with self.read(run) as journal:
                    require_open(journal)
        except BaseException:
            claim.give_back()
            raise

    def is_claimed(self, run: str) -> bool:
        """Whether a process works on that run."""
        return is_claimed(self._lock(run))

    def sharing(self, conversation: str, work: Callable[[ConversationShares], Result]) -> Result:
        """The result of `work`, with exclusive access to the shares of all conversations.

        Raises:
            JournalError: Cannot be read or written.
        """
        from llmdo.journal.sqlite.shares import sharing  # which lists have no use for

        return sharing(self.folder / CONVERSATIONS, conversation, self._made, work)

    def _made(self) -> list[str]:
        """The runs whose journals are not empty files."""
        return [name for name in self.names() if not self._is_empty(name)]

    def _is_empty(self, run: str) -> bool:
        try:
            return not self.path(run).stat().st_size
        except OSError:
            return False

    def discard(self, run: str) -> None:
        """Removes that run for the process that works on it.

        Raises:
            JournalError: Cannot be removed.
        """
        try:
            self._unlink(run, self._files().get(run, ()))
            self._tidy_order()
        except OSError as error:
            raise JournalError(f"cannot remove run `{run}`: {error.strerror}") from error

    def remove_all(self, runs: Iterable[str]) -> None:
        """Removes several runs, and leftovers of killed processes: locks, and files without a journal.

        Raises:
            JournalError: A process works on one, or something cannot be removed.
        """
        try:
            files = self._files()
            for run in runs:
                with self.claim(run):
                    self._unlink(run, files.pop(run, []))
            for run, left in files.items():
                if self.path(run) not in left or self._lock(run) in left:
                    with suppress(ClaimedError), self.claim(run):  # whose lock goes with the claim
                        if not self.has(run):
                            self._unlink_left(run, left)
            self._tidy_order()
        except OSError as error:
            raise JournalError(f"cannot remove runs in `{self.folder}`: {error.strerror}") from error

    def _tidy_order(self) -> None:
        if self.folder.is_dir() and not self.names():
            (self.folder / ORDER).unlink(missing_ok=True)

    def _lock(self, run: str) -> Path:
        return self.path(run).with_suffix(LOCK)
