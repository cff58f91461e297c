"""`init --from team.yaml` writes the workspace of a team: the same graph, so the same reach, lock and prompts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from llmdo import checks
from llmdo.base.diagnostic import LlmdoError
from llmdo.scaffold.unfolding import unfold
from llmdo.workspace import project
from llmdo.workspace.trust import is_trusted
from tests.support.commands import llmdo
from tests.support.examples import EXAMPLES, copied
from tests.support.folding import folded, without_paths
from tests.workspace.test_team_file import ALL, FORMS, written

TRICKY = """\
team: support
max-depth: 3
on-truncated: error
models: { fast: ["test", "openai:gpt-5-mini"] }
paths: { "decks/": "input/", "a b.txt": "input/a.txt" }
sources: { "fs.read:issues/**": data.untrusted }
flows: { preset: rule-of-two, "data.untrusted & fs.read -> net": blocked, max-bits: 12 }
toolsets:
  shell:
    isolation: require
    presets: [read-only]
    rules: [{ run: [git, log], flags: ["--oneline", "-n="], capability: proc.exec.read }]
  notes:
    mcp: { command: python3, args: ["server.py", "a\\"b"], env: [NOTES] }
    capabilities: { "*": ["x.notes.any"] }
agents:
  "true":
    description: "Says \\u00fc \\"so\\": yes"
    prompt: "\\n---\\nnot: a header\\n---\\n  # so\\n"
    toolsets: { filesystem: { read: ["issues/**"] }, shell: {}, answer: {}, notes: {} }
    model_settings: { temperature: 0.5, max_tokens: 100 }
    may: ["fs", "proc", "mcp", "x.notes"]
    approvals: { fs.list: needs_approval }
  answer:
    prompt: You answer.
    recursive: true
    toolsets: [answer]
entries:
  nightly: { worker: answer, input: "Go on.", limits: { requests: 4, cost-usd: 0.25 }, may: ["agent", "fs.read"] }
approvals: { default: blocked, rules: { "fs.write:answers/**": allowed } }
check:
  ignore: [LDO303]
  accept: [{ code: LDO510, entry: nightly, reason: it is so }]
"""


@FORMS
@pytest.mark.parametrize("name", ALL)
def test_the_workspace_of_a_team_is_the_same_graph(name: str, in_markdown: bool, tmp_path: Path) -> None:
    team = folded(copied(name, tmp_path), tmp_path / "folded", in_markdown=in_markdown)
    before = project.read(team)
    unfold(team, tmp_path / "workspace", force=False)
    after = project.read(tmp_path / "workspace")
    assert without_paths(after.graph).workers == without_paths(before.graph).workers
    assert after.prompts == before.prompts
    for entry in before.graph.entries:
        assert after.analysis.of(after.graph.entries[entry]) == before.analysis.of(
            before.graph.entries[entry]
        )


def test_every_kind_of_key_is_carried_over(tmp_path: Path) -> None:
    team = written(tmp_path / "team", TRICKY)
    (team / "server.py").write_text("print()\n", encoding="utf-8")
    for root in (team, tmp_path / "workspace"):  # what tools work on is not copied
        (root / "input").mkdir(parents=True)
        (root / "input" / "a.txt").write_text("", encoding="utf-8")
    before = project.read(team)
    unfold(team, tmp_path / "workspace", force=False)
    after = project.read(tmp_path / "workspace")
    assert [each.code for each in after.workspace.problems] == [
        each.code for each in before.workspace.problems
    ]
    assert after.workspace.table("check") == before.workspace.table("check")
    assert without_paths(after.graph) == without_paths(before.graph)
    assert after.prompts == before.prompts


def test_in_its_own_folder_nothing_is_copied_and_the_team_is_not_read_any_more(tmp_path: Path) -> None:
    before = project.read(written(tmp_path))
    done = llmdo(tmp_path, "init", "--from", "team.yaml")
    assert done.returncode == 0
    assert "`team.yaml` is not read any more: remove it" in done.stderr
    after = project.read(tmp_path)
    assert after.workspace.document.source.path == "llmdo.toml"
    assert without_paths(after.graph) == without_paths(before.graph)
    assert "LDO116" in {finding.code for finding in checks.check(after)}
    (tmp_path / "team.yaml").unlink()
    assert llmdo(tmp_path, "check", "--locked").returncode == 0


def test_a_team_with_errors_and_a_folder_with_other_files_are_left_alone(tmp_path: Path) -> None:
    team = written(
        tmp_path / "team", "team: support\nagents:\n  triage: { prompt: Hello., toolsets: [anser] }\n"
    )
    with pytest.raises(LlmdoError, match="anser"):
        unfold(team, tmp_path / "workspace", force=False)
    assert not (tmp_path / "workspace").exists()
    team = written(tmp_path / "team")
    other = tmp_path / "other"
    other.mkdir()
    (other / "llmdo.toml").write_text("schema = 1\n", encoding="utf-8")
    with pytest.raises(LlmdoError, match="exists and says something else"):
        unfold(team, other, force=False)
    assert not (other / "workers").exists()
    unfold(team, other, force=True)
    assert "support" in (other / "llmdo.toml").read_text(encoding="utf-8")


def test_code_of_a_team_is_copied_and_not_trusted_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LLMDO_TRUST")
    team = folded(EXAMPLES / "calculator", tmp_path / "team")
    done = llmdo(tmp_path, "init", "workspace", "--from", "team/team.yaml")
    assert done.returncode == 0
    assert (tmp_path / "workspace" / "models.py").read_bytes() == (team / "models.py").read_bytes()
    made = tmp_path / "workspace"
    assert not is_trusted(project.read(made).graph, made, os.environ)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--from", "team.yml"), "there is no file `team.yml`"),
        (("--from", "other.yaml"), "`other.yaml` does not have the name of a team"),
        (("--from", "theirs/team.yaml"), "is no team of llmdo"),
        (("--from", "team.yaml", "--from", "claude"), "a workspace is made of one team"),
    ],
)
def test_what_is_no_team_makes_no_workspace(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    written(tmp_path)
    written(tmp_path, name="other.yaml")
    written(tmp_path / "theirs", "agents:\n  root: { instruction: You read. }\n")
    done = llmdo(tmp_path, "init", "made", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "made").exists()
