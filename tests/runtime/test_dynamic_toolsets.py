"""Toolsets whose tools are known only in a run, and tools that block: what is not named is undeclared."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo import checks
from llmdo.runtime import ApproveAll, RunOptions, RunOutcome
from llmdo.services import locking
from llmdo.workspace import lock, project
from tests.support.building import script
from tests.support.running import run_sync

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
toolset-modules = ["tools.py"]

[toolsets.desk]
capabilities = { greet = ["x.desk.greet"], later = [] }

[approvals.rules]
"x.desk.greet" = "allowed"
"""

TOOLS = """\
from threading import Barrier

from pydantic_ai.toolsets import DynamicToolset, FunctionToolset

def made(ctx):
    toolset = FunctionToolset()

    @toolset.tool_plain
    def greet() -> str:
        return f"hello from {ctx.deps.frame.name}"

    @toolset.tool_plain
    def secret() -> str:
        return "the secret"

    return toolset

desk = DynamicToolset(made)

both = FunctionToolset()
together = Barrier(2, timeout=20)

@both.tool_plain(metadata={"capabilities": []})
def meet() -> str:
    together.wait()
    return "met"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "main.worker").write_text(
        "---\nname: main\nentry: true\nmodel: python:models.py:main\ntoolsets: [desk, both]\n---\nGo.\n",
        encoding="utf-8",
    )
    script(tmp_path, main=["x"])
    return tmp_path


def go(root: Path, calls: list[tuple[str, dict[str, object]]]) -> RunOutcome:
    script(root, main=[calls, "{tools}: {results}"])
    read = project.read(root)
    options = RunOptions(input="go", approver=ApproveAll())
    return run_sync(locking.derive(read), root=root, prompts=read.prompts, entry="main", options=options)


def test_a_promised_tool_of_a_dynamic_toolset_runs_and_others_are_not_shown(root: Path) -> None:
    outcome = go(root, [("greet", {}), ("secret", {})])
    assert outcome.output is not None, outcome.error
    assert outcome.output.startswith("greet,meet: ")
    assert "[success: hello from main]" in outcome.output
    assert "the secret" not in outcome.output


def test_it_is_locked_as_dynamic_with_what_the_manifest_promises(root: Path) -> None:
    lock.write(root, locking.derive(project.read(root)))
    read = project.read(root)
    assert read.is_current
    desk = read.graph.toolsets["desk"]
    assert (desk.dynamic, list(desk.tools)) == (True, ["greet", "later"])
    assert [finding.code for finding in checks.check(read) if finding.severity == "error"] == []


def test_a_promise_that_is_taken_back_leaves_nothing(root: Path) -> None:
    lock.write(root, locking.derive(project.read(root)))
    (root / "llmdo.toml").write_text(MANIFEST.replace(", later = []", ""), encoding="utf-8")
    assert list(locking.derive(project.read(root)).toolsets["desk"].tools) == ["greet"]


def test_tools_that_block_run_beside_each_other(root: Path) -> None:
    outcome = go(root, [("meet", {}), ("meet", {})])
    assert outcome.output == "greet,meet: [success: met] [success: met]"
