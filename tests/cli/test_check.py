"""`llmdo check` as a command: what it prints where, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest

from llmdo.cli.check import CheckOptions, parse, repository_folder
from llmdo.render.formats import FOR_PEOPLE, Format

from .conftest import Llmdo

MANIFEST = 'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\nmodel = "test"\n'
MACHINE = [form for form in get_args(Format) if form not in FOR_PEOPLE]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    (tmp_path / "main.worker").write_text("---\nname: main\nentry: true\n---\nGo.\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("form", get_args(Format))
def test_every_format_is_answered_without_the_command_line_library(form: Format) -> None:
    assert parse(["--format", form, "--fix"]) == CheckOptions(format=form, fix=True)


@pytest.mark.parametrize("form", MACHINE)
def test_a_machine_format_is_all_there_is_on_standard_output(form: str, root: Path, llmdo: Llmdo) -> None:
    (root / "main.worker").write_text("---\nname: main\ntoolsets: [x]\n---\nGo.\n", encoding="utf-8")
    done = llmdo("check", "--project", str(root), "--format", form)
    assert (done.code, done.err) == (1, "")
    assert "LDO202" in done.out
    if form == "junit":
        ElementTree.fromstring(done.out)
    elif form != "github":
        json.loads(done.out)


@pytest.mark.parametrize("form", get_args(Format))
def test_without_a_workspace_machine_formats_are_well_formed_and_a_person_is_told(
    form: str, tmp_path: Path, llmdo: Llmdo
) -> None:
    done = llmdo("check", "--project", str(tmp_path), "--format", form)
    assert done.code == 2
    assert "has no `llmdo.toml`" in done.err
    match form:
        case "text" | "concise":
            assert done.out == ""
        case "github":
            assert done.out.startswith("::error title=llmdo check::")
        case "junit":
            assert ElementTree.fromstring(done.out).get("errors") == "1"
        case _:
            assert "llmdo.toml" in json.dumps(json.loads(done.out))


def test_github_gets_a_step_summary_after_what_the_step_wrote_before(
    root: Path, llmdo: Llmdo, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = root / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(root.parent))
    done = llmdo("check", "--project", str(root), "--format", "github")
    assert done.code == 0
    assert done.out.startswith(f"::notice file={root.name}/llmdo.lock,")
    assert summary.read_text(encoding="utf-8").startswith("before\n## llmdo check\n\n1 note.\n")
    llmdo("check", "--project", str(root), "--format", "sarif")
    assert summary.read_text(encoding="utf-8").count("## llmdo check") == 1


def test_a_step_summary_that_cannot_be_written_is_reported_and_changes_nothing(
    root: Path, llmdo: Llmdo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(root))
    done = llmdo("check", "--project", str(root), "--format", "github")
    assert done.code == 0
    assert "no step summary was written" in done.err


def test_the_folder_in_the_repository_is_taken_from_where_the_service_checked_it_out(tmp_path: Path) -> None:
    inside = tmp_path / "team" / "agents"
    inside.mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "team")
    assert repository_folder(inside, {}) == ""
    assert repository_folder(inside, {"GITHUB_WORKSPACE": str(tmp_path)}) == "team/agents/"
    assert repository_folder(inside, {"CI_PROJECT_DIR": str(tmp_path / "link")}) == "agents/"
    assert repository_folder(inside, {"GITHUB_WORKSPACE": str(inside)}) == ""
    assert repository_folder(inside, {"GITHUB_WORKSPACE": str(inside / "deeper")}) == ""


def test_what_the_manifest_ignores_is_not_reported(root: Path, llmdo: Llmdo) -> None:
    text = MANIFEST.replace('"*.worker"', '"*.worker", "x/*"')
    words = ("check", "--project", str(root), "--format", "concise", "--strict")
    (root / "llmdo.toml").write_text(text, encoding="utf-8")
    assert llmdo(*words).code == 1
    for table in ('ignore = ["pattern-without-match"]', 'select = ["LDO2"]', 'ignore = ["LDO11"]'):
        (root / "llmdo.toml").write_text(f"{text}[check]\n{table}\n", encoding="utf-8")
        done = llmdo(*words)
        assert (done.code, done.out) == (0, "llmdo.lock: note[LDO402]: there is no `llmdo.lock`\n")


@pytest.mark.parametrize("table", ["select = []", 'ignore = ["LDO2"]'])
def test_syntax_the_lock_and_authority_are_reported_whatever_is_selected(
    table: str, root: Path, llmdo: Llmdo
) -> None:
    (root / "bad.worker").write_text("no header\n", encoding="utf-8")
    (root / "main.worker").write_text(
        "---\nname: main\nentry: true\ntoolsets: {nobody: {}, filesystem: {}}\n---\nGo.\n", encoding="utf-8"
    )
    text = f'{MANIFEST}[entries.e]\nworker = "main"\nmay = ["net"]\n[check]\n{table}\n'
    (root / "llmdo.toml").write_text(text, encoding="utf-8")
    done = llmdo("check", "--project", str(root), "--format", "json")
    codes = {finding["code"] for finding in json.loads(done.out)["findings"]}
    assert codes >= {"LDO109", "LDO402", "LDO501"}
    assert "LDO202" not in codes
