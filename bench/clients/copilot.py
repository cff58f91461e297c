"""Copilot CLI: each agent of a project is started once by its name, and its request shows what it has."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from bench.clients import servant, terminal
from bench.clients.cells import Cell, Claims, Kind, Outcome, Probe
from bench.clients.process import SECONDS, ClientEndedError
from bench.clients.script import Script
from bench.clients.terminal import Person
from llmdo.features.hook.clients.copilot import MAIN
from llmdo.features.hook.rehearsal import chat
from llmdo.features.hook.rehearsal.model import ScriptedCall, serving

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

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

_EDITED = {"path": "PROJECT/other.txt", "old_str": "x", "new_str": "y"}
PROBES = (
    Probe("execute", "bash", {"command": "touch made-AGENT", "description": "x"}, "proc.exec.unlisted"),
    Probe("read", "view", {"path": "PROJECT/other.txt"}, "fs.read"),
    Probe("edit", "create", {"path": "PROJECT/new-AGENT.txt", "file_text": "x"}, "fs.write"),
    Probe("edit", "edit", _EDITED, "fs.write"),
    Probe("search", "grep", {"pattern": "x", "path": "PROJECT"}, "fs.list"),
    Probe("search", "glob", {"pattern": "*.txt", "path": "PROJECT"}, "fs.list"),
    Probe("servant", "servant-put", {}, "mcp.call"),
    Probe("servant", "servant-look", {}, "mcp.call"),
)  # fmt: skip
_QUESTION = r"Do you want to .*?1\. Yes[\s│]*(?:(?P<no>2)\. No|2\. Yes)"
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
    (folder / "other.txt").write_text("x\n")
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


def _agents(project: Path) -> list[str]:
    return [path.name.partition(".")[0] for path in sorted((project / ".github" / "agents").iterdir())]


def observe(folder: Path, home: Path, project: Path) -> Iterator[Cell]:
    """The cells of a project."""
    script = _Script(project, _agents(project))
    with serving(chat, script.answer) as script.port:
        for agent in script.agents:
            _run(folder, home, script, agent)
    yield from _cells(script, Claims(FORMAT, project))


class HookedCopilotScript(Script):
    """The same under hooks, in one session: each agent that it starts calls one more."""

    PROBES = PROBES

    def calling(self, agent: str) -> Iterable[ScriptedCall]:
        """The calls of agents: an agent that one started is called by the names of both, and calls none."""
        others = [
            each for each in self.agents if _callable(self.shown[agent], each) == "shown" and each != agent
        ]
        if agent != MAIN:
            others = others[:1] if "/" not in agent else []
        for other in others:
            prompt = f"PROBE {other}" if agent == MAIN else f"PROBE {other}/{agent}"
            arguments = {
                "agent_type": other,
                "name": other,
                "description": "x",
                "prompt": prompt,
                "mode": "sync",
            }
            yield ScriptedCall(f"{agent}/task/{other}", "task", arguments)


def work(folder: Path, home: Path, script: Script) -> None:
    """Lets the session of a client work in the project of a script."""
    own = home / ".copilot"
    own.mkdir(exist_ok=True)
    (own / "config.json").write_text(json.dumps({"trustedFolders": [str(script.project)]}))
    # Over the protocol for editors what a hook asks about is denied without a question.
    person = Person(script, _QUESTION)
    terminal.work([str(folder / PROGRAM), "-i"], _environ(folder, home, script), script, MAIN, person)


def _environ(folder: Path, home: Path, script: Script) -> dict[str, str]:
    return {
        **script.environ,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "COPILOT_OFFLINE": "true",
        "COPILOT_MODEL": "scripted",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_PROVIDER_BASE_URL": f"http://127.0.0.1:{script.port}/v1",
    }


def _run(folder: Path, home: Path, script: Script, agent: str) -> None:
    words = [str(folder / PROGRAM), "--agent", agent, "--trust-folder", "-p", f"PROBE {agent}"]
    try:
        subprocess.run(
            words,
            env=_environ(folder, home, script),
            cwd=script.project,
            capture_output=True,
            timeout=SECONDS,
            check=False,
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


def hooked(project: Path) -> Script:
    """The script of a project under hooks."""
    return HookedCopilotScript(project, _agents(project))


WIRE = chat
