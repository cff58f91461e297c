"""Gemini CLI in a rehearsal: one run without a terminal, under its own API."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from llmdo.features.hook.rehearsal import generate_content
from llmdo.features.hook.rehearsal.script import AGENT, BEGIN, SESSION, Script

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PROGRAM = "gemini"
WIRE = generate_content
STOPPED = "did not answer"
"""The words that the model reads of a call whose hook was killed."""
_AGENT = f"---\nname: {AGENT}\ndescription: Reads.\n---\nRead.\n"


def script() -> Script:
    """The script in the tools of Gemini CLI."""
    return Script(
        reading=("read_file", "file_path"),
        starting=("invoke_agent", "agent_name"),
        prompt="prompt",
        ends="complete_task",
    )


def agent(project: Path) -> None:
    """Writes the agent of the rehearsal."""
    path = project / ".gemini/agents" / f"{AGENT}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_AGENT)


def start(program: str, project: Path, home: Path, port: int) -> tuple[list[str], Mapping[str, str]]:
    """The words that start it, and its own variables, once the settings of its person are written."""
    own = home / ".gemini"
    paths = sorted((project / ".gemini/agents").glob("*.md"))
    seen = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False},
    }
    files = {
        "settings.json": settings,
        "trustedFolders.json": {str(project): "TRUST_FOLDER"},
        "acknowledgments/agents.json": {str(project): seen},
    }
    for path, value in files.items():
        (own / path).parent.mkdir(parents=True, exist_ok=True)
        (own / path).write_text(json.dumps(value))
    variables = {
        "GEMINI_API_KEY": "none",
        "GEMINI_CLI_NO_RELAUNCH": "1",
        "GEMINI_MODEL": "gemini-2.5-flash",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}",
    }
    return [program, "-y", "-p", f"{BEGIN} {SESSION}"], variables
