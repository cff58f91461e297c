"""`init --from` names a project of another tool with its present reach as the ceiling, and `check` then passes."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from llmdo import checks, foreign
from llmdo.base.diagnostic import LlmdoError
from llmdo.policy.vocabulary import ONLY_BY_FULL_NAME
from llmdo.reach import entry_ceiling
from llmdo.scaffold.adoption import adopt
from llmdo.workspace import project
from tests.checks.test_cases import copied
from tests.foreign.test_cases import ALL, format_of
from tests.support import commands

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic

ERRORS = {"LDO105", "LDO107", "LDO153"}
"""What the files of a project cannot be read for: another's fault."""


def errors_of(root: Path) -> list[Diagnostic]:
    return [
        each
        for each in checks.check(project.read(root))
        if each.severity == "error" and each.code not in ERRORS
    ]


@pytest.mark.few(40)
@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_check_passes_after_it_and_the_ceilings_cut_nothing_off(case: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    copied(case, root)
    original = foreign.read(format_of(case), root)
    if not original.team.agents:
        return
    adopt(root, [format_of(case)])
    read = project.read(root)
    assert errors_of(root) == []
    stated = tomllib.loads((root / "llmdo.toml").read_text(encoding="utf-8"))["entries"]
    assert len(stated) == len(original.graph.entries)
    assert read.graph.entries.keys() == stated.keys()
    for entry in read.graph.entries.values():
        ceiling = entry_ceiling(entry)
        assert ceiling is not None
        unlimited = {row.capability: row.decision for row in read.analysis.of(entry, ceiling=False)}
        assert {row.capability: row.decision for row in read.analysis.of(entry)} == unlimited


DEMO = {
    ".claude/agents/coordinator.md": "---\nname: coordinator\ndescription: Plans.\ntools: Read, Agent(writer)\n---\nPlan.\n",
    ".claude/agents/writer.md": "---\nname: writer\ndescription: Writes.\ntools: Read, Edit\n---\nWrite.\n",
    ".claude/settings.json": '{"permissions": {"allow": ["Edit"], "deny": ["WebFetch", "WebSearch", "Bash"]}}',
}


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    for path, text in DEMO.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


def test_without_one_of_a_ceiling_check_refuses_with_the_place(demo: Path) -> None:
    adopt(demo, ["claude"])
    manifest = demo / "llmdo.toml"
    text = manifest.read_text(encoding="utf-8")
    may = [str(each) for each in project.read(demo).graph.entries["coordinator"].may or ()]
    assert {"fs.read", "fs.write"} <= {*may}
    for capability in may:
        if capability in ONLY_BY_FULL_NAME:
            continue
        others = ", ".join(f'"{each}"' for each in may if each != capability)
        before = text.index("may = ", text.index("[entries.coordinator]"))
        line = text[before : text.index("\n", before)]
        manifest.write_text(text.replace(line, f"may = [{others}]", 1), encoding="utf-8")
        refused = errors_of(demo)
        assert {each.code for each in refused} == {"LDO501"}, capability
        assert all(each.at.path == "llmdo.toml" for each in refused)
        assert any(f"`{capability}`" in each.message for each in refused)


def test_the_command_writes_and_locks_it_and_refuses_what_is_there(demo: Path) -> None:
    done = commands.llmdo(demo, "init", "--from", "claude")
    assert done.returncode == 0
    assert commands.llmdo(demo, "check", "--locked").returncode == 0
    again = commands.llmdo(demo, "init", "--from", "claude")
    assert again.returncode == 1
    assert "`llmdo.toml` exists already" in again.stderr


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["claud"], "there is no format `claud`"),
        (["codex"], "nothing of codex is in"),
        (["claude", "codex"], "nothing of codex is in"),
    ],
)
def test_what_is_not_there_is_not_named(demo: Path, names: list[str], words: str) -> None:
    with pytest.raises(LlmdoError, match=words):
        adopt(demo, names)
    assert not (demo / "llmdo.toml").exists()


def test_auto_names_all_that_is_there(demo: Path) -> None:
    (demo / "AGENTS.md").write_text("Be kind.\n", encoding="utf-8")
    (demo / ".opencode/agent").mkdir(parents=True)
    (demo / ".opencode/agent/lead.md").write_text("---\ndescription: Leads.\n---\nLead.\n", encoding="utf-8")
    adopt(demo, ["auto"])
    manifest = tomllib.loads((demo / "llmdo.toml").read_text(encoding="utf-8"))
    assert manifest["workspace"]["from"] == ["claude", "opencode"]
    assert manifest["entries"]["opencode-lead"]["worker"] == "opencode/lead"
    assert errors_of(demo) == []
