"""Gemini CLI: one session for each project over its protocol for editors, so that questions are seen."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from bench.clients import acp, servant, terminal
from bench.clients.cells import Cell, Claims, Kind, Probe
from bench.clients.script import Script
from bench.clients.terminal import Person
from llmdo.features.gemini.reader import SESSION
from llmdo.features.hook.rehearsal import generate_content
from llmdo.features.hook.rehearsal.model import ModelRequest, ScriptedAnswer, ScriptedCall, serving

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator, Sequence

FORMAT = "gemini"
PACKAGE = "@google/gemini-cli"
PROGRAM = "node_modules/@google/gemini-cli/bundle/gemini.js"
KNOWN: dict[Kind, str] = {
    ("servant", "absent", "asks"): "a server that only an agent names may be a person's own",
    ("invoke_agent", "denied", "asks"): "its protocol for editors denies what asks about an agent",
    (
        "servant mcp.call",
        "denied",
        "runs",
    ): "over that protocol `tools.core` leaves tools of a server by name alone",
    ("servant mcp.call", "absent", "asks"): "of the tools that are named none may be left by `excludeTools`",
}
_BY_ARITHMETIC = ("echo ${a:='x[$(true)]'} ${HOME:a}", "mkdir -p d-AGENT ${a:='x[$(true)]'} ${HOME:a}")
"""Commands by which bash runs another."""
_REPLACED = {"file_path": "other.txt", "instruction": "x", "old_string": "x", "new_string": "y"}
PROBES = (
    Probe("read_file", "read_file", {"file_path": "other.txt"}, "fs.read"),
    Probe("list_directory", "list_directory", {"dir_path": "."}, "fs.list"),
    Probe("glob", "glob", {"pattern": "*.txt"}, "fs.list"),
    Probe("grep_search", "grep_search", {"pattern": "x"}, "fs.list"),
    Probe("write_file", "write_file", {"file_path": "new-AGENT.txt", "content": "x"}, "fs.write"),
    Probe("replace", "replace", _REPLACED, "fs.write"),
    Probe("run_shell_command", "run_shell_command", {"command": "touch made-AGENT"}, "proc.exec.unlisted"),
    *(
        Probe("run_shell_command", "run_shell_command", {"command": each}, "proc.exec.unlisted")
        for each in _BY_ARITHMETIC
    ),
    Probe("run_shell_command", "run_shell_command", {"command": "mkdir -p d-AGENT"}, "proc.exec.unlisted", "proc.exec"),
    Probe("web_fetch", "web_fetch", {"prompt": "Read http://127.0.0.1:9/"}, "net.connect"),
    Probe("google_web_search", "google_web_search", {"query": "x"}, "net.search"),
    Probe("servant", "mcp_servant_put", {}, "mcp.call"),
    Probe("servant", "mcp_servant_look", {}, "mcp.call"),
)  # fmt: skip
_NAMES = (
    "glob",
    "grep_search",
    "list_directory",
    "read_file",
    "replace",
    "run_shell_command",
    "web_fetch",
    "write_file",
)
_LISTED = (
    *_NAMES, *_NAMES, "google_web_search", "run_shell_command(mkdir)", "run_shell_command(mkdir)", "ShellTool(mkdir)",
    "ShellTool", "ReadFileTool", "search_file_content", "mcp_servant_*", "mcp_servant_put", "mcp_*", "*",
)  # fmt: skip
_OF_AGENTS = (*_NAMES, *_NAMES, "google_web_search", "mcp_servant_*", "mcp_servant_put", "mcp_*", "*")


_CALLS = """
[[rule]]
toolName = ["agent-0", "agent-1", "agent-2"]
decision = "allow"
priority = 1
modes = ["default", "autoEdit"]
"""
"""What the terminal lets the session do, and the protocol for editors forgets: to call an agent by its name."""


def _some(chance: random.Random, names: Sequence[str], most: int) -> list[str]:
    return list(dict.fromkeys(chance.choice(names) for _ in range(chance.randint(0, most))))


def _settings(chance: random.Random) -> dict[str, object]:
    tools: dict[str, object] = {}
    for key, often, most in (
        ("core", 0.25, 5),
        ("exclude", 0.4, 3),
        ("allowed", 0.5, 3),
        ("confirmationRequired", 0.3, 2),
    ):
        if chance.random() < often:
            tools[key] = _some(chance, _LISTED, most)
    settings: dict[str, object] = {"tools": tools} if tools or chance.random() < 0.5 else {}
    if chance.random() < 0.3:
        settings["general"] = {"defaultApprovalMode": chance.choice(("default", "auto_edit"))}
    if chance.random() < 0.6:
        server: dict[str, object] = {"command": servant.COMMAND, "args": servant.ARGS}
        for key, values in (
            ("trust", (True, False)),
            ("includeTools", (["put"], ["look"], [])),
            ("excludeTools", (["put"], ["look"])),
        ):
            if chance.random() < 0.25:
                server[key] = chance.choice(values)
        settings["mcpServers"] = {"servant": server}
        mcp = {
            key: chance.choice(([], ["servant"], ["another"]))
            for key in ("allowed", "excluded")
            if chance.random() < 0.2
        }
        if mcp:
            settings["mcp"] = mcp
    if chance.random() < 0.1:
        settings["experimental"] = {"enableAgents": chance.random() < 0.5}
    if chance.random() < 0.15:
        settings["agents"] = {"overrides": {"agent-0": {"enabled": chance.random() < 0.5}}}
    return settings


def _agent(chance: random.Random, name: str) -> str:
    lines = [f"name: {name}", "description: Does one thing."]
    kind = chance.random()
    if kind < 0.65:
        lines.append(f"tools: {json.dumps(_some(chance, _OF_AGENTS, 4))}")
    elif kind < 0.7:
        lines.append("tools:")
    if chance.random() < 0.1:
        lines.append(chance.choice(("kind: local", "colour: red", "temperature: 1", "max_turns: 9")))
    return "\n".join(("---", *lines, "---", "Do it.", ""))


def generate(folder: Path, chance: random.Random) -> None:
    """Writes a project: settings, and up to three agents."""
    (folder / ".gemini" / "agents").mkdir(parents=True)
    (folder / "other.txt").write_text("x\n")
    (folder / ".gemini" / "settings.json").write_text(json.dumps(_settings(chance), indent=1))
    for number in range(chance.randint(0, 3)):
        (folder / ".gemini" / "agents" / f"agent-{number}.md").write_text(_agent(chance, f"agent-{number}"))


class GeminiScript(Script):
    """The script of Gemini CLI. An agent calls nothing: its protocol for editors forwards none of its questions."""

    PROBES = PROBES
    REFUSALS = ("denied by policy", "not found", "not available")

    def probing(self, agent: str) -> Iterable[ScriptedCall]:
        """The calls of the session."""
        return super().probing(agent) if agent == SESSION else ()

    def calling(self, agent: str) -> Iterable[ScriptedCall]:
        """The session's calls of agents."""
        for other in self.agents if agent == SESSION and "invoke_agent" in self.shown[agent] else ():
            arguments = {"agent_name": other, "prompt": f"PROBE {other}"}
            yield ScriptedCall(f"{agent}/{other}", "invoke_agent", arguments)

    def later(self, agent: str, asked: ModelRequest) -> ScriptedAnswer:
        """The tool by which an agent ends."""
        end = asked.tools.get("complete_task")
        if end is None:
            return ScriptedAnswer("done")
        needed = end.get("parametersJsonSchema", end.get("parameters", {})).get("required", ["result"])
        call = ScriptedCall(
            f"{agent}/end{len(asked.results)}", "complete_task", dict.fromkeys(needed, "done")
        )
        return ScriptedAnswer(calls=(call,))


def _files(project: Path) -> list[Path]:
    return sorted((project / ".gemini" / "agents").glob("*.md"))


def observe(folder: Path, home: Path, project: Path) -> Iterator[Cell]:
    """The cells of a project."""
    script = GeminiScript(project, [path.stem for path in _files(project)])
    with serving(generate_content, script.answer) as script.port:
        work(folder, home, script)
    yield from _cells(script, Claims(FORMAT, project))


def work(folder: Path, home: Path, script: Script) -> None:
    """Lets the session of a client work in the project of a script."""
    _settle(home, script.project)
    node = shutil.which("node") or "node"
    environ = {
        "HOME": str(home),
        **script.environ,
        "PATH": f"{script.environ['PATH']}:{Path(node).parent}",
        "GEMINI_API_KEY": "none",
        "GEMINI_CLI_NO_RELAUNCH": "1",
        "GEMINI_MODEL": "gemini-2.5-flash",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{script.port}",
    }
    words = [node, str(folder / PROGRAM)]
    if script.is_hooked:  # over the protocol for editors the session calls no hooks
        person = Person(script, r"1\. Allow once.*?\(esc\)")
        terminal.work([*words, "-i"], environ, script, SESSION, person)
    else:
        acp.work([*words, "--acp"], environ, script, SESSION)


def _settle(home: Path, project: Path) -> None:
    """Writes the settings of a person, who trusts the project, and has seen each of its agents once."""
    own = home / ".gemini"
    seen = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in _files(project)}
    files = {
        "settings.json": {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False},
        },
        "trustedFolders.json": {str(project): "TRUST_FOLDER"},
        "acknowledgments/agents.json": {str(project): seen},
    }
    for path, value in files.items():
        (own / path).parent.mkdir(parents=True, exist_ok=True)
        (own / path).write_text(json.dumps(value))
    (own / "policies").mkdir(exist_ok=True)
    (own / "policies" / "agents.toml").write_text(_CALLS)


def _cells(script: Script, claims: Claims) -> Iterator[Cell]:
    for agent in (each for each in script.agents if each in script.shown):  # others cannot be called
        yield from script.shown_cells(agent, claims)
    yield from script.cells(SESSION, claims)
    for other in script.agents:
        outcome = script.outcome(SESSION, f"{SESSION}/{other}", "invoke_agent")
        yield Cell(script.project.name, SESSION, "invoke_agent", outcome, claims.calls(SESSION, other))


class HookedGeminiScript(GeminiScript):
    """The same under hooks, without that protocol: agents call their tools, too."""

    def probing(self, agent: str) -> Iterable[ScriptedCall]:
        """The calls of the session, and of each agent."""
        return Script.probing(self, agent)


def hooked(project: Path) -> Script:
    """The script of a project under hooks."""
    return HookedGeminiScript(project, [path.stem for path in _files(project)])


WIRE = generate_content
