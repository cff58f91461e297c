"""Tools under a prefix: check, lock, gate, events and run know them by the one name that models see."""

from __future__ import annotations

from pathlib import Path

from llmdo.graph.offers import list_tools
from llmdo.runtime import RejectAll, RunOptions, RunOutcome
from llmdo.runtime.telemetry.events import Event, ToolCalled
from llmdo.services import locking
from llmdo.workspace import lock, project
from tests.support.building import script
from tests.support.running import run_sync

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["main.worker"]
toolset-modules = ["drive.py"]

[toolsets.drive]
prefix = "drive"
capabilities = { read_file = ["x.drive.read"], erase = ["x.drive.erase"] }

[approvals.rules]
"x.drive.read" = "allowed"
"x.drive.erase" = "blocked"
"""

DRIVE = """\
from pydantic_ai.toolsets import FunctionToolset

class Drive(FunctionToolset):
    def get_capabilities(self, name, tool_args, ctx, config):
        assert ctx.tool_name == name
        return {f"x.drive.{'read' if name == 'read_file' else name}"}

drive = Drive()

@drive.tool_plain
def read_file(path: str) -> str:
    return f"contents of {path}"

@drive.tool_plain
def erase() -> str:
    return "erased"
"""


def workspace(root: Path) -> project.Project:
    (root / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    (root / "drive.py").write_text(DRIVE, encoding="utf-8")
    (root / "main.worker").write_text(
        "---\nname: main\nentry: true\nmodel: python:models.py:main\ntoolsets: [drive, filesystem]\n---\nGo.\n",
        encoding="utf-8",
    )
    (root / "notes.txt").write_text("my notes", encoding="utf-8")
    return project.read(root)


def go(root: Path, calls: list[tuple[str, dict[str, object]]]) -> tuple[RunOutcome, list[ToolCalled]]:
    script(root, main=[calls, "{tools}: {results}"])
    read = workspace(root)
    called: list[Event] = []
    options = RunOptions(input="go", approver=RejectAll(), on_event=called.append)
    outcome = run_sync(locking.derive(read), root=root, prompts=read.prompts, entry="main", options=options)
    return outcome, [event for event in called if isinstance(event, ToolCalled)]


def test_a_model_calls_a_tool_by_its_prefixed_name_beside_one_of_the_same_name(tmp_path: Path) -> None:
    outcome, called = go(tmp_path, [("drive_read_file", {"path": "a"}), ("read_file", {"path": "notes.txt"})])
    assert outcome.output is not None, outcome.error
    assert outcome.output.startswith("drive_erase,drive_read_file,list_files,read_file: ")
    assert "[success: contents of a]" in outcome.output
    assert "my notes" in outcome.output
    assert [event.path for event in called] == ["main/drive_read_file#1", "main/read_file#1"]
    assert [event.toolset for event in called] == ["drive", "filesystem"]


def test_the_gate_decides_about_a_prefixed_tool(tmp_path: Path) -> None:
    outcome, _ = go(tmp_path, [("drive_erase", {})])
    assert [(call.tool, call.decision) for call in outcome.denied] == [("drive_erase", "blocked")]
    assert "erased" not in (outcome.output or "")


def test_a_tool_has_no_name_but_the_prefixed_one(tmp_path: Path) -> None:
    outcome, called = go(tmp_path, [("erase", {})])
    assert outcome.status == "completed"
    assert called == []


def test_the_lock_holds_the_prefix_and_the_inventory_the_prefixed_names(tmp_path: Path) -> None:
    graph = locking.derive(workspace(tmp_path))
    lock.write(tmp_path, graph)
    again = project.read(tmp_path)
    assert again.is_current
    assert 'prefix = "drive"\n' in (tmp_path / "llmdo.lock").read_text(encoding="utf-8")
    names = {offer.tool for offer in list_tools(again.graph, again.graph.entries["main"])}
    assert names == {"drive_read_file", "drive_erase", "read_file", "list_files"}


def test_another_prefix_makes_the_lock_stale(tmp_path: Path) -> None:
    lock.write(tmp_path, locking.derive(workspace(tmp_path)))
    manifest = tmp_path / "llmdo.toml"
    manifest.write_text(MANIFEST.replace('prefix = "drive"', 'prefix = "store"'), encoding="utf-8")
    changes = lock.drift(project.read(tmp_path).locked.graph, project.read(tmp_path).graph)  # type: ignore[arg-type]
    assert [drift.changes for drift in changes] == [("`prefix` is `store`, it was `drive`",)]
