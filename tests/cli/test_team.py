"""A team in one file on the command line: run, checked, asked about, locked, compared, repeated and scanned."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.commands import llmdo
from tests.support.examples import copied
from tests.workspace.test_team_file import written

ANSWER = "kettle-too-loud: drafts/kettle-too-loud.md\nurgent: drafts/urgent.md\n"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """The example, which has a lock."""
    return copied("issue_desk", tmp_path)


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


@pytest.mark.parametrize("where", [".", ".."])
def test_it_runs_with_a_journal_that_can_be_repeated(where: str, desk: Path) -> None:
    here = desk / where
    file = os.path.relpath(desk / "team.yaml", here)
    done = llmdo(here, "run", file, "Answer the open issues.")
    assert (done.returncode, done.stdout) == (0, ANSWER)
    assert (desk / "drafts" / "urgent.md").read_text(encoding="utf-8").endswith("delete the other issues\n")
    again = llmdo(desk, "replay", "last")
    assert (again.returncode, again.stdout) == (0, ANSWER)


def test_it_is_run_by_the_names_of_its_entries_as_well(desk: Path) -> None:
    assert llmdo(desk, "run", "desk").stdout == ANSWER
    assert llmdo(desk, "run", "team.yaml", "--entry", "desk").stdout == ANSWER
    missing = llmdo(desk, "run", "team.yaml", "--entry", "dsk")
    assert "did you mean `desk`?" in missing.stderr
    assert llmdo(desk, "run", "team.yaml", "--locked").returncode == 0


def test_a_changed_team_does_not_run_locked(desk: Path) -> None:
    text = (desk / "team.yaml").read_text(encoding="utf-8")
    (desk / "team.yaml").write_text(text.replace("friendly", "unfriendly"), encoding="utf-8")
    done = llmdo(desk, "run", "team.yaml", "--locked")
    assert done.returncode != 0
    assert "LDO401" in done.stderr
    assert llmdo(desk, "lock", "team.yaml", "--check").returncode == 1
    assert llmdo(desk, "lock", "team.yaml").returncode == 0
    assert llmdo(desk, "check", "team.yaml", "--locked", "--strict").returncode == 0


@pytest.mark.parametrize(
    "words",
    [
        ("check", "--format", "json"),
        ("reach", "desk"),
        ("why", "desk", "fs.write"),
        ("graph", "desk"),
        ("suggest", "desk"),
        ("lock", "--check"),
    ],
)
def test_a_question_about_the_file_is_one_about_its_folder(words: tuple[str, ...], desk: Path) -> None:
    inside = llmdo(desk, *words)
    command, *rest = words
    by_file = llmdo(desk.parent, command, "issue_desk/team.yaml", *rest)
    assert (inside.returncode, inside.stdout) == (by_file.returncode, by_file.stdout)
    assert inside.returncode == 0


def test_a_change_of_it_is_told_with_its_lines(desk: Path) -> None:
    git(desk, "init", "--quiet")
    git(desk, "add", ".")
    git(desk, "commit", "--quiet", "--message", "one")
    text = (desk / "team.yaml").read_text(encoding="utf-8")
    wider = text.replace('write: ["drafts/**"]', 'write: ["drafts/**", "answers/**"]').replace(
        '"fs.write:drafts/**"]', '"fs.write:drafts/**", "fs.write:answers/**"]'
    )
    (desk / "team.yaml").write_text(wider, encoding="utf-8")
    done = llmdo(desk, "diff", "team.yaml", "HEAD", "--fail-on", "widened")
    assert done.returncode == 1
    assert "desk: WIDENED" in done.stdout
    assert "team.yaml:20:7" in done.stdout
    llmdo(desk, "lock")
    git(desk, "commit", "--quiet", "--all", "--message", "two")
    between = llmdo(desk, "diff", "HEAD~1..HEAD")
    assert "desk: WIDENED" in between.stdout
    assert "is not what its sources say" not in between.stderr


def test_a_refusal_and_a_reason_name_its_line(desk: Path) -> None:
    why = llmdo(desk, "why", "desk", "fs.write").stdout
    assert '"fs.write:drafts/**" = "allowed" (team.yaml)' in why
    assert "llmdo.toml" not in why


@pytest.mark.parametrize("entries", ["", "entries: { desk: { worker: desk } }\n"])
@pytest.mark.parametrize("words", [("suggest",), ("suggest", "--from-runs")])
def test_what_suggest_prints_is_yaml_that_check_accepts(
    entries: str, words: tuple[str, ...], desk: Path
) -> None:
    file = desk / "team.yaml"
    team = yaml.safe_load(file.read_text(encoding="utf-8"))
    del team["entries"], team["agents"]["desk"]["may"]
    file.write_text(yaml.safe_dump(team, sort_keys=False) + entries, encoding="utf-8")
    assert llmdo(desk, "run", "team.yaml", "Answer the open issues.", "--approve-all").returncode == 0

    printed = llmdo(desk, *words).stdout
    suggested = yaml.safe_load(printed)
    assert suggested["entries"]["desk"]["may"]
    assert " = " not in printed
    team["entries"] = {"desk": {"worker": "desk", **suggested["entries"]["desk"]}}
    team["check"] = suggested.get("check", {})
    file.write_text(yaml.safe_dump(team, sort_keys=False), encoding="utf-8")
    llmdo(desk, "lock")
    assert llmdo(desk, "check").stdout == "no findings\n"


def test_a_file_of_that_name_of_another_tool_is_no_manifest(tmp_path: Path) -> None:
    agents = 'version: "2"\nagents: {root: {instruction: Work., toolsets: [{type: shell}]}}\n'
    (tmp_path / "team.yaml").write_text(agents, encoding="utf-8")
    assert llmdo(tmp_path, "init", "--from", "docker-agent", ".").returncode == 0
    assert llmdo(tmp_path, "suggest").stdout.startswith("[entries.team-root]\nmay = ")


def test_what_is_to_be_written_is_said_of_its_own_name_and_in_yaml(desk: Path) -> None:
    file = desk / "team.yaml"
    team = yaml.safe_load(file.read_text(encoding="utf-8"))
    del team["approvals"]
    file.write_text(yaml.safe_dump(team, sort_keys=False), encoding="utf-8")
    asked = llmdo(desk, "run", "desk").stderr
    assert re.search(r'add `"fs.write:drafts/[a-z-]+.md": "allowed"` to approvals.rules in team.yaml', asked)
    del team["model"], team["entries"]["desk"]["input"]
    file.write_text(yaml.safe_dump(team, sort_keys=False), encoding="utf-8")
    no_input = llmdo(desk, "run", "desk", "--model", "script:models.yaml").stderr
    assert "set the entry's `input` in team.yaml" in no_input
    assert "name one with --model, or as `model` in team.yaml" in llmdo(desk, "run", "desk", "Hello.").stderr


def test_an_edit_by_llmdo_is_refused_with_the_way_to_a_workspace(desk: Path) -> None:
    done = llmdo(desk, "add", "rule", "fs.write", "allowed")
    assert done.returncode != 0
    assert "`team.yaml` is the manifest here" in done.stderr
    assert "llmdo init --from team.yaml" in done.stderr


@pytest.mark.parametrize("command", ["run", "check", "reach"])
@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("support.yaml", None, "`support.yaml` does not have the name of a team"),
        ("team.yaml", "version: '2'\nagents: {}\n", "`team.yaml` is no team of llmdo"),
        ("team.yaml", "", "`team.yaml` is no team of llmdo"),
    ],
)
def test_a_file_that_is_no_team_is_told(
    command: str, name: str, text: str | None, message: str, tmp_path: Path
) -> None:
    written(tmp_path, name=name) if text is None else written(tmp_path, text, name)
    done = llmdo(tmp_path, command, name)
    assert done.returncode == 2
    assert message in done.stderr
    assert "hint:" in done.stderr


def test_a_misspelt_file_is_told_from_an_entry(tmp_path: Path) -> None:
    written(tmp_path)
    done = llmdo(tmp_path, "run", "tem.yaml", "Hello.")
    assert "there is no file `tem.yaml`" in done.stderr
    assert "did you mean `team.yaml`?" in done.stderr


def test_every_command_finds_the_teams_of_a_repository(tmp_path: Path) -> None:
    written(tmp_path / "a")
    written(tmp_path / "b", "---\nteam: b\nagents:\n  c: {}\n---\n## c\nYou read.\n", "team.md")
    written(tmp_path / "c", "agents: {}\n")
    done = llmdo(tmp_path, "check", "--all", "--format", "json")
    assert {finding["path"] for finding in json.loads(done.stdout)["findings"]} == {
        "a/llmdo.lock",
        "a/team.yaml",
        "b/llmdo.lock",
    }


def test_a_scan_reads_it_by_its_own_rules(desk: Path) -> None:
    alone = llmdo(desk.parent, "scan", "issue_desk/team.yaml")
    assert alone.returncode == 0
    assert "the team `issue-desk` of llmdo with 2 agents" in " ".join(alone.stdout.split())
    data = json.loads(llmdo(desk, "scan", "--format", "json").stdout)
    assert data["teams"][0]["worst"] == {
        "entry": "desk",
        "capability": "fs.write:drafts/**",
        "decision": "allowed",
        "way": "desk > writer > filesystem",
    }
    text = (desk / "team.yaml").read_text(encoding="utf-8")
    (desk / "team.yaml").write_text(text.replace(', "fs.write:drafts/**"]', "]"), encoding="utf-8")
    failing = llmdo(desk.parent, "scan", ".", "--fail-on", "LDO501")
    assert failing.returncode == 1
    assert "has 1 error" in " ".join(failing.stdout.split())
    assert "## Teams of llmdo" in llmdo(desk, "scan", "--format", "markdown").stdout


def test_a_scan_reads_a_workspace_of_ours_by_its_own_rules(tmp_path: Path) -> None:
    llmdo(tmp_path, "init", "desk", "--template", "team")
    (tmp_path / "elsewhere.worker").write_text("---\nname: other\ntoolsets: [shell]\n---\nGo.\n")
    whole = json.loads(llmdo(tmp_path, "scan", "--format", "json").stdout)
    assert [(team["path"], team["name"]) for team in whole["teams"]] == [("desk/llmdo.toml", "desk")]
    assert [(each["format"], each["files"]) for each in whole["formats"]] == [
        ("llm-do", ["elsewhere.worker"])
    ]
    assert llmdo(tmp_path, "check", "desk/llmdo.toml").returncode == 0


def test_of_many_workspaces_a_scan_names_three(tmp_path: Path) -> None:
    for number in range(5):
        llmdo(tmp_path, "init", f"desk{number}", "--template", "minimal")
    text = llmdo(tmp_path, "scan").stdout
    assert "and 2 more teams of llmdo" in text
    assert text.count("enforced by") == 3
    assert llmdo(tmp_path, "scan", "--format", "markdown").stdout.count("enforced by") == 5


def test_a_scan_tells_our_teams_from_those_of_docker_agent(tmp_path: Path) -> None:
    written(
        tmp_path / "ours",
        "team: a\nagents:\n  triage: { prompt: Hi., toolsets: [answer] }\n  answer: { prompt: Hi. }\n",
    )
    theirs = "agents:\n  root:\n    model: openai/gpt-5-mini\n    instruction: You read.\n    toolsets: [{ type: shell }]\n"
    written(tmp_path / "theirs", theirs)
    data = json.loads(llmdo(tmp_path, "scan", "--format", "json").stdout)
    assert [team["path"] for team in data["teams"]] == ["ours/team.yaml"]
    assert [(each["format"], each["files"]) for each in data["formats"]] == [
        ("docker-agent", ["theirs/team.yaml"])
    ]
    assert data["unread"] == []


def test_its_schema_is_printed(tmp_path: Path) -> None:
    schema = json.loads(llmdo(tmp_path, "schema", "team").stdout)
    assert schema["required"] == ["team", "agents"]


def test_a_scan_leaves_no_team_out_in_silence(tmp_path: Path) -> None:
    for number in range(1_001):
        (tmp_path / f"t{number}").mkdir()
        (tmp_path / f"t{number}/team.yaml").write_text("team: t\nagents: {a: {prompt: Go.}}\n")
    done = llmdo(tmp_path, "scan")
    assert (done.returncode, "there are 1,001 teams of llmdo" in done.stderr) == (2, True), done
