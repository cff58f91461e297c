"""The lines of an audit: one record per decision, chained to the one before, so that edits and gaps show.

A chain is no signature: whoever can write the file can write a whole new chain. Noting the head that a run prints at
its end reveals that too.
"""

from __future__ import annotations

import json
from hashlib import sha256
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from llmdo.base.values import also_in_json, dataclass, field, in_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

START = "0" * 64
"""The head before the first record."""

_ADDED = frozenset({"n", "prev", "hash"})
"""The keys that a chain adds to a record."""

_ENCODER = json.JSONEncoder(separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Link:
    """A place in a chain, by the last record up to it."""

    number: int = 0
    head: str = START
    """Its hash."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in a line of an audit."""

    line: int
    """From 1; 0 for a fault of no line."""
    message: str
    is_end: bool = field(default=False, metadata=in_json(part=None))
    """Whether only the end is missing."""


def _number(link: Link | None) -> int | None:
    return link.number if link else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """An audit as it was read."""

    last: Link = field(metadata=in_json("head", by=attrgetter("head")))
    """The place after which a record is added."""
    entries: Link | None = field(default=None, metadata=in_json(by=_number))
    """The last entry of the journal checked against its chain, if any."""
    redacted: int = 0
    """The number of redacted entries: the chain holds, but cannot vouch for their content."""
    faults: tuple[Fault, ...]
    """The breaks of the chain."""
    records: tuple[Mapping[str, object], ...]
    """The readable ones, in the order of the file."""

    @property
    @also_in_json(after=None)
    def status(self) -> str:
        """Whether the chain holds, in a word."""
        return "broken" if self.faults else "holds"

    @property
    def after(self) -> int:
        """The number of entries after the last record, which the head does not cover."""
        covered = self.records[-1].get("entries") if self.records else 0
        return self.entries.number - covered if self.entries and isinstance(covered, int) else 0


def chained(record: Mapping[str, object], last: Link) -> tuple[str, Link]:
    """The line that adds `record` after `last`, and the new end."""
    number = last.number + 1
    text = _text({"n": number, **record, "prev": last.head})
    head = sha256(text.encode("ascii")).hexdigest()
    return f'{text[:-1]},"hash":"{head}"}}', Link(number, head)


def read(lines: Iterable[str], head: str | None = None) -> Audit:
    """The audit with these lines, without line ends; `head` is the expected last hash.

    Its end is part of the chain: a killed run and one with its last records cut off look alike.
    """
    records: list[Mapping[str, object]] = []
    faults: list[Fault] = []
    last, number = Link(), 0
    for number, line in enumerate(lines, 1):
        record = record_in(line)
        if record is None:
            faults.append(Fault(number, "this is not a record"))
            continue
        faults += [Fault(number, message) for message in _breaks(record, line, last)]
        records.append(record)
        last = Link(record["n"], record["hash"])
    if not records or records[-1].get("kind") != "run_finished":
        message = "the end is missing: the run was killed or still goes on, or the end was cut off"
        faults.append(Fault(number, message, is_end=True))
    if head is not None and head != last.head:
        faults.append(Fault(number, f"the head is {last.head}, not the one that was noted"))
    return Audit(records=tuple(records), last=last, faults=tuple(faults))


def _breaks(record: Mapping[str, object], line: str, last: Link) -> Iterator[str]:
    content = {name: value for name, value in record.items() if name != "hash"}
    if _hash(content) != record["hash"] or _text(record) != line:
        yield "this record was changed"
    if record["n"] != last.number + 1:
        yield f"record {record['n']} follows record {last.number}: some are missing, or out of order"
    elif record["prev"] != last.head:
        yield "this record does not follow the one before"


def record_in(line: str) -> dict[str, Any] | None:
    """The record in a line, if any."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not record.keys() >= _ADDED:
        return None
    is_whole = (
        type(record["n"]) is int and isinstance(record["prev"], str) and isinstance(record["hash"], str)
    )
    return record if is_whole else None


def _hash(record: Mapping[str, object]) -> str:
    return sha256(_text(record).encode("ascii")).hexdigest()


def _text(record: Mapping[str, object]) -> str:
    """A record as its line, in ASCII: it moves no terminal, and every encoding can carry it."""
    return _ENCODER.encode(record)
