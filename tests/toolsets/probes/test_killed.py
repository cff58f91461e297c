"""A batch whose processes are killed at random moments: with probes every effect happens once, and nobody is asked."""

from __future__ import annotations

import random
import sys
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, TimeoutExpired

import pytest

from tests.cli.conftest import Llmdo
from tests.features.batch.conftest import inputs
from tests.features.batch.test_stores import expire
from tests.support import forking
from tests.support.waiting import until

from .conftest import lines
from .test_batches import START, items, kept

__all__ = ["kept"]

ITEMS, KILLS = 12, 8


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_killed_at_any_moment(llmdo: Llmdo, root: Path, kept: str | None, seed: int) -> None:
    chance = random.Random(seed)
    names = [f"{item}-{call}" for item in range(ITEMS) for call in "ab"]
    inputs(root, *(f"pay {item}-a {item}-b" for item in range(ITEMS)))
    tools = (root / "tools.py").read_text()
    paced = tools.replace('    dies("before")\n', "    await asyncio.sleep(0.02)\n").replace(
        '    dies("after")\n', "    await asyncio.sleep(0.02)\n"
    )
    (root / "tools.py").write_text(paced)
    assert llmdo("lock", cwd=root).code == 0
    hits, words = 0, [*START]
    while hits < KILLS:
        before = len(lines(root, "begun"))
        child = forking.Popen(
            [sys.executable, "-m", "llmdo", *words, "--jobs", "3"], cwd=root, stdout=DEVNULL, stderr=DEVNULL
        )
        wanted = before + chance.randint(1, 4)
        until(lambda: child.poll() is not None or len(lines(root, "begun")) >= wanted)  # noqa: B023
        with suppress(TimeoutExpired):
            child.wait(chance.uniform(0, 0.04))
        child.kill()
        child.wait()
        hits += 1
        if kept is not None:
            expire(kept)
        if list(root.glob(".llmdo/batches/*.sqlite")) or kept is not None:
            words = ["batch", "resume", "last"]
        if {item["state"] for item in items(llmdo, root)} == {"completed"}:
            break
    ended = llmdo(*words, cwd=root)
    assert ended.code == 0, ended.err
    assert {item["state"] for item in items(llmdo, root)} == {"completed"}
    assert lines(root, "paid") == sorted(names)
