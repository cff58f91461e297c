"""Codex: one thread for each project over its own protocol, so that questions are seen, also those of agents."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from bench.clients import servant
from bench.clients.cells import Cell, Claims, Kind, Outcome, Probe
from bench.clients.rpc import talking
from bench.clients.script import Script
from llmdo.features.codex.reader import SESSION
from llmdo.features.hook.rehearsal import responses
from llmdo.features.hook.rehearsal.model import ModelRequest, ScriptedAnswer, ScriptedCall, serving

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

FORMAT = "codex"
PACKAGE = "@openai/codex"
PROGRAM = "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
KNOWN: dict[Kind, str] = {
    ("servant mcp.call", "absent", "runs"): "documented, but broken: openai/codex issue 40130",
    ("servant mcp.call", "asks", "runs"): "whether a tool only reads, and so goes unasked, its server says",
}


def _shell(command: str, **more: str) -> dict[str, object]:
    return {"cmd": command, "login": False, **more}


def _patch(path: str) -> dict[str, object]:
    return {"input": f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n"}


_OUT = {"sandbox_permissions": "require_escalated", "justification": "x"}
_ANY, _SOME = "proc.exec.unlisted", "proc.exec"
_BY_ARITHMETIC = "mkdir -p x ${a:='x[$(touch ../e-AGENT-PORT)]'} ${HOME:a}"
"""A command by which bash runs another."""
PROBES = (
    Probe("shell", "exec_command", _shell("true"), "x.sandbox.exec"),
    Probe("shell", "exec_command", _shell("cat other.txt"), "fs.read"),
    Probe("shell", "exec_command", _shell("touch made-AGENT"), "fs.write"),
    Probe("shell", "exec_command", _shell("bash -c 'exec 3<>/dev/tcp/127.0.0.1/PORT'"), "net.connect"),
    Probe("unsandboxed shell", "exec_command", _shell("touch ../a-AGENT-PORT", **_OUT), _ANY),
    Probe("unsandboxed shell", "exec_command", _shell("touch ../b-AGENT-PORT"), _ANY),
    Probe("unsandboxed shell", "exec_command", _shell(_BY_ARITHMETIC, **_OUT), _ANY),
    Probe("unsandboxed shell", "exec_command", _shell("mkdir ../c-AGENT-PORT", **_OUT), _ANY, _SOME),
    Probe("unsandboxed shell", "exec_command", _shell("mkdir ../d-AGENT-PORT"), _ANY, _SOME),
    Probe("apply_patch", "apply_patch", _patch("new-AGENT.txt"), "fs.write"),
    Probe("apply_patch", "apply_patch", _patch("../new-AGENT-PORT.txt"), "fs.write.protected"),
    Probe("view_image", "view_image", {"path": "other.txt"}, "fs.read"),
    Probe("web_search", "web_search", {}, "data.untrusted"),
    Probe("web_search", "web_search", {}, "net.search"),
    Probe("servant", "mcp__servant/put", {}, "mcp.call"),
    Probe("servant", "mcp__servant/look", {}, "mcp.call"),
)
_MODES = ("approve", "auto", "prompt", "writes")
_MODEL = {
    "slug": "scripted", "display_name": "Scripted", "base_instructions": "Do it.", "context_window": 100000,
    "priority": 1, "visibility": "list", "supported_in_api": True, "supported_reasoning_levels": [],
    "support_verbosity": False, "supports_reasoning_summaries": False, "supports_parallel_tool_calls": True,
    "input_modalities": ["text", "image"], "experimental_supported_tools": [], "shell_type": "unified_exec",
    "truncation_policy": {"mode": "tokens", "limit": 10000}, "apply_patch_tool_type": "freeform",
}  # fmt: skip
"""The model, as Codex knows others: with a tool for patches, and with every tool of a server in its requests."""


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
        server = [f'[mcp_servers.servant]\ncommand = "{servant.COMMAND}"\nargs = {json.dumps(servant.ARGS)}']
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
    if chance.random() < 0.15:
        with (own / "config.toml").open("a") as settings:
            settings.write(f"[agents]\nenabled = {chance.choice(('true', 'false', 'false'))}\n")


class CodexScript(Script):
    """The script of Codex: the session waits for the agents that it spawns."""

    PROBES = PROBES

    def calling(self, agent: str) -> Iterable[ScriptedCall]:
        """The session's calls of agents."""
        tool = self._tool("spawn_agent")
        for other in self.agents if agent == SESSION and tool else ():
            yield ScriptedCall(f"{agent}/{other}", tool, {"agent_type": other, "message": f"PROBE {other}"})

    def later(self, agent: str, asked: ModelRequest) -> ScriptedAnswer:
        """A wait for one agent after the other."""
        begun = [self.results.get(f"{agent}/{other}", "") for other in self.agents]
        targets = [json.loads(output)["agent_id"] for output in begun if output.startswith("{")]
        waited = sum(call.startswith("wait/") for call in asked.results)
        if agent != SESSION or waited >= len(targets):
            return ScriptedAnswer("done")
        arguments = {"targets": [targets[waited]], "timeout_ms": 60000}
        return ScriptedAnswer(calls=(ScriptedCall(f"wait/{waited}", self._tool("wait_agent"), arguments),))

    def _tool(self, name: str) -> str:
        """A tool about agents, with the namespace that it is shown in; empty if it is not."""
        return next((each for each in self.shown.get(SESSION, ()) if each.endswith(f"/{name}")), "")

    def claim(self, claims: Claims, agent: str, probe: Probe) -> Outcome:
        """What llmdo says of a call: where there is no sandbox, a command is one outside."""
        if probe.tool == "shell" and claims.of(agent, PROBES[0]) == "absent":
            return claims.of(agent, next(each for each in PROBES if each.tool == "unsandboxed shell"))
        return claims.of(agent, probe)

    def seen(self, agent: str, probe: Probe) -> Outcome:
        """What came of a call; of the search it is only seen how it was asked for."""
        if probe.called != "web_search":
            return super().seen(agent, probe)
        tool = self.shown[agent].get(probe.called)
        if tool and (tool.get("external_web_access") or probe.capability == "data.untrusted"):
            return "runs"
        return "absent"

    def spawned(self, other: str) -> Outcome:
        """What came of spawning an agent."""
        return self.outcome(SESSION, f"{SESSION}/{other}", self._tool("spawn_agent"))

    def is_refused(self, tool: str, result: str | None) -> bool:
        """Whether a call was denied: a command that fails in its sandbox is denied what it wanted."""
        if tool in ("apply_patch", "exec_command"):
            return not re.search(r"(exited with code|Exit code:) 0\b", result or "")
        if tool.endswith("/spawn_agent"):
            return not (result or "").startswith("{")
        return result is None or re.search("rejected|requires approval", result) is not None


def script_of(project: Path) -> CodexScript:
    """The script of a project."""
    return CodexScript(
        project, [path.stem for path in sorted((project / ".codex" / "agents").glob("*.toml"))]
    )


def observe(folder: Path, home: Path, project: Path) -> Iterator[Cell]:
    """The cells of a project."""
    script = script_of(project)
    with serving(responses, script.answer) as script.port:
        work(folder, home, script)
    claims = Claims(FORMAT, project)
    for agent in script.shown:  # an agent that the session cannot call is never seen
        yield from script.cells(agent, claims)
    for other in script.agents:
        called = claims.calls(SESSION, other)
        yield Cell(project.name, SESSION, "spawn_agent", script.spawned(other), called)


def _settings(home: Path, script: Script) -> str:
    """The settings of a person: the scripted model, which patches files by a tool, and trust in the project."""
    models = home / ".codex" / "models.json"
    top = {"model": "scripted", "model_provider": "scripted", "model_catalog_json": str(models)}
    provider = {"name": "scripted", "base_url": f"http://127.0.0.1:{script.port}/v1", "wire_api": "responses"}
    tables: dict[str, dict[str, object]] = {
        "model_providers.scripted": {**provider, "env_key": "SCRIPTED_KEY", "request_max_retries": 0},
        f'projects."{script.project}"': {"trust_level": "trusted"},
        "sandbox_workspace_write": {"exclude_slash_tmp": True},  # in which the sandbox leaves empty folders
    }
    models.parent.mkdir(exist_ok=True)
    models.write_text(json.dumps({"models": [_MODEL]}))
    lines = [f"{key} = {json.dumps(value)}" for key, value in top.items()]
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    return "\n".join((*lines, ""))


def work(folder: Path, home: Path, script: Script) -> None:
    """Lets the session of a client work in the project of a script."""
    settings = _settings(home, script)
    (home / ".codex" / "config.toml").write_text(settings)
    environ = {**script.environ, "HOME": str(home), "SCRIPTED_KEY": "none"}
    running: dict[tuple[str, str], str] = {}

    def heard(message: Mapping[str, Any]) -> object:
        params = message.get("params", {})
        thread = params.get("threadId", "")
        if message["method"] == "item/started" and params["item"]["type"] == "mcpToolCall":
            running[thread, params["item"]["tool"]] = params["item"]["id"]
        if message["method"] == "mcpServer/elicitation/request":
            is_fine = script.permits(running[thread, params["_meta"]["tool_name"]])
            return {"action": "accept", "content": {}} if is_fine else {"action": "decline"}
        if message["method"].endswith("/requestApproval"):
            return {"decision": "accept" if script.permits(params["itemId"]) else "decline"}
        return {"decision": "accept"}

    with talking([str(folder / PROGRAM), "app-server"], environ, script.project, heard) as talk:
        talk.request("initialize", {"clientInfo": {"name": "bench", "version": "1"}})
        talk.send({"method": "initialized"})
        own = {"config": {"bypass_hook_trust": True}} if script.is_hooked else {}
        thread = talk.request("thread/start", {"cwd": str(script.project), **own})["thread"]["id"]
        for text in script.prompts(SESSION):
            prompt = [{"type": "text", "text": text, "text_elements": []}]
            talk.request(
                "turn/start", {"threadId": thread, "input": prompt}, until=("turn/completed", thread)
            )


hooked = script_of
WIRE = responses
