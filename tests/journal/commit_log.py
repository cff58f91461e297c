"""A second store behind the ports of the journal: a file of lines, one for each commit and how well it was kept."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import Any, Self

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import replace
from llmdo.journal import Hold, JournalEntry, JournalError, Kind, audit, records
from llmdo.journal.audit import START, Link
from llmdo.journal.content import Content, packed
from llmdo.journal.eligibility import require_open
from llmdo.journal.entries import ChainedRow, Heads
from llmdo.journal.naming import require_id
from llmdo.journal.secrets import NOTHING, Known, Registered, Secrets
from llmdo.journal.spans import SecretSpan, marked
from llmdo.journal.stored import Taker, breaks, digest_of_body, linked

SUFFIX = ".jsonl"
HOLDS: tuple[Hold, ...] = ("written", "forced", "anchored")


@dataclass(frozen=True)
class Row:
    """An entry with its place in the chain."""

    number: int
    head: str
    original: str | None
    salt: bytes
    entry: JournalEntry

    @property
    def chained(self) -> ChainedRow:
        digest = digest_of_body(self.entry.body, packed(self.entry.spans), self.salt)
        return ChainedRow(self.number, self.head, self.original, digest, self.entry)


@dataclass
class Part:
    """What a commit adds; the whole log, when all its commits are put together."""

    rows: list[Row] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    contents: dict[str, Content | None] = field(default_factory=dict)
    secrets: list[Registered] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.rows or self.lines or self.contents)

    def take(self, later: Part) -> None:
        """Adds what a later commit adds."""
        self.rows += later.rows
        self.lines += later.lines
        self.contents = {**later.contents, **self.contents}
        self.secrets += later.secrets


class CommitLog:
    """The journal of one run. What is in its file tells what was committed when, and `commits` how well."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.commits: list[tuple[Heads, Hold]] = []
        """Each commit, and each forcing after one: how far it went, and how well that is kept."""
        self._committed = Part()
        self._pending = Part()
        try:
            for line in path.read_text("ascii").splitlines():
                self._committed.take(_decoded(line))
        except OSError as error:
            raise JournalError(f"cannot read `{path}`: {error.strerror}") from error
        except (ValueError, TypeError, KeyError) as error:
            raise JournalError(f"`{path}` is damaged: {error}") from error
        self._secrets = Secrets(NOTHING, self._committed.secrets)
        self.written = Heads(self.entry_link, self.kept_link)
        self.commits.append((self.written, "anchored"))

    @property
    def run(self) -> str:
        return self.path.name.removesuffix(SUFFIX)

    @property
    def title(self) -> str:
        return f"`{self.path}`"

    @property
    def secrets(self) -> Secrets:
        return self._secrets

    @property
    def is_shared(self) -> bool:
        return False

    @property
    def pace(self) -> None:
        return None

    def know(self, known: Known) -> Secrets:
        if self._secrets.known is not known:
            self._secrets = Secrets(known, self._committed.secrets)
        return self._secrets

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._pending = Part()

    def add(self, entry: JournalEntry, contents: Mapping[str, bytes] | None = None) -> JournalEntry:
        body, spans = self.secrets.cut(entry.body)
        entry = replace(entry, at=entry.at or 1.0, body=body, spans=spans)
        salt = os.urandom(16)
        link = linked(entry, digest_of_body(body, packed(spans), salt), self.entry_link)
        self._pending.rows.append(Row(link.number, link.head, None, salt, entry))
        for content in (contents or {}).values():
            self.keep(content)
        return entry

    def keep(self, content: bytes) -> None:
        kept = Content(*self.secrets.cut(content, is_json=False))
        self._pending.contents[kept.name] = kept

    def name_of(self, content: bytes) -> str:
        return Content(*self.secrets.cut(content, is_json=False)).name

    @property
    def entry_link(self) -> Link:
        rows = self._pending.rows or self._committed.rows
        return Link(rows[-1].number, rows[-1].head) if rows else Link()

    @property
    def kept_link(self) -> Link:
        return audit.read(self._committed.lines).last

    @property
    def has_uncommitted(self) -> bool:
        return bool(self._pending)

    def commit(self, hold: Hold = "anchored") -> None:
        if self._pending:
            self._pending.secrets = self.secrets.registered[self.secrets.stored :]
            try:
                with self.path.open("a", encoding="ascii") as file:
                    file.write(f"{_encoded(self._pending)}\n")
            except OSError as error:
                raise JournalError(f"`{self.path}` cannot be written: {error.strerror}") from error
            self.secrets.stored = len(self.secrets.registered)
            self._committed.take(self._pending)
            self._pending = Part()
            self.written = Heads(self.entry_link, self.kept_link)
        self.commits.append((self.written, hold))

    def needs_force(self, wanted: Heads, hold: Hold) -> bool:
        kept = [heads for heads, how in self.commits if HOLDS.index(how) >= HOLDS.index(hold)]
        return not any(
            heads.entries.number >= wanted.entries.number and heads.records.number >= wanted.records.number
            for heads in kept
        )

    def force(self, hold: Hold) -> None:
        self.commits.append((self.written, hold))

    def get(self, path: str, kind: Kind, step: int = 1) -> JournalEntry | None:
        for row in (*self._committed.rows, *self._pending.rows):
            entry = row.entry
            if (entry.path, entry.kind, entry.step) == (path, kind, step):
                if entry.is_redacted:
                    raise JournalError(f"{path}: an export took a secret out of `{kind}` {step}")
                return entry
        return None

    def whole(self, entry: JournalEntry) -> dict[str, Any]:
        return entry.understood(lambda body: json.loads(self.secrets.whole(body, entry.spans)))

    def for_output(self, entry: JournalEntry) -> dict[str, Any]:
        data = self.whole(entry)
        if variable := self.secrets.lacks(data):
            raise self.secrets.missing(variable)
        return data

    def entries(
        self, *kinds: Kind, below: str | None = None, at: str | None = None
    ) -> Iterator[JournalEntry]:
        for row in self._committed.rows:
            is_below = below is None or row.entry.path.startswith(f"{below}/")
            if is_below and at in (None, row.entry.path) and (not kinds or row.entry.kind in kinds):
                yield row.entry

    def after(self, number: int, *kinds: Kind) -> Iterator[ChainedRow]:
        return (row for row in self.rows() if row.number > number and (not kinds or row.entry.kind in kinds))

    def rows(self) -> Iterator[ChainedRow]:
        return (row.chained for row in self._committed.rows)

    def last(self, kind: Kind) -> JournalEntry | None:
        return next(iter([*self.entries(kind)][::-1]), None)

    def count(self, path: str, kind: Kind) -> int:
        return sum(entry.path == path for entry in self.entries(kind))

    def counted(self) -> dict[str, int]:
        return dict(Counter(entry.kind for entry in self.entries()))

    def content(self, digest: str) -> bytes:
        kept = {**self._pending.contents, **self._committed.contents}.get(digest)
        if kept is None or kept.name != digest:
            raise JournalError(f"`{self.path}`: the content `{digest}` is not there, or not what it was")
        return self.secrets.whole(kept.rest, kept.spans, is_json=False)

    def lines(self) -> Iterator[str]:
        return records.lines(self)

    def kept_lines(self) -> Iterator[str]:
        return iter(self._committed.lines)

    def redacted(self) -> int:
        taken = [content for content in self._committed.contents.values() if content is None]
        return len(taken) + sum(entry.is_redacted for entry in self.entries())

    def faults(self) -> Iterator[str]:
        yield from breaks(self.rows())
        heads = {str(row.number): row.head for row in self._committed.rows}
        for record in audit.read(self.kept_lines()).records:
            if record.get("entries_head") != heads.get(str(record.get("entries")), START):
                yield f"record {record['n']} of the audit follows other entries"
        for digest, kept in self._committed.contents.items():
            if kept is not None and kept.name != digest:
                yield f"the content `{digest}` is not what it was"

    def require_whole(self) -> None:
        faults = [*self.faults()]
        faults += [fault.message for fault in audit.read(self.kept_lines()).faults if not fault.is_end]
        if faults:
            raise JournalError(f"`{self.path}` is damaged: {faults[0]}")

    def sibling(self, run: str) -> CommitLog | None:
        path = self.path.with_name(f"{require_id(run)}{SUFFIX}")
        return CommitLog(path) if path.exists() else None

    def copy_to(
        self,
        path: Path,
        added: Sequence[JournalEntry] = (),
        contents: Mapping[str, bytes] | None = None,
        *,
        without_secrets: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self.require_whole()
        part = Part([_redacted(row, without_secrets) for row in self._committed.rows], [*self.kept_lines()])
        for digest, kept in self._committed.contents.items():
            is_clean = kept is not None and not kept.spans and without_secrets(kept.rest) == kept.rest
            part.contents[digest] = kept if is_clean else None
        try:
            path.touch(mode=0o600, exist_ok=False)
        except OSError as error:
            raise JournalError(f"cannot write `{path}`: {error.strerror}") from error
        path.write_text(f"{_encoded(part)}\n", "ascii")
        if added:
            with CommitLog(path) as copy:
                for entry in added:
                    copy.add(entry, contents)
                copy.commit()


def _redacted(row: Row, without_secrets: Callable[[bytes], bytes]) -> Row:
    clean = without_secrets(marked(row.entry.body, row.entry.spans))
    if clean == row.entry.body:
        return row
    entry = replace(row.entry, body=clean, spans=())
    return Row(row.number, row.head, row.original or row.chained.body_digest, b"", entry)


def _encoded(part: Part) -> str:
    """A part as a line; bytes as a text of as many characters, so that a secret in them would be seen."""
    rows = [
        [row.number, row.head, row.original, row.salt, *_members(row.entry), row.entry.spans]
        for row in part.rows
    ]
    contents = {digest: [kept.rest, kept.spans] if kept else None for digest, kept in part.contents.items()}
    return json.dumps(
        [rows, part.lines, contents, part.secrets], default=lambda value: value.decode("latin-1")
    )


def _members(entry: JournalEntry) -> list[object]:
    return [entry.path, entry.kind, entry.step, entry.outcome, entry.digest, entry.at, entry.body]


def _decoded(line: str) -> Part:
    rows, lines, contents, secrets = json.loads(line)
    return Part(
        [_row(*row) for row in rows],
        lines,
        {
            name: Content(_bytes(kept[0]), _spans(kept[1])) if kept else None
            for name, kept in contents.items()
        },
        [Registered(number, name, _bytes(salt), _bytes(digest)) for number, name, salt, digest in secrets],
    )


def _row(number: int, head: str, original: str | None, salt: str, *members: Any) -> Row:
    path, kind, step, outcome, digest, at, body, spans = members
    entry = JournalEntry(
        path=path,
        kind=kind,
        step=step,
        outcome=outcome,
        digest=digest,
        at=at,
        body=_bytes(body),
        is_redacted=original is not None,
        spans=_spans(spans),
    )
    return Row(number, head, original, _bytes(salt), entry)


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")


def _spans(spans: list[tuple[int, int, int, str, str]]) -> tuple[SecretSpan, ...]:
    return tuple(SecretSpan(*span) for span in spans)


@dataclass(frozen=True)
class CommitLogs:
    """The commit logs in a folder."""

    root: Path

    @property
    def title(self) -> str:
        return f"`{self.folder}`"

    @property
    def folder(self) -> Path:
        return self.root / "logs"

    def path(self, run: str) -> Path:
        if not run.isalnum():
            raise LlmdoError(f"`{run}` is not the id of a run")
        return self.folder / f"{run}{SUFFIX}"

    def sources(self, run: str) -> Path:
        return self.path(run).with_suffix(".sources")

    def names(self) -> list[str]:
        there = {path.stem for path in self.folder.glob(f"*{SUFFIX}")}
        order = self.folder / "order"
        noted = dict.fromkeys(order.read_text("ascii").split() if order.exists() else ())
        return [*(name for name in noted if name in there), *sorted(there - noted.keys())]

    def has(self, run: str) -> bool:
        return self.path(run).exists()

    def unbegun(self) -> list[str]:
        return [journal.run for journal in self.each() if not journal.last("run")]

    def note(self, run: str) -> None:
        with (self.folder / "order").open("a", encoding="ascii") as file:
            file.write(f"{run}\n")

    def find(self, part: str) -> str:
        names = self.names()
        if part == "last" and names:
            begun = [journal.run for journal in self.each() if journal.last("run")]
            return (begun or names)[-1]
        matching = [name for name in names if part and (name.startswith(part) or name.endswith(part))]
        if part in names or len(matching) == 1:
            return part if part in names else matching[0]
        raise LlmdoError(f"`{part}` is {len(matching)} runs")

    def prepare(self) -> Path:
        self.folder.mkdir(exist_ok=True)
        return self.folder

    def create(self, run: str) -> CommitLog:
        self.prepare()
        path = self.path(run)
        try:
            path.touch(mode=0o600, exist_ok=False)
        except OSError as error:
            raise JournalError(f"cannot write `{path}`: {error.strerror}") from error
        self.note(run)
        return CommitLog(path)

    def adopt(self, run: str, file: Path) -> None:
        self.path(run).write_bytes(file.read_bytes())
        self.note(run)

    def open(self, run: str) -> CommitLog:
        return self.read(run, whole=True)

    def read(self, run: str, *, whole: bool = False) -> CommitLog:
        journal = CommitLog(self.path(run))
        if whole:
            journal.require_whole()
        return journal

    def each(self) -> Iterator[CommitLog]:
        return map(self.read, self.names())

    def claim(self, run: str, by: Taker = "person") -> ExitStack:
        lock = self.path(run).with_suffix(".lock")
        try:
            lock.touch(exist_ok=False)
        except FileExistsError:
            raise JournalError(f"another process is using run `{run}`") from None
        with ExitStack() as held:
            held.callback(lock.unlink)
            if by == "worker" and self.has(run):
                require_open(self.read(run))
            return held.pop_all()

    def is_claimed(self, run: str) -> bool:
        return self.path(run).with_suffix(".lock").exists()

    def remove(self, run: str) -> None:
        with self.claim(run):
            self.discard(run)

    def discard(self, run: str) -> None:
        rmtree(self.sources(run), ignore_errors=True)
        self.path(run).unlink()
