"""What tests of journals share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Of a workspace."""
    return tmp_path
