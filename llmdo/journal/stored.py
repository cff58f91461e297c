"""The journal of a run in an SQL store: its reads, and the rows to be written.

A query names the tables as though they held one run, its values by `?`; `_read` runs it.
"""

from __future__ import annotations

import json
import os
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeVar

from llmdo.journal import audit, records
from llmdo.journal.audit import START, Link
from llmdo.journal.content import Content, packed
from llmdo.journal.disk import RunFiles
from llmdo.journal.entries import ChainedRow, DamagedError, Heads, JournalEntry, JournalError
from llmdo.journal.naming import RUNS, match
from llmdo.journal.secrets import NOTHING, Registered, Secrets
from llmdo.journal.spans import SecretSpan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from llmdo.journal.entries import Kind
    from llmdo.journal.secrets import Known
    from llmdo.journal.shares import ConversationShares

    Indexed = TypeVar("Indexed", bound="JournalStore")

Result = TypeVar("Result")

MAX_ENTRY = 64 * 1024 * 1024  # bytes of one entry, or of one piece of binary content

DAMAGED = "a copy from before may be whole; nothing in this one can be relied on"

COLUMNS = {
    "entry": "seq, head, original, path, kind, step, outcome, digest, at, body, spans, salt",
    "content": "digest, bytes, spans",
    "secret": "n, variable, salt, digest",
    "audit": "n, line",
}
"""The columns of a journal, by their tables."""
_COLUMNS = f"SELECT {COLUMNS['entry']} FROM entry"  # noqa: S608  # constants
_TYPES = (int, str, str | None, str, str, int, str, str, float, bytes, str, bytes | None)
_SECRETS = f"SELECT {COLUMNS['secret']} FROM secret ORDER BY n"  # noqa: S608  # constants
_GET = f"{_COLUMNS} WHERE path = ? AND kind = ? AND step = ?"
_LAST = f"{_COLUMNS} WHERE kind = ? ORDER BY seq DESC LIMIT 1"
_LIST = f"{_COLUMNS}{{}} ORDER BY seq"
_SOME = " WHERE seq IN (SELECT seq FROM entry WHERE {})"  # which an index answers, that holds no bodies
_REDACTED = "SELECT (SELECT count(original) FROM entry) + (SELECT count(*) FROM content WHERE bytes IS NULL)"


def linked(entry: JournalEntry, body_digest: str, last: Link) -> Link:
    """The chain's end after `entry`, with its body's digest."""
    number = last.number + 1
    path, kind, outcome, digest = entry.path, entry.kind, entry.outcome, entry.digest
    # So that no other texts make the same line.
    lengths = f"{len(path)} {len(kind)} {len(outcome)} {len(digest)}"
    texts = f"{path}{kind}{outcome}{digest}{body_digest}"
    line = f"{last.head} {number} {entry.step} {entry.at!r} {lengths} {texts}"
    return Link(number, sha256(line.encode("utf-8", "surrogatepass")).hexdigest())


def digest_of_body(body: bytes, spans: str = "", salt: bytes = b"") -> str:
    """The chain's digest of a body and of the places of its secrets.

    Without the salt, nobody can try out guesses of the body.
    """
    places = spans.encode()
    parts = b"%d:%b%d:%b%d:%b" % (len(salt), salt, len(places), places, len(body), body)
    return sha256(parts).hexdigest()


def breaks(rows: Iterable[ChainedRow]) -> Iterator[str]:
    """The breaks of the chain over all `rows`: a sentence each."""
    last = Link()
    for row in rows:
        entry = row.entry
        if row.number != last.number + 1:
            yield f"entry {row.number} follows entry {last.number}: some are missing"
        elif linked(entry, row.original or row.body_digest, last).head != row.head:
            yield f"entry {row.number}, `{entry.kind}` of {entry.path}, was changed, or what came before it"
        last = Link(row.number, row.head)


Hold = Literal["written", "forced", "anchored"]
"""How well entries are kept: they survive the process, the machine too, or their loss would be noticed as well."""


class Pace(Protocol):
    """The common rate of all processes of a store."""

    def turn(self, key: str, interval: float) -> float:
        """The seconds until the next turn of `key`, which the caller gets; the one after is `interval` seconds later.

        Raises:
            JournalError: The store cannot be asked.
        """
        ...


class JournalStore(ABC):
    """The journal of one run. Entries never change; additions wait for `commit`."""

    path: Path
    """Its location, next to the other files of its run."""
    written: Heads
    """The heads that other processes see, forced to disk or not."""

    def __init__(self, path: Path, heads: Heads | None = None) -> None:
        """`heads`, if known."""
        self.path = path
        self.index: RunIndex | None = None
        """The runs of its workspace; None for a file alone."""
        self._entries: Link | None = heads.entries if heads else None
        self._records: Link | None = heads.records if heads else None
        self._added: list[tuple[Link, JournalEntry, bytes]] = []
        self._contents: dict[str, Content] = {}
        self._pending: dict[tuple[str, str, int], JournalEntry] = {}
        self._known: set[tuple[str, str, int]] | None = set() if heads == Heads() else None
        """The keys of all entries, if all were added here: most lookups find nothing."""
        self._secrets: Secrets | None = Secrets(NOTHING) if heads == Heads() else None

    @abstractmethod
    def _read(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """The rows of `query` in the tables of this run."""

    @property
    @abstractmethod
    def run(self) -> str:
        """The run's id."""

    @property
    def is_shared(self) -> bool:
        """Whether processes of other machines may resume the run."""
        return False

    @property
    def pace(self) -> Pace | None:
        """The shared turns of the store's processes; None if each limits itself."""
        return None

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"`{self.path}`"

    def damaged(self, problem: str) -> DamagedError:
        """The error for lost or changed data."""
        return DamagedError(f"{self.title} is damaged: {problem}", hint=DAMAGED)

    @abstractmethod
    def close(self) -> None:
        """Closes it; uncommitted entries are lost."""

    @abstractmethod
    def commit(self, hold: Hold = "anchored") -> None:
        """Returns when all additions are on disk and kept as `hold` says.

        Raises:
            JournalError: Cannot be written; only the earlier entries remain.
        """

    @abstractmethod
    def needs_force(self, wanted: Heads, hold: Hold) -> bool:
        """Whether the written heads `wanted` are not yet kept as `hold` says."""

    @abstractmethod
    def force(self, hold: Hold) -> None:
        """Returns when everything written is kept as `hold` says, while another thread may write.

        Raises:
            JournalError: Cannot be forced to disk.
        """

    @abstractmethod
    def sibling(self, run: str) -> JournalStore | None:
        """The journal of another run in the same store, read-only, if any.

        Raises:
            LlmdoError: No id of a run, or its journal is damaged.
        """

    @abstractmethod
    def copy_to(
        self,
        path: Path,
        added: Sequence[JournalEntry] = (),
        contents: Mapping[str, bytes] | None = None,
        *,
        without_secrets: Callable[[bytes], bytes] = bytes,
    ) -> None:
        """Writes a copy of the committed rows to the new file `path`, an exported run, with the entries `added`.

        A body that `without_secrets` changes is marked in the copy; a content that it changes is left out. The copy
        knows no secret, so none is ever put back.

        Raises:
            JournalError: The journal is damaged, or the copy cannot be written.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def secrets(self) -> Secrets:
        """The secrets of the run known to the process."""
        return self._secrets or self.know(NOTHING)

    def know(self, known: Known) -> Secrets:
        """Cuts the secrets in `known` out of later entries, and puts them back into earlier ones."""
        if self._secrets is None or self._secrets.known is not known:
            self._secrets = Secrets(known, self._registered())
        return self._secrets

    def _registered(self) -> Iterator[Registered]:
        types = (int, str, bytes, bytes)
        for number, row in enumerate(self._read(_SECRETS), 1):
            if not all(map(isinstance, row, types)) or row[0] != number:
                raise self.damaged(f"secret {row[0]!r}")
            yield Registered(*row)

    def add(self, entry: JournalEntry, contents: Mapping[str, bytes] | None = None) -> JournalEntry:
        """Keeps `entry` for the next commit, with its binary contents, named as `name_of` does.

        Secrets of the environment are cut out of all of it; returns the entry as kept.

        Raises:
            JournalError: It is too large.
        """
        largest = max(map(len, (entry.body, *contents.values()))) if contents else len(entry.body)
        if largest > MAX_ENTRY:
            raise JournalError(
                f"{entry.path}: {largest // 1024**2} MiB are too much for one entry of the journal",
                hint="`--no-journal` runs without one",
            )
        body, spans = self.secrets.cut(entry.body)
        entry = _dated(entry, body, spans)
        salt = os.urandom(16)
        places = packed(spans) if spans else ""
        self._entries = linked(entry, digest_of_body(body, places, salt), self.entry_link)
        self._added.append((self._entries, entry, salt))
        key = (entry.path, entry.kind, entry.step)
        self._pending[key] = entry
        if self._known is not None:
            self._known.add(key)
        for content in (contents or {}).values():
            self.keep(content)
        return entry

    def keep(self, content: bytes) -> None:
        """Keeps content for the next commit, named as `name_of` does."""
        stored = Content(*self.secrets.cut(content, is_json=False))
        self._contents[stored.name] = stored

    def name_of(self, content: bytes) -> str:
        """The digest of content without its secrets, which names it."""
        return Content(*self.secrets.cut(content, is_json=False)).name

    @property
    def entry_link(self) -> Link:
        """The last entry, whether committed or not."""
        if self._entries is None:
            row = next(self._read("SELECT seq, head FROM entry ORDER BY seq DESC LIMIT 1"), None)
            self._entries = audit.Link(*row) if row else audit.Link()
        return self._entries

    @property
    def kept_link(self) -> Link:
        """The last line kept by an earlier llmdo."""
        if self._records is None:
            self._records = audit.read(self.kept_lines()).last
        return self._records

    @property
    def has_uncommitted(self) -> bool:
        """Whether something was added since the last commit."""
        return bool(self._added or self._contents)

    def _uncommitted(self) -> tuple[Sequence[tuple[object, ...]], ...]:
        """The rows of entries (without `original`), contents and secrets for the next commit."""
        entries = [
            (
                *(link.number, link.head, entry.path, entry.kind, entry.step, entry.outcome),
                *(entry.digest, entry.at, entry.body, packed(entry.spans) if entry.spans else "", salt),
            )
            for link, entry, salt in self._added
        ]
        contents = [(name, content.rest, packed(content.spans)) for name, content in self._contents.items()]
        return entries, contents, self.secrets.registered[self.secrets.stored :]

    def _is_committed(self) -> Heads:
        """Marks additions as committed; the new heads."""
        if self._secrets is not None:
            self._secrets.stored = len(self._secrets.registered)
        for committed in (self._added, self._contents, self._pending):
            committed.clear()
        return Heads(self.entry_link, self.kept_link)

    def lines(self) -> Iterator[str]:
        """The lines of the audit."""
        return records.lines(self)

    def kept_lines(self) -> Iterator[str]:
        """The audit lines of an earlier llmdo, or of an export that redacted entries."""
        for number, line in self._read("SELECT n, line FROM audit ORDER BY n"):
            if not isinstance(line, str):
                raise self.damaged(f"line {number} of its audit")
            yield line

    def get(self, path: str, kind: Kind, step: int = 1) -> JournalEntry | None:
        """The entry with this key, committed or not.

        Raises:
            JournalError: An export took a secret out of it.
        """
        if self._known is not None and (path, kind, step) not in self._known:
            return None
        if pending := self._pending.get((path, kind, step)):
            return pending
        entry = next((row.entry for row in self._rows(_GET, path, kind, step)), None)
        if entry is not None and entry.is_redacted:
            raise JournalError(
                f"{path}: `{kind}` {step} is needed, and the export took a secret out of it",
                hint="the journal that was exported has it",
            )
        return entry

    def whole(self, entry: JournalEntry) -> dict[str, Any]:
        """The body of `entry` with its secrets, to resume the run.

        If a variable has another value by now, a stand-in known to `secrets` replaces the secret.

        Raises:
            JournalError: It has changed.
        """
        secrets = self.secrets
        return entry.understood(lambda body: json.loads(secrets.whole(body, entry.spans)))

    def for_output(self, entry: JournalEntry) -> dict[str, object]:
        """The body of `entry` with its secrets, for output.

        Raises:
            LlmdoError: It held a secret that its variable no longer has.
        """
        data = self.whole(entry)
        if variable := self.secrets.lacks(data):
            raise self.secrets.missing(variable)
        return data

    def entries(
        self, *kinds: Kind, below: str | None = None, at: str | None = None
    ) -> Iterator[JournalEntry]:
        """The entries in order: of these kinds, below a path, at a path, or all."""
        wanted = [f"kind IN ({', '.join('?' * len(kinds))})"] if kinds else []
        wanted += ["path >= ? AND path < ?"] if below is not None else []
        bounds = [f"{below}/", f"{below}0"] if below is not None else []  # "0" follows "/"
        wanted += ["path = ?"] if at is not None else []
        bounds += [at] if at is not None else []
        chosen = _SOME.format(" AND ".join(wanted)) if wanted else ""
        for row in self._rows(_LIST.format(chosen), *kinds, *bounds):
            yield row.entry

    def count(self, path: str, kind: Kind) -> int:
        """The number of entries of that kind at that path."""
        query = "SELECT count(*) FROM entry WHERE path = ? AND kind = ?"
        number: int = next(self._read(query, path, kind))[0]
        return number

    def after(self, number: int, *kinds: Kind) -> Iterator[ChainedRow]:
        """The entries of these kinds, or all, after that number."""
        where = f" WHERE seq > ? AND kind IN ({', '.join('?' * len(kinds))})" if kinds else " WHERE seq > ?"
        return self._rows(_LIST.format(where), number, *kinds)

    def rows(self) -> Iterator[ChainedRow]:
        """All entries."""
        return self._rows(_LIST.format(""))

    def last(self, kind: Kind) -> JournalEntry | None:
        """The last entry of that kind."""
        return next((row.entry for row in self._rows(_LAST, kind)), None)

    def table(self, name: str, columns: str) -> Iterator[tuple[Any, ...]]:
        """The committed rows of a table, for another store."""
        return self._read(f"SELECT {columns} FROM {name}")  # noqa: S608  # names of ours

    def counted(self) -> dict[str, int]:
        """The number of entries of each kind."""
        return dict(self._read("SELECT kind, count(*) FROM entry GROUP BY kind"))

    def content(self, digest: str) -> bytes:
        """The binary content with that digest, committed or not.

        Raises:
            JournalError: It is missing or changed, or an export took it out.
        """
        stored = self._contents.get(digest) or self._kept(digest)
        return self.secrets.whole(stored.rest, stored.spans, is_json=False)

    def _kept(self, digest: str) -> Content:
        row = next(self._read("SELECT bytes, spans FROM content WHERE digest = ?", digest), None)
        if row is not None and row[0] is None:
            raise JournalError(
                f"the content `{digest}` is needed, and the export took it out: it held a secret",
                hint="the journal that was exported has it",
            )
        if row is None or not isinstance(row[0], bytes) or not isinstance(row[1], str):
            raise self.damaged(f"the content `{digest}` is not what it was")
        stored = Content(row[0], self._spans(row[1]))
        if stored.name != digest:
            raise self.damaged(f"the content `{digest}` is not what it was")
        return stored

    def redacted(self) -> int:
        """The number of redacted entries and contents."""
        number: int = next(self._read(_REDACTED))[0]
        return number

    def faults(self) -> Iterator[str]:
        """The signs of changed entries: a sentence each. Reads all entries."""
        try:
            yield from breaks(self.rows())
        except JournalError as error:
            yield error.message
        heads = {str(number): head for number, head in self._read("SELECT seq, head FROM entry")}
        for record in audit.read(self.kept_lines()).records:
            if record.get("entries_head", START) != heads.get(str(record.get("entries")), START):
                yield f"record {record['n']} of the audit follows other entries than those of the journal"
        with suppress(JournalError):  # which is told already
            yield from records.unlike(self)
        for (digest,) in list(self._read("SELECT digest FROM content WHERE bytes IS NOT NULL")):
            try:
                self._kept(digest)
            except JournalError as error:
                yield error.message

    def require_whole(self) -> None:
        """Checks that nothing has changed.

        Raises:
            JournalError: Something has.
        """
        if fault := next(self.faults(), None):
            raise self.damaged(f"{fault}")
        if any(not fault.is_end for fault in audit.read(self.kept_lines()).faults):
            raise DamagedError(
                f"the audit in {self.title} does not hold, so nothing is added to it",
                hint=f"`llmdo runs audit {self.run} --verify` says where",
            )

    def _rows(self, query: str, *values: object) -> Iterator[ChainedRow]:
        return map(self._understood, self._read(query, *values))

    def _understood(self, row: tuple[Any, ...]) -> ChainedRow:
        """A row of the table of entries, which anybody may have written.

        Raises:
            JournalError: It is not from llmdo.
        """
        if not all(map(isinstance, row, _TYPES)):
            raise self.damaged(f"entry {row[0]!r}")
        number, head, original, path, kind, step, outcome, digest, at, body, spans, salt = row
        entry = JournalEntry(
            path=path, kind=kind, step=step, outcome=outcome, digest=digest, body=body, at=at,
            is_redacted=original is not None, spans=self._spans(spans),
        )  # fmt: skip
        return ChainedRow(number, head, original, digest_of_body(body, spans, salt or b""), entry)

    def _spans(self, text: str) -> tuple[SecretSpan, ...]:
        """The places of the cut secrets.

        Raises:
            JournalError: The text is not from llmdo.
        """
        if not text:
            return ()
        try:
            rows = [(at, length, secret, form) for at, length, secret, form in json.loads(text)]
        except (ValueError, TypeError, RecursionError) as error:
            raise self.damaged(f"{error}") from error
        if not all(all(map(isinstance, row, (int, int, int, str))) for row in rows):
            raise self.damaged(f"{text[:40]}")
        if any(row[2] > len(self.secrets.registered) for row in rows):
            self.secrets.learn(self._registered())
        return tuple(
            SecretSpan(at, length, secret, self.secrets.variable(secret), form)
            for at, length, secret, form in rows
        )


def _dated(entry: JournalEntry, body: bytes, spans: tuple[SecretSpan, ...]) -> JournalEntry:
    """`entry` as kept: with its time, without secrets."""
    return JournalEntry(
        path=entry.path, kind=entry.kind, step=entry.step, outcome=entry.outcome, digest=entry.digest, body=body,
        at=entry.at or time.time(), is_redacted=entry.is_redacted, spans=spans,
    )  # fmt: skip


Taker = Literal["person", "worker"]
"""Who resumes a run: a person, or a worker whose turn has come.

A worker takes no run that is over, or that needs a person.
"""


class RunIndex(RunFiles, ABC):
    """The runs of one workspace with a journal."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Their location, in words for messages."""

    @abstractmethod
    def names(self) -> list[str]:
        """The ids of the runs in the order of their arrival, whatever the clock said."""

    @abstractmethod
    def has(self, run: str) -> bool:
        """Whether the run has a journal."""

    @abstractmethod
    def unbegun(self) -> list[str]:
        """The journals without a run: the process that made each was killed."""

    @abstractmethod
    def note(self, run: str) -> None:
        """Puts the run at the end."""

    def find(self, reference: str) -> str:
        """The one id that `reference` is, ends with or begins; `last` is the last run that began.

        Raises:
            LlmdoError: None or several match.
        """
        return match(reference, self.names(), RUNS, self._may_be_last)

    @abstractmethod
    def _may_be_last(self, run: str) -> bool:
        """Whether that run has begun, so that `last` may mean it."""

    @abstractmethod
    def create(self, run: str) -> JournalStore:
        """A new journal for the run.

        Raises:
            JournalError: Cannot be made.
        """

    @abstractmethod
    def adopt(self, run: str, file: Path) -> None:
        """Adopts the exported run in `file` under the id `run`, as the last run; the file may be gone then.

        Raises:
            JournalError: Cannot be kept, or there is such a run.
        """

    @abstractmethod
    def open(self, run: str) -> JournalStore:
        """The journal of that run, writable."""

    @abstractmethod
    def read(self, run: str, *, whole: bool = False) -> JournalStore:
        """That journal, read-only; `whole` first checks its chains."""

    def each(self) -> Iterator[JournalStore]:
        """The journals of all runs, each open until the next."""
        for name in self.names():
            with self.read(name) as journal:
                yield journal

    def _indexed(self, journal: Indexed) -> Indexed:
        journal.index = self
        return journal

    @abstractmethod
    def claim(self, run: str, by: Taker = "person") -> AbstractContextManager[object]:
        """The right to work on that run during the block.

        Raises:
            ClaimedError: Another process has it.
            NotOpenError: For a worker: the run is over or waits for a person.
        """

    @abstractmethod
    def is_claimed(self, run: str) -> bool:
        """Whether a process works on that run."""

    @abstractmethod
    def sharing(self, conversation: str, work: Callable[[ConversationShares], Result]) -> Result:
        """The result of `work`, with exclusive access to the conversation's shares.

        Nothing is kept if it raises. It runs again if the connection broke.

        Raises:
            JournalError: Cannot be read or written.
        """

    def remove(self, run: str) -> None:
        """Removes the journal of that run and its other files.

        Raises:
            JournalError: In use, or not removable.
        """
        with self.claim(run):
            self.discard(run)

    @abstractmethod
    def remove_all(self, runs: Iterable[str]) -> None:
        """Removes several runs, and leftovers of processes killed while making a journal.

        Raises:
            JournalError: One is in use, or something is not removable.
        """

    @abstractmethod
    def discard(self, run: str) -> None:
        """Removes that run for the process that works on it.

        Raises:
            JournalError: Cannot be removed.
        """
