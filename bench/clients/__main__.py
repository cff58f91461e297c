"""Fetches clients, or prints how many cells of agent by tool are equal, and the cause of each difference.

python -m bench.clients [CLIENT ...] [--fetch] [--projects 40] [--seed 1]
"""

from __future__ import annotations

import argparse
import importlib
import random
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.clients.cells import table

if TYPE_CHECKING:
    from types import ModuleType

CLIENTS = ("codex", "gemini", "opencode")
FOLDER = Path(".clients").absolute()


def version_of(client: ModuleType) -> str:
    """The version of a client that the table of its format names."""
    return str(importlib.import_module(f"llmdo.features.{client.FORMAT}.table").VERSION)


def fetch(name: str, client: ModuleType) -> None:
    """Installs the version of a client that is compared with, and says whether there is a newer one."""
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}\n')
    version = version_of(client)
    wanted = f"{client.PACKAGE}@{version}"
    words = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", wanted]
    subprocess.run(words, cwd=folder, check=True)
    asked = subprocess.run(
        ["npm", "view", client.PACKAGE, "version"], cwd=folder, capture_output=True, text=True, check=True
    )
    newest = asked.stdout.strip()
    print(wanted if newest == version else f"{wanted}: {newest} is out, try it as VERSION of the table")


def compare(name: str, client: ModuleType, projects: int, seed: int) -> bool:
    """Prints the table of a client; whether every difference is explained."""
    # Not in /tmp, where Codex lets every command write.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as temporary:
        home = Path(temporary) / "home"
        home.mkdir()
        folders = [Path(temporary) / f"{name}-{number}" for number in range(projects)]
        for number, folder in enumerate(folders):
            client.generate(folder, random.Random(f"{seed} {number}"))
        cells = list(client.observe(FOLDER / name, home, folders))
    print(f"{client.PACKAGE} {version_of(client)}: {projects} projects, ", end="")
    for line in table(cells, client.KNOWN):
        print(line)
    return all(cell.is_equal or (cell.call, cell.seen, cell.claim) in client.KNOWN for cell in cells)


def main() -> None:
    """Does one of both for each client; fails where a difference is not explained."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clients", nargs="*", default=CLIENTS)
    parser.add_argument("--fetch", action="store_true")
    parser.add_argument("--projects", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    clients = {name: importlib.import_module(f"bench.clients.{name}") for name in chosen.clients}
    if chosen.fetch:
        for name, client in clients.items():
            fetch(name, client)
        return
    if [name for _, name in socket.if_nameindex()] != ["lo"]:
        sys.exit("there is a network: `make clients` runs this without one")
    explained = [compare(name, client, chosen.projects, chosen.seed) for name, client in clients.items()]
    sys.exit(not all(explained))


if __name__ == "__main__":
    main()
