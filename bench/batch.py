"""What a batch costs beside its runs: `python -m bench.batch`.

One input: the process of `llmdo batch` to that of `llmdo run` with the same input, both with a journal, in turns. Many
inputs: the CPU of an item, once the first is paid for, to that of a run of the same entry in one loop of Python.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import llmdo
from bench.journal import write_workspace

INPUTS = "in.jsonl"


def cpu_of(root: Path, *words: str) -> float:
    """The seconds of CPU of a command."""
    before = os.times()
    subprocess.run([sys.executable, "-m", "llmdo", *words], cwd=root, check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def of_one(root: Path, rounds: int) -> tuple[float, float]:
    """The least CPU of a run alone, and of a batch of the same input."""
    (root / INPUTS).write_text('"go"\n')
    alone, batch = [], []
    for _ in range(rounds):
        alone.append(cpu_of(root, "run", "main", "go"))
        batch.append(cpu_of(root, "batch", "main", "--inputs", INPUTS))
    return min(alone), min(batch)


def of_many(root: Path, items: int, rounds: int) -> tuple[float, float]:
    """The least CPU of a run within one loop, and of an item of a batch beyond that of a batch of one."""
    (root / INPUTS).write_text('"go"\n')
    alone, batch = [], []
    for _ in range(rounds):
        alone.append(in_one_loop(root, items))
        first = cpu_of(root, "batch", "main", "--inputs", INPUTS)
        many = root / "many.jsonl"
        many.write_text("".join(f"{json.dumps('go')}\n" for _ in range(items + 1)))
        batch.append((cpu_of(root, "batch", "main", "--inputs", many.name) - first) / items)
    return min(alone), min(batch)


def in_one_loop(root: Path, runs: int) -> float:
    """The seconds of CPU of one of so many runs, eight at a time, each with a journal."""
    entry = llmdo.open_entry(root, "main")

    async def work() -> None:
        room = asyncio.Semaphore(8)

        async def run() -> None:
            async with room:
                outcome = await entry.run("go", journal=True)
                assert outcome.status == "completed", outcome

        await asyncio.gather(*(run() for _ in range(runs)))

    asyncio.run(work())
    began = time.process_time()
    asyncio.run(work())
    return (time.process_time() - began) / runs


def main() -> None:
    """Prints both ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--steps", type=int, default=5, help="tool calls of a run")
    chosen = parser.parse_args()
    print(
        f"llmdo {llmdo.__version__}, pydantic-ai {version('pydantic-ai-slim')}, Python {platform.python_version()}"
    )
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_workspace(root, chosen.steps)
        alone, batch = of_one(root, chosen.rounds)
        print(f"one input: run {alone * 1000:.0f} ms, batch {batch * 1000:.0f} ms: {batch / alone:.2f}")
        run, item = of_many(root, chosen.items, chosen.rounds)
        print(f"{chosen.items} inputs: run {run * 1000:.1f} ms, item {item * 1000:.1f} ms: {item / run:.2f}")


if __name__ == "__main__":
    main()
