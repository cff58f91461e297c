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

_MOST_NESTED = 200
"""Levels of a record: what can be read must not be too deep to be written once more."""
_MOST_FAULTS = 1000
"""Of a file of blank lines each would be one."""
_BEYOND = 2**53
"""Of the numbers of records, which every reader of JSON knows exactly."""

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
    is_session: bool = field(default=False, metadata=in_json("session", sparse=True))
    """Whether it is that of a session of another tool, of which no record is the last."""
    is_open: bool = field(default=False, metadata=in_json("unfinished", sparse=True))
    """Whether it ends within a record, which is still being written unless a kill left it."""
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


def read(lines: Iterable[str], head: str | None = None, *, is_open: bool = False) -> Audit:
    """The audit with these lines, without line ends; `head` is the expected last hash.

    The end of a run is part of its chain: a killed run and one with its last records cut off look alike. If the file
    `is_open`, its last line has no end, and may be a part of a record.
    """
    records: list[Mapping[str, object]] = []
    faults: list[Fault] = []
    last, number, hidden, is_part = Link(), 0, 0, False
    for number, line in enumerate(lines, 1):
        record = record_in(line)
        is_part = record is None
        breaks = ["this is not a record"] if record is None else _breaks(record, line, last)
        new = [Fault(number, message) for message in breaks]
        hidden += len(new) if len(faults) >= _MOST_FAULTS else 0
        faults += new if len(faults) < _MOST_FAULTS else ()
        if record is not None:
            records.append(record)
            last = Link(record["n"], record["hash"])
    is_open &= is_part
    if is_open and hidden:
        hidden -= 1
    elif is_open:
        faults.pop()
    if hidden:
        faults.append(Fault(0, f"{hidden:,} more faults"))
    is_session = bool(records) and _is_of_session(records[0])
    if not is_session and (not records or records[-1].get("kind") != "run_finished"):
        message = "the end is missing: the run was killed or still goes on, or the end was cut off"
        faults.append(Fault(number, message, is_end=True))
    if head is not None and head != last.head:
        faults.append(Fault(number, f"the head is {last.head}, not the one that was noted"))
    return Audit(
        records=tuple(records), last=last, is_session=is_session, is_open=is_open, faults=tuple(faults)
    )


def _is_of_session(first: Mapping[str, object]) -> bool:
    """Whether an audit that begins so is that of a session, which says of calls whether they were left to a client."""
    return first.get("kind") == "decided" and "left" in first


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
    if not line.startswith("{"):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not record.keys() >= _ADDED:
        return None
    is_whole = (
        type(record["n"]) is int
        and 0 <= record["n"] < _BEYOND
        and isinstance(record["prev"], str)
        and isinstance(record["hash"], str)
        and (line.count("[") + line.count("{") <= _MOST_NESTED or not _is_deep(record))
    )
    return record if is_whole else None


def _is_deep(record: object) -> bool:
    level: list[Any] = [record]
    for _ in range(_MOST_NESTED):
        inner = [each.values() if isinstance(each, dict) else each for each in level]
        level = [each for values in inner for each in values if isinstance(each, dict | list)]
    return bool(level)


def _hash(record: Mapping[str, object]) -> str:
    return sha256(_text(record).encode("ascii")).hexdigest()


def _text(record: Mapping[str, object]) -> str:
    """A record as its line, in ASCII: it moves no terminal, and every encoding can carry it."""
    return _ENCODER.encode(record)
