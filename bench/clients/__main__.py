"""Real clients beside what llmdo says of their projects: `make clients`, or `python -m bench.clients CLIENT ...`."""

from __future__ import annotations

import argparse
import importlib
import random
import socket
import sys
import tempfile
from pathlib import Path

from bench.clients.cells import table

CLIENTS = ("opencode",)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clients", nargs="*", default=CLIENTS)
    parser.add_argument("--folder", type=Path, default=Path(".clients"))
    parser.add_argument("--projects", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    chosen = parser.parse_args()
    if [name for _, name in socket.if_nameindex()] != ["lo"]:
        sys.exit("there is a network: `make clients` runs this without one")
    for name in chosen.clients:
        client = importlib.import_module(f"bench.clients.{name}")
        with tempfile.TemporaryDirectory(dir="/var/tmp") as temporary:
            root = chosen.keep or Path(temporary)
            home = root / "home"
            home.mkdir(parents=True)
            projects = [root / f"{name}-{number}" for number in range(chosen.projects)]
            for number, project in enumerate(projects):
                client.generate(project, random.Random(f"{chosen.seed} {number}"))
            cells = list(client.observe((chosen.folder / name).absolute(), home, projects))
        for cell in cells:
            if not cell.is_equal:
                print("    ", cell.project, cell.agent, cell.call, cell.seen, cell.said)
        print(name)
        for line in table(cells, client.KNOWN):
            print(line)


if __name__ == "__main__":
    main()
