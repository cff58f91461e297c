"""Items and their runs name each other, and have one title: made of the fields of the item, or of its input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Llmdo
from tests.support.locks import locked

from .conftest import inputs

MAIL = {"id": "refund-7", "subject": "Where is my money?", "text": "careful a"}


@pytest.fixture
def mail(root: Path) -> Path:
    """The workspace, whose runs are called by their subject."""
    manifest = root / "llmdo.toml"
    manifest.write_text(f'{manifest.read_text()}title = "{{subject}}"\n', encoding="utf-8")
    return locked(root)


def begun(llmdo: Llmdo, root: Path, *options: str) -> None:
    done = llmdo("batch", "main", "--inputs", "in.jsonl", *options, cwd=root)
    assert done.code in (0, 3), done.err


def listed(llmdo: Llmdo, root: Path) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads(llmdo("runs", "list", "--format", "json", cwd=root).out)["runs"]
    return sorted(runs, key=lambda run: str(run["title"]))


def test_a_run_names_its_item_and_has_a_title_of_its_fields(llmdo: Llmdo, mail: Path) -> None:
    inputs(mail, MAIL)
    begun(llmdo, mail, "--key", "id", "--input", "{text}")
    (run,) = listed(llmdo, mail)
    batch = json.loads(llmdo("batch", "list", "--format", "json", cwd=mail).out)["batches"][0]["batch"]
    assert run["title"] == "Where is my money?"
    assert run["item"] == {
        "batch": batch, "key": "refund-7", "eval": None, "evaluation": None, "case": None, "trial": None,
        "judge": None, "name": "refund-7",
    }  # fmt: skip
    assert "[refund-7] Where is my money?" in llmdo("runs", cwd=mail).out
    shown = llmdo("runs", "show", "last", cwd=mail).out
    assert f"  item refund-7 of batch {batch}; `llmdo batch show {batch}` lists all\n" in shown
    asked = llmdo("inbox", cwd=mail)
    assert "[refund-7] Where is my money?" in asked.out
    (question,) = json.loads(llmdo("inbox", "--format", "json", cwd=mail).out)["waiting"]
    assert (question["title"], question["item"]["key"]) == ("Where is my money?", "refund-7")


def test_a_run_that_goes_on_is_still_that_of_its_item(llmdo: Llmdo, mail: Path) -> None:
    inputs(mail, MAIL)
    begun(llmdo, mail, "--key", "id", "--input", "{text}")
    assert llmdo("approve", "last", "--yes", "main/careful#1", cwd=mail).code == 0
    assert llmdo("batch", "resume", "last", cwd=mail).code == 0
    (run,) = listed(llmdo, mail)
    assert (run["status"], run["title"]) == ("completed", "Where is my money?")


def test_a_batch_shows_the_title_of_each_item_even_before_it_begins(llmdo: Llmdo, mail: Path) -> None:
    inputs(mail, {"subject": "one", "text": "x"}, "no fields\nat all", {"text": "y"})
    assert llmdo("batch", "main", "--inputs", "in.jsonl", "--limit", "1", cwd=mail).code == 1
    shown = llmdo("batch", "show", "last", "--format", "json", cwd=mail)
    titles = [row["title"] for row in json.loads(shown.out)["rows"]]
    assert titles == ["one", "no fields", '{"text": "y"}']
    lines = llmdo("batch", "show", "last", cwd=mail).out.splitlines()
    assert [line.strip() for line in lines[3::2]] == titles
    assert [run["title"] for run in listed(llmdo, mail)] == titles[:1]


def test_a_file_is_an_item_whose_fields_are_its_names(llmdo: Llmdo, root: Path) -> None:
    manifest = root / "llmdo.toml"
    manifest.write_text(f'{manifest.read_text()}title = "{{stem}} of {{name}}"\n', encoding="utf-8")
    locked(root)
    (root / "a.md").write_text("hello", encoding="utf-8")
    (root / "b.json").write_text('{"name": "Kim"}', encoding="utf-8")
    assert llmdo("batch", "main", "--inputs", "[ab].*", cwd=root).code == 0
    assert [run["title"] for run in listed(llmdo, root)] == ["a of a.md", "b of Kim"]


def test_a_title_with_a_secret_is_not_put_in(
    llmdo: Llmdo, mail: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "31415926535")
    inputs(mail, {"subject": "31415926535", "text": "x"})
    done = llmdo("batch", "main", "--inputs", "in.jsonl", "--input", "{text}", cwd=mail)
    assert done.code == 2
    assert "the input holds the value of `ACME_API_KEY`" in done.err
    assert listed(llmdo, mail) == []


def test_half_a_character_in_a_title_is_a_mistake_of_its_line(llmdo: Llmdo, mail: Path) -> None:
    (mail / "in.jsonl").write_text('{"subject": "\\ud800", "text": "x"}\n', encoding="utf-8")
    done = llmdo("batch", "main", "--inputs", "in.jsonl", "--input", "{text}", cwd=mail)
    assert (done.code, "in.jsonl:1: half of a surrogate pair" in done.err) == (2, True)


def test_a_try_of_one_item_shows_what_its_model_was_given(llmdo: Llmdo, mail: Path) -> None:
    inputs(mail, MAIL, {"subject": "two", "text": "wrong"})
    words = ("--inputs", "in.jsonl", "--input", "{text} of {subject}", "--limit", "1")
    done = llmdo("batch", "main", *words, "--format", "json", cwd=mail)
    assert json.loads(done.out)["items"]["queued"] == 1
    (run,) = listed(llmdo, mail)
    assert done.err.splitlines()[1:7] == [
        f"item 1, 1, run {run['run']}",
        "main: request 1 of main to python:models.py:rules",
        '  instructions: "Go."',
        "  tools: effect, careful",
        '  given input: "careful a of Where is my money?"',
        '  answered call of careful at main/careful#1: {"name": "a of Where is my money?"}',
    ]
    failed = llmdo("batch", "resume", "last", "--limit", "1", cwd=mail).err
    assert '  input: "wrong of two"' in failed
    assert "item 1, " not in llmdo("batch", "main", "--inputs", "in.jsonl", cwd=mail).err


def span(root: Path, run: object) -> dict[str, str]:
    lines = (root / "traces" / f"{run}.jsonl").read_text(encoding="utf-8").splitlines()
    attributes: dict[str, str] = json.loads(lines[-1])["attributes"]
    return attributes


def test_the_span_of_a_run_names_its_item(llmdo: Llmdo, mail: Path) -> None:
    inputs(mail, MAIL)
    begun(llmdo, mail, "--key", "id", "--input", "{text}")
    (run,) = listed(llmdo, mail)
    assert llmdo("resume", "last", "--approve-all", "--trace-dir", "traces", cwd=mail).code == 0
    attributes = span(mail, run["run"])
    assert attributes["llmdo.item.batch"] == run["item"]["batch"]
    assert attributes["llmdo.item.key"] == "refund-7"
    assert "Where is my money?" not in attributes.values()


def test_a_span_has_a_title_on_request_and_no_half_of_a_secret(
    llmdo: Llmdo, mail: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "31415926535")
    text = "x" * 112 + " 31415926535"
    assert llmdo("run", "main", text, "--trace-dir", "traces", "--trace-content", cwd=mail).code == 0
    (run,) = listed(llmdo, mail)
    assert span(mail, run["run"])["llmdo.title"] == "x" * 112 + " [redac…"
