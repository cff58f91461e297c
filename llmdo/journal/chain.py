"""The chain over the entries of a journal: each is bound to all before it, in the order of its run.

The chain is over digests of bodies, so that it still holds where an export took a secret out of one.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.journal.audit import Link

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.journal.entries import JournalEntry


@dataclass(frozen=True, slots=True)
class Heads:
    """Where the two chains of a journal are: that of its entries, and that of its audit."""

    entries: Link = Link()
    records: Link = Link()


@dataclass(frozen=True, slots=True)
class ChainedRow:
    """An entry as the file has it."""

    number: int
    head: str
    """What the chain is at it."""
    original: str | None
    """The digest of its body before an export took a secret out of it; None where none did."""
    body_digest: str
    """That of the body that it has."""
    entry: JournalEntry


def linked(entry: JournalEntry, body_digest: str, last: Link) -> Link:
    """Where the chain that is at `last` is with `entry`, whose body has that digest."""
    number = last.number + 1
    parts = [
        last.head,
        number,
        entry.path,
        entry.kind,
        entry.step,
        entry.outcome,
        entry.digest,
        entry.at,
        body_digest,
    ]
    return Link(number, sha256(json.dumps(parts).encode("ascii")).hexdigest())


def digest_of_body(body: bytes, spans: str = "", salt: bytes = b"") -> str:
    """What the chain holds of a body and of the places where secrets were cut out of it.

    Who has the digest and not the salt cannot try out what may have been in the body.
    """
    parts = (salt, spans.encode(), body)
    return sha256(b"".join(b"%d:%b" % (len(part), part) for part in parts)).hexdigest()


def breaks(rows: Iterable[ChainedRow]) -> Iterator[str]:
    """Where the chain does not hold over `rows`, all that there are: a sentence each."""
    last = Link()
    for row in rows:
        entry = row.entry
        if row.number != last.number + 1:
            yield f"entry {row.number} follows entry {last.number}: some are missing"
        elif linked(entry, row.original or row.body_digest, last).head != row.head:
            yield f"entry {row.number}, `{entry.kind}` of {entry.path}, was changed, or what came before it"
        last = Link(row.number, row.head)
