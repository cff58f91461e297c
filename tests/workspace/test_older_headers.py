"""`.worker` files of llm-do whose tools are built in run as they are; a workspace reads no such names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.building import script
from tests.support.commands import llmdo


def header(root: Path, text: str) -> None:
    (root / "main.worker").write_text(
        f"---\nname: main\nentry: true\nmodel: python:models.py:main\n{text}\n---\nGo.\n", encoding="utf-8"
    )


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("toolset", "offered"),
    [
        ("filesystem_project", "edit_file,list_files,read_file,write_file"),
        ("filesystem_cwd", "edit_file,list_files,read_file,write_file"),
        ("filesystem_cwd_ro", "list_files,read_file"),
        ("llm_do.toolsets.filesystem.FileSystemToolset", "edit_file,list_files,read_file,write_file"),
        ("shell_readonly", "shell"),
    ],
)
@pytest.mark.parametrize("form", ["toolsets: [{}]", "toolsets:\n  - {}", "toolsets:\n  {}: {{}}"])
def test_a_toolset_that_llm_do_has_built_in_is_ours(
    tmp_path: Path, toolset: str, offered: str, form: str
) -> None:
    script(tmp_path, main=["{tools}"])
    header(tmp_path, form.format(toolset))
    done = llmdo(tmp_path, "run", "main.worker", "Go.")
    assert (done.returncode, done.stdout) == (0, f"{offered}\n"), done.stderr


def test_what_writes_and_what_runs_asks_as_ever(tmp_path: Path) -> None:
    calls = [
        ("write_file", {"path": "a.txt", "content": "x"}),
        ("shell", {"command": ["ls"]}),
        ("shell", {"command": ["rm", "main.worker"]}),
    ]
    script(tmp_path, main=[calls, "{results}"])
    header(tmp_path, "toolsets: [filesystem_project, shell_readonly]")
    refused = llmdo(tmp_path, "run", "main.worker", "Go.").stdout
    assert refused.count("needs approval, which was not given") == 2
    assert "`shell` is blocked" in refused
    assert not (tmp_path / "a.txt").exists()
    allowed = llmdo(tmp_path, "run", "main.worker", "Go.", "--approve-all").stdout
    assert "main.worker" in allowed
    assert "`shell` is blocked" in allowed
    assert (tmp_path / "a.txt").exists()


def test_tools_of_the_provider_keep_their_options(tmp_path: Path) -> None:
    script(tmp_path, main=["x"])
    tools = "server_side_tools:\n  - tool_type: web_search\n    {}: 3"
    header(tmp_path, tools.format("max_uses"))
    done = llmdo(tmp_path, "run", "--all-tools", "main.worker")
    assert "web_search: data.untrusted, net.search" in done.stdout
    header(tmp_path, tools.format("most_uses"))
    done = llmdo(tmp_path, "run", "main.worker", "Go.")
    assert done.returncode == 1
    assert "unknown key `most_uses`" in done.stderr


def test_a_name_that_the_files_bring_themselves_is_theirs(tmp_path: Path) -> None:
    script(tmp_path, main=["{tools}"])
    header(tmp_path, "toolsets: [filesystem_project]")
    (tmp_path / "tools.py").write_text(
        "from pydantic_ai.toolsets import FunctionToolset\n\nfilesystem_project = FunctionToolset()\n\n\n"
        "@filesystem_project.tool_plain\ndef own() -> str:\n    return ''\n",
        encoding="utf-8",
    )
    assert llmdo(tmp_path, "run", "main.worker", "tools.py", "Go.").stdout == "own\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("toolsets: [filesystem_project]", "LDO202"),
        ("server_side_tools: [{tool_type: web_search}]", "LDO102"),
    ],
)
def test_a_workspace_has_no_such_names(tmp_path: Path, text: str, code: str) -> None:
    script(tmp_path, main=["x"])
    header(tmp_path, text)
    (tmp_path / "llmdo.toml").write_text(
        'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n', encoding="utf-8"
    )
    assert code in llmdo(tmp_path, "check", "--format", "concise").stdout
