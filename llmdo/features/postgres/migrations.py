"""The tables of the store, as numbered steps: each is applied once, and no released one changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.journal.entries import OtherTablesError

if TYPE_CHECKING:
    from llmdo.features.postgres.database import Database

_FIRST = """
CREATE TABLE llmdo.run (
  run text COLLATE "C" PRIMARY KEY, number bigint GENERATED ALWAYS AS IDENTITY, status text NOT NULL,
  entry text NOT NULL DEFAULT '', epoch bigint NOT NULL, owner text, until timestamptz, beat timestamptz);
CREATE TABLE llmdo.entry (
  run text COLLATE "C" NOT NULL REFERENCES llmdo.run ON DELETE CASCADE, seq bigint NOT NULL, head text NOT NULL,
  original text, path text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, step bigint NOT NULL,
  outcome text NOT NULL, digest text NOT NULL, at double precision NOT NULL, body bytea NOT NULL,
  spans text NOT NULL, salt bytea, PRIMARY KEY (run, seq), UNIQUE (run, path, kind, step));
CREATE INDEX entry_kind ON llmdo.entry (run, kind, seq);
CREATE TABLE llmdo.content (
  run text COLLATE "C" NOT NULL REFERENCES llmdo.run ON DELETE CASCADE, digest text NOT NULL, bytes bytea,
  spans text NOT NULL, PRIMARY KEY (run, digest));
CREATE TABLE llmdo.secret (
  run text COLLATE "C" NOT NULL REFERENCES llmdo.run ON DELETE CASCADE, n bigint NOT NULL, variable text NOT NULL,
  salt bytea NOT NULL, digest bytea NOT NULL, PRIMARY KEY (run, n));
CREATE TABLE llmdo.audit (
  run text COLLATE "C" NOT NULL REFERENCES llmdo.run ON DELETE CASCADE, n bigint NOT NULL, line text NOT NULL,
  PRIMARY KEY (run, n));
"""

_PACE = """
CREATE TABLE llmdo.pace (key text COLLATE "C" PRIMARY KEY, tat timestamptz NOT NULL);
"""
"""`tat`: the time of the next turn of that key, the theoretical arrival time of GCRA."""

_BATCHES = """
ALTER TABLE llmdo.run ADD COLUMN lock text NOT NULL DEFAULT '', ADD COLUMN batch text COLLATE "C" NOT NULL DEFAULT '';
UPDATE llmdo.run SET status = 'queued' WHERE status = 'interrupted';
CREATE TABLE llmdo.batch (
  batch text COLLATE "C" PRIMARY KEY, number bigint GENERATED ALWAYS AS IDENTITY, entry text NOT NULL,
  lock text NOT NULL, began double precision NOT NULL, settings text NOT NULL);
CREATE TABLE llmdo.item (
  batch text COLLATE "C" NOT NULL REFERENCES llmdo.batch ON DELETE CASCADE, number bigint NOT NULL,
  key text NOT NULL, input bytea, files text NOT NULL, run text COLLATE "C" NOT NULL UNIQUE,
  state text NOT NULL DEFAULT 'queued', tries bigint NOT NULL DEFAULT 0, retry text NOT NULL DEFAULT '',
  requests bigint NOT NULL DEFAULT 0, tokens bigint, cost numeric, result text NOT NULL DEFAULT '{}',
  attempt bigint NOT NULL DEFAULT 0, earlier_requests bigint NOT NULL DEFAULT 0, earlier_tokens bigint,
  earlier_cost numeric NOT NULL DEFAULT 0, earlier_unpriced boolean NOT NULL DEFAULT false,
  PRIMARY KEY (batch, number), UNIQUE (batch, key));
CREATE INDEX item_state ON llmdo.item (batch, state, number);
CREATE TABLE llmdo.file (
  batch text COLLATE "C" NOT NULL REFERENCES llmdo.batch ON DELETE CASCADE, digest text NOT NULL,
  bytes bytea NOT NULL, PRIMARY KEY (batch, digest));
"""

_WORKERS = """
CREATE TABLE llmdo.worker (
  id text PRIMARY KEY, host text NOT NULL, pid bigint NOT NULL, lock text NOT NULL, jobs bigint NOT NULL,
  state text NOT NULL, since timestamptz NOT NULL, beat timestamptz NOT NULL, ended bigint NOT NULL);
"""

_BEGUN = """
ALTER TABLE llmdo.item ADD COLUMN begun boolean NOT NULL DEFAULT false;
UPDATE llmdo.item SET begun = tries > 0;
"""
"""Runs of items taken by an earlier llmdo may have begun: nobody knows."""

_RESTORED = """
CREATE TABLE llmdo.removed (run text COLLATE "C" PRIMARY KEY, at timestamptz NOT NULL);
CREATE TABLE llmdo.restored (number bigint PRIMARY KEY, at timestamptz NOT NULL);
ALTER TABLE llmdo.item ADD COLUMN behind boolean NOT NULL DEFAULT false;
"""
"""The tables for a store that was put back.

`removed`: the runs that somebody removed, so that their absence is not a loss; `restored`: each time that the store was
put back; `behind`: whether the run of an item may have advanced beyond the store.
"""

_DELAYED = """
CREATE TABLE llmdo.delayed (name text COLLATE "C" PRIMARY KEY, due timestamptz NOT NULL);
"""
"""The delayed entries of the queue and their due times, by the clock of the database."""

_ONE_LOG = "COMMENT ON TABLE llmdo.audit IS 'the lines of runs that an earlier llmdo began';"
"""The audit is made of the entries. An earlier llmdo, which would keep lines again, must not resume such a run."""

_SHARES = """
CREATE TABLE llmdo.share (
  run text COLLATE "C" PRIMARY KEY REFERENCES llmdo.run ON DELETE CASCADE, conversation text COLLATE "C" NOT NULL,
  reserved text NOT NULL, counted text);
CREATE INDEX share_conversation ON llmdo.share (conversation);
"""
"""The limits reserved by each run of a conversation, and the use of one that can never be resumed."""

_TITLES = "ALTER TABLE llmdo.item ADD COLUMN title bytea;"

MIGRATIONS = (_FIRST, _PACE, _BATCHES, _WORKERS, _BEGUN, _RESTORED, _DELAYED, _ONE_LOG, _SHARES, _TITLES)

_NEWEST = "SELECT coalesce(max(number), 0) FROM llmdo.migration"
_IS_LAID_OUT = "SELECT to_regclass('llmdo.migration') IS NOT NULL"
_LOCK = "SELECT pg_advisory_xact_lock(1819045220)"
"""One process migrates at a time; the number spells `llmd`."""


def number_of(database: Database) -> int:
    """The number of migrations of the store.

    Raises:
        JournalError: Cannot be asked.
    """
    if database.rows(_IS_LAID_OUT) == [(False,)]:
        return 0
    number: int = database.rows(_NEWEST)[0][0]
    return number


def require_current(database: Database) -> None:
    """Checks that the store has the tables of this llmdo.

    Raises:
        OtherTablesError: Otherwise.
    """
    number, newest = number_of(database), len(MIGRATIONS)
    if number == newest:
        return
    hint = "use a newer llmdo" if number > newest else "`llmdo fleet store migrate` brings it up to date"
    raise OtherTablesError(
        f"the store {database.name} is at migration {number}, and this llmdo needs {newest}", hint=hint
    )


def migrate(database: Database) -> int:
    """Applies the missing steps, all or none, and returns their number.

    Raises:
        JournalError: The store is newer than this llmdo, or does not allow it.
    """
    before = number_of(database)
    if before > len(MIGRATIONS):
        require_current(database)
    if before == len(MIGRATIONS):
        return 0
    with database.transaction() as run:
        run(_LOCK)
        run("CREATE SCHEMA IF NOT EXISTS llmdo")
        run("CREATE TABLE IF NOT EXISTS llmdo.migration (number bigint PRIMARY KEY, at timestamptz NOT NULL)")
        version: int = run(_NEWEST)[0][0]
        for number, statements in enumerate(MIGRATIONS[version:], version + 1):
            run(statements)
            run("INSERT INTO llmdo.migration VALUES (%s, clock_timestamp())", number)
    return len(MIGRATIONS) - version
