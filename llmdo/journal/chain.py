"""The chain over the entries of a journal: each is bound to all before it, in the order of its run.

The chain is over digests of bodies, so that it still holds where an export took a secret out of one.
"""

from __future__ import annotations

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

    def cover(self, wanted: Heads) -> bool:
        """Whether both chains go as far as those of `wanted`."""
        return self.entries.number >= wanted.entries.number and self.records.number >= wanted.records.number


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
    texts = (entry.path, entry.kind, entry.outcome, entry.digest)
    lengths = " ".join([str(len(text)) for text in texts])  # so that no other texts make the same line
    line = f"{last.head} {number} {entry.step} {entry.at!r} {lengths} {''.join(texts)}{body_digest}"
    return Link(number, sha256(line.encode("utf-8", "surrogatepass")).hexdigest())


def digest_of_body(body: bytes, spans: str = "", salt: bytes = b"") -> str:
    """What the chain holds of a body and of the places where secrets were cut out of it.

    Who has the digest and not the salt cannot try out what may have been in the body.
    """
    places = spans.encode()
    parts = b"%d:%b%d:%b%d:%b" % (len(salt), salt, len(places), places, len(body), body)
    return sha256(parts).hexdigest()


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
