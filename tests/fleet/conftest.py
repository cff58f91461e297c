"""What tests of the fleet share: a database with the tables of journals and of the queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import postgres

Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Of a workspace, or of none."""
    return tmp_path


@pytest.fixture
def fleet(cluster: postgres.Cluster) -> str:
    """The address of a fleet without a worker."""
    from llmdo.services.fleet.commands import migrate

    address = cluster.new_database()
    migrate(address)
    return address


@pytest.fixture
def rows(fleet: str) -> Iterator[Rows]:
    """Runs a statement in its database."""
    import psycopg

    with psycopg.connect(fleet, autocommit=True) as connection:

        def run(statement: str) -> list[tuple[Any, ...]]:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

        yield run
