"""An answer that was cut off is not taken for a complete one without a word."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

import llmdo
from llmdo.graph.resolved import Graph
from llmdo.journal import Runs
from llmdo.render import narration
from llmdo.runtime.outcome import told_to_programs
from llmdo.runtime.telemetry.events import AnswerTruncated, Event
from llmdo.runtime.telemetry.redaction import Redaction
from llmdo.services.watching import Watched
from tests.support import commands
from tests.support.building import go, graph, script, worker

CUT = """
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

def ending(reason):
    def answer(messages, info):
        return ModelResponse(parts=[TextPart("The first half of")], finish_reason=reason)
    return FunctionModel(answer)

length, content_filter, stop = ending("length"), ending("content_filter"), ending("stop")
"""
WHY = {
    "length": "it reached the limit of its tokens",
    "content_filter": "a content filter of its provider ended it",
}


def with_errors(team_graph: Graph) -> Graph:
    return dataclasses.replace(
        team_graph, settings=dataclasses.replace(team_graph.settings, on_truncated="error")
    )


def warnings(events: list[Event]) -> list[str]:
    redaction = Redaction.of({})
    return [line for event in events if (line := narration.line(event, 0, redaction))]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "cut.py").write_text(CUT)
    script(tmp_path, main=[[("helper", {"input": "x"})], "{results}"])
    return tmp_path


def alone(reason: str) -> Graph:
    return graph(worker("main", model=f"python:cut.py:{reason}"))


def below(reason: str) -> Graph:
    return graph(worker("main", "helper"), worker("helper", model=f"python:cut.py:{reason}"))


@pytest.mark.parametrize("reason", WHY)
def test_a_cut_answer_is_an_event_and_a_warning(root: Path, reason: str) -> None:
    events: list[Event] = []
    outcome = go(alone(reason), root, on_event=events.append)
    assert (outcome.status, outcome.output) == ("completed", "The first half of")
    assert outcome.truncated == WHY[reason]
    assert told_to_programs(outcome).status == "truncated"
    assert [event.reason for event in events if isinstance(event, AnswerTruncated)] == [WHY[reason]]
    (line,) = warnings(events)
    assert line.startswith("warning: main: the answer of function:")
    assert line.endswith(f"is not complete: {WHY[reason]}")


@pytest.mark.parametrize("reason", WHY)
def test_the_caller_of_a_delegate_is_told_that_its_answer_was_cut(root: Path, reason: str) -> None:
    outcome = go(below(reason), root)
    assert outcome.output == (
        "[success: The first half of\n\n"
        f"[The answer of `helper` ends here and is not complete: {WHY[reason]}.]]"
    )


@pytest.mark.parametrize("reason", WHY)
def test_a_workspace_may_take_it_for_a_failure(root: Path, reason: str) -> None:
    outcome = go(with_errors(alone(reason)), root)
    assert (outcome.status, outcome.output) == ("failed", None)
    assert outcome.error == f"the answer of `main` is not complete: {WHY[reason]}"
    assert outcome.hint == "raise `max_tokens` in its `model_settings`, or ask for less"
    delegated = go(with_errors(below(reason)), root)
    assert delegated.output is not None
    assert "[failed: `helper` failed: the answer of `helper` is not complete" in delegated.output


@pytest.mark.parametrize("strict", [False, True])
def test_a_complete_answer_is_as_it_is(root: Path, strict: bool) -> None:
    changed: Any = with_errors if strict else lambda same: same
    events: list[Event] = []
    whole = go(changed(alone("stop")), root, on_event=events.append)
    assert (whole.output, whole.truncated) == ("The first half of", None)
    assert told_to_programs(whole) is whole
    assert go(changed(below("stop")), root, on_event=events.append).output == "[success: The first half of]"
    assert not [event for event in events if isinstance(event, AnswerTruncated)]


def cutting(root: Path, reason: str) -> Path:
    """A workspace at `root` of a model whose answers are cut off."""
    (root / "cut.py").write_text(CUT, encoding="utf-8")
    (root / "llmdo.toml").write_text(
        f'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\nmodel = "python:cut.py:{reason}"\n',
        encoding="utf-8",
    )
    (root / "main.worker").write_text("---\nname: main\nentry: true\n---\nGo.\n", encoding="utf-8")
    return root


@pytest.mark.parametrize("reason", WHY)
def test_whoever_looks_at_a_run_is_told_that_its_answer_was_cut(tmp_path: Path, reason: str) -> None:
    root = cutting(tmp_path, reason)
    ran = commands.llmdo(root, "run", "main", "x", "--format", "json")
    assert (ran.returncode, json.loads(ran.stdout)["status"]) == (0, "truncated")
    assert json.loads(ran.stdout)["truncated"] == WHY[reason]
    (run,) = Runs(root).names()
    assert commands.llmdo(root, "runs").stdout.split()[:2] == [run, "truncated"]
    for words in (("list",), ("list", "--status", "truncated")):
        (record,) = json.loads(commands.llmdo(root, "runs", *words, "--format", "json").stdout)["runs"]
        assert (record["status"], record["truncated"], record["error"]) == ("truncated", WHY[reason], None)
    assert not commands.llmdo(root, "runs", "list", "--status", "completed").stdout
    for form in ("text", "markdown"):
        shown = commands.llmdo(root, "runs", "show", run, "--format", form).stdout
        assert "truncated" in shown.splitlines()[0]
        assert f"the output is not complete: {WHY[reason]}" in shown
    with Watched.open(root, run) as watched:
        growth = watched.growth(0)
    end = growth.events[-1]
    assert (growth.status, end.outcome, end.facts["truncated"]) == ("truncated", "truncated", WHY[reason])
    assert [event.facts["truncated"] for event in growth.events if event.kind == "request"] == [True]
    again = commands.llmdo(root, "resume", run)
    assert (again.returncode, again.stdout) == (0, "The first half of\n"), "nothing is left to do"
    pruned = commands.llmdo(root, "runs", "prune", "--keep", "0")
    assert (pruned.returncode, Runs(root).names()) == (0, []), "it is over"


def test_a_program_is_told_that_an_answer_was_cut_also_by_a_journal(root: Path) -> None:
    cutting(root, "length")
    outcome = llmdo.run(root, "main", "x", journal=True)
    assert (outcome.status, outcome.output) == ("truncated", "The first half of")
    assert outcome.truncated == WHY["length"]
    for again in (llmdo.resume(root, outcome.run), llmdo.replay(root, outcome.run)):
        assert (again.status, again.truncated) == ("truncated", WHY["length"])
