"""How long the event loop of a program stands still while many runs work in it: `python -m bench.lag`.

The runs are those of `bench.delegation`: in bare pydantic-ai, and as a team with and without a journal. A clock beside
them wakes up every millisecond and notes how much later than that it was woken. What of it is pydantic-ai's own shows
the first row: a loop calls all that is ready before it wakes a clock, so the steps of all runs add up.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import platform
import statistics
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from bench.delegation import Shape, bare, governed

TICK = 0.001  # seconds


async def lags(work: list[asyncio.Task[int]]) -> list[float]:
    """By how many milliseconds each tick came late until all of `work` was done."""
    late = []
    while not all(task.done() for task in work):
        began = time.perf_counter()
        await asyncio.sleep(TICK)
        late.append(1000 * (time.perf_counter() - began - TICK))
    await asyncio.gather(*work)
    return late


SIDES = ("bare", "without", "with a journal")


def measure(runs: int, delegations: int, side: str) -> list[float]:
    """The lags while `runs` runs of so many delegations go on in one event loop."""

    async def main() -> list[float]:
        shape = Shape(delegations=delegations, together=2)
        is_kept = side == "with a journal"
        start = (
            bare(shape)
            if side == "bare"
            else governed(shape, Path(folder), "with a journal" if is_kept else "governed")
        )
        return await lags([asyncio.ensure_future(start()) for _ in range(runs)])

    with tempfile.TemporaryDirectory() as folder:
        gc.collect()
        return asyncio.run(main())


def main() -> None:
    """Prints the median, the 99th percentile and the longest lag of each side."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--delegations", type=int, default=20, help="of each run")
    chosen = parser.parse_args()
    load = os.getloadavg()[0]
    print(
        f"pydantic-ai {version('pydantic-ai-slim')}, Python {platform.python_version()}, load {load:.1f};"
        f" {chosen.runs} runs of {chosen.delegations} delegations"
    )
    measure(2, 4, "with a journal")  # imports
    for side in SIDES:
        late = sorted(measure(chosen.runs, chosen.delegations, side))
        print(
            f"{side}: median {statistics.median(late):.1f} ms,"
            f" 99th percentile {late[int(len(late) * 0.99)]:.1f} ms, longest {late[-1]:.1f} ms"
        )


if __name__ == "__main__":
    main()
