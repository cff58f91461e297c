"""Where the real projects lie that some tests read; they are no part of this repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("LLMDO_CORPUS") or Path(__file__).parents[2].parent / "shared" / "corpus")

needs_corpus = pytest.mark.skipif(not FOLDER.is_dir(), reason="the real projects are not here")
