"""What commands say about runs of the past, and how the list of commands reads."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from llmdo.cli.app import command_line
from llmdo.graph.toolkit import START
from llmdo.journal.decided import DecidedCall
from llmdo.journal.tree import STARTS, Node
from tests.support.building import script
from tests.support.commands import llmdo

MANIFEST = """
schema = 1
[workspace]
name = "desk"
workers = ["*.worker"]
[entries.main]
worker = "main"
input = "go"
[entries.other]
worker = "main"
input = "go"
[entries.typed]
worker = "typed"
input = "go"
"""
SCHEMAS = "from pydantic import BaseModel\n\nclass Score(BaseModel):\n    points: int\n"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    (tmp_path / "schemas.py").write_text(SCHEMAS, encoding="utf-8")
    for name, more in (("main", ""), ("typed", "schema_out_ref: schemas.py:Score\n")):
        header = f"---\nname: {name}\nmodel: python:models.py:{name}\n{more}---\nGo.\n"
        (tmp_path / f"{name}.worker").write_text(header, encoding="utf-8")
    script(tmp_path, main=["done"], typed=[[("final_result", {"points": 3})]])
    return tmp_path


def test_runs_alone_takes_the_options_of_its_list(desk: Path) -> None:
    for entry in ("main", "other"):
        assert llmdo(desk, "run", entry).returncode == 0
    for options in (["--entry", "other"], ["--limit", "1"], ["--format", "json"], ["--status=completed"]):
        listed = llmdo(desk, "runs", "list", *options)
        assert llmdo(desk, "runs", *options).stdout == listed.stdout != ""
    assert len(llmdo(desk, "runs", "--entry", "other").stdout.splitlines()) == 1
    odd = llmdo(desk, "runs", "--limit", "many")
    assert (odd.returncode, "many" in odd.stderr) == (2, True)
    before = llmdo(desk, "runs", "--limit", "1", "show", "last")
    assert (before.returncode, before.stdout) == (2, "")
    assert "options come after the command" in before.stderr


def test_approving_in_a_run_that_is_complete_says_so(desk: Path) -> None:
    run = json.loads(llmdo(desk, "run", "main", "--format", "json").stdout)["run"]
    done = llmdo(desk, "approve", "last")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: run `{run}` is complete: nothing in it waits for an answer\n"


def test_a_run_that_is_over_shows_how_long_its_worker_took(desk: Path) -> None:
    llmdo(desk, "run", "main")
    shown = llmdo(desk, "runs", "show", "last").stdout
    assert re.search(r"^  main  \+\d+\.\d\d s, took \d+\.\d\d s, 1 request", shown, re.MULTILINE)
    assert "not ended" not in shown


def test_the_start_of_a_server_is_no_call_that_did_not_end() -> None:
    assert [*START] == [STARTS]
    call = DecidedCall(
        path="main/read#1",
        worker="main",
        toolset="filesystem",
        tool="read",
        arguments={},
        raised=(),
        declared=(),
        decision="allowed",
        allowed=True,
        by="rules",
        reasons=(),
    )
    decided = Node(path=f"main/notes{STARTS}", began=1.0, ended=1.0, decisions=[call])
    called = Node(path="main/read#1", began=1.0, ended=1.0, decisions=[call])
    assert (decided.only_decided, called.only_decided) == (True, False)


def test_a_typed_output_is_json_within_json(desk: Path) -> None:
    assert json.loads(llmdo(desk, "run", "typed", "--format", "json").stdout)["output"] == {"points": 3}
    assert json.loads(llmdo(desk, "resume", "last", "--format", "json").stdout)["output"] == {"points": 3}
    assert llmdo(desk, "run", "typed").stdout == '{"points":3}\n'
    assert json.loads(llmdo(desk, "run", "main", "--format", "json").stdout)["output"] == "done"


def listed(text: str) -> list[str]:
    """The groups of a help, each followed by its commands."""
    return re.findall(r"^(?:  )?(\w+)(?=:$|  )", text.split("-h, --help", 1)[1], re.MULTILINE)


def test_the_first_help_lists_eleven_commands_in_five_groups(tmp_path: Path) -> None:
    text = llmdo(tmp_path, "--help").stdout
    assert " ".join(listed(text)) == (
        "Begin scan new Prove check reach diff lock Run run inbox Look runs page Operate fleet"
    )
    assert "llmdo help all" in text
    assert llmdo(tmp_path).stdout == llmdo(tmp_path, "help").stdout == llmdo(tmp_path, "-h").stdout == text


def test_help_all_lists_every_command_in_its_order_with_its_whole_first_sentence(tmp_path: Path) -> None:
    text = llmdo(tmp_path, "help", "all").stdout
    assert " ".join(listed(text)) == (
        "Begin scan new init add remove import trust Prove check reach diff lock suggest explain "
        "Run run chat batch resume inbox approve eval Look runs page Operate fleet hook serve doctor "
        "Develop schema lsp completion"
    )
    assert "..." not in text.split("Begin:")[1]
    flat = " ".join(text.split())
    for command in command_line().registered_commands:
        sentence = " ".join((command.callback.__doc__ or "").split()).partition(". ")[0]  # type: ignore[union-attr]
        assert sentence in flat
    assert listed(llmdo(tmp_path, "help", "dev").stdout) == ["Develop", "schema", "lsp", "completion"]


@pytest.mark.parametrize("words", [["fleet"], ["runs", "show"], ["check"], ["why"]], ids=" ".join)
def test_help_of_a_command_is_that_of_its_option(tmp_path: Path, words: list[str]) -> None:
    text = llmdo(tmp_path, "help", *words)
    assert text.returncode == 0
    assert text.stdout == llmdo(tmp_path, *words, "--help").stdout
    narrow = llmdo(tmp_path, "help", *words, environ={**os.environ, "COLUMNS": "60"})
    assert (narrow.returncode, "Usage: llmdo" in narrow.stdout) == (0, True)


def test_a_narrow_terminal_gets_the_same_help(tmp_path: Path) -> None:
    for words in ([], ["all"], ["dev"]):
        narrow = llmdo(tmp_path, "help", *words, environ={**os.environ, "COLUMNS": "60"}).stdout
        assert listed(narrow) == listed(llmdo(tmp_path, "help", *words).stdout)


@pytest.mark.parametrize(
    ("former", "present"),
    [
        (["why", "main", "agent.delegate"], ["reach", "main", "agent.delegate"]),
        (["graph", "--format", "dot"], ["reach", "--graph", "--format", "dot"]),
        (["audit", "last"], ["runs", "audit", "last"]),
        (["replay", "last"], ["runs", "replay", "last"]),
        (["test"], ["runs", "test"]),
        (["worker", "--help"], ["fleet", "worker", "--help"]),
        (["store", "migrate", "--help"], ["fleet", "store", "migrate", "--help"]),
    ],
    ids=lambda words: " ".join(words),
)
def test_a_former_name_works_as_before(desk: Path, former: list[str], present: list[str]) -> None:
    assert llmdo(desk, "run", "main").returncode == 0
    before, now = llmdo(desk, *former), llmdo(desk, *present)
    assert (before.returncode, before.stdout, before.stderr) == (now.returncode, now.stdout, now.stderr)
    assert "no such command" not in now.stderr.lower()


def test_options_of_two_questions_do_not_go_together(desk: Path) -> None:
    for words in (
        ["--all"],
        ["main", "fs.read", "--format", "json"],
        ["main", "--to", "fs.read"],
        ["main", "fs.read", "--graph", "--to", "fs.read"],
        ["--graph", "--format", "markdown"],
        ["--graph", "--with", "plugin"],
        ["--fail-on", "changed"],
    ):
        done = llmdo(desk, "reach", *words)
        assert (done.returncode, done.stdout) == (2, ""), words
    assert llmdo(desk, "reach", "--graph", "main", "fs.read").returncode == 0
