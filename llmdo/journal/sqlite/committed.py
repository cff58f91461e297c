"""What is committed to one journal: to be read, and held against its chains and its anchor."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from llmdo.journal import audit
from llmdo.journal.audit import START
from llmdo.journal.chain import ChainedRow, breaks, digest_of_body
from llmdo.journal.content import Content
from llmdo.journal.entries import JournalEntry, JournalError
from llmdo.journal.secrets import NOTHING, Registered, Secrets
from llmdo.journal.spans import SecretSpan
from llmdo.journal.sqlite.connection import DAMAGED, Translated

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from llmdo.journal.chain import Heads
    from llmdo.journal.entries import Kind
    from llmdo.journal.secrets import Known

SUFFIX = ".sqlite"

_COLUMNS = "SELECT seq, head, original, path, kind, step, outcome, digest, at, body, spans, salt FROM entry"
_TYPES = (int, str, str | None, str, str, int, str, str, float, bytes, str, bytes | None)
_GET = f"{_COLUMNS} WHERE path = ? AND kind = ? AND step = ?"
_LAST = f"{_COLUMNS} WHERE kind = ? ORDER BY seq DESC LIMIT 1"
_LIST = f"{_COLUMNS}{{}} ORDER BY seq"
_SOME = " WHERE seq IN (SELECT seq FROM entry WHERE {})"  # which an index answers, that holds no bodies
_REDACTED = "SELECT (SELECT count(original) FROM entry) + (SELECT count(*) FROM content WHERE bytes IS NULL)"


class Committed:
    """The committed entries of one run, and its audit."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._secrets: Secrets | None = None

    @property
    def secrets(self) -> Secrets:
        """The secrets of the run, as far as the process knows any."""
        return self._secrets or self.know(NOTHING)

    def know(self, known: Known) -> Secrets:
        """Cuts the secrets in `known` out of what is kept from here on, and puts them back into what was kept."""
        if self._secrets is None or self._secrets.known is not known:
            self._secrets = Secrets(known, self._registered())
        return self._secrets

    def _registered(self) -> Iterator[Registered]:
        types = (int, str, bytes, bytes)
        for number, row in enumerate(
            self._read("SELECT n, variable, salt, digest FROM secret ORDER BY n"), 1
        ):
            if not all(map(isinstance, row, types)) or row[0] != number:
                raise JournalError(f"`{self.path}` is damaged: secret {row[0]!r}", hint=DAMAGED)
            yield Registered(*row)

    @property
    def run(self) -> str:
        """The run's id."""
        return self.path.name.removesuffix(SUFFIX)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        import sqlite3

        with suppress(sqlite3.Error):
            self._connection.close()

    def lines(self) -> Iterator[str]:
        """The lines of the audit."""
        for number, line in self._read("SELECT n, line FROM audit ORDER BY n"):
            if not isinstance(line, str):
                raise JournalError(f"`{self.path}` is damaged: line {number} of its audit", hint=DAMAGED)
            yield line

    def get(self, path: str, kind: Kind, step: int = 1) -> JournalEntry | None:
        """The entry at this place.

        Raises:
            JournalError: An export took a secret out of it, so that nothing can go on from it.
        """
        entry = next((row.entry for row in self._rows(_GET, path, kind, step)), None)
        if entry is not None and entry.is_redacted:
            raise JournalError(
                f"{path}: `{kind}` {step} is needed, and the export took a secret out of it",
                hint="the journal that was exported has it",
            )
        return entry

    def whole(self, entry: JournalEntry) -> dict[str, Any]:
        """The body of `entry` with the secrets that were cut out of it, for what goes on with the run.

        Where a variable has another value by now, something stands for the secret that `secrets` knows.

        Raises:
            JournalError: It is not what was written.
        """
        secrets = self.secrets
        return entry.understood(lambda body: json.loads(secrets.whole(body, entry.spans)))

    def for_output(self, entry: JournalEntry) -> dict[str, object]:
        """The same for what is shown to somebody.

        Raises:
            LlmdoError: There was a secret in it that its variable has not any more.
        """
        data = self.whole(entry)
        if variable := self.secrets.lacks(data):
            raise self.secrets.missing(variable)
        return data

    def entries(self, *kinds: Kind, below: str | None = None) -> Iterator[JournalEntry]:
        """The entries in the order in which they were added: of these kinds, or all; below a path, or all."""
        wanted = [f"kind IN ({', '.join('?' * len(kinds))})"] if kinds else []
        wanted += ["path >= ? AND path < ?"] if below is not None else []
        bounds = (f"{below}/", f"{below}0") if below is not None else ()  # "0" follows "/"
        chosen = _SOME.format(" AND ".join(wanted)) if wanted else ""
        for row in self._rows(_LIST.format(chosen), *kinds, *bounds):
            yield row.entry

    def count(self, path: str, kind: Kind) -> int:
        """How many entries of that kind there are at that path."""
        query = "SELECT count(*) FROM entry WHERE path = ? AND kind = ?"
        number: int = next(self._read(query, path, kind))[0]
        return number

    def after(self, number: int, *kinds: Kind) -> Iterator[ChainedRow]:
        """The entries of these kinds that were added after the one of that number."""
        where = f" WHERE seq > ? AND kind IN ({', '.join('?' * len(kinds))})"
        return self._rows(_LIST.format(where), number, *kinds)

    def rows(self) -> Iterator[ChainedRow]:
        """All entries."""
        return self._rows(_LIST.format(""))

    def last(self, kind: Kind) -> JournalEntry | None:
        """The last entry of that kind."""
        return next((row.entry for row in self._rows(_LAST, kind)), None)

    def counted(self) -> dict[str, int]:
        """How many entries there are of each kind."""
        return dict(self._read("SELECT kind, count(*) FROM entry GROUP BY kind"))

    def content(self, digest: str) -> bytes:
        """The binary content with that digest.

        Raises:
            JournalError: It is not there, is not what it was, or an export took it out.
        """
        kept = self._kept(digest)
        return self.secrets.whole(kept.rest, kept.spans, is_json=False)

    def _kept(self, digest: str) -> Content:
        row = next(self._read("SELECT bytes, spans FROM content WHERE digest = ?", digest), None)
        if row is not None and row[0] is None:
            raise JournalError(
                f"the content `{digest}` is needed, and the export took it out: it held a secret",
                hint="the journal that was exported has it",
            )
        if row is None or not isinstance(row[0], bytes) or not isinstance(row[1], str):
            raise JournalError(f"`{self.path}` is damaged: the content `{digest}` is not what it was")
        kept = Content(row[0], self._spans(row[1]))
        if kept.name != digest:
            raise JournalError(f"`{self.path}` is damaged: the content `{digest}` is not what it was")
        return kept

    def redacted(self) -> int:
        """How many entries and contents an export took a secret out of."""
        number: int = next(self._read(_REDACTED))[0]
        return number

    def faults(self) -> Iterator[str]:
        """What shows that the entries are not those that were added: a sentence each. Looks at all of them."""
        yield from (str(message) for (message,) in self._read("PRAGMA integrity_check(3)") if message != "ok")
        try:
            yield from breaks(self.rows())
        except JournalError as error:
            yield error.message
        heads = {str(number): head for number, head in self._read("SELECT seq, head FROM entry")}
        for record in audit.read(self.lines()).records:
            if record.get("entries_head", START) != heads.get(str(record.get("entries")), START):
                yield f"record {record['n']} of the audit follows other entries than those of the journal"
        for (digest,) in list(self._read("SELECT digest FROM content WHERE bytes IS NOT NULL")):
            try:
                self._kept(digest)
            except JournalError as error:
                yield error.message

    def require_whole(self) -> None:
        """Nothing, where all of it is what was written.

        Raises:
            JournalError: It is not.
        """
        if fault := next(self.faults(), None):
            raise JournalError(f"`{self.path}` is damaged: {fault}", hint=DAMAGED)
        if any(not fault.is_end for fault in audit.read(self.lines()).faults):
            raise JournalError(
                f"the audit in `{self.path}` does not hold, so nothing is added to it",
                hint=f"`llmdo audit {self.run} --verify` says where",
            )

    def require_anchored(self, heads: Heads | None) -> None:
        """Nothing, where all is there that was on disk before something was done because of it.

        Raises:
            JournalError: Some of it is gone, or `heads`, which says how much that is.
        """
        if heads is None:
            last = next(self._read("SELECT kind FROM entry ORDER BY seq DESC LIMIT 1"), ("end",))
            if self.keeps_log and last != ("end",):
                raise JournalError(
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
            raise JournalError(
                f"`{self.path}` is damaged: it and its log held more of the run than can be read of them",
                hint=DAMAGED,
            )

    @property
    def keeps_log(self) -> bool:
        """Whether the last commits may be in a log beside the file; an exported run is one file."""
        return next(self._read("PRAGMA journal_mode")) == ("wal",)

    def _rows(self, query: str, *values: object) -> Iterator[ChainedRow]:
        return map(self._understood, self._read(query, *values))

    def _read(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        with Translated(self.path, "read"):
            yield from self._connection.execute(query, values)

    def _understood(self, row: tuple[Any, ...]) -> ChainedRow:
        """A row of the table of entries, which anybody may have written.

        Raises:
            JournalError: It is not what llmdo writes.
        """
        if not all(map(isinstance, row, _TYPES)):
            raise JournalError(f"`{self.path}` is damaged: entry {row[0]!r}", hint=DAMAGED)
        number, head, original, path, kind, step, outcome, digest, at, body, spans, salt = row
        entry = JournalEntry(
            path=path,
            kind=kind,
            step=step,
            outcome=outcome,
            digest=digest,
            body=body,
            at=at,
            is_redacted=original is not None,
            spans=self._spans(spans),
        )
        return ChainedRow(number, head, original, digest_of_body(body, spans, salt or b""), entry)

    def _spans(self, text: str) -> tuple[SecretSpan, ...]:
        """What the file says of the places where secrets were cut out of something.

        Raises:
            JournalError: It is not what llmdo writes.
        """
        if not text:
            return ()
        try:
            rows = [(at, length, secret, form) for at, length, secret, form in json.loads(text)]
        except (ValueError, TypeError, RecursionError) as error:
            raise JournalError(f"`{self.path}` is damaged: {error}", hint=DAMAGED) from error
        if not all(all(map(isinstance, row, (int, int, int, str))) for row in rows):
            raise JournalError(f"`{self.path}` is damaged: {text[:40]}", hint=DAMAGED)
        if any(row[2] > len(self.secrets.registered) for row in rows):
            self.secrets.learn(self._registered())
        return tuple(
            SecretSpan(at, length, secret, self.secrets.variable(secret), form)
            for at, length, secret, form in rows
        )
