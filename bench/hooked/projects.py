"""A project by chance with hooks, and what came of a client's work in it."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llmdo
from bench.clients.cells import Claims
from bench.clients.process import ClientEndedError
from llmdo.base.values import dataclass
from llmdo.features.hook import install
from llmdo.features.hook.rehearsal.model import serving
from llmdo.services import locking
from llmdo.workspace import lock, project

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from bench.clients.script import Script
    from llmdo.features.hook.rehearsal.model import ModelRequest, ScriptedAnswer

_CAPABILITIES = (
    "fs.read", "fs.write", "fs.list", "net", "proc", "mcp.call", "x.sandbox", "fs", "data.untrusted", "net.search",
)  # fmt: skip
_PROGRAM = (
    f'#!/bin/sh\nPYTHONPATH="{Path(llmdo.__file__).parents[1]}" exec "{sys.executable}" -P -m llmdo "$@"\n'
)
"""The program that hooks start."""
_RULES = (*_CAPABILITIES, "agent.delegate")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookedWork:
    """The work of a client in a project."""

    root: Path
    script: Script
    records: Sequence[Mapping[str, Any]]
    """The records of all its calls, in their order."""
    spans: Mapping[str, tuple[frozenset[str], frozenset[str]]]
    """By the id of a call, the hashes of records when the model made it, and when its result came."""
    trouble: str
    """Why it ended early; empty if it did not."""


def manifest(client: str, agents: Sequence[str], chance: random.Random) -> str:
    """Rules and ceilings by chance."""
    lines = ["schema = 1", "[workspace]", 'name = "bench"', f'from = ["{client}"]', "[approvals.rules]"]
    rules = chance.sample(_RULES, chance.randint(0, 2))
    lines += [f'"{name}" = "{chance.choice(("blocked", "needs_approval"))}"' for name in rules]
    for name in agents:
        lines += [f"[workers.{name}]"]
        if chance.random() < 0.4:
            may = chance.sample(_CAPABILITIES, chance.randint(2, 6))
            may += ["agent.delegate"] if chance.random() < 0.8 else []
            lines += [f"may = {json.dumps(may)}"]
        if chance.random() < 0.3:
            own = {chance.choice(_RULES): chance.choice(("blocked", "needs_approval"))}
            lines += [f"approvals = {{ {', '.join(f'{key!r} = {word!r}' for key, word in own.items())} }}"]
    return "\n".join([*lines, ""])


def worked(name: str, client: ModuleType, program: Path, folder: Path, number: int, seed: int) -> HookedWork:
    """The work of a client in the project of a number, below a folder."""
    chance = random.Random(f"{seed} {number}")
    root, home = folder / f"{name}-{number}", folder / f"home-{number}"
    home.mkdir()
    client.generate(root, chance)
    agents = sorted(Claims(name, root).agents)
    (root / "llmdo.toml").write_text(manifest(name, agents, chance))
    install.write(root, install.change_for(root, name))
    lock.write(root, locking.derive(project.read(root)))
    script: Script = client.hooked(root)
    script.is_hooked = True
    program_of_hooks = home / "bin/llmdo"
    program_of_hooks.parent.mkdir()
    program_of_hooks.write_text(_PROGRAM)
    program_of_hooks.chmod(0o755)
    script.environ = {"PATH": f"{program_of_hooks.parent}:/usr/bin:/bin"}
    begun: dict[str, frozenset[str]] = {}
    ended: dict[str, frozenset[str]] = {}

    def answer(asked: ModelRequest) -> ScriptedAnswer:
        known = _hashes(_records(home))
        ended.update({call: known for call in asked.results if call not in ended})
        answered = script.answer(asked)
        begun.update({call.id: known for call in answered.calls})
        return answered

    trouble = ""
    with serving(client.WIRE, answer) as script.port:
        try:
            client.work(program, home, script)
        except ClientEndedError as problem:
            trouble = str(problem)
    records = _records(home)
    spans = {call: (known, ended.get(call, _hashes(records))) for call, known in begun.items()}
    return HookedWork(root=root, script=script, records=records, spans=spans, trouble=trouble)


def _records(home: Path) -> list[Mapping[str, Any]]:
    """The whole records of all sessions."""
    paths = sorted((home / ".local/state/llmdo/hook").glob("*.jsonl"))
    lines = [line for path in paths for line in path.read_text().splitlines(keepends=True)]
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _hashes(records: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(str(each["hash"]) for each in records)
