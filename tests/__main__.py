"""`python -m tests`: pytest, in several processes. Its options are pytest's and those of `parallel.py`."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module

from tests import zygote

IMPORTED_BY_RUNS = ("pydantic_ai.models.anthropic", "pydantic_ai.models.openai")
"""What takes seconds when a run in a worker or in a program forked from it imports it."""

if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zygote.load()
        for library in IMPORTED_BY_RUNS:
            import_module(library)
    clean = zygote.Clean.now()

    import pytest

    from tests.parallel import Parallel

    # The packages of plugins that llmdo imports as well are loaded, and nobody reads of their assertions.
    quiet = ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
    sys.exit(pytest.main([*quiet, *sys.argv[1:]], plugins=[Parallel(clean)]))
