"""opencode in a rehearsal: one run without a terminal, under the chat completions API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.features.hook.clients.opencode import MAIN
from llmdo.features.hook.rehearsal import chat
from llmdo.features.hook.rehearsal.script import AGENT, BEGIN, SESSION, Script

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PROGRAM = "opencode"
WIRE = chat
STOPPED = "did not answer"
_AGENT = "---\ndescription: Reads.\nmode: subagent\n---\nRead.\n"


def script() -> Script:
    """The script in the tools of opencode."""
    return Script(
        reading=("read", "filePath"),
        starting=("task", "subagent_type"),
        prompt="prompt",
        words={"description": "Reads."},
    )


def agent(project: Path) -> None:
    """Writes the agent of the rehearsal."""
    path = project / ".opencode/agent" / f"{AGENT}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_AGENT)


def variables(port: int) -> Mapping[str, str]:
    """Its own variables, by which it asks the scripted model at a port."""
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
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "npm_config_fetch_retries": "0",  # it asks for types of plugins, and waits for them
    }


def start(program: str, project: Path, home: Path, port: int) -> tuple[list[str], Mapping[str, str]]:  # noqa: ARG001
    """The words that start it, and its own variables."""
    # It puts quotes around a word with a blank.
    return [program, "run", "--agent", MAIN, BEGIN, SESSION], variables(port)
