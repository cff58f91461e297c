"""What tests of the store in PostgreSQL share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import postgres


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
