"""Runs the projects of each client, and fails where a call was lost or a decision disobeyed."""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from pathlib import Path

import bench.hooked
from bench.clients.__main__ import CLIENTS, FOLDER, version_of
from bench.hooked.claims import Reach
from bench.hooked.judging import Judge, Tally
from bench.hooked.projects import worked


def tried(name: str, projects: int, first: int, seed: int) -> tuple[Tally, Tally]:
    """What came of the calls of a client in some projects, and how its decisions compare with reach."""
    client = importlib.import_module(f"bench.clients.{name}")
    protocol = importlib.import_module(f"llmdo.features.hook.clients.{name}")
    tally, records, with_agents = Tally(), Tally(), 0
    # Not in /tmp, where Codex does not find its own sandbox.
    with tempfile.TemporaryDirectory(prefix="llmdo-hooked-", dir="/var/tmp") as temporary:
        for number in range(first, first + projects):
            work = worked(name, client, FOLDER / name, Path(temporary), number, seed)
            if work.trouble:
                tally.add("project that ended early", f"{work.root.name}: {work.trouble}")
            with_agents += len({agent.partition("/")[0] for agent in work.script.shown}) > 1
            for what, of in Judge(work, protocol).judged():
                tally.add(what, of)
            reach = Reach(work.root)
            for record in work.records:
                records.add(reach.compared(record), f"{work.root.name}, {record}")
    print(
        f"{client.PACKAGE} {version_of(client)}, seed {seed}: {projects} projects, {with_agents} with agents at work"
    )
    for name, part in (("calls", tally), ("decisions", records)):
        print(f"  {sum(part.counts.values())} {name}")
        for what, count in sorted(part.counts.items()):
            print(f"  {count:7} {what}")
    return tally, records


def main() -> None:
    """Prints what came of the calls of each client."""
    parser = argparse.ArgumentParser(
        description=bench.hooked.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clients", nargs="*", default=CLIENTS)
    parser.add_argument("--projects", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", default="WRONG", help="print examples of the calls whose outcome begins so")
    chosen = parser.parse_args()
    is_wrong = False
    for name in chosen.clients:
        for tally in tried(name, chosen.projects, chosen.first, chosen.seed):
            is_wrong |= tally.is_wrong
            for what, examples in sorted(tally.examples.items()):
                for of in examples[:20] if what.startswith(chosen.show) else ():
                    print(f"  {what}: {of}", flush=True)
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
