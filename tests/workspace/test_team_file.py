"""A team in one file is the workspace that says the same, and every place in it is in that file."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo import checks
from llmdo.base.nearest import manifest_in, nearest_workspace
from llmdo.workspace import project
from tests.support.examples import EXAMPLES, copied
from tests.support.folding import folded, without_paths

ALL = sorted(path.parent.name for path in EXAMPLES.glob("*/llmdo.toml"))
FORMS = pytest.mark.parametrize("in_markdown", [False, True], ids=["yaml", "markdown"])

TEAM = """\
team: support
agents:
  triage:
    description: Reads issues.
    prompt: |
      You read issues.
    toolsets:
      answer: {}
  answer:
    prompt: You answer.
    toolsets: { filesystem: { read: ["issues/**"], write: ["answers/**"] } }
approvals:
  rules: { "fs.write:answers/**": allowed }
"""


def written(folder: Path, text: str = TEAM, name: str = "team.yaml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


@FORMS
@pytest.mark.parametrize("name", ALL)
def test_a_workspace_in_one_file_is_the_same_graph(name: str, in_markdown: bool, tmp_path: Path) -> None:
    before = project.read(copied(name, tmp_path))
    after = project.read(folded(tmp_path / name, tmp_path / "folded", in_markdown=in_markdown))
    assert after.workspace.problems == before.workspace.problems
    assert without_paths(after.graph) == without_paths(before.graph)
    assert after.prompts == before.prompts
    for entry in before.graph.entries:
        rows = after.analysis.of(after.graph.entries[entry])
        assert [row.capability for row in rows] == [
            row.capability for row in before.analysis.of(before.graph.entries[entry])
        ]


@pytest.mark.parametrize("name", ALL)
def test_every_place_of_it_is_in_its_file(name: str, tmp_path: Path) -> None:
    read = project.read(folded(copied(name, tmp_path), tmp_path / "folded"))
    graph = read.graph
    places = [worker.at for worker in graph.workers.values()]
    places += [use.at for worker in graph.workers.values() for use in worker.uses]
    places += [rule.at for rule in graph.rules if rule.at]
    places += [entry.at for entry in graph.entries.values()]
    assert places
    for place in places:
        assert place.location.path == "team.yaml"
        assert place.location.span, place.route


def test_the_first_agent_is_started_if_none_says_so(tmp_path: Path) -> None:
    assert [*project.read(written(tmp_path / "a")).graph.entries] == ["triage"]
    stated = TEAM.replace("    prompt: You answer.\n", "    prompt: You answer.\n    entry: true\n")
    assert [*project.read(written(tmp_path / "b", stated)).graph.entries] == ["answer"]
    tables = f"{TEAM}entries: {{ nightly: {{ worker: answer, input: Go on. }} }}\n"
    assert [*project.read(written(tmp_path / "c", tables)).graph.entries] == ["nightly"]


def test_a_prompt_is_told_from_its_heading_and_may_hold_headings_and_code(tmp_path: Path) -> None:
    text = (
        "---\nteam: support\nagents:\n  triage: {}\n  answer: { entry: true }\n---\n# Support\n\nFor people.\n\n"
        "## triage\n\nYou read.\n\n### How\n\n````\n```\n## answer\n```\n````\n\n~~~\n## answer\n~~~\nQuickly.\n"
        "\n## answer ##\n\n\n"
        "You answer."
    )
    prompts = project.read(written(tmp_path, text, "team.md")).prompts
    assert prompts["answer"] == "You answer.\n"
    assert prompts["triage"].startswith("You read.\n\n### How\n")
    assert prompts["triage"].endswith("Quickly.\n")


@pytest.mark.parametrize(
    "text",
    [
        'version: "2"\nagents:\n  root: { model: openai/gpt-5-mini, instruction: You read. }\n',
        "name: support\nteam: x\nagents: {}\n",
        "- team: support\n",
        "",
        "team\n",
        "teams:\n  - support\n",
    ],
)
def test_a_file_whose_first_key_is_another_one_is_no_team(text: str, tmp_path: Path) -> None:
    assert manifest_in(str(written(tmp_path, text))) is None
    above = written(tmp_path)
    inner = written(above / "inner", text)
    assert nearest_workspace(str(inner)) == str(above)


def test_a_manifest_comes_before_a_team_and_says_that_nothing_of_that_is_read(tmp_path: Path) -> None:
    root = copied("greeter", tmp_path)
    written(root)
    read = project.read(root)
    assert "triage" not in read.graph.workers
    assert "LDO116" in {finding.code for finding in checks.check(read)}


def test_its_file_governs_its_runs(tmp_path: Path) -> None:
    from llmdo.graph.inventory import Inventory
    from llmdo.policy.protection import is_protected

    read = project.read(written(tmp_path, name="team.yaml"))
    assert "team.yaml" in Inventory.of(read.graph).governing
    assert is_protected("sub/team.yaml")
    assert is_protected("sub/TEAM.md")
    assert not is_protected("reports/the-team.md")


HOSTILE = {
    "huge": b"team: support\nagents: {}\n" + b"# x\n" * 300_000,
    "binary": b"team: support\n\x00\x01\x02",
    "deep": b"team: support\nagents: " + b"[" * 10_000,
    "many keys": b"team: support\n" + b"".join(b"k%d: 1\n" % number for number in range(60_000)),
    "billions": b"team: &a support\nagents: {x: [*a, *a]}\n",
    "a list": b"team: support\nagents: [triage]\n",
    "no agents": b"team: support\nagents: {}\n",
    "nothing else": b"team: support\n",
    "a null": b"team:\nagents:\n",
    "carriage returns": b"team: support\ragents: {}\r",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_findings(name: str, tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_bytes(HOSTILE[name])
    findings = checks.check(project.read(tmp_path))
    assert len(findings) <= 2_001
    assert all(finding.at.path in ("team.yaml", "llmdo.lock") for finding in findings)
    if name != "no agents":
        assert any(finding.severity == "error" for finding in findings)


def test_many_headings_are_read_in_time_and_reported_in_number(tmp_path: Path) -> None:
    headings = "".join(f"## x{number}\n" for number in range(80_000))
    root = written(tmp_path, f"---\nteam: support\nagents: {{ a: {{}} }}\n---\n{headings}", "team.md")
    assert 1_000 <= len(checks.check(project.read(root))) <= 2_001


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    elsewhere = written(tmp_path / "elsewhere")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "team.yaml").symlink_to(elsewhere / "team.yaml")
    findings = checks.check(project.read(inside))
    assert {finding.code for finding in findings if finding.severity == "error"} == {"LDO107"}
    assert not project.read(inside).graph.workers
