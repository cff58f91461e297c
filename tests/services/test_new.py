"""`llmdo new`: from nothing to a team of three with a ceiling, a question and an eval, in three commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.scaffold.team import TeamAnswers
from llmdo.services import new as service
from llmdo.workspace import project
from tests.support.commands import llmdo
from tests.support.ptys import Person, wait_for

WORDS = [sys.executable, "-m", "llmdo"]


def test_three_commands_at_a_terminal_make_a_team_that_asks_before_it_writes(tmp_path: Path) -> None:
    environ = {**os.environ, "TERM": "xterm"}
    answers = ("Answer the mail.\r", "../mail\r", "mail/in\r", "\r", "\r", "\r")
    with Person(*answers, prompt="]:") as person:
        assert wait_for(person.start([*WORDS, "new"], tmp_path, environ)) == 0, person.text()
        assert len(person.prompts) == len(answers)
        assert "`../mail` is not the name of a folder in the workspace (such as `inbox`" in person.text()
        assert "In which folder do strangers write (or `nothing`)? [mail/in]:" in person.text()
    graph = project.read(tmp_path).graph
    assert (len(graph.workers), len(graph.flows.rules), graph.entries["main"].may is None) == (3, 1, False)
    with Person() as person:
        assert wait_for(person.start([*WORDS, "check"], tmp_path, environ)) == 0, person.text()
        assert "no findings" in person.text()
    with Person("once\r") as person:
        assert wait_for(person.start([*WORDS, "run"], tmp_path, environ)) == 0, person.text()
        assert "data.untrusted" in "".join(person.prompts[0])
    assert (tmp_path / "drafts/example.txt").read_text() == (tmp_path / "mail/in/example.txt").read_text()


@pytest.mark.parametrize("strangers", ["inbox", "nothing"])
def test_the_options_make_a_team_that_passes_check_run_and_eval(tmp_path: Path, strangers: str) -> None:
    made = llmdo(tmp_path, "new", "--yes", "--purpose", 'A "purpose": {{reads}}', "--strangers", strangers)
    assert made.returncode == 0, made.stderr
    checked = llmdo(tmp_path, "check", "--locked")
    assert (checked.returncode, checked.stdout) == (0, "no findings\n")
    ran = llmdo(tmp_path, "run")
    assert ran.stdout == "Nothing was written: nobody allowed it.\n", ran.stderr
    assert llmdo(tmp_path, "run", "--approve-all").returncode == 0
    assert (tmp_path / "drafts/example.txt").is_file()
    judged = llmdo(tmp_path, "eval", "--fail-under", "1")
    assert judged.returncode == 0, judged.stdout + judged.stderr


def test_without_a_terminal_it_says_which_options_are_missing(tmp_path: Path) -> None:
    done = llmdo(tmp_path, "new", "--reads", "inbox", "--purpose", "x")
    assert done.returncode == 2
    assert "add `--writes`, `--strangers`, `--model`, or `--yes`" in done.stderr
    assert list(tmp_path.iterdir()) == []
    whole = ("--writes", "out", "--strangers", "inbox/mail", "--model", "openai:gpt-5-mini")
    assert llmdo(tmp_path, "new", "--reads", "inbox", "--purpose", "x", *whole).returncode == 0
    assert 'model = "openai:gpt-5-mini"' in (tmp_path / "llmdo.toml").read_text()
    assert "no findings" in llmdo(tmp_path, "check").stdout
    assert llmdo(tmp_path, "run", "--model", "script:models.yaml", "--approve-all").returncode == 0
    in_the_way = llmdo(tmp_path, "new", "--yes")
    assert "exists and says something else" in in_the_way.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reads": "/etc"}, "`/etc` is not the name of a folder"),
        ({"writes": 'a"b'}, "is not the name of a folder"),
        ({"writes": "a/../b"}, "is not the name of a folder"),
        ({"strangers": "drafts"}, "the team reads `inbox`, and `drafts` is not in it"),
        ({"model": "opnai:gpt-5"}, "is not a model provider"),
        ({"purpose": " \n "}, "one line of text"),
        ({"purpose": "a\x1b[2J"}, "one line of text"),
    ],
)
def test_an_answer_that_cannot_be_used_leaves_nothing(
    tmp_path: Path, options: dict[str, str], message: str
) -> None:
    request = service.NewRequest(directory=tmp_path, yes=True, **options)
    with pytest.raises(LlmdoError, match=message):
        service.new(request, None, print)
    assert list(tmp_path.iterdir()) == []


def test_init_and_new_write_the_same_team(tmp_path: Path) -> None:
    for folder in ("a/team", "b/team"):
        (tmp_path / folder).mkdir(parents=True)
    assert llmdo(tmp_path, "init", "a/team", "--template", "team").returncode == 0
    assert llmdo(tmp_path, "new", "b/team", "--yes").returncode == 0
    texts = [
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (tmp_path / "a/team", tmp_path / "b/team")
    ]
    assert texts[0] == texts[1]
    assert not any(b"{{" in text for path, text in texts[0].items() if path.parts[0] != "schemas")
    assert TeamAnswers().values()["reads"] == "inbox"
