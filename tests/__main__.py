"""`python -m tests`: pytest, in several processes. Its options are pytest's and those of `parallel.py`."""

from __future__ import annotations

import sys
import warnings

from tests import zygote

if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zygote.load()
    clean = zygote.Clean.now()

    import pytest

    from tests.parallel import Parallel

    # The packages of plugins that llmdo imports as well are loaded, and nobody reads of their assertions.
    quiet = ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
    sys.exit(pytest.main([*quiet, *sys.argv[1:]], plugins=[Parallel(clean)]))
