"""Journals as somebody leaves them who may write the file and knows how it is chained: nothing in it tells."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from llmdo.journal.audit import Link, chained
from llmdo.journal.entries import Heads, JournalEntry
from llmdo.journal.sqlite.anchor import Anchor, path_of
from llmdo.journal.stored import digest_of_body, linked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def forging(journal: Path) -> Iterator[sqlite3.Connection]:
    """A connection to change the journal with, which is chained and anchored again afterwards."""
    with closing(sqlite3.connect(journal)) as connection:
        yield connection
        entries, places = _chain_entries(connection)
        records = _chain_records(connection, places)
        connection.commit()
    if path_of(journal).exists():
        Anchor.create(journal, Heads(entries, records)).close()


def _chain_entries(connection: sqlite3.Connection) -> tuple[Link, dict[int, Link]]:
    """The end of the chain, and where it is at each of the numbers that the entries had."""
    link, places, rows = Link(), {0: Link()}, []
    for seq, path, kind, step, outcome, digest, at, body, spans, salt in connection.execute(
        "SELECT seq, path, kind, step, outcome, digest, at, body, spans, salt FROM entry ORDER BY seq"
    ).fetchall():
        body = body.encode() if isinstance(body, str) else body
        entry = JournalEntry(
            path=path, kind=kind, step=step, outcome=outcome, digest=digest, body=body, at=at
        )
        link = places[seq] = linked(entry, digest_of_body(body, spans, salt or b""), link)
        rows.append((link.number, link.head, path, kind, step, outcome, digest, at, body, spans, salt))
    connection.execute("DELETE FROM entry")
    connection.executemany("INSERT INTO entry VALUES (?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return link, places


def _chain_records(connection: sqlite3.Connection, places: dict[int, Link]) -> Link:
    link, lines = Link(), []
    for (line,) in connection.execute("SELECT line FROM audit ORDER BY n").fetchall():
        record = {key: value for key, value in json.loads(line).items() if key not in ("n", "prev", "hash")}
        before = places[max(seq for seq in places if seq <= record["entries"])]
        record |= {"entries": before.number, "entries_head": before.head}
        text, link = chained(record, link)
        lines.append((link.number, text))
    connection.execute("DELETE FROM audit")
    connection.executemany("INSERT INTO audit VALUES (?, ?)", lines)
    return link
