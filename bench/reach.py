"""Times reach: what each of 20 entries can reach, on top of loading the workspace.

python -m bench.reach [--workers 10000] [--rounds 7]
"""

from __future__ import annotations

import argparse
import gc
import statistics
import tempfile
import time
from pathlib import Path

from bench.generate import Shape, generate
from llmdo.reach import Analysis
from llmdo.workspace import project


def main() -> None:
    """Prints the median CPU time over all entries, and over each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--workspace", type=Path, help="a generated workspace to use again")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = chosen.workspace or Path(folder)
        if not chosen.workspace:
            generate(root, Shape(workers=chosen.workers))
        graph = project.read(root).graph
    gc.disable()  # as the command does
    reach, paths = [], []
    for _ in range(chosen.rounds):
        start = time.process_time()
        analysis = Analysis(graph)
        rows = [row for entry in graph.entries.values() for row in analysis.of(entry)]
        walked = time.process_time()
        for row in rows:
            assert row.path
            assert row.reasons
        reach.append((walked - start) * 1000)
        paths.append((time.process_time() - walked) * 1000)
    print(
        f"reach of {len(graph.entries)} entries, {len(graph.workers)} workers, {len(rows)} rows:"
        f" {statistics.median(reach):.1f} ms CPU (target 50); to look at every path and reason:"
        f" {statistics.median(paths):.1f} ms more"
    )


if __name__ == "__main__":
    main()
