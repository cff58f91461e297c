"""opencode: its server is asked, so that questions are seen."""

from __future__ import annotations

import json
import subprocess
import threading
import urllib.request
from contextlib import contextmanager, suppress
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

from bench.clients import servant
from bench.clients.cells import Cell, Claims, Kind, Probe
from bench.clients.process import SECONDS, ClientEndedError, started
from bench.clients.script import Script
from llmdo.features.hook.rehearsal import chat
from llmdo.features.hook.rehearsal import opencode as rehearsal
from llmdo.features.hook.rehearsal.model import ScriptedCall, serving

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

FORMAT = "opencode"
PACKAGE = "opencode-ai"
PROGRAM = "node_modules/opencode-linux-x64/bin/opencode"
KNOWN: dict[Kind, str] = {}
_CALLER = "caller"
"""An agent of each project that may call every other one."""
_PERSON = "person"
_BY_ARITHMETIC = "echo ${a:='x[$(true)]'} ${HOME:a}"
"""A command by which bash runs another."""
_BY = (f"/{_CALLER}", f"/{_PERSON}")

# Each option is given: the server cannot say a question about one that is not.
_SEARCH = {
    "query": "x",
    "numResults": 1,
    "livecrawl": "fallback",
    "type": "fast",
    "contextMaxCharacters": 100,
}
PROBES = (
    Probe("read", "read", {"filePath": "PROJECT/other.txt"}, "fs.read"),
    Probe("read", "read", {"filePath": "PROJECT/docs/a.txt"}, "fs.read", "fs.read:docs/**"),
    Probe("edit", "write", {"filePath": "PROJECT/new-AGENT.txt", "content": "x"}, "fs.write"),
    Probe(
        "edit",
        "write",
        {"filePath": "PROJECT/docs/new-AGENT.txt", "content": "x"},
        "fs.write",
        "fs.write:docs/**",
    ),
    Probe("glob", "glob", {"pattern": "*.txt", "path": "PROJECT"}, "fs.list"),
    Probe("grep", "grep", {"pattern": "x", "path": "PROJECT", "include": "*"}, "fs.list"),
    Probe("bash", "bash", {"command": "true", "description": "x"}, "proc.exec.unlisted"),
    Probe("bash", "bash", {"command": "echo x", "description": "x"}, "proc.exec.unlisted", "proc.exec"),
    Probe("bash", "bash", {"command": _BY_ARITHMETIC, "description": "x"}, "proc.exec.unlisted"),
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
        command = [servant.COMMAND, *servant.ARGS]
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


class OpencodeScript(Script):
    """The script of opencode: an agent is known by its name and its caller's, with a stroke between them."""

    PROBES = PROBES
    REFUSALS = ("prevents you from using", "Subagent depth limit reached")
    modes: Mapping[str, str] = {}
    """The modes of all agents, by their names."""

    def probing(self, agent: str) -> Iterable[ScriptedCall]:
        """The calls of tools of an agent that a person talks to, or that the caller called."""
        return super().probing(agent) if agent.endswith(_BY) else ()

    def calling(self, agent: str) -> Iterable[ScriptedCall]:
        """An agent's calls of others."""
        name = agent.partition("/")[0]
        for other in self.some(name) if agent.endswith(_BY) and "task" in self.shown[agent] else ():
            arguments = {"description": "x", "prompt": f"PROBE {other}/{name}", "subagent_type": other}
            yield ScriptedCall(f"{agent}/task/{other}", "task", arguments)

    @property
    def talks(self) -> list[str]:
        """The agents that a person talks to: all that may be, or three under hooks, as each makes many calls."""
        able = [name for name, mode in self.modes.items() if mode != "subagent"]
        own = [name for name in able if name not in ("build", "plan", _CALLER)]
        return ["build", _CALLER, *own[:1]] if self.is_hooked else able

    def some(self, agent: str) -> list[str]:
        """The agents that one calls: the caller each other, an agent three of them."""
        built_in = ("build", "general", "plan") if self.is_hooked else ()
        apart = [other for other in self.agents if other != agent and other not in built_in]
        first = sum(map(ord, agent)) % len(apart) if agent != _CALLER and apart else 0
        return apart if agent == _CALLER else [*apart[first:], *apart[:first]][:3]


class _Server:
    """The server of opencode, about the project of a script."""

    def __init__(self, port: int, script: Script) -> None:
        self.port = port
        self.script = script

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """The answer to a request about the project."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}?directory={self.script.project}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return json.loads(answer.read() or "null")
        except (OSError, HTTPException) as error:
            raise ClientEndedError(f"it did not answer {method} {path}: {error}") from error

    def say(self, agent: str, text: str) -> None:
        """Lets an agent work at a text until it ends."""
        session = self.ask("POST", "/session", {})["id"]
        done = threading.Event()
        answering = threading.Thread(target=self._answer, args=(done,))
        answering.start()
        body = {
            "agent": agent,
            "model": {"providerID": "scripted", "modelID": "scripted"},
            "parts": [{"type": "text", "text": text}],
        }
        try:
            self.ask("POST", f"/session/{session}/message", body)
        finally:
            done.set()
            answering.join()

    def _answer(self, done: threading.Event) -> None:
        with suppress(ClientEndedError):  # which the one that waits for the agent hears as well
            while not done.wait(0.2):
                for question in self.ask("GET", "/permission"):
                    no = {"reply": "reject", "message": "no"}  # without words the agent would end
                    reply = {"reply": "once"} if self.script.permits(question["tool"]["callID"]) else no
                    self.ask("POST", f"/permission/{question['id']}/reply", reply)


def environ_of(home: Path, port: int) -> dict[str, str]:
    """Its environment, with settings by which it asks the scripted model at a port."""
    return {
        **rehearsal.variables(port),
        "HOME": str(home),
        "OPENCODE_ENABLE_EXA": "1",
    }


@contextmanager
def _serving(folder: Path, home: Path, script: Script) -> Iterator[_Server]:
    at = script.port + 1 if script.port < 65000 else script.port - 1
    words = [str(folder / PROGRAM), "serve", "--port", str(at)]
    with started(words, {**script.environ, **environ_of(home, script.port)}, home) as child:
        assert child.stdout
        if not any("listening" in line for line in child.stdout):
            raise ClientEndedError("it ended before it had started")
        yield _Server(at, script)


def script_of(project: Path) -> OpencodeScript:
    """The script of a project, whose agents are those that its server names."""
    return OpencodeScript(project, [])


def observe(folder: Path, home: Path, project: Path) -> Iterator[Cell]:
    """The cells of a project, in a repository: elsewhere opencode's paths begin at the root of the disk."""
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    script = script_of(project)
    with serving(chat, script.answer) as script.port:
        work(folder, home, script)
    yield from _cells(script, Claims(FORMAT, project))


def work(folder: Path, home: Path, script: OpencodeScript) -> None:
    """Lets each agent of the project of a script that a person may talk to work for one."""
    with _serving(folder, home, script) as server:
        known = server.ask("GET", "/agent")
        hidden = ("compaction", "summary", "title")
        script.modes = {each["name"]: each["mode"] for each in known if each["name"] not in hidden}
        script.agents = [name for name in script.modes if name != _CALLER]
        for agent in script.talks:
            for text in script.prompts(f"{agent}/{_PERSON}"):
                server.say(agent, text)


def _cells(script: OpencodeScript, claims: Claims) -> Iterator[Cell]:
    modes = script.modes
    for agent in sorted(claims.agents | modes.keys() - {_CALLER}):
        key = f"{agent}/{_CALLER if modes.get(agent) == 'subagent' else _PERSON}"
        yield from script.cells(key, claims)
        for other in script.some(agent):
            outcome = script.outcome(key, f"{key}/task/{other}", "task")
            yield Cell(script.project.name, agent, f"task {other}", outcome, claims.calls(agent, other))


hooked = script_of
WIRE = chat
