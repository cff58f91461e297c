"""Codex in a rehearsal: one run without a terminal, under the Responses API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.features.hook.rehearsal import responses
from llmdo.features.hook.rehearsal.model import ScriptedAnswer, ScriptedCall
from llmdo.features.hook.rehearsal.script import AGENT, BEGIN, SESSION, Script

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmdo.features.hook.rehearsal.model import ModelRequest

PROGRAM = "codex"
WIRE = responses
STOPPED = "did not answer"
"""The words that the model reads of a call whose hook was killed."""
_AGENT = f'name = "{AGENT}"\ndescription = "Reads."\ndeveloper_instructions = "Read."\n'
_MODEL = {
    "slug": "scripted", "display_name": "Scripted", "base_instructions": "Do it.", "context_window": 100000,
    "priority": 1, "visibility": "list", "supported_in_api": True, "supported_reasoning_levels": [],
    "support_verbosity": False, "supports_reasoning_summaries": False, "supports_parallel_tool_calls": True,
    "input_modalities": ["text"], "experimental_supported_tools": [], "shell_type": "unified_exec",
    "truncation_policy": {"mode": "tokens", "limit": 10000}, "apply_patch_tool_type": "freeform",
}  # fmt: skip


class _Waiting(Script):
    """The session waits for the agent that it started."""

    def later(self, who: str, asked: ModelRequest) -> ScriptedAnswer:
        """A wait, once."""
        begun = asked.results.get(f"{SESSION}/start", "")
        if who != SESSION or not begun.startswith("{") or f"{SESSION}/wait" in asked.results:
            return super().later(who, asked)
        arguments = {"targets": [json.loads(begun)["agent_id"]], "timeout_ms": 60000}
        return ScriptedAnswer(
            calls=(ScriptedCall(f"{SESSION}/wait", self.shown(asked, "wait_agent"), arguments),)
        )


def script() -> Script:
    """The script in the tools of Codex."""
    return _Waiting(
        reading=("exec_command", "cmd"),
        template="cat {}",
        more={"login": False},
        starting=("spawn_agent", "agent_type"),
        prompt="message",
    )


def agent(project: Path) -> None:
    """Writes the agent of the rehearsal."""
    path = project / ".codex/agents" / f"{AGENT}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_AGENT)


def start(program: str, project: Path, home: Path, port: int) -> tuple[list[str], Mapping[str, str]]:
    """The words that start it, and its own variables, once the settings of its person are written."""
    own = home / ".codex"
    own.mkdir(exist_ok=True)
    (own / "models.json").write_text(json.dumps({"models": [_MODEL]}))
    provider = {"name": "scripted", "base_url": f"http://127.0.0.1:{port}/v1", "wire_api": "responses"}
    tables: dict[str, dict[str, object]] = {
        "model_providers.scripted": {**provider, "env_key": "SCRIPTED_KEY", "request_max_retries": 0},
        f"projects.{json.dumps(str(project))}": {"trust_level": "trusted"},
    }
    lines = ['model = "scripted"', 'model_provider = "scripted"']
    lines.append(f"model_catalog_json = {json.dumps(str(own / 'models.json'))}")
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    (own / "config.toml").write_text("\n".join([*lines, ""]))
    options = ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
    return [program, *options, f"{BEGIN} {SESSION}"], {"SCRIPTED_KEY": "none"}
