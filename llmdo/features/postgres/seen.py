"""The entries that this machine saw on the disk of a store: kept outside it, they reveal that it was put back.

A database restored from a backup says of itself that all is well. So each machine keeps the last entries that the
database confirmed to it, in a file. If the database lacks one of them, and nobody removed its run, it is an earlier
one, and nobody knows the progress of its open runs: `declare_restored` leaves them to a person.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.values import dataclass
from llmdo.journal.entries import PutBackError
from llmdo.journal.items import BEHIND, GO_ON_BEHIND

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.features.postgres.database import Database
    from llmdo.journal.audit import Link

FILE = "seen"
_LOOKED_AT = 64  # entries, of which one is enough, but for those that were written at the same moment
_LARGEST = 256 * 1024  # bytes of the file

_GENERATION = "SELECT coalesce(max(number), 0) FROM llmdo.restored"
_LACKING = f"""
SELECT ({_GENERATION}), (SELECT array_agg(seen.run) FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::bigint[])
  AS seen (run, seq, head, generation)
  WHERE seen.generation = ({_GENERATION})
  AND NOT EXISTS (
    SELECT FROM llmdo.entry WHERE entry.run = seen.run AND entry.seq = seen.seq AND entry.head = seen.head)
  AND NOT EXISTS (SELECT FROM llmdo.removed WHERE removed.run = seen.run))
"""  # noqa: S608  # constants
_DECLARE = f"""
INSERT INTO llmdo.restored
SELECT greatest(({_GENERATION}) + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint), clock_timestamp()
"""  # noqa: S608  # constants
"""A new number each time, even in a store put back to a state before the last one."""
_LOCK = "SELECT pg_advisory_xact_lock(1819045223)"
_ITEMS = """
UPDATE llmdo.item SET state = 'unsure', begun = true, behind = true,
  result = jsonb_build_object('error', %s::text, 'hint', %s::text)::text
WHERE state IN ('queued', 'running', 'waiting', 'unsure') AND NOT EXISTS (
  SELECT FROM llmdo.run WHERE status IN ('completed', 'failed') AND
    run.run = item.run || CASE WHEN attempt = 0 THEN '' ELSE '.' || attempt END)
RETURNING number
"""
_RUNS = """
UPDATE llmdo.run SET status = CASE WHEN status = 'new' THEN status ELSE 'unsure' END, epoch = epoch + 1,
  owner = NULL, until = NULL
WHERE status IN ('new', 'queued', 'running', 'waiting') RETURNING run
"""
"""A process that works on one can write no more: its epoch is over."""


class Restored(NamedTuple):
    """The numbers that became unsure in a store put back."""

    items: int
    runs: int


class _Seen(NamedTuple):
    run: str
    number: int
    head: str
    generation: int


@dataclass(frozen=True, slots=True)
class SeenEntries:
    """The seen entries of one store in one workspace of this machine."""

    folder: Path
    """The folder of the store's files on this machine."""
    database: Database

    def note(self, run: str, last: Link, generation: int) -> None:
        """Keeps that the database has this entry on its disk. A full disk here stops no run."""
        if not last.number:
            return
        line = f"{run} {last.number} {last.head} {generation}\n".encode()
        with suppress(OSError):
            descriptor = os.open(self.folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)

    def require_kept(self) -> int:
        """The number of the store's last return to an earlier state, 0 for none.

        Raises:
            PutBackError: It lacks entries that this machine saw in it.
            StoreError: Cannot be asked.
        """
        seen = self._seen()
        columns = [*map(list, zip(*seen, strict=True))] or [[], [], [], []]
        ((generation, lacking),) = self.database.rows(_LACKING, *columns)
        if lacking or any(each.generation > generation for each in seen):
            was_before = any(each.generation > generation for each in seen)
            what = "an earlier such moment" if was_before else f"run `{lacking[0]}`"
            raise PutBackError(
                f"the store {self.database.name} was put back to an earlier state: it does not hold what this "
                f"machine saw in it of {what}",
                hint="`llmdo fleet store restored` has what is open in it wait for a person",
            )
        return int(generation)

    def _seen(self) -> list[_Seen]:
        path = self.folder / FILE
        try:
            lines = path.read_text("ascii", "replace").splitlines()[-_LOOKED_AT:]
            if path.stat().st_size > _LARGEST:
                shorter = path.with_name(f"{FILE}.{os.getpid()}")
                shorter.write_text("".join(f"{line}\n" for line in lines), "ascii", "replace")
                shorter.replace(path)
        except OSError:
            return []
        parts = (line.split(" ") for line in lines)  # one that was cut short has not four
        return [
            _Seen(run, int(number), head, int(generation))
            for run, number, head, generation in (each for each in parts if len(each) == 4)
            if number.isdecimal() and generation.isdecimal()
        ]


def declare_restored(database: Database) -> Restored:
    """Marks all open items and runs as unsure: the store was put back, so nobody knows their progress.

    Raises:
        StoreError: Cannot be written.
    """
    with database.transaction() as execute:
        execute(_LOCK)
        execute(_DECLARE)
        return Restored(items=len(execute(_ITEMS, BEHIND, GO_ON_BEHIND)), runs=len(execute(_RUNS)))
