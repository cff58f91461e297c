"""What tests of journals share: a database server, where there is one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import postgres


@pytest.fixture(scope="session")
def cluster() -> Iterator[postgres.Cluster]:
    """A database server, for all tests of this process."""
    if lacking := postgres.lacking():
        (pytest.fail if os.environ.get("LLMDO_TEST_POSTGRES") else pytest.skip)(lacking)
    with postgres.cluster() as server:
        yield server


@pytest.fixture
def store(cluster: postgres.Cluster) -> str:
    """The address of a store without a run."""
    from llmdo.journal.opening import migrate

    address = cluster.new_database()
    migrate(address)
    return address


@pytest.fixture
def own_cluster() -> Iterator[postgres.Cluster]:
    """A server that the test may stop."""
    if lacking := postgres.lacking():
        pytest.skip(lacking)
    with postgres.cluster() as server:
        yield server


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Of a workspace."""
    return tmp_path
