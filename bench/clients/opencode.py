"""opencode: its server is asked, so that questions are seen, and one process is enough for all projects."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bench.clients import chat, servant
from bench.clients.cells import Cell, Claims, Outcome, Probe, mildest, together
from bench.clients.model import Answer, Asked, Call, serving

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FORMAT = "opencode"
PACKAGE = "opencode-ai"
PROGRAM = "node_modules/opencode-linux-x64/bin/opencode"
_PATHS = "outside of a git repository, as here, opencode's paths begin at the root of the disk"
KNOWN: dict[tuple[str, Outcome, Outcome], str] = {
    ("edit fs.write:docs/**", "denied", "runs"): _PATHS,
    ("read fs.read:docs/**", "denied", "runs"): _PATHS,
}
_CALLER = "caller"
"""An agent of each project that may call every other one."""
_DENIED = ("prevents you from using", "Subagent depth limit reached")

# Each option is given: the server cannot say a question about one that is not.
_SEARCH = {
    "query": "x",
    "numResults": 1,
    "livecrawl": "fallback",
    "type": "fast",
    "contextMaxCharacters": 100,
}
PROBES = (
    Probe("read", "read", {"filePath": "other.txt"}, "fs.read"),
    Probe("read", "read", {"filePath": "docs/a.txt"}, "fs.read", "fs.read:docs/**"),
    Probe("edit", "write", {"filePath": "new.txt", "content": "x"}, "fs.write"),
    Probe("edit", "write", {"filePath": "docs/new.txt", "content": "x"}, "fs.write", "fs.write:docs/**"),
    Probe("glob", "glob", {"pattern": "*.txt", "path": "."}, "fs.list"),
    Probe("grep", "grep", {"pattern": "x", "path": ".", "include": "*"}, "fs.list"),
    Probe("bash", "bash", {"command": "true", "description": "x"}, "proc.exec.unlisted"),
    Probe("bash", "bash", {"command": "echo x", "description": "x"}, "proc.exec.unlisted", "proc.exec"),
    Probe(
        "webfetch", "webfetch", {"url": "http://127.0.0.1:9/", "format": "text", "timeout": 1}, "net.connect"
    ),
    Probe("websearch", "websearch", _SEARCH, "net.search"),
    Probe("servant", "servant_put", {}, "mcp.call"),
    Probe("servant", "servant_look", {}, "mcp.call"),
)
_PATTERNS = {"bash": "echo *", "edit": "docs/*", "read": "docs/*", "task": "agent-1"}
_KEYS = ("bash", "edit", "glob", "grep", "read", "webfetch", "websearch", "task", "list", "skill")
_WILD = ("write", "*", "web*", "servant_*", "servant_put", "*_put", "g*")
_WORDS = ("allow", "ask", "deny")


def _rules(chance: random.Random) -> object:
    """Permissions: a word, a table with patterns, or nothing of it."""
    kind = chance.random()
    if kind < 0.12:
        return chance.choice(_WORDS)
    if kind < 0.2:
        return {}
    rules: dict[str, object] = {}
    for key in chance.sample((*_KEYS, *_WILD), chance.randint(1, 4)):
        if key in _PATTERNS and chance.random() < 0.6:
            patterns = [(_PATTERNS[key], chance.choice(_WORDS))]
            if chance.random() < 0.7:
                patterns.insert(chance.randint(0, 1), ("*", chance.choice(_WORDS)))
            rules[key] = dict(patterns)
        else:
            rules[key] = chance.choice(_WORDS)
    return rules


def _agent(chance: random.Random) -> dict[str, object]:
    agent: dict[str, object] = {"description": "Does one thing."}
    if chance.random() < 0.75:
        agent["mode"] = chance.choice(("primary", "subagent", "subagent", "all"))
    if chance.random() < 0.6:
        agent["permission"] = _rules(chance)
    if chance.random() < 0.25:
        names = chance.sample(
            ("write", "edit", "bash", "webfetch", "task", "servant*", "*"), chance.randint(0, 2)
        )
        agent["tools"] = {name: chance.random() < 0.5 for name in names}
    if chance.random() < 0.08:
        agent["disable"] = True
    return agent


def generate(folder: Path, chance: random.Random) -> None:
    """Writes a project: settings on one or two levels, agents in them and in files."""
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "a.txt").write_text("x\n")
    (folder / "other.txt").write_text("x\n")
    settings: dict[str, object] = {}
    if chance.random() < 0.7:
        settings["permission"] = _rules(chance)
    if chance.random() < 0.2:
        settings["tools"] = {chance.choice(("bash", "webfetch", "write")): chance.random() < 0.5}
    if chance.random() < 0.5:
        command = [sys.executable, servant.__file__]
        settings["mcp"] = {"servant": {"type": "local", "command": command, "enabled": chance.random() < 0.9}}
    agents = {f"agent-{number}": _agent(chance) for number in range(chance.randint(1, 4))}
    if chance.random() < 0.2:
        agents[chance.choice(("build", "plan", "general", "explore"))] = {"permission": _rules(chance)}
    inside = {name: agent for name, agent in agents.items() if chance.random() < 0.4}
    if inside:
        settings["agent"] = inside
    upper = {"permission": _rules(chance)} if chance.random() < 0.25 else {}
    for path, value in (("opencode.json", settings), (".opencode/opencode.json", upper)):
        if value or path == "opencode.json":
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(json.dumps(value, indent=1))
    caller: dict[str, object] = {"description": "Calls.", "mode": "primary", "permission": {"task": "allow"}}
    kind = chance.choice(("agent", "agents"))
    for name, agent in {**agents, _CALLER: caller}.items():
        if name not in inside:
            lines = [f"{key}: {json.dumps(value)}" for key, value in agent.items()]
            file = folder / ".opencode" / kind / f"{name}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(("---", *lines, "---", "Do it.", "")))


class _Script:
    """The scripted model: each agent calls each tool once, and each agent that it is shown."""

    def __init__(self) -> None:
        self.project = ""
        self.agents: list[str] = []
        self.shown: dict[str, frozenset[str]] = {}
        self.results: dict[str, str] = {}

    def answer(self, asked: Asked) -> Answer:
        """The calls of an agent that begins, or an end."""
        words = asked.prompt.split()
        if "PROBE" not in words or not asked.tools:
            return Answer("done")
        agent, caller = words[words.index("PROBE") + 1 :][:2]
        self.results.update(asked.results)
        if asked.results or caller not in ("person", _CALLER):
            return Answer("done")
        key = f"{agent}/{caller}"
        self.shown[key] = frozenset(asked.tools)
        calls = [
            Call(f"{key}/{number}", probe.called, _arguments(probe, self.project))
            for number, probe in enumerate(PROBES)
            if probe.called in asked.tools
        ]
        if "task" in asked.tools:
            for other in _some(agent, self.agents):
                prompt = f"PROBE {other} {agent}"
                arguments = {"description": "x", "prompt": prompt, "subagent_type": other}
                calls.append(Call(f"{key}/task/{other}", "task", arguments))
        return Answer(calls=tuple(calls))


def _some(agent: str, others: Sequence[str]) -> list[str]:
    """The agents that one calls: the caller each other, an agent three of them."""
    apart = [other for other in others if other != agent]
    first = sum(map(ord, agent)) % len(apart) if agent != _CALLER and apart else 0
    return apart if agent == _CALLER else [*apart[first:], *apart[:first]][:3]


def _arguments(probe: Probe, project: str) -> dict[str, object]:
    paths = {key: f"{project}/{path}" for key, path in probe.arguments.items() if key in ("filePath", "path")}
    return {**probe.arguments, **paths}


class _Server:
    """The server of opencode."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: set[str] = set()
        """The calls that a person was asked about; the answer is always yes."""

    def ask(self, method: str, path: str, project: str, body: object = None) -> Any:
        """The answer to a request about a project."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}?directory={project}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or "null")

    def say(self, project: str, agent: str, text: str) -> None:
        """Lets an agent work at a text until it ends."""
        session = self.ask("POST", "/session", project, {})["id"]
        done = threading.Event()
        answering = threading.Thread(target=self._answer, args=(project, done))
        answering.start()
        body = {
            "agent": agent,
            "model": {"providerID": "scripted", "modelID": "scripted"},
            "parts": [{"type": "text", "text": text}],
        }
        try:
            self.ask("POST", f"/session/{session}/message", project, body)
        finally:
            done.set()
            answering.join()

    def _answer(self, project: str, done: threading.Event) -> None:
        while not done.wait(0.05):
            for question in self.ask("GET", "/permission", project):
                self.asked.add(question["tool"]["callID"])
                self.ask("POST", f"/permission/{question['id']}/reply", project, {"reply": "once"})


@contextmanager
def _started(folder: Path, home: Path, port: int) -> Iterator[_Server]:
    model = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "none"},
        "models": {"scripted": {"tool_call": True}},
    }
    settings = {
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"scripted": model},
    }
    environ = {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_ENABLE_EXA": "1",
    }
    at = port + 1 if port < 65000 else port - 1
    words = [str(folder / PROGRAM), "serve", "--port", str(at)]
    with subprocess.Popen(
        words, env=environ, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        try:
            assert child.stdout
            while b"listening" not in child.stdout.readline():
                time.sleep(0.01)
            yield _Server(at)
        finally:
            child.kill()


def observe(folder: Path, home: Path, projects: Sequence[Path]) -> Iterator[Cell]:
    """The cells of projects."""
    script = _Script()
    with serving(chat, script.answer) as port, _started(folder, home, port) as server:
        for project in projects:
            claims = Claims(FORMAT, project)
            yield from _cells(script, server, project, claims)


def _cells(script: _Script, server: _Server, project: Path, claims: Claims) -> Iterator[Cell]:
    known = server.ask("GET", "/agent", str(project))
    hidden = ("compaction", "summary", "title")
    modes = {each["name"]: each["mode"] for each in known if each["name"] not in hidden}
    script.project, script.agents = str(project), [name for name in modes if name != _CALLER]
    script.shown, script.results, server.asked = {}, {}, set()
    for agent, mode in modes.items():
        if mode != "subagent":
            server.say(str(project), agent, f"PROBE {agent} person")
    for agent in sorted(claims.agents | modes.keys() - {_CALLER}):
        caller = _CALLER if modes.get(agent) == "subagent" else "person"
        key = f"{agent}/{caller}"
        shown = script.shown.get(key, frozenset())
        for probe, others in together(PROBES):
            seen = [
                _outcome(script, server, f"{key}/{PROBES.index(each)}", each.called in shown)
                for each in others
            ]
            yield Cell(project.name, agent, probe.name, mildest(seen), claims.of(agent, probe))
        for other in _some(agent, script.agents):
            outcome = _outcome(script, server, f"{key}/task/{other}", "task" in shown)
            yield Cell(project.name, agent, f"task {other}", outcome, claims.calls(agent, other))


def _outcome(script: _Script, server: _Server, call: str, is_shown: bool) -> Outcome:
    if not is_shown:
        return "absent"
    if call in server.asked:
        return "asks"
    return "denied" if any(text in script.results.get(call, "") for text in _DENIED) else "runs"
