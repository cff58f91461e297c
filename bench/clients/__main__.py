"""Fetches clients, or prints how many cells of agent by tool are equal, and the cause of each difference.

python -m bench.clients [CLIENT ...] [--fetch] [--projects 40] [--seed 1]
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.clients.cells import changes, table
from bench.clients.process import ClientEndedError

if TYPE_CHECKING:
    from types import ModuleType

    from bench.clients.cells import Cell

CLIENTS = ("codex", "copilot", "gemini", "opencode")
FOLDER = Path(".clients").absolute()


def version_of(client: ModuleType) -> str:
    """The version of a client that the table of its format names."""
    return str(importlib.import_module(f"llmdo.features.{client.FORMAT}.table").VERSION)


def fetch(name: str, client: ModuleType) -> None:
    """Installs the version of a client that is compared with, and the newest, if that is another one."""
    version = version_of(client)
    asked = subprocess.run(
        ["npm", "view", client.PACKAGE, "version"], capture_output=True, text=True, check=True
    )
    newest = asked.stdout.strip()
    _install(FOLDER / name, f"{client.PACKAGE}@{version}")
    if newest == version:
        shutil.rmtree(FOLDER / f"{name}-newest", ignore_errors=True)
    else:
        _install(FOLDER / f"{name}-newest", f"{client.PACKAGE}@{newest}")


def _install(folder: Path, wanted: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}\n')
    words = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", wanted]
    subprocess.run(words, cwd=folder, check=True)
    print(wanted)


def watch(folder: Path, name: str, client: ModuleType, projects: int, seed: int) -> list[list[Cell]]:
    """The cells of each project, watched with the client in a folder; none where it ended early."""
    watched: list[list[Cell]] = []
    # Not in /tmp, where Codex does not find its own sandbox.
    with tempfile.TemporaryDirectory(prefix="llmdo-clients-", dir="/var/tmp") as temporary:
        home = Path(temporary) / "home"
        home.mkdir()
        for number in range(projects):
            project = Path(temporary) / f"{name}-{number}"
            client.generate(project, random.Random(f"{seed} {number}"))
            try:
                watched.append(list(client.observe(folder, home, project)))
            except ClientEndedError as problem:
                print(f"{project.name} was left out: {problem}")
                watched.append([])
    return watched


def compare(name: str, client: ModuleType, projects: int, seed: int) -> bool:
    """Prints the table of a client, and what its newest version does; whether all was seen and is explained."""
    watched = watch(FOLDER / name, name, client, projects, seed)
    cells = [cell for each in watched for cell in each]
    print(f"{client.PACKAGE} {version_of(client)}: {sum(map(bool, watched))} projects, ", end="")
    for line in table(cells, client.KNOWN):
        print(line)
    newest = FOLDER / f"{name}-newest"
    if newest.exists():
        version = json.loads((newest / "node_modules" / client.PACKAGE / "package.json").read_text())[
            "version"
        ]
        later = [cell for each in watch(newest, name, client, projects, seed) for cell in each]
        print(f"{client.PACKAGE} {version} is out: ", end="")
        for line in changes(cells, later):
            print(line)
    return all(watched) and all(cell.is_equal or cell.kind in client.KNOWN for cell in cells)


def main() -> None:
    """Does one of both for each client; fails where a difference is not explained, or a client ended early."""
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
