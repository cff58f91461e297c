"""Copilot CLI in a rehearsal: one run without a terminal and without an account, under the chat completions API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.features.hook.rehearsal import chat
from llmdo.features.hook.rehearsal.script import AGENT, BEGIN, SESSION, Script

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PROGRAM = "copilot"
WIRE = chat
STOPPED = "exited with code 2"
_AGENT = "---\ndescription: Reads.\n---\nRead.\n"


def script() -> Script:
    """The script in the tools of Copilot CLI."""
    return Script(
        reading=("view", "path"),
        starting=("task", "agent_type"),
        prompt="prompt",
        words={"description": "Reads.", "name": AGENT, "mode": "sync"},
    )


def agent(project: Path) -> None:
    """Writes the agent of the rehearsal."""
    path = project / ".github/agents" / f"{AGENT}.agent.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_AGENT)


def start(program: str, project: Path, home: Path, port: int) -> tuple[list[str], Mapping[str, str]]:  # noqa: ARG001
    """The words that start it, and its own variables."""
    variables = {
        "COPILOT_OFFLINE": "true",
        "COPILOT_MODEL": "scripted",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_PROVIDER_BASE_URL": f"http://127.0.0.1:{port}/v1",
    }
    words = [program, "--trust-folder", "--allow-all-tools", "-p", f"{BEGIN} {SESSION}"]
    return words, variables
