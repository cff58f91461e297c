"""`llmdo runs list --where` chooses runs by what is known of them, over files and over a database."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Llmdo
from tests.support.locks import locked

from .conftest import inputs

CHOICES = {
    (): {"refund", "hello", "wrong", "-"},
    ("label = data.untrusted",): {"refund", "hello", "wrong"},
    ("label = data",): {"refund", "hello", "wrong"},
    ("label ~ UNTRUSTED",): {"refund", "hello", "wrong"},
    ("label != data.untrusted",): {"-"},
    ("label = data.untrusted:x",): set[str](),
    ("title ~ MONEY",): {"refund"},
    ("title = Where is my money?",): {"refund"},
    ("title != Where is my money?", "entry = main"): {"hello", "wrong", "-"},
    ("money",): {"refund"},
    ("refund",): {"refund"},
    ("item = hello",): {"hello"},
    ("state = failed",): {"wrong"},
    ("status != failed and status != completed",): {"refund"},
    ("error ~ this input",): {"wrong"},
    ("questions > 0",): {"refund"},
    ("requests >= 1 and denied = 0",): {"refund", "hello", "wrong", "-"},
    ("cost >= 0",): {"refund", "hello", "-"},
    ("cost > 0.1",): set[str](),
    ("batch ~ 20",): {"refund", "hello", "wrong"},
    ("eval = support",): set[str](),
}  # fmt: skip


@pytest.fixture(params=["files", pytest.param("database", marks=pytest.mark.fleet)])
def kept(request: pytest.FixtureRequest, llmdo: Llmdo, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a run of each of three items, which waits, is complete, or failed, and one by hand."""
    if request.param == "database":
        monkeypatch.setenv("LLMDO_STORE", request.getfixturevalue("store"))
    manifest = root / "llmdo.toml"
    flows = '[flows]\n"data.untrusted -> x.effects" = "needs_approval"\n'
    manifest.write_text(f'{manifest.read_text()}title = "{{subject}}"\n{flows}', encoding="utf-8")
    locked(root)
    inputs(
        root,
        {"id": "refund", "subject": "Where is my money?", "text": "careful a"},
        {"id": "hello", "subject": "Hello", "text": "careful b"},
        {"id": "wrong", "subject": "Wrong", "text": "wrong"},
    )
    words = ("batch", "main", "--inputs", "in.jsonl", "--key", "id", "--input", "{text}")
    assert llmdo(*words, cwd=root).code == 1
    run = next(run["run"] for run in chosen(llmdo, root) if run["item"]["key"] == "hello")
    assert llmdo("approve", run, "--yes", "main/careful#1", cwd=root).code == 0
    assert llmdo("batch", "resume", "last", cwd=root).code == 1
    assert llmdo("run", "main", "by hand", cwd=root).code == 0
    return root


def chosen(llmdo: Llmdo, root: Path, *where: str) -> list[dict[str, Any]]:
    words = [word for each in where for word in ("--where", each)]
    done = llmdo("runs", "list", "--format", "json", *words, cwd=root)
    assert done.code == 0, done.err
    runs: list[dict[str, Any]] = json.loads(done.out)["runs"]
    return runs


def test_runs_are_chosen_by_what_is_known_of_them(llmdo: Llmdo, kept: Path) -> None:
    assert "postgres" in os.environ.get("LLMDO_STORE", "") or (kept / ".llmdo" / "runs").is_dir()
    for where, keys in CHOICES.items():
        assert {run["item"]["key"] if run["item"] else "-" for run in chosen(llmdo, kept, *where)} == keys, (
            where
        )
    limited = llmdo("runs", "--where", "entry = main", "--limit", "1", cwd=kept).out
    assert len(limited.splitlines()) == 1
    assert llmdo("runs", "--where", "title ~ nothing", cwd=kept).out == ""


def test_a_misspelt_condition_is_a_mistake(llmdo: Llmdo, root: Path) -> None:
    for words in (("runs", "--where", "tilte ~ x"), ("runs", "list", "--where", "tilte ~ x")):
        done = llmdo(*words, cwd=root)
        assert (done.code, "did you mean `title`? there are run, entry" in done.err) == (2, True)
    done = llmdo("runs", "--status", "faild", cwd=root)
    assert (done.code, "did you mean `failed`?" in done.err) == (2, True)
    before = llmdo("runs", "--where", "x", "show", "last", cwd=root)
    assert (before.code, "options come after the command" in before.err) == (2, True)
