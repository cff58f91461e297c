"""What a step costs the client where journals are in PostgreSQL, to what it costs in SQLite: `python -m bench.store`.

Two runs of the same entry, a long one and a short one, each over both stores in turns; the CPU of a step is that of the
difference, so that what the start of a process and the import of a library cost does not count. The server's own CPU
is not in it. Without `--store`, a server of Debian's package is started in a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.journal import write_workspace
from llmdo.journal.opening import STORE, migrate
from tests import postgres

SHORT = 20  # steps of the run that is taken off


def cpu_of(root: Path, store: str) -> float:
    """The seconds of CPU of a run; `store` is empty for files."""
    before = os.times()
    words = [sys.executable, "-m", "llmdo", "run", "main", "go"]
    subprocess.run(words, cwd=root, check=True, capture_output=True, env={**os.environ, STORE: store})
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def measured(address: str, steps: int, rounds: int) -> dict[str, object]:
    """The CPU of a step in ms over both stores, the least of the rounds, and their ratio."""
    with tempfile.TemporaryDirectory() as long, tempfile.TemporaryDirectory() as short:
        roots = {steps: Path(long), SHORT: Path(short)}
        for number, root in roots.items():
            write_workspace(root, number)
        taken: dict[tuple[str, int], list[float]] = {}
        for turn in range(rounds):
            stores = ("", address) if turn % 2 else (address, "")
            for store in stores:
                for number, root in roots.items():
                    taken.setdefault((store, number), []).append(cpu_of(root, store))

    def a_step(store: str) -> float:
        return 1000 * (min(taken[store, steps]) - min(taken[store, SHORT])) / (steps - SHORT)

    return {
        "steps": steps,
        "rounds": rounds,
        "sqlite_ms": round(a_step(""), 3),
        "postgres_ms": round(a_step(address), 3),
        "ratio": round(a_step(address) / a_step(""), 3),
        "load": [round(number, 1) for number in os.getloadavg()],
    }


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", help="the address of a database without tables of ours")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.environ["LLMDO_TRUST"] = "1"  # the workspaces are written here
    with ExitStack() as stack:
        address = options.store or stack.enter_context(postgres.cluster()).new_database()
        migrate(address)
        print(json.dumps(measured(address, options.steps, options.rounds), indent=2))


if __name__ == "__main__":
    main()
