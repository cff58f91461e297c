"""What waits over all runs, all of each call, and answers from somebody who is not at a terminal."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal import Runs
from llmdo.journal.entries import JournalEntry, pack
from llmdo.journal.questions import GoesOnError, StaleError, waiting
from llmdo.journal.summary import summary
from llmdo.journal.tree import tree, walk
from llmdo.render import inbox as render
from llmdo.services.answering import AnswerRequest, GivenAnswer, NotWholeError, answer
from llmdo.services.inbox import AT_TERMINAL, NOT_WHOLE, Inbox, Pending, like_calls
from llmdo.services.run_processes import ResumeProcesses
from tests.support.asking import asked, files, path_of, workspace
from tests.support.commands import llmdo
from tests.support.waiting import until

ENDS = 60  # seconds after which a process that goes on with a run hangs


def pending(root: Path) -> list[Pending]:
    return [*Inbox(root=root).pending(lambda line: pytest.fail(line))]


def shown(root: Path, path: str) -> dict[str, Any]:
    (run,) = {each.run.run for each in pending(root)}
    document: dict[str, Any] = render.question(Inbox(root=root).call(run, path))
    assert json.loads(json.dumps(document)) == document
    return document


def given(root: Path, path: str, verb: Any, **more: Any) -> GivenAnswer:
    """An answer to the question that waits at a path."""
    unanswered = next(each for each in pending(root) if each.question.path == path)
    values = {"digest": unanswered.question.key, "by": "ada", **more}
    return GivenAnswer(run=unanswered.run.run, path=path, verb=verb, **values)


def give(root: Path, path: str, verb: Any, **more: Any) -> str:
    return answer(AnswerRequest(root=root, answer=given(root, path, verb, **more))).run


def go_on(root: Path, run: str) -> str:
    """Goes on with a run until its process ends; why it could not, where it could not."""
    with ResumeProcesses(root=root) as going:
        going.start(run)
        going.wait(run, ENDS)
        return going.fault(run) or ""


@pytest.mark.long
def test_nothing_that_nobody_answered_for_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = workspace(tmp_path, number=1)
    asked(root)
    monkeypatch.delenv("LLMDO_TRUST")
    run = give(root, path_of(1), "allow")
    assert "nobody has answered for" in go_on(root, run)
    assert files(root) == {}
    monkeypatch.setenv("LLMDO_TRUST", "1")
    assert go_on(root, run) == ""
    assert len(files(root)) == 1


def test_an_answer_is_gone_on_with_that_comes_as_the_process_before_is_about_to_end(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=2)
    asked(root)
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow/sitecustomize.py").write_text("import atexit, time\natexit.register(time.sleep, 2)\n")
    run = give(root, path_of(1), "allow")
    runs = Runs(root)
    with ResumeProcesses(root=root, environ={**os.environ, "PYTHONPATH": str(tmp_path / "slow")}) as going:
        going.start(run)
        until(lambda: files(root) == {"0.txt": "0"} and not runs.is_claimed(run))
        assert going.is_at_work(run)
        give(root, path_of(2), "allow")
        going.start(run)
        until(lambda: files(root) == {"0.txt": "0", "1.txt": "1"})


def test_what_waits_is_listed_over_all_runs_with_whom_it_comes_through(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=2)
    asked(root)
    asked(root)
    inbox = Inbox(root=root)
    lines = render.listed(inbox.pending(pytest.fail))["waiting"]
    assert isinstance(lines, list)
    assert len({line["run"] for line in lines}) == 2
    assert [line["path"] for line in lines] == [path_of(1), path_of(2)] * 2
    first = lines[0]
    assert first["callers"] == [["main", "main"], ["main/writer#1", "writer"]]
    assert (first["tool"], first["toolset"], first["status"]) == ("write_file", "filesystem", "waiting")
    assert "digest" not in first, "whoever answers has to look at all of it first"


def test_like_calls_are_in_the_order_in_which_their_runs_began(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=2)
    asked(root)
    asked(root)
    first, second = Runs(root).names()
    (alike,) = like_calls(sorted(pending(root), key=lambda each: each.run.run == first))
    paths = [path_of(1), path_of(2)]
    assert [(each.run.run, each.question.path) for each in alike.calls] == [
        (run, path) for run in (first, second) for path in paths
    ]


def test_a_question_shows_all_of_the_call_and_spells_out_what_hides(tmp_path: Path) -> None:
    content = "harmless\u202e\n" + "\n" * 500 + "rm -rf ~" + " " * 300 + "# \u0430dmin \x1b[2K\n<script>"
    root = workspace(tmp_path, number=1, content=content.replace("{", "{{").replace("}", "}}"))
    asked(root)
    drawn = {each["name"]: each for each in shown(root, path_of(1))["arguments"]}
    lines = drawn["content"]["lines"]
    assert lines[0] == "harmless\\u{202e}"
    assert lines[1] == [500, ""]
    assert lines[2] == "rm -rf ~\\{300 blanks}# \\u{430}dmin \\u{1b}[2K"
    assert lines[3] == "<script>"
    assert drawn["content"]["bytes"] == len(content.encode())
    assert shown(root, path_of(1))["given"] == {"path": "out/0.txt", "content": content}


def test_a_question_shows_what_becomes_of_the_file(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1, content="one\nTWO\nthree")
    (root / "out").mkdir()
    (root / "out/0.txt").write_text("one\ntwo\nthree", encoding="utf-8")
    asked(root)
    change = shown(root, path_of(1))["change"]
    assert change["path"] == "out/0.txt"
    assert change["lines"][-4:] == [" one", "-two", "+TWO", " three"]
    (root / "out/0.txt").unlink()
    fresh = shown(root, path_of(1))["change"]
    assert (fresh["note"], fresh["lines"][-3:]) == ("the file is new, or empty", ["+one", "+TWO", "+three"])


@pytest.mark.long
@pytest.mark.parametrize("verb", ["allow", "always"])
def test_an_answer_is_kept_and_a_process_goes_on_with_it(tmp_path: Path, verb: str) -> None:
    root = workspace(tmp_path, number=1)
    asked(root)
    run = give(root, path_of(1), verb)
    assert files(root) == {}, "an answer runs nothing by itself"
    assert pending(root) == []
    go_on(root, run)
    assert files(root) == {"0.txt": "0"}


@pytest.mark.long
def test_three_questions_are_answered_one_allowed_one_edited_and_one_refused(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    asked(root)
    instead = {"path": "out/edited.txt", "content": "by hand"}
    give(root, path_of(1), "allow")
    give(root, path_of(2), "edit", instead=instead)
    give(root, path_of(3), "refuse", reason="not now")
    run = Runs(root).names()[-1]
    for _ in range(2):
        go_on(root, run)
        if left := pending(root):
            assert [each.question.record["arguments"] for each in left] == [instead]
            assert left[0].question.record["by_tool"], "an edited call is asked about once more"
            give(root, path_of(2), "allow")
    assert files(root) == {"0.txt": "0", "edited.txt": "by hand"}
    with Runs(root).read(run) as journal:
        calls = {node.path: node for node in walk(tree(journal))}
        assert summary(journal, is_running=False).status == "completed"  # type: ignore[union-attr]
    first, second = calls[path_of(2)].decisions
    assert (first.changed, second.allowed, second.by) == (instead, True, "ada")
    assert "not now" in calls[path_of(3)].answer


@pytest.mark.long
def test_an_edited_call_is_judged_anew_and_may_be_blocked(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1)
    asked(root)
    run = give(root, path_of(1), "edit", instead={"path": "elsewhere.txt", "content": "x"})
    go_on(root, run)
    assert not (root / "elsewhere.txt").exists()
    assert pending(root) == []


def test_an_answer_to_another_question_than_the_one_that_waits_is_stale(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1)
    asked(root)
    for other in ({"digest": "sha256:0"}, {"path": "main/writer#7/write_file#1"}):
        stale = given(root, path_of(1), "allow")
        values: dict[str, Any] = {"run": stale.run, "path": stale.path, "digest": stale.digest, **other}
        with pytest.raises(StaleError):
            answer(AnswerRequest(root=root, answer=GivenAnswer(verb="allow", **values)))
    kept = given(root, path_of(1), "allow")
    answer(AnswerRequest(root=root, answer=kept))
    with pytest.raises(StaleError):
        answer(AnswerRequest(root=root, answer=kept))
    with pytest.raises(StaleError):
        Inbox(root=root).call(kept.run, path_of(1))


def test_what_changes_a_call_allows_nothing_by_itself(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1)
    asked(root)
    instead = {"path": "out/x.txt", "content": "x"}
    for verb in ("allow", "always", "refuse", "stop"):
        with pytest.raises(LlmdoError, match="belong to an edit"):
            give(root, path_of(1), verb, instead=instead)
    record = {
        "path": path_of(1),
        "digest": pending(root)[0].question.key,
        "instead": instead,
        "allowed": True,
    }
    (tmp_path / "answers.json").write_text(json.dumps([record]), encoding="utf-8")
    refused = llmdo(root, "approve", "last", "--answers", str(tmp_path / "answers.json"))
    assert (refused.returncode, "allows nothing by itself" in refused.stderr) == (2, True), refused
    with Runs(root).read(Runs(root).names()[-1]) as journal:
        assert journal.counted().get("answered") is None
    assert files(root) == {}


@pytest.mark.long
def test_what_only_a_person_at_a_terminal_may_allow_is_shown_and_can_be_refused(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1, path="llmdo.toml", scope="**")
    asked(root)
    before = (root / "llmdo.toml").read_text(encoding="utf-8")
    document = shown(root, path_of(1))
    assert (document["terminal_only"], document["obstacle"]) == (True, AT_TERMINAL)
    for verb in ("allow", "always"):
        with pytest.raises(LlmdoError, match="only a person at a terminal"):
            give(root, path_of(1), verb)
    run = give(root, path_of(1), "refuse")
    go_on(root, run)
    assert (root / "llmdo.toml").read_text(encoding="utf-8") == before


def test_a_call_that_cannot_be_shown_whole_cannot_be_allowed(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    root = workspace(tmp_path, number=1, content=f"send {token}")
    asked(root)
    document = shown(root, path_of(1))
    assert token not in json.dumps(document)
    assert document["obstacle"] == NOT_WHOLE
    with pytest.raises(NotWholeError):
        give(root, path_of(1), "allow")
    give(root, path_of(1), "refuse")


@pytest.mark.long
def test_what_a_variable_holds_is_named_and_the_rest_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_SECRET", "correct horse battery")
    root = workspace(tmp_path, number=1, content="send correct horse battery")
    asked(root)
    document = shown(root, path_of(1))
    assert (document["variables"], document["obstacle"]) == (["DEPLOY_SECRET"], None)
    assert "battery" not in json.dumps(document)
    run = give(root, path_of(1), "allow")
    go_on(root, run)
    assert files(root) == {"0.txt": "send correct horse battery"}


def test_a_run_that_goes_on_is_shown_and_not_answered(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1)
    asked(root)
    kept = given(root, path_of(1), "allow")
    with Runs(root).claim(kept.run):
        assert [each.run.status for each in pending(root)] == ["running"]
        with pytest.raises(GoesOnError):
            answer(AnswerRequest(root=root, answer=kept))


def test_a_person_may_end_a_run_which_waits_no_more_and_can_still_go_on(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1)
    asked(root)
    run = give(root, path_of(1), "stop")
    assert pending(root) == []
    with Runs(root).read(run) as journal:
        line = summary(journal, is_running=False)
        assert line is not None
        assert (line.status, line.questions) == ("interrupted", 1)
        assert line.error == f"ada ended the run at `{path_of(1)}`"
    assert llmdo(root, "runs", "audit", run, "--verify").returncode == 0
    assert llmdo(root, "approve", run, "--yes", path_of(1)).returncode == 0
    assert llmdo(root, "resume", run).returncode == 0
    assert files(root) == {"0.txt": "0"}


@pytest.mark.long
def test_a_run_that_cannot_go_on_says_why(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1)
    asked(root)
    run = give(root, path_of(1), "allow")
    (root / "writer.worker").write_text("---\nname: writer\n---\nOther.\n", encoding="utf-8")
    assert "worker `writer`" in go_on(root, run)
    assert files(root) == {}


def test_a_journal_that_is_damaged_is_reported_and_hides_no_other(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1)
    asked(root)
    asked(root)
    runs = Runs(root)
    runs.path(runs.names()[0]).write_bytes(b"no journal")
    warnings: list[str] = []
    assert len([*Inbox(root=root).pending(warnings.append)]) == 1
    assert len(warnings) == 1


@pytest.mark.long
def test_a_forged_question_cannot_pass_for_one_that_a_page_may_allow(tmp_path: Path) -> None:
    root = workspace(tmp_path, number=1, path="llmdo.toml", scope="**")
    asked(root)
    run = Runs(root).names()[-1]
    before = (root / "llmdo.toml").read_text(encoding="utf-8")
    with Runs(root).open(run) as journal:
        (question,) = waiting(journal).values()
        forged = {**question.record, "terminal_only": False}
        journal.add(
            JournalEntry(path=question.path, kind="asked", step=2, digest=question.key, body=pack(forged))
        )
        journal.commit()
    give(root, path_of(1), "allow")
    go_on(root, run)
    assert (root / "llmdo.toml").read_text(encoding="utf-8") == before
