"""A rule of Gemini CLI about a command is one about any: bash runs others in what stands in its words."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from llmdo import foreign
from llmdo.foreign.commands import BY_ARITHMETIC

if TYPE_CHECKING:
    from pathlib import Path

ECHO = "run_shell_command(echo)"
ANY = "proc.exec.unlisted"


def test_bash_runs_a_command_in_words_of_another() -> None:
    words = BY_ARITHMETIC.replace("id", "echo ran >&2")
    ran = subprocess.run(["bash", "-c", f"echo {words}"], capture_output=True, text=True, check=False)
    assert ran.stderr.startswith("ran\n")


@pytest.mark.parametrize("mode", ["auto_edit", "default", "plan"])
@pytest.mark.parametrize(
    ("tools", "decisions"),
    [
        ({"core": [ECHO]}, ["allowed"]),
        ({"core": ["read_file", "ShellTool(echo)"]}, ["allowed"]),
        ({"allowed": [ECHO]}, ["allowed"]),
        ({"core": ["run_shell_command"], "allowed": [ECHO]}, ["allowed"]),
        ({"core": ["read_file"], "allowed": [ECHO]}, []),
        ({"allowed": [ECHO], "exclude": ["run_shell_command"]}, []),
        ({"allowed": [ECHO], "exclude": ["run_shell_command(id)"]}, ["allowed"]),
        ({"allowed": [ECHO], "confirmationRequired": ["run_shell_command"]}, ["allowed"]),
    ],
)
def test_a_rule_about_a_command_is_one_about_any(
    tmp_path: Path, tools: dict[str, list[str]], decisions: list[str], mode: str
) -> None:
    (tmp_path / ".gemini").mkdir()
    settings = {"tools": tools, "general": {"defaultApprovalMode": mode}}
    (tmp_path / ".gemini/settings.json").write_text(json.dumps(settings))
    read = foreign.read("gemini", tmp_path)
    rows = read.analysis.of(read.graph.entries["main-session"])
    assert [row.decision for row in rows if row.capability.name == ANY] == decisions
