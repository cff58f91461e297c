"""A `Store` of `llmdo.journal.opening`, in PostgreSQL."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.extras import installing

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.features.postgres.batches import StoredBatches
    from llmdo.features.postgres.runs import PostgresRuns
    from llmdo.features.postgres.workers import PostgresWorkers


def require_library() -> None:
    """Checks that the library is installed.

    Raises:
        LlmdoError: Otherwise.
    """
    if find_spec("psycopg") is None:
        raise LlmdoError("a store in PostgreSQL needs the library `psycopg`", hint=installing("fleet"))


def runs(root: Path, address: str) -> PostgresRuns:
    """The runs of the workspace at `root`."""
    from llmdo.features.postgres.runs import PostgresRuns

    return PostgresRuns(root, address)


def batches(root: Path, address: str) -> StoredBatches:
    """Its batches."""
    from llmdo.features.postgres.batches import StoredBatches

    return StoredBatches.at(root, address)


def workers(address: str, *, is_renewing: bool) -> PostgresWorkers:
    """The workers of the fleet that shares the database."""
    from llmdo.features.postgres.workers import PostgresWorkers

    return PostgresWorkers(address, is_renewing=is_renewing)


def declare_restored(address: str) -> tuple[int, int]:
    """The numbers of items and runs now unsure, as the database was put back."""
    from llmdo.features.postgres.database import Database
    from llmdo.features.postgres.migrations import require_current
    from llmdo.features.postgres.seen import declare_restored as declare

    database = Database(address)
    require_current(database)
    return declare(database)


def migrate(address: str) -> int:
    """Brings the tables up to date, and returns the number of steps."""
    from llmdo.features.postgres.database import Database
    from llmdo.features.postgres.migrations import migrate as apply

    return apply(Database(address))
