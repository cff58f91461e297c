"""In a header, a name with nothing after it has no configuration, which is the same as an empty one."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo import checks
from llmdo.workspace import project

LINES = {
    "a toolset": "toolsets:\n  kit:{}\n  other:{}\n",
    "built-in toolsets": "toolsets:\n  filesystem:{}\n  shell:{}\n",
    "a tool of the provider": "native_tools:\n  web_search:{}\n  code_execution:{}\n",
}


def read(root: Path, lines: str) -> project.Project:
    (root / "llmdo.toml").write_text(
        'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\ntoolset-modules = ["kit.py"]\n',
        encoding="utf-8",
    )
    (root / "kit.py").write_text(
        "from pydantic_ai.toolsets import FunctionToolset\nkit = FunctionToolset()\n", encoding="utf-8"
    )
    (root / "other.worker").write_text("---\nname: other\n---\nGo.\n", encoding="utf-8")
    (root / "main.worker").write_text(f"---\nname: main\nentry: true\n{lines}---\nGo.\n", encoding="utf-8")
    return project.read(root)


@pytest.mark.parametrize("lines", LINES.values(), ids=LINES)
def test_nothing_after_a_name_means_an_empty_configuration(lines: str, tmp_path: Path) -> None:
    empty = read(tmp_path, lines.replace("{}", ""))
    assert not [finding for finding in checks.check(empty) if finding.severity == "error"]
    assert empty.graph == read(tmp_path, lines.replace("{}", " {}")).graph


@pytest.mark.parametrize("key", ["toolsets", "may", "approvals", "attachments"])
def test_a_key_with_nothing_after_it_says_nothing_and_stays_an_error(key: str, tmp_path: Path) -> None:
    findings = checks.check(read(tmp_path, f"{key}:\n"))
    assert [finding.code for finding in findings if finding.severity == "error"] == ["LDO103"]
