"""What `llmdo run` starts, of a workspace and of files alone, and what it refuses before anything runs."""

from __future__ import annotations

import gc
import io
import sys
from pathlib import Path

import pytest

from llmdo.cli import garbage
from tests.support.building import MODELS
from tests.support.commands import llmdo

MANIFEST = """
schema = 1
[workspace]
name = "desk"
workers = ["*.worker"]
[models]
fast = "test"
[entries.first]
worker = "main"
input = "go"
[entries.second]
worker = "main"
input = "again"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("main", "helper", "other"):
        (tmp_path / f"{name}.worker").write_text(
            f"---\nname: {name}\nmodel: python:models.py:{name}\n---\nGo.\n", encoding="utf-8"
        )
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    scripts = ", ".join(f'"{name}": ["{name} heard {{prompt}}"]' for name in ("main", "helper", "other"))
    (tmp_path / "scripts.json").write_text(f"{{{scripts}}}", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["helper.worker", "hi"], "helper heard hi\n"),
        (["main.worker", "helper.worker", "hi"], "main heard hi\n"),
        (["main.worker", "helper.worker", "hi", "--entry", "helper"], "helper heard hi\n"),
        (["helper.worker", "helper"], "helper heard helper\n"),
        (["main.worker", "--input", "hi"], "main heard hi\n"),
    ],
    ids=" ".join,
)
def test_of_files_the_only_worker_starts_or_main_or_the_named_one(
    words: list[str], output: str, folder: Path
) -> None:
    done = llmdo(folder, "run", *words)
    assert (done.returncode, done.stdout) == (0, output), done.stderr


def test_of_files_without_a_main_somebody_has_to_say_which(folder: Path) -> None:
    done = llmdo(folder, "run", "helper.worker", "other.worker", "hi")
    assert done.returncode == 2
    assert done.stderr == "error: which entry?\n  hint: one of: helper, other, with `--entry NAME`\n"
    unknown = llmdo(folder, "run", "helper.worker", "other.worker", "hi", "--entry", "helpr")
    assert unknown.stderr == "error: there is no entry `helpr`\n  hint: did you mean `helper`?\n"


def test_of_files_a_worker_that_says_so_itself_comes_first(folder: Path) -> None:
    text = (folder / "helper.worker").read_text(encoding="utf-8")
    (folder / "helper.worker").write_text(text.replace("---\n", "---\nentry: true\n", 1), encoding="utf-8")
    assert llmdo(folder, "run", "main.worker", "helper.worker", "hi").stdout == "helper heard hi\n"


def test_the_entry_of_a_workspace_may_be_named_by_its_option(folder: Path) -> None:
    (folder / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    assert llmdo(folder, "run", "--entry", "second").stdout == "main heard again\n"
    assert llmdo(folder, "run", "--entry", "first", "second").stdout == "main heard second\n"


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (
            ["--model", "opnai:gpt-5"],
            "`--model opnai:gpt-5`: `opnai` is not a model provider that llmdo knows",
            "did you mean `openai:gpt-5`?",
        ),
        (
            ["--model", "main=opnai:gpt-5"],
            "`--model main=opnai:gpt-5`: `opnai` is not a model provider that llmdo knows",
            "did you mean `openai:gpt-5`?",
        ),
        (
            ["--model", "fsat"],
            "`--model fsat`: `fsat` is neither an alias of [models] nor of the form provider:model",
            "did you mean `fast`?",
        ),
        (
            ["--path", "kb=nosuch.md"],
            "`--path kb=nosuch.md`: there is no `nosuch.md`",
            "its path is relative to the workspace",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_option_that_names_nothing_refuses_the_run_although_nobody_would_use_it(
    words: list[str], message: str, hint: str, folder: Path
) -> None:
    (folder / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    done = llmdo(folder, "run", "first", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"error: {message}\n  hint: {hint}\n")
    assert not (folder / ".llmdo").exists()


def test_the_environments_model_is_held_to_the_same(folder: Path) -> None:
    (folder / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    done = llmdo(folder, "run", "first", environ={"LLMDO_MODEL": "opnai:gpt-5"})
    assert (done.returncode, "`LLMDO_MODEL=opnai:gpt-5`" in done.stderr) == (2, True)


def test_an_empty_standard_input_is_no_input(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    done = llmdo(folder, "run", "first", "-")
    assert done.returncode == 2
    assert "error: standard input is empty" in done.stderr
    from llmdo.cli import app

    monkeypatch.setattr(sys, "stdin", io.StringIO("from a pipe"))
    monkeypatch.chdir(folder)
    assert app.run(["run", "first", "-"]) == 0


def test_garbage_is_looked_for_as_usual_once_a_run_begins(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, frozen = gc.get_threshold(), []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(True))
    (folder / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    try:
        for _ in range(2):
            assert llmdo(folder, "run", "first").returncode == 0
            assert gc.get_threshold() == usual, "it was not put off"
        garbage.postpone()
        assert gc.isenabled()
        for _ in range(2):
            assert llmdo(folder, "run", "first").returncode == 0
            assert gc.get_threshold()[0] == garbage.USUAL
        assert frozen == [True], "once: what the first run leaves is garbage"
    finally:
        gc.set_threshold(*usual)
