"""A run that is killed again and again ends as one that nobody disturbed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.laws import share

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_nothing_is_lost_repeated_or_swapped_when_a_run_is_killed_many_times() -> None:
    words = [sys.executable, "-m", "bench.crash", "--kills", str(share(100))]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ": 0 runs differ, 0 hung" in done.stdout
    assert ", 0 refused wrongly" in done.stdout
    assert ", 0 accepted damage" in done.stdout


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_batch_whose_process_is_killed_leaves_as_unsure_only_what_was_under_way() -> None:
    words = [sys.executable, "-m", "bench.crash", "--items", "16", "--kills", "5"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "unsure, and no call was under way at a kill: 0" in done.stdout
