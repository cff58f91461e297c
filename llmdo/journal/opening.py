"""Which store the runs and batches of a workspace are in: files below it, or the database that `LLMDO_STORE` names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal import FileBatches, Runs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmdo.journal.batches import Batches
    from llmdo.journal.ports import RunIndex
    from llmdo.journal.workers import FleetWorkers

STORE = "LLMDO_STORE"
"""The variable that holds the address of a database."""

SCHEMES = ("postgresql://", "postgres://")


def runs_of(root: Path, environ: Mapping[str, str] = os.environ) -> RunIndex:
    """The runs of the workspace at `root`.

    Raises:
        LlmdoError: The store that is asked for is none, cannot be reached, or has not the tables that are needed.
    """
    address = environ.get(STORE)
    if not address:
        return Runs(root)
    require_library(address)
    from llmdo.journal.postgres.runs import PostgresRuns

    return PostgresRuns(root, address)


def batches_of(root: Path, environ: Mapping[str, str] = os.environ) -> Batches:
    """The batches of the workspace at `root`.

    Raises:
        LlmdoError: As of `runs_of`.
    """
    address = environ.get(STORE)
    if not address:
        return FileBatches(root)
    require_library(address)
    from llmdo.journal.postgres.batches import StoredBatches

    return StoredBatches.at(root, address)


def workers_of(address: str) -> FleetWorkers:
    """The workers of the fleet that has the store at `address`.

    Raises:
        LlmdoError: It is none, cannot be reached, or has not the tables that are needed.
    """
    require_library(address)
    from llmdo.journal.postgres.workers import PostgresWorkers

    return PostgresWorkers(address)


def require_files(what: str, environ: Mapping[str, str]) -> None:
    """Nothing, where journals are files of the workspace.

    Raises:
        LlmdoError: They are not, and `what` needs them to be.
    """
    if environ.get(STORE):
        raise LlmdoError(
            f"{what} only where journals are files of the workspace", hint=f"without `--store` and `{STORE}`"
        )


def migrate(address: str | None) -> int:
    """Brings the tables of the store at `address` up to date, and returns how many steps that took.

    Raises:
        LlmdoError: It is none, cannot be reached or does not allow it.
    """
    if not address:
        raise LlmdoError("no store is named", hint=f"`--store` or `{STORE}` does")
    require_library(address)
    from llmdo.journal.postgres.database import Database
    from llmdo.journal.postgres.migrations import migrate as apply

    return apply(Database(address))


def require_library(address: str) -> None:
    """Nothing, where `address` is one of PostgreSQL, and its library is installed.

    Raises:
        LlmdoError: It is not. The address is not repeated: it may hold a password.
    """
    from importlib.util import find_spec

    if not address.startswith(SCHEMES):
        raise LlmdoError(
            "the store that `--store` or `LLMDO_STORE` names is not in a PostgreSQL database",
            hint="postgresql://USER@HOST:PORT/DATABASE; without one, journals are files of the workspace",
        )
    if find_spec("psycopg") is None:
        raise LlmdoError(
            "a store in PostgreSQL needs the library `psycopg`", hint="pip install 'llmdo-workspace[fleet]'"
        )
