"""Where the journals of a workspace are: by the option, by `LLMDO_STORE`, or by a variable that the manifest names."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli.completion import _arguments
from llmdo.journal import Runs
from llmdo.journal.opening import address_of, runs_of
from tests.support.commands import llmdo
from tests.support.locks import locked

MODELS = """\
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

main = FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart("done")]))
"""


def workspace(root: Path, line: str) -> Path:
    (root / "models.py").write_text(MODELS)
    (root / "llmdo.toml").write_text(
        f'schema = 1\n\n[workspace]\nname = "w"\nworkers = ["*.worker"]\nmodel = "python:models.py:main"\n{line}\n'
    )
    (root / "main.worker").write_text("---\nname: main\nentry: true\n---\nGo.\n")
    return root


def test_an_address_in_the_manifest_is_a_finding(tmp_path: Path) -> None:
    workspace(tmp_path, 'store = "postgresql://u:p@db/acme"')
    checked = llmdo(tmp_path, "check")
    assert checked.returncode == 1
    assert "an address is not the name of an environment variable, and may hold a password" in checked.stdout
    assert "put it into a variable such as ACME_STORE, and name that one here" in checked.stdout
    workspace(tmp_path, 'store = "a-b"')
    assert "`a-b` is not the name of an environment variable" in llmdo(tmp_path, "check").stdout


def test_the_manifest_names_a_variable_and_the_environment_comes_first(tmp_path: Path) -> None:
    root = workspace(tmp_path, 'store = "ACME_STORE"')
    assert (
        address_of(root, {"ACME_STORE": "postgresql://a", "LLMDO_STORE": "postgresql://b"})
        == "postgresql://b"
    )
    assert address_of(root, {"ACME_STORE": "postgresql://a"}) == "postgresql://a"
    assert isinstance(runs_of(root, {"ACME_STORE": "postgresql://a", "LLMDO_STORE": ""}), Runs)
    for environ in ({}, {"ACME_STORE": ""}):
        with pytest.raises(LlmdoError, match="names the variable `ACME_STORE`, which is not set"):
            runs_of(root, environ)
    assert address_of(workspace(tmp_path, ""), {}) is None
    (root / "llmdo.toml").write_text("store [")
    assert address_of(root, {}) is None  # whoever reads the workspace says what is wrong


def test_a_run_without_the_variable_does_not_start(tmp_path: Path) -> None:
    root = locked(workspace(tmp_path, 'store = "ACME_STORE"'))
    done = llmdo(root, "run", "main", "x")
    assert (done.returncode, "which is not set" in done.stderr) == (2, True)
    assert not (root / ".llmdo" / "runs").exists()
    assert llmdo(root, "run", "main", "x", "--store", "").returncode == 0
    assert len(Runs(root).names()) == 1
    assert "which is not set" in llmdo(root, "doctor").stdout


def test_completion_offers_no_runs_that_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = workspace(tmp_path, "")
    Runs(root).create("r1").close()
    assert [*_arguments("resume", 0, root)] == ["r1"]
    workspace(tmp_path, 'store = "ACME_STORE"')
    assert [*_arguments("resume", 0, root)] == []
    monkeypatch.setenv("LLMDO_STORE", "")
    assert [*_arguments("resume", 0, root)] == ["r1"]


@pytest.mark.long
@pytest.mark.fleet
def test_commands_keep_to_the_store_that_the_manifest_names(
    tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_STORE", store)
    root = locked(workspace(tmp_path, 'store = "ACME_STORE"'))
    assert llmdo(root, "fleet", "store", "migrate").stderr == "the store is up to date\n"
    assert llmdo(root, "run", "main", "x").stdout == "done\n"
    assert Runs(root).names() == []
    assert "completed" in llmdo(root, "runs").stdout
    doctor = llmdo(root, "doctor").stdout
    assert "1 kept in the store `" in doctor
    assert store not in doctor


@pytest.mark.fleet
def test_an_exported_run_is_taken_into_a_store(tmp_path: Path, store: str) -> None:
    root = locked(workspace(tmp_path, ""))
    assert llmdo(root, "run", "main", "x").returncode == 0
    run = Runs(root).find("last")
    assert llmdo(root, "runs", "export", "last", "out.sqlite").returncode == 0
    taken = llmdo(root, "runs", "import", "out.sqlite", "--store", store)
    assert (taken.returncode, taken.stdout) == (0, f"{run}\n"), taken.stderr
    stored_runs = runs_of(root, {"LLMDO_STORE": store})
    assert stored_runs.names() == [run]
    with stored_runs.read(run, whole=True) as here, Runs(root).read(run) as original:
        added = [*(row.entry.kind for row in here.rows())]
        assert added == [*(row.entry.kind for row in original.rows()), "sources", "imported"]
        assert [*here.lines()] == [*original.lines()]
        assert here.last("imported") is not None
    again = llmdo(root, "runs", "import", "out.sqlite", "--store", store)
    assert (again.returncode, "is here already" in again.stderr) == (2, True)
    assert llmdo(root, "runs", "replay", run, "--store", store).stdout == "done\n"
    assert "the chain holds" in llmdo(root, "runs", "audit", run, "--verify", "--store", store).stdout
    assert not [*root.rglob("*.part")]
