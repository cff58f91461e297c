"""Codex: one thread for each project over its own protocol, so that questions are seen, also those of agents."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from bench.clients import responses, servant
from bench.clients.cells import Cell, Claims, Outcome, Probe, mildest, together
from bench.clients.model import Answer, Asked, Call, serving
from bench.clients.rpc import talking
from llmdo.features.codex.reader import SESSION

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

FORMAT = "codex"
PACKAGE = "@openai/codex"
PROGRAM = "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
_PATCHES = "a model that Codex does not know patches by its shell; others have a tool for it"
KNOWN: dict[tuple[str, Outcome, Outcome], str] = {
    ("apply_patch fs.write", "absent", "runs"): _PATCHES,
    ("apply_patch fs.write", "absent", "asks"): _PATCHES,
    ("apply_patch fs.write.protected", "absent", "runs"): _PATCHES,
    ("apply_patch fs.write.protected", "absent", "asks"): _PATCHES,
    ("servant mcp.call", "absent", "runs"): "this version starts no server of an agent's own file",
    ("servant mcp.call", "asks", "runs"): "whether a tool only reads, and so goes unasked, its server says",
}


def _shell(command: str, **more: str) -> dict[str, object]:
    return {"cmd": command, "login": False, **more}


def _patch(path: str) -> dict[str, object]:
    return _shell(f"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\nEOF")


_OUT = {"sandbox_permissions": "require_escalated", "justification": "x"}
_ANY, _SOME = "proc.exec.unlisted", "proc.exec"
PROBES = (
    Probe("shell", "exec_command", _shell("true"), "x.sandbox.exec"),
    Probe("shell", "exec_command", _shell("cat other.txt"), "fs.read"),
    Probe("shell", "exec_command", _shell("touch made-AGENT"), "fs.write"),
    Probe("shell", "exec_command", _shell("bash -c 'exec 3<>/dev/tcp/127.0.0.1/PORT'"), "net.connect"),
    Probe("unsandboxed shell", "exec_command", _shell("touch ../a-AGENT", **_OUT), _ANY),
    Probe("unsandboxed shell", "exec_command", _shell("touch ../b-AGENT"), _ANY),
    Probe("unsandboxed shell", "exec_command", _shell("mkdir ../c-AGENT-PORT", **_OUT), _ANY, _SOME),
    Probe("unsandboxed shell", "exec_command", _shell("mkdir ../d-AGENT-PORT"), _ANY, _SOME),
    Probe("apply_patch", "exec_command", _patch("new-AGENT.txt"), "fs.write"),
    Probe("apply_patch", "exec_command", _patch("../new-AGENT.txt"), "fs.write.protected"),
    Probe("view_image", "view_image", {"path": "other.txt"}, "fs.read"),
    Probe("web_search", "web_search", {}, "data.untrusted"),
    Probe("web_search", "web_search", {}, "net.search"),
    Probe("servant", "mcp__servant/put", {}, "mcp.call"),
    Probe("servant", "mcp__servant/look", {}, "mcp.call"),
)
_MODES = ("approve", "auto", "prompt", "writes")


def _config(chance: random.Random, *, is_agent: bool = False) -> str:
    """The settings of a session, or those by which an agent differs from it."""
    often = 0.5 if is_agent else 1.0
    lines: list[str] = []
    tables: list[str] = []
    if chance.random() < 0.8 * often:
        sandbox = chance.choice(("read-only", "workspace-write", "workspace-write", "danger-full-access"))
        lines.append(f'sandbox_mode = "{sandbox}"')
    if chance.random() < 0.7 * often:
        lines.append(f'approval_policy = "{chance.choice(("never", "on-request", "on-request"))}"')
    if chance.random() < 0.5 * often:
        lines.append(f'web_search = "{chance.choice(("cached", "disabled", "live"))}"')
    if chance.random() < 0.4 * often:
        tables.append(f"[sandbox_workspace_write]\nnetwork_access = {chance.choice(('true', 'false'))}")
    if chance.random() < 0.2 * often:
        tables.append(f"[tools]\nview_image = {chance.choice(('true', 'false'))}")
    if chance.random() < 0.2 * often:
        tables.append(
            f"[features]\n{chance.choice(('shell_tool', 'multi_agent'))} = {chance.choice(('true', 'false'))}"
        )
    if chance.random() < 0.6 * often:
        server = [f'[mcp_servers.servant]\ncommand = "{sys.executable}"\nargs = ["{servant.__file__}"]']
        more = (
            f"enabled = {chance.choice(('true', 'false'))}",
            f'default_tools_approval_mode = "{chance.choice(_MODES)}"',
            f"enabled_tools = {json.dumps(chance.choice((['look'], ['put'], [])))}",
            f"disabled_tools = {json.dumps(chance.choice((['look'], ['put'])))}",
            f'[mcp_servers.servant.tools.put]\napproval_mode = "{chance.choice(_MODES)}"',
        )
        server += [line for line in more if chance.random() < 0.2]
        tables.append("\n".join(server))
    return "\n".join([*lines, *tables, ""])


def generate(folder: Path, chance: random.Random) -> None:
    """Writes a project: settings, perhaps rules, and up to two agents."""
    own = folder / ".codex"
    (own / "agents").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "other.txt").write_text("x\n")
    (own / "config.toml").write_text(_config(chance))
    if chance.random() < 0.4:
        (own / "rules").mkdir()
        decision = chance.choice(("allow", "allow", "prompt", "forbidden"))
        (own / "rules" / "project.rules").write_text(
            f'prefix_rule(pattern=["mkdir"], decision="{decision}")\n'
        )
    for number in range(chance.randint(0, 2)):
        head = (
            f'name = "agent-{number}"\ndescription = "Does one thing."\ndeveloper_instructions = "Do it."\n'
        )
        (own / "agents" / f"agent-{number}.toml").write_text(head + _config(chance, is_agent=True))


class _Script:
    """The scripted model: each agent calls each tool once, and the session each agent, for which it waits."""

    def __init__(self, agents: Sequence[str]) -> None:
        self.agents = agents
        self.port = 0
        self.shown: dict[str, Mapping[str, Any]] = {}
        self.results: dict[str, str] = {}

    def answer(self, asked: Asked) -> Answer:
        """The calls of an agent that begins, or an end."""
        words = asked.prompt.split()
        if "PROBE" not in words:
            return Answer("done")
        agent = words[words.index("PROBE") + 1]
        self.results.update(asked.results)
        agents = next(
            (name.rpartition("/")[0] for name in asked.tools if name.endswith("/spawn_agent")), None
        )
        if agent in self.shown:
            return self._waiting(agent, asked, f"{agents}/wait_agent")
        self.shown[agent] = asked.tools
        calls = [
            Call(f"{agent}/{number}", probe.called, self._arguments(probe, agent))
            for number, probe in enumerate(PROBES)
            if asked.tools.get(probe.called, {}).get("type") == "function"
        ]
        if agents and agent == SESSION:
            calls += [
                Call(
                    f"{agent}/{other}",
                    f"{agents}/spawn_agent",
                    {"agent_type": other, "message": f"PROBE {other}"},
                )
                for other in self.agents
            ]
        return Answer(calls=tuple(calls)) if calls else Answer("done")

    def _waiting(self, agent: str, asked: Asked, tool: str) -> Answer:
        begun = [asked.results.get(f"{agent}/{other}", "") for other in self.agents]
        targets = [json.loads(output)["agent_id"] for output in begun if output.startswith("{")]
        waited = sum(call.startswith("wait/") for call in asked.results)
        if not targets or agent != SESSION or waited >= len(targets):
            return Answer("done")
        arguments = {"targets": [targets[waited]], "timeout_ms": 60000}
        return Answer(calls=(Call(f"wait/{waited}", tool, arguments),))

    def _arguments(self, probe: Probe, agent: str) -> Mapping[str, object]:
        text = json.dumps(probe.arguments).replace("AGENT", agent).replace("PORT", str(self.port))
        arguments: dict[str, object] = json.loads(text)
        return arguments


def observe(folder: Path, home: Path, projects: Sequence[Path]) -> Iterator[Cell]:
    """The cells of projects."""
    (home / ".codex").mkdir()
    for project in projects:
        script = _Script([path.stem for path in sorted((project / ".codex" / "agents").glob("*.toml"))])
        with serving(responses, script.answer) as script.port:
            asked = _run(folder, home, project, script.port)
        yield from _cells(project, script, asked, Claims(FORMAT, project))


def _run(folder: Path, home: Path, project: Path, port: int) -> set[str]:
    """The calls that a person was asked about."""
    provider = {
        "name": "scripted", "base_url": f"http://127.0.0.1:{port}/v1", "wire_api": "responses",
        "env_key": "SCRIPTED_KEY", "request_max_retries": 0, "stream_max_retries": 0,
    }  # fmt: skip
    lines = [f"{key} = {json.dumps(value)}" for key, value in provider.items()]
    top = ['model = "scripted"', 'model_provider = "scripted"', "check_for_update_on_startup = false"]
    trusted = [f'[projects."{project}"]', 'trust_level = "trusted"', ""]
    (home / ".codex" / "config.toml").write_text(
        "\n".join((*top, "[model_providers.scripted]", *lines, *trusted))
    )
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", "SCRIPTED_KEY": "none"}
    asked: set[str] = set()
    running: dict[tuple[str, str], str] = {}

    def heard(message: Mapping[str, Any]) -> object:
        params = message.get("params", {})
        thread = params.get("threadId", "")
        if message["method"] == "item/started" and params["item"]["type"] == "mcpToolCall":
            running[thread, params["item"]["tool"]] = params["item"]["id"]
        if message["method"] == "mcpServer/elicitation/request":
            asked.add(running[thread, params["_meta"]["tool_name"]])
            return {"action": "accept", "content": {}}
        if message["method"].endswith("/requestApproval"):
            asked.add(params["itemId"])
        return {"decision": "accept"}

    with talking([str(folder / PROGRAM), "app-server"], environ, project, heard) as talk:
        talk.request("initialize", {"clientInfo": {"name": "bench", "version": "1"}})
        talk.send({"method": "initialized"})
        thread = talk.request("thread/start", {"cwd": str(project)})["thread"]["id"]
        prompt = [{"type": "text", "text": f"PROBE {SESSION}", "text_elements": []}]
        talk.request("turn/start", {"threadId": thread, "input": prompt}, until=("turn/completed", thread))
    return asked


def _cells(project: Path, script: _Script, asked: set[str], claims: Claims) -> Iterator[Cell]:
    for agent, shown in script.shown.items():  # an agent that the session cannot call is never seen
        for probe, others in together(PROBES):
            seen = [_outcome(script, asked, f"{agent}/{PROBES.index(each)}", each, shown) for each in others]
            yield Cell(project.name, agent, probe.name, mildest(seen), _claim(claims, agent, probe))
    for other in script.agents:
        call = f"{SESSION}/{other}"
        outcome: Outcome = "runs" if script.results.get(call, "").startswith("{") else "absent"
        yield Cell(project.name, SESSION, "spawn_agent", outcome, claims.calls(SESSION, other))


def _claim(claims: Claims, agent: str, probe: Probe) -> Outcome:
    """What llmdo says of a call: where there is no sandbox, a command is one outside."""
    if probe.tool == "shell" and claims.of(agent, PROBES[0]) == "absent":
        return claims.of(agent, next(each for each in PROBES if each.tool == "unsandboxed shell"))
    return claims.of(agent, probe)


def _outcome(script: _Script, asked: set[str], call: str, probe: Probe, shown: Mapping[str, Any]) -> Outcome:
    """What came of a call: a command that fails in its sandbox is denied what it wanted."""
    tool = shown.get(probe.called)
    if tool is None:
        return "absent"
    if probe.called == "web_search":
        return "runs" if tool.get("external_web_access") or probe.capability == "data.untrusted" else "absent"
    if call in asked:
        return "asks"
    output = script.results.get(call, "rejected")
    fails = (
        ("exited with code 0" not in output and "Exit code: 0" not in output)
        if probe.called == "exec_command"
        else "rejected" in output
    )
    return "denied" if fails else "runs"
