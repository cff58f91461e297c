"""A run that is killed again and again ends as one that nobody disturbed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_nothing_is_lost_repeated_or_swapped_when_a_run_is_killed_twenty_times() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.crash", "--kills", "20"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ": 0 runs differ" in done.stdout
