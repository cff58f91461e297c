"""Gemini CLI: one session for each project over its protocol for editors, so that questions are seen."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.clients import generate_content, servant
from bench.clients.cells import Cell, Claims, Outcome, Probe, mildest, together
from bench.clients.model import Answer, Asked, Call, serving
from bench.clients.rpc import talking
from llmdo.features.gemini.reader import SESSION

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping, Sequence

FORMAT = "gemini"
PACKAGE = "@google/gemini-cli"
PROGRAM = "node_modules/@google/gemini-cli/bundle/gemini.js"
KNOWN: dict[tuple[str, Outcome, Outcome], str] = {
    ("servant", "absent", "asks"): "a server that only an agent names may be a person's own",
    ("servant mcp.call", "absent", "asks"): "of the tools that are named none may be left by `excludeTools`",
}
_DENIED = ("denied by policy", "not found", "not available")

_REPLACED = {"file_path": "other.txt", "instruction": "x", "old_string": "x", "new_string": "y"}
PROBES = (
    Probe("read_file", "read_file", {"file_path": "other.txt"}, "fs.read"),
    Probe("list_directory", "list_directory", {"dir_path": "."}, "fs.list"),
    Probe("glob", "glob", {"pattern": "*.txt"}, "fs.list"),
    Probe("grep_search", "grep_search", {"pattern": "x"}, "fs.list"),
    Probe("write_file", "write_file", {"file_path": "new.txt", "content": "x"}, "fs.write"),
    Probe("replace", "replace", _REPLACED, "fs.write"),
    Probe("run_shell_command", "run_shell_command", {"command": "touch made"}, "proc.exec.unlisted"),
    Probe("run_shell_command", "run_shell_command", {"command": "mkdir -p made"}, "proc.exec.unlisted", "proc.exec"),
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
        server: dict[str, object] = {"command": sys.executable, "args": [servant.__file__]}
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


class _Script:
    """The scripted model: the session calls each tool and each agent once.

    An agent calls nothing: the protocol for editors forwards no question of one that was called.
    """

    def __init__(self, agents: Sequence[str]) -> None:
        self.agents = agents
        self.shown: dict[str, frozenset[str]] = {}
        self.results: dict[str, str] = {}

    def answer(self, asked: Asked) -> Answer:
        """The calls of an agent that begins, or an end."""
        words = asked.prompt.split()
        if "PROBE" not in words or not asked.tools:
            return Answer("done")
        agent = words[len(words) - words[::-1].index("PROBE")]
        self.results.update(asked.results)
        if agent != SESSION or agent in self.shown:
            self.shown.setdefault(agent, frozenset(asked.tools))
            end = asked.tools.get("complete_task")
            if end is None:
                return Answer("done")
            needed = end.get("parametersJsonSchema", end.get("parameters", {})).get("required", ["result"])
            return Answer(
                calls=(
                    Call(f"{agent}/end{len(asked.results)}", "complete_task", dict.fromkeys(needed, "done")),
                )
            )
        self.shown[agent] = frozenset(asked.tools)
        calls = [
            Call(f"{agent}/{number}", probe.called, probe.arguments)
            for number, probe in enumerate(PROBES)
            if probe.called in asked.tools
        ]
        calls += [
            Call(f"{agent}/{other}", "invoke_agent", {"agent_name": other, "prompt": f"PROBE {other}"})
            for other in (self.agents if "invoke_agent" in asked.tools else ())
        ]
        return Answer(calls=tuple(calls)) if calls else Answer("done")


def observe(folder: Path, home: Path, projects: Sequence[Path]) -> Iterator[Cell]:
    """The cells of projects."""
    own = home / ".gemini"
    own.mkdir()
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False},
    }
    (own / "settings.json").write_text(json.dumps(settings))
    (own / "trustedFolders.json").write_text(json.dumps({str(each): "TRUST_FOLDER" for each in projects}))
    (own / "acknowledgments").mkdir()
    (own / "policies").mkdir()
    (own / "policies" / "agents.toml").write_text(_CALLS)
    for project in projects:
        files = sorted((project / ".gemini" / "agents").glob("*.md"))
        # A person has seen each agent once.
        seen = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        (own / "acknowledgments" / "agents.json").write_text(json.dumps({str(project): seen}))
        script = _Script([path.stem for path in files])
        with serving(generate_content, script.answer) as port:
            asked = _run(folder, home, project, port)
        yield from _cells(project, script, asked, Claims(FORMAT, project))


def _run(folder: Path, home: Path, project: Path, port: int) -> set[str]:
    """The calls that a person was asked about."""
    node = shutil.which("node") or "node"
    environ = {
        "HOME": str(home),
        "PATH": f"/usr/bin:/bin:{Path(node).parent}",
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}",
        "GEMINI_CLI_NO_RELAUNCH": "1",
        "GEMINI_MODEL": "gemini-2.5-flash",
    }
    asked: set[str] = set()

    def heard(message: Mapping[str, Any]) -> object:
        if message["method"] != "session/request_permission":
            return None
        asked.add(message["params"]["toolCall"]["toolCallId"].partition("__")[2])
        yes = next(each["optionId"] for each in message["params"]["options"] if each["kind"] == "allow_once")
        return {"outcome": {"outcome": "selected", "optionId": yes}}

    with talking([node, str(folder / PROGRAM), "--acp"], environ, project, heard) as talk:
        talk.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        new = talk.request("session/new", {"cwd": str(project), "mcpServers": []})
        prompt = [{"type": "text", "text": f"PROBE {SESSION}"}]
        talk.request("session/prompt", {"sessionId": new["sessionId"], "prompt": prompt})
    return asked


def _cells(project: Path, script: _Script, asked: set[str], claims: Claims) -> Iterator[Cell]:
    for agent in (each for each in script.agents if each in script.shown):  # others cannot be called
        shown = script.shown[agent]
        for tool in dict.fromkeys(probe.tool for probe in PROBES):
            mine = [probe for probe in PROBES if probe.tool == tool]
            outcome: Outcome = "shown" if any(each.called in shown for each in mine) else "absent"
            yield Cell(project.name, agent, tool, outcome, mildest(claims.of(agent, each) for each in mine))
    shown = script.shown.get(SESSION, frozenset())
    for probe, others in together(PROBES):
        seen = [
            _outcome(script, asked, f"{SESSION}/{PROBES.index(each)}", each.called in shown)
            for each in others
        ]
        yield Cell(project.name, SESSION, probe.name, mildest(seen), claims.of(SESSION, probe))
    for other in script.agents:
        outcome = _outcome(script, asked, f"{SESSION}/{other}", "invoke_agent" in shown)
        yield Cell(project.name, SESSION, "invoke_agent", outcome, claims.calls(SESSION, other))


def _outcome(script: _Script, asked: set[str], call: str, is_shown: bool) -> Outcome:
    if not is_shown:
        return "absent"
    if call in asked:
        return "asks"
    return "denied" if any(text in script.results.get(call, "not found") for text in _DENIED) else "runs"
