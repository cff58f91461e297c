"""`replay:FILE.sqlite`: a model that plays a recording, with tools that really run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmdo.journal import Runs

from .conftest import Llmdo
from .test_approve import DELEGATING, files, requests

RECORDED = "recordings/write.sqlite"
SAID = "write_file:out/a.txt:hello"


def record(llmdo: Llmdo, root: Path, message: str) -> str:
    """Records a run, and has the recording be the model of everything; what the run said."""
    done = llmdo("run", "main", message, "--approve-all", cwd=root)
    (root / "recordings").mkdir()
    assert llmdo("runs", "export", "last", RECORDED, cwd=root).code == 0
    manifest = root / "llmdo.toml"
    manifest.write_text(manifest.read_text().replace("python:models.py:rules", f"replay:{RECORDED}"))
    return done.out


@pytest.fixture
def played(workspace: Path, llmdo: Llmdo) -> Path:
    """A workspace whose model plays how `main` wrote a file, which is not there any more."""
    record(llmdo, workspace, SAID)
    (workspace / "models.py").unlink()
    (workspace / "out" / "a.txt").unlink()
    return workspace


def test_a_recording_answers_and_its_tools_really_run(llmdo: Llmdo, played: Path) -> None:
    before = (played / RECORDED).read_bytes()
    done = llmdo("run", "main", SAID, "--approve-all", cwd=played)
    assert done.code == 0, done.err
    assert (played / "out" / "a.txt").read_text() == "hello"
    assert (played / RECORDED).read_bytes() == before
    assert llmdo("replay", "last", cwd=played).out == done.out
    (played / "out" / "a.txt").unlink()
    assert llmdo("run", "main", SAID, "--approve-all", "--no-journal", cwd=played).out == done.out


def test_a_request_that_was_not_recorded_is_an_error_and_nobody_else_is_asked(
    llmdo: Llmdo, played: Path
) -> None:
    (played / "models.py").write_text("raise SystemExit('asked')\n")
    manifest = (played / "llmdo.toml").read_text()
    chain = f'[models]\nfast = ["replay:{RECORDED}", "test"]\n'
    (played / "llmdo.toml").write_text(manifest.replace(f"replay:{RECORDED}", "fast") + chain)
    other = llmdo("run", "main", "something else", cwd=played)
    assert other.code == 1
    assert (
        f"main: request 1 is not the one in `{RECORDED}`: input differs from the recorded input" in other.err
    )
    worker = played / "main.worker"
    worker.write_text(worker.read_text().replace("Go.", "Go on."))
    changed = llmdo("run", "main", SAID, cwd=played)
    assert f"main: request 1 is not the one in `{RECORDED}`: its prompt changed" in changed.err
    worker.write_text(worker.read_text().replace("Go on.", "Go.").replace("name: main", "name: other"))
    (played / "llmdo.toml").write_text(
        (played / "llmdo.toml").read_text().replace('worker = "main"', 'worker = "other"')
    )
    elsewhere = llmdo("run", "main", SAID, cwd=played)
    assert f"other: request 1 is not in `{RECORDED}`, which holds requests of main" in elsewhere.err
    assert not (played / "out" / "a.txt").exists()


def test_a_result_that_is_not_the_recorded_one_is_reported_at_its_place(llmdo: Llmdo, played: Path) -> None:
    refused = llmdo("run", "main", SAID, "--reject-all", cwd=played)
    assert f"main: request 2 is not the one in `{RECORDED}`: result of `write_file` differs" in refused.err


@pytest.mark.long
def test_each_of_several_delegates_gets_its_own_answers(llmdo: Llmdo, workspace: Path) -> None:
    (workspace / "models.py").write_text(DELEGATING)
    (workspace / "main.worker").write_text("---\nname: main\ntoolsets: [writer]\n---\nGo.\n")
    (workspace / "writer.worker").write_text(
        '---\nname: writer\ntoolsets:\n  filesystem: { write: ["out/**"] }\n---\nWrite.\n'
    )
    answer = record(llmdo, workspace, "go")
    for path in (workspace / "out").iterdir():
        path.unlink()
    before = requests(workspace)
    assert llmdo("run", "main", "go", "--approve-all", cwd=workspace).out == answer
    assert files(workspace) == ["0.txt", "1.txt", "2.txt"]
    assert requests(workspace) == before


def test_another_recording_is_drift(llmdo: Llmdo, played: Path) -> None:
    assert llmdo("lock", cwd=played).code == 0
    assert llmdo("check", "--locked", cwd=played).code == 0
    with (played / RECORDED).open("ab") as file:
        file.write(b"more")
    stale = llmdo("check", "--locked", cwd=played)
    assert stale.code == 1
    assert f"out of date for model `replay:{RECORDED}`: its source changed" in stale.out


def test_a_recording_on_the_command_line_lies_in_the_workspace(
    llmdo: Llmdo, played: Path, tmp_path: Path
) -> None:
    manifest = played / "llmdo.toml"
    manifest.write_text(manifest.read_text().replace(f'model = "replay:{RECORDED}"\n', ""))
    replayed = llmdo("run", "main", SAID, "--approve-all", "--model", f"replay:{RECORDED}", cwd=played)
    assert replayed.code == 0, replayed.err
    (tmp_path / "outside.sqlite").write_bytes((played / RECORDED).read_bytes())
    (played / "link.sqlite").symlink_to(tmp_path / "outside.sqlite")
    for odd, why in (
        ("../outside.sqlite", "is not a path inside the workspace"),
        ("link.sqlite", "is a link"),
        ("none.sqlite", "does not exist"),
        ("models", "is not of the form replay:FILE.sqlite"),
    ):
        refused = llmdo("run", "main", SAID, "--model", f"replay:{odd}", cwd=played)
        assert (refused.code, why in refused.err) == (2, True), refused.err


def test_doctor_knows_that_a_recording_needs_no_key(llmdo: Llmdo, played: Path) -> None:
    report = json.loads(llmdo("doctor", "--format", "json", cwd=played).out)
    [item] = [entry for entry in report["items"] if entry["section"] == "models"]
    assert (item["name"], item["problem"]) == (f"replay:{RECORDED}", None)
    assert "no key is needed" in item["state"]


def test_a_recording_of_a_recording_is_not_exported_with_it(llmdo: Llmdo, played: Path) -> None:
    llmdo("run", "main", SAID, "--approve-all", cwd=played)
    refused = llmdo("runs", "export", "last", "again.sqlite", cwd=played)
    assert f"`replay:{RECORDED}` plays a recording, which an export does not bring" in refused.err
    assert llmdo("runs", "export", "last", "again.sqlite", "--no-sources", cwd=played).code == 0
    assert len(Runs(played).names()) == 2
