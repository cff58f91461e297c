"""An allowed command writes where its output is sent: Gemini CLI asks about that, except in mode `auto_edit`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from llmdo import foreign

if TYPE_CHECKING:
    from pathlib import Path

ECHO = "run_shell_command(echo)"


@pytest.mark.parametrize(
    ("tools", "mode", "writes"),
    [
        ({"core": [ECHO]}, "auto_edit", True),
        ({"allowed": [ECHO], "exclude": ["write_file", "replace", "save_memory"]}, "auto_edit", True),
        ({"core": [ECHO]}, "default", False),
        ({"core": [ECHO]}, "plan", False),
        ({"core": ["read_file"], "allowed": [ECHO]}, "auto_edit", False),
    ],
)
def test_an_allowed_command_writes_files_where_redirections_go_unasked(
    tmp_path: Path, tools: dict[str, list[str]], mode: str, *, writes: bool
) -> None:
    (tmp_path / ".gemini").mkdir()
    settings = {"tools": tools, "general": {"defaultApprovalMode": mode}}
    (tmp_path / ".gemini/settings.json").write_text(json.dumps(settings))
    read = foreign.read("gemini", tmp_path)
    rows = read.analysis.of(read.graph.entries["main-session"])
    allowed = {row.capability.name for row in rows if row.decision == "allowed"}
    assert ({"fs.write", "fs.write.protected"} <= allowed) is writes
