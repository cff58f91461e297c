"""Whether real clients obey `llmdo hook`: projects by chance, under a scripted model, in agents too.

python -m bench.hooked [codex|gemini ...] [--projects 40] [--seed 1]

The clients are those of `make clients`. The model calls every tool once, in the session and in each agent. A call is
lost if no record of the journal is about it, and disobeyed if its result is not what its record says: one that is
blocked was stopped and the model read why, one that is allowed was not stopped by llmdo.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.check import BIN
from bench.clients.__main__ import FOLDER
from llmdo.features.hook import install
from llmdo.features.hook.rehearsal.model import serving
from llmdo.services import locking
from llmdo.workspace import lock, project

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType

    from bench.clients.script import Script

CLIENTS = ("codex", "gemini")
CAPABILITIES = (
    "fs.read", "fs.write", "fs.list", "net", "proc", "mcp.call", "x.sandbox", "fs", "data.untrusted", "net.search",
)  # fmt: skip
SECONDS = 60
DENIED = "denied by llmdo"


def _manifest(client: str, agents: list[str], session: str, chance: random.Random) -> str:
    lines = ["schema = 1", "[workspace]", 'name = "bench"', f'from = ["{client}"]', "[approvals.rules]"]
    rules = chance.sample(CAPABILITIES, chance.randint(0, 2))
    lines += [f'"{name}" = "{chance.choice(("blocked", "needs_approval"))}"' for name in rules]
    for name in (session, *agents):
        if chance.random() < 0.5:
            may = chance.sample(CAPABILITIES, chance.randint(2, 6))
            lines += [f"[workers.{name}]", f"may = {json.dumps(may)}"]
    return "\n".join([*lines, ""])


class Tally:
    """The calls of all projects, by what came of them."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.wrong: list[str] = []

    def add(self, what: str, of: str) -> None:
        """Counts a call."""
        self.counts[what] = self.counts.get(what, 0) + 1
        if what.startswith("WRONG"):
            self.wrong.append(f"{what}: {of}")


def _records(home: Path) -> list[Mapping[str, Any]]:
    paths = (home / ".local/state/llmdo/hook").glob("*.jsonl")
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def _is_about(record: Mapping[str, Any], tool: str, arguments: Mapping[str, object]) -> bool:
    """Whether a record is about a call of the script."""
    named = {"exec_command": "Bash"}.get(tool, tool.replace("/", "__"))
    wanted = arguments.get("cmd", arguments.get("input"))
    kept = record["arguments"]
    if record["tool"] != named:
        return False
    if wanted is not None:
        return str(kept.get("command", "")).startswith(str(wanted)[:200])
    return all(kept.get(name) == value for name, value in arguments.items() if isinstance(value, str))


def _judge(
    script: Script, records: list[Mapping[str, Any]], tally: Tally, where: str, *, names_agents: bool
) -> None:
    for agent in script.shown:
        for call in script.probing(agent):
            result = script.results.get(call.id)
            of = f"{where}, {agent}, {call.name} {json.dumps(call.arguments)[:80]}"
            if result is None:
                continue  # the client stopped before
            about = [
                each
                for each in records
                if _is_about(each, call.name, call.arguments)
                and (not names_agents or each["worker"] == agent)
            ]
            if not about:
                tally.add(
                    "WRONG, no record" if DENIED not in result else "denied as unknown",
                    f"{of}: {result[:90]}",
                )
                continue
            blocked = {each["decision"] == "blocked" for each in about}
            asks = {each["decision"] == "needs_approval" and not each["left"] for each in about}
            is_denied = DENIED in result
            if True in asks:
                tally.add("asked", of)
            elif len(blocked) > 1:
                tally.add("of several agents at once", of)
            elif blocked == {True}:
                tally.add("blocked and stopped" if is_denied else "WRONG, blocked and not stopped", of)
            else:
                tally.add("WRONG, allowed and stopped" if is_denied else "allowed and not stopped", of)


def _run(
    name: str, client: ModuleType, player: ModuleType, folder: Path, number: int, seed: int
) -> Iterator[Any]:
    chance = random.Random(f"{seed} {number}")
    root, home = folder / f"{name}-{number}", folder / f"home-{number}"
    home.mkdir()
    client.generate(root, chance)
    script_of = client.SCRIPT
    agents = [path.stem for path in sorted((root / f".{name}/agents").glob("*.*"))]
    session = client.SESSION
    (root / "llmdo.toml").write_text(_manifest(name, agents, session, chance))
    install.write(root, install.change_for(root, name))
    lock.write(root, locking.derive(project.read(root)))
    script = script_of(root, agents)
    program = FOLDER / name / client.PROGRAM
    with serving(player.WIRE, script.answer) as script.port:
        words, variables = player.start(str(program), root, home, script.port)
        node = shutil.which("node") or "/usr/bin/node"
        words = [*([node] if program.suffix == ".js" else []), *words[:-1], f"PROBE {session}"]
        path = f"{BIN}:/usr/bin:/bin:{Path(node).parent}"
        own = {each: os.environ[each] for each in ("PYTHONPATH",) if each in os.environ}
        environ = {**variables, **own, "HOME": str(home), "PATH": path}
        try:
            subprocess.run(
                words,
                cwd=root,
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            print(f"{root.name} was ended after {SECONDS} s")
    yield script
    yield _records(home)


def main() -> None:
    """Runs the projects of each client, and fails where a call was lost or a decision disobeyed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clients", nargs="*", default=CLIENTS)
    parser.add_argument("--projects", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    is_wrong = False
    for name in chosen.clients:
        client = importlib.import_module(f"bench.clients.{name}")
        player = importlib.import_module(f"llmdo.features.hook.rehearsal.{name}")
        protocol = importlib.import_module(f"llmdo.features.hook.clients.{name}")
        tally, with_agents = Tally(), 0
        with tempfile.TemporaryDirectory(prefix="llmdo-hooked-", dir="/var/tmp") as temporary:
            for number in range(chosen.projects):
                script, records = _run(name, client, player, Path(temporary), number, chosen.seed)
                with_agents += len(script.shown) > 1
                _judge(script, records, tally, f"{name}-{number}", names_agents=protocol.IDENTIFIES)
        print(f"{name}: {chosen.projects} projects, {with_agents} with agents at work")
        for what, count in sorted(tally.counts.items()):
            print(f"  {count:5} {what}")
        for line in tally.wrong[:20]:
            print(f"  {line}")
        is_wrong |= bool(tally.wrong)
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
