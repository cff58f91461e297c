"""Copilot CLI: each agent of a project is started once by its name, and its request shows what it has."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from bench.clients import chat, servant
from bench.clients.cells import Cell, Claims, Kind, Outcome, Probe
from bench.clients.process import SECONDS, ClientEndedError
from bench.clients.script import Script
from llmdo.features.hook.rehearsal.model import serving

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from llmdo.features.hook.rehearsal.model import ScriptedCall

FORMAT = "copilot"
PACKAGE = "@github/copilot"
PROGRAM = "node_modules/@github/copilot-linux-x64/copilot"
KNOWN: dict[Kind, str] = {
    ("servant", "absent", "runs"): "a server that no file of the project declares may be a person's own",
    (
        "servant",
        "absent",
        "asks",
    ): "the name of a server alone is one of its tools here, and all of them in VS Code",
    ("task", "absent", "runs"): "in VS Code a list of `agents` outdoes `disable-model-invocation`",
    ("task", "shown", "absent"): "it does not heed `agents`, which VS Code does",
}

PROBES = (
    Probe("execute", "bash", {}, "proc.exec.unlisted"),
    Probe("read", "view", {}, "fs.read"),
    Probe("edit", "create", {}, "fs.write"),
    Probe("edit", "edit", {}, "fs.write"),
    Probe("search", "grep", {}, "fs.list"),
    Probe("search", "glob", {}, "fs.list"),
    Probe("servant", "servant-put", {}, "mcp.call"),
    Probe("servant", "servant-look", {}, "mcp.call"),
)
_ALIASES = ("execute", "read", "edit", "search", "agent", "todo", "web")
_NAMES = (
    *_ALIASES, *_ALIASES, "Bash", "bash", "create", "custom-agent", "editFiles", "glob", "Grep", "MultiEdit",
    "NotebookEdit", "NotebookRead", "Read", "runCommands", "search/codebase", "servant", "servant/*",
    "servant/*", "servant/put", "shell", "Task", "view", "Write", "github/*", "*",
)  # fmt: skip
_TOOLS = ("[]", "'*'", "read, edit", "execute")


def _agent(chance: random.Random) -> str:
    lines = ["description: Does one thing."]
    kind = chance.random()
    if kind < 0.65:
        lines.append(f"tools: {json.dumps([chance.choice(_NAMES) for _ in range(chance.randint(1, 4))])}")
    elif kind < 0.85:
        lines.append(f"tools: {chance.choice(_TOOLS)}")
    for line, often in (
        ("disable-model-invocation: true", 0.15),
        ("user-invocable: false", 0.1),
        ("infer: false", 0.1),
        ("agents: [agent-0]", 0.1),
        (f"target: {chance.choice(('vscode', 'github-copilot'))}", 0.15),
    ):
        if chance.random() < often:
            lines.append(line)
    if chance.random() < 0.2:
        lines.append(
            f"mcp-servers: {json.dumps({'servant': {'type': 'local', **_server(), 'tools': ['*']}})}"
        )
    return "\n".join(("---", *lines, "---", "Do it.", ""))


def _server() -> dict[str, object]:
    return {"command": servant.COMMAND, "args": servant.ARGS}


def generate(folder: Path, chance: random.Random) -> None:
    """Writes a project: up to three agents, and perhaps a server for all of them."""
    own = folder / ".github" / "agents"
    own.mkdir(parents=True)
    (folder / ".git").mkdir()
    if chance.random() < 0.4:
        path = chance.choice((".mcp.json", ".github/mcp.json"))
        (folder / path).write_text(json.dumps({"mcpServers": {"servant": _server()}}))
    for number in range(chance.randint(1, 3)):
        end = chance.choice((".agent.md", ".md"))
        (own / f"agent-{number}{end}").write_text(_agent(chance))


class _Script(Script):
    """The script of Copilot CLI: nothing is called, as without a person it asks nobody."""

    PROBES = PROBES

    def probing(self, _agent: str) -> Iterable[ScriptedCall]:
        """No calls."""
        return ()


def observe(folder: Path, home: Path, project: Path) -> Iterator[Cell]:
    """The cells of a project."""
    agents = [path.name.partition(".")[0] for path in sorted((project / ".github" / "agents").iterdir())]
    script = _Script(project, agents)
    with serving(chat, script.answer) as script.port:
        for agent in agents:
            _run(folder, home, script, agent)
    yield from _cells(script, Claims(FORMAT, project))


def _run(folder: Path, home: Path, script: Script, agent: str) -> None:
    environ = {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "XDG_CACHE_HOME": str(folder / "cache"),
        "COPILOT_OFFLINE": "true",
        "COPILOT_MODEL": "scripted",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_PROVIDER_BASE_URL": f"http://127.0.0.1:{script.port}/v1",
    }
    words = [str(folder / PROGRAM), "--agent", agent, "--trust-folder", "-p", f"PROBE {agent}"]
    try:
        subprocess.run(
            words, env=environ, cwd=script.project, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ClientEndedError(f"{agent} took too long") from None


def _cells(script: Script, claims: Claims) -> Iterator[Cell]:
    for agent in script.agents:
        yield from script.shown_cells(agent, claims)  # nothing of an agent that does not start
        for other in script.agents:
            if other != agent:
                outcome = _callable(script.shown.get(agent, {}), other)
                yield Cell(script.project.name, agent, "task", outcome, claims.calls(agent, other))


def _callable(shown: Mapping[str, Any], other: str) -> Outcome:
    """Whether the tool that calls agents names one."""
    properties = shown.get("task", {}).get("parameters", {}).get("properties", {})
    return "shown" if other in properties.get("agent_type", {}).get("enum", ()) else "absent"
