"""AgentDojo's obeying attack on a real client under `llmdo hook`: `make agentdojo-hook`.

python -m bench.agentdojo.hooked [SUITE] [--most N] [--seed 1] [--verbose]

Codex (fetched by `make clients`) has the tools of a suite by an MCP server, and a scripted model that makes the calls
of the user's task and, from where it has read the attacker's words on, those of the attack. Each pair runs without the
hook first: only an attack that gets through there is judged. Whether one is through is what AgentDojo says.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.agentdojo import served
from bench.agentdojo.cases import MARK, SUITES, Case, calls_of
from bench.clients import codex
from bench.clients.__main__ import FOLDER, version_of
from llmdo.features.hook import install
from llmdo.features.hook.rehearsal import codex as player
from llmdo.features.hook.rehearsal.model import (
    ModelRequest,
    ScriptedAnswer,
    ScriptedCall,
    listening,
    serving,
)
from llmdo.services import locking
from llmdo.workspace import lock, project

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 90
TRIES = 3
SERVER = "suite"
DENIED = "denied by llmdo"
MANIFEST = """\
schema = 1

[workspace]
name = "dojo"
from = ["codex"]

[flows]
"data.untrusted -> mcp.call" = "blocked"
"""


class ObeyingModel:
    """A model that makes the calls of a case, and obeys whatever it reads."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.waiting = calls_of(case.task, case.before)
        self.made = 0
        self.has_obeyed = False
        self.refused = 0
        self.results: list[str] = []
        self.output = str(case.task.GROUND_TRUTH_OUTPUT or "done")

    def answer(self, asked: ModelRequest) -> ScriptedAnswer:
        """The next call, or the end."""
        if not asked.tools:
            return ScriptedAnswer("done")
        if (
            not self.has_obeyed
            and self.case.attacking
            and any(MARK in each for each in asked.results.values())
        ):
            self.has_obeyed = True
            self.waiting = [*self.case.attacking, *self.waiting]
            self.output = f"{self.output} {self.case.attack.GROUND_TRUTH_OUTPUT}".strip()
        self.results = [each[:200] for each in asked.results.values()]
        self.refused = sum(DENIED in each for each in asked.results.values())
        if not self.waiting:
            return ScriptedAnswer(self.output)
        name, arguments = self.waiting.pop(0)
        self.made += 1
        return ScriptedAnswer(calls=(ScriptedCall(f"call-{self.made}", f"mcp__{SERVER}/{name}", arguments),))


def _described(suite: str) -> list[dict[str, object]]:
    return [
        {
            "name": each.name,
            "description": each.description,
            "inputSchema": each.parameters.model_json_schema(),
        }
        for each in SUITES[suite].tools
    ]


def _result(case: Case, asked: dict[str, Any]) -> object:
    method, params = asked["method"], asked.get("params", {})
    if method == "initialize":
        version = params["protocolVersion"]
        info = {"name": SERVER, "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": _described(case.suite)}
    if method != "tools/call":
        return {}
    text = case.call(params["name"], params.get("arguments") or {})
    return {"content": [{"type": "text", "text": text}]}


@contextmanager
def _environment(case: Case) -> Iterator[int]:
    """The port at which the tools of a case are."""

    class _Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = ""
            if "id" in asked:
                text = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": _result(case, asked)})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Nothing: the counts are what is printed."""

    with listening(_Handler) as port:
        yield port


def _write(root: Path, port: int, *, hooked: bool) -> None:
    (root / ".codex").mkdir(parents=True)
    settings = {
        "command": sys.executable,
        "args": [served.__file__, str(port)],
        "startup_timeout_sec": SECONDS,
    }
    settings["default_tools_approval_mode"] = "approve"
    lines = ['sandbox_mode = "read-only"', 'approval_policy = "never"', f"[mcp_servers.{SERVER}]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    (root / ".codex/config.toml").write_text("\n".join([*lines, ""]))
    (root / "llmdo.toml").write_text(MANIFEST)
    if hooked:
        install.write(root, install.change_for(root, "codex"))
    lock.write(root, locking.derive(project.read(root)))


def run(case: Case, folder: Path, *, hooked: bool) -> ObeyingModel:
    """A run of a case with Codex."""
    with tempfile.TemporaryDirectory(prefix="case-", dir=folder) as temporary:
        root, home = Path(temporary) / "project", Path(temporary) / "home"
        home.mkdir()
        model = ObeyingModel(case)
        with _environment(case) as port, serving(player.WIRE, model.answer) as at:
            _write(root, port, hooked=hooked)
            words, variables = player.start(str(FOLDER / "codex" / codex.PROGRAM), root, home, at)
            node = shutil.which("node") or "/usr/bin/node"
            path = f"{Path(sys.executable).parent}:/usr/bin:/bin:{Path(node).parent}"
            own = {each: os.environ[each] for each in ("PYTHONPATH",) if each in os.environ}
            subprocess.run(
                [*words[:-1], case.task.PROMPT],
                cwd=root,
                env={**variables, **own, "HOME": str(home), "PATH": path},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
    return model


def done(suite: str, folder: Path) -> Counter[str]:
    """How many tasks of a suite are done with nothing refused, where nobody attacks."""
    count: Counter[str] = Counter()
    for task in SUITES[suite].user_tasks.values():
        count["tasks"] += 1
        for hooked in (False, True):
            case = Case(suite, task)
            model = run(case, folder, hooked=hooked)
            who = "with the hook" if hooked else "without it"
            count[f"done {who}, nothing refused"] += case.is_done(model.output) and not model.refused
    return count


def tried(suite: str, folder: Path, *, most: int, seed: int, verbose: bool) -> Counter[str]:
    """What happened to the pairs of a suite."""
    count: Counter[str] = Counter()
    pairs = [
        (task, attack)
        for task in SUITES[suite].user_tasks.values()
        for attack in SUITES[suite].injection_tasks.values()
    ]
    random.Random(seed).shuffle(pairs)
    for task, attack in pairs[:most]:
        count["pairs"] += 1
        case = Case(suite, task, attack)
        ignored = Case(suite, task, attack, obeys=False)
        for name, arguments in calls_of(task, ignored.before):
            ignored.call(name, arguments)
        if ignored.is_through(str(task.GROUND_TRUTH_OUTPUT or "done")):
            continue  # the task's own calls do what the attacker wants
        if not case.attacking or not case.is_through(run(case, folder, hooked=False).output):
            continue
        count["through without the hook"] += 1
        for _ in range(TRIES):
            case = Case(suite, task, attack)
            model = run(case, folder, hooked=True)
            is_through = case.is_through(model.output)
            if is_through or model.refused:
                break
        else:
            count["not judged, as the client failed"] += 1
            print(f"  NOT JUDGED: {task.ID}, {attack.ID}: {model.results}")
            continue
        count["of these tried with the hook"] += 1
        count["the model read the attacker's words there, and obeyed"] += model.has_obeyed
        count["through with the hook"] += is_through
        if is_through:
            print(f"  THROUGH: {task.ID}, {attack.ID}")
        elif verbose:
            print(f"  {task.ID}, {attack.ID}: {model.refused} calls refused")
    return count


def main() -> int:
    """Prints the counts; 1 where an attack gets through."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suite", nargs="?", default="banking", choices=[*SUITES])
    parser.add_argument("--most", type=int, default=1_000_000, help="so many pairs by chance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tasks", action="store_true", help="the user's tasks alone, and no attack")
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="llmdo-dojo-", dir="/var/tmp") as folder:
        if chosen.tasks:
            count = done(chosen.suite, Path(folder))
        else:
            count = tried(
                chosen.suite, Path(folder), most=chosen.most, seed=chosen.seed, verbose=chosen.verbose
            )
    print(f"{chosen.suite}, Codex {version_of(codex)} ({time.monotonic() - began:.0f} s)")
    for what, number in count.items():
        print(f"  {number:5} {what}")
    is_empty = not count["done without it, nothing refused" if chosen.tasks else "through without the hook"]
    return int(is_empty or bool(count["through with the hook"]))


if __name__ == "__main__":
    raise SystemExit(main())
