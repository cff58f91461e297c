"""What tests of the fleet share: a database with the tables of journals and of the queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.features.batch.conftest import MANIFEST, MODELS, TOOLS
from tests.support import postgres, waiting
from tests.support.locks import locked

LONGEST = 120.0
"""Seconds that a test waits for anything, on a machine that does much else."""

Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Workers are processes, and start a server with the first test: none of it is done in the usual time under load."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(400))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Of a workspace, or of none."""
    return tmp_path


@pytest.fixture(scope="session")
def migrated(cluster: postgres.Cluster) -> str:
    """The address of a database with all tables, which copies are made of: to make them again takes seconds."""
    from llmdo.services.queue import migrate

    address = cluster.new_database()
    migrate(address)
    return address


@pytest.fixture
def fleet(cluster: postgres.Cluster, migrated: str) -> str:
    """The address of a fleet without a worker."""
    return cluster.new_database(like=migrated)


@pytest.fixture
def rows(fleet: str) -> Iterator[Rows]:
    """Runs a statement in its database."""
    import psycopg

    with psycopg.connect(fleet, autocommit=True) as connection:

        def run(statement: str) -> list[tuple[Any, ...]]:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

        yield run


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace, locked, whose entry has an effect for each input; a model that is asked about `slow` waits for `hold`."""
    folder = tmp_path / "w"
    folder.mkdir()
    waiting = 'while "slow" in text and HERE.joinpath("hold").exists():\n        await asyncio.sleep(0.01)\n    if returns or'
    models = "import asyncio\n" + MODELS.replace("if returns or", waiting)
    for name, text in {"llmdo.toml": MANIFEST, "tools.py": TOOLS, "models.py": models}.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "main.worker").write_text("---\nname: main\ntoolsets: [effects]\n---\nGo.\n", encoding="utf-8")
    return locked(folder)


def until(holds: Callable[[], object]) -> None:
    """Waits for what happens in a fleet."""
    waiting.until(holds, seconds=LONGEST)
