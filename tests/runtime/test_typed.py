"""Workers whose input and output are pydantic models of the workspace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelRetry

from llmdo.base.diagnostic import LlmdoError
from llmdo.graph import builtin
from llmdo.graph.resolved import Graph
from llmdo.graph.worker import Worker
from llmdo.runtime import Answer, Question
from llmdo.runtime.signatures import PlainInput, TypedInput, signatures_of
from llmdo.runtime.telemetry.events import Event, ToolCalled, WorkerStarted
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.python import Modules
from tests.support.building import go, graph, reference, script, use, worker
from tests.support.listed import listed

SCHEMAS = '''
from __future__ import annotations

from datetime import date
from pydantic import BaseModel, ConfigDict, Field, RootModel, field_validator
from pydantic_ai.messages import BinaryContent, ImageUrl


class Task(BaseModel):
    """A piece of work."""

    title: str
    minutes: int = Field(default=5, ge=1)
    parts: list[Task] = []


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    day: date
    pair: tuple[int, int]


class Speaking(BaseModel):
    topic: str

    def input_parts(self):
        return [f"Speak about {self.topic}.", BinaryContent(b"x", media_type="text/plain", identifier="note")]


class Older(BaseModel):
    topic: str
    attachments: list[str] = []

    def prompt_messages(self):
        return f"On {self.topic}"


class Fetching(BaseModel):
    url: str

    def input_parts(self):
        return [ImageUrl(self.url)]


class Failing(BaseModel):
    topic: str

    def input_parts(self):
        return [1 / 0]


class Odd(BaseModel):
    attachments: int


class Score(BaseModel):
    points: int = Field(alias="Points")
    why: str = ""

    @field_validator("points")
    @classmethod
    def positive(cls, points):
        if points < 0:
            raise ValueError("Points are not negative")
        return points


class Many(RootModel[list[int]]):
    pass


class Broken(BaseModel):
    other: Nothing


plain = 3
'''


def typed(name: str, model: str | None = None, gives: str | None = None, **more: Any) -> Worker:
    takes = reference(f"schemas.py:{model}") if model else None
    returns = reference(f"schemas.py:{gives}") if gives else None
    return worker(name, *more.pop("uses", ()), schema_in=takes, schema_out=returns, **more)


def ask(tmp_path: Path, model: str, *arguments: object, **more: Any) -> Any:
    """The outcome of a run in which the model of `main` calls the typed `helper` with each of `arguments`."""
    (tmp_path / "schemas.py").write_text(SCHEMAS)
    calls = [[("helper", argument)] for argument in arguments]
    script(tmp_path, main=[*calls, "{results}"], helper=["heard {prompt}"] * 9)  # type: ignore[arg-type]
    uses = more.pop("uses", ())
    team_graph = graph(worker("main", "helper", *uses), typed("helper", model, **more.pop("helper", {})))
    return go(team_graph, tmp_path, **more)


def test_a_typed_input_is_told_as_canonical_json_with_its_defaults(tmp_path: Path) -> None:
    outcome = ask(tmp_path, "Task", {"title": "ä", "parts": [{"title": "b", "minutes": 2}]})
    assert outcome.output == (
        '[success: heard {"minutes":5,"parts":[{"minutes":2,"parts":[],"title":"b"}],"title":"ä"}]'
    ), outcome.error


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "`title`: field required"),
        ({"title": 3}, "`title`: input should be a valid string"),
        (
            {"title": "a", "parts": [{"title": "b", "parts": [{"minutes": 0}]}]},
            "`parts.0.parts.0.title`: field required; `parts.0.parts.0.minutes`: input should be greater than",
        ),
        ({"input": "do it"}, "`title`: field required"),
        ({"title": "a", "attachments": ["x"]}, "`attachments`: it takes no files"),
    ],
)
def test_arguments_are_validated_before_the_callee_starts_and_corrected(
    arguments: dict[str, object], sentence: str, tmp_path: Path
) -> None:
    events: list[Event] = []
    outcome = ask(tmp_path, "Task", arguments, {"title": "a"}, on_event=events.append)
    assert outcome.status == "completed", outcome.error
    assert outcome.usage_by_worker["helper"].requests == 1
    assert [event.path for event in events if isinstance(event, ToolCalled)] == ["main/helper#2"]
    outcome = ask(tmp_path, "Task", arguments)
    correction = f"[retried: `helper` was not called, its arguments do not fit: {sentence}"
    assert correction in (outcome.output or ""), outcome.output
    assert "helper" not in outcome.usage_by_worker


def test_a_model_that_never_gets_its_arguments_right_fails_its_worker(tmp_path: Path) -> None:
    outcome = ask(tmp_path, "Task", {}, {}, {}, {}, {})
    assert outcome.status == "failed"
    assert "helper" not in outcome.usage_by_worker


def test_the_schema_of_the_model_is_that_of_the_tool(tmp_path: Path) -> None:
    (tmp_path / "schemas.py").write_text(SCHEMAS)
    with Root.open(tmp_path) as files, Modules(tmp_path, files, listed(tmp_path)) as modules:
        team_graph = graph(typed("task", "Task"), typed("old", "Older"))
        signatures = signatures_of(team_graph, team_graph.workers, modules)
    schema = signatures["task"].takes.schema(files=True)
    assert (schema["type"], list(schema["properties"])) == (
        "object",
        ["title", "minutes", "parts", "attachments"],
    )
    assert schema["properties"]["parts"]["items"] == {"$ref": "#/$defs/Task"}
    assert "attachments" not in schema["$defs"]["Task"]["properties"]
    assert "$ref" not in schema
    assert "attachments" not in signatures["task"].takes.schema(files=False)["properties"]
    assert signatures["old"].takes.schema(files=False)["properties"]["attachments"]["type"] == "array"


def test_a_strict_model_is_judged_as_json(tmp_path: Path) -> None:
    outcome = ask(tmp_path, "Strict", {"day": "2026-01-02", "pair": [1, 2]})
    assert outcome.output == '[success: heard {"day":"2026-01-02","pair":[1,2]}]', outcome.error
    assert "`day`: input should be a valid date" in (
        ask(tmp_path, "Strict", {"day": 3, "pair": [1, 2]}).output
    )
    assert "`more`: extra inputs are not permitted" in (
        ask(tmp_path, "Strict", {"day": "2026-01-02", "pair": [1, 2], "more": 1}).output
    )


def test_a_model_says_itself_what_its_worker_is_told(tmp_path: Path) -> None:
    outcome = ask(tmp_path, "Speaking", {"topic": "bees"})
    assert outcome.output == "[success: heard Speak about bees. | <text/plain note 1>]", outcome.error
    assert ask(tmp_path, "Older", {"topic": "bees"}).output == "[success: heard On bees]"


@pytest.mark.parametrize(
    ("model", "arguments", "sentence"),
    [
        ("Fetching", {"url": "http://127.0.0.1/x"}, "`input_parts` of `Fetching` returned a `ImageUrl`"),
        ("Failing", {"topic": "x"}, "`input_parts` of `Failing` raised ZeroDivisionError"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_told_to_the_caller(
    model: str, arguments: dict[str, object], sentence: str, tmp_path: Path
) -> None:
    outcome = ask(tmp_path, model, arguments)
    assert f"[failed: `helper` was not called: {sentence}" in (outcome.output or "")
    assert "helper" not in outcome.usage_by_worker


@pytest.mark.parametrize("model", ["Speaking", "Older"])
def test_files_are_handed_over_beside_a_typed_input(model: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("AAA")
    arguments = {"topic": "bees", "attachments": ["a.txt"]}
    given = {"uses": [use("filesystem", read=["a.txt"])], "helper": {"attachments": {"max": 1}}}
    outcome = ask(tmp_path, model, arguments, **given)
    assert "File `a.txt`: | <text/plain a.txt 3>" in (outcome.output or ""), outcome.error
    blocked = ask(tmp_path, model, {**arguments, "attachments": ["b.txt"]}, **given)
    assert "[failed: `helper` is blocked" in (blocked.output or "")
    wrong = ask(tmp_path, model, {**arguments, "attachments": "a.txt"}, **given)
    assert "`attachments`: it is not a list of paths" in (wrong.output or "")


def test_an_approver_is_shown_what_the_model_gave(tmp_path: Path) -> None:
    shown: list[object] = []

    class Yes:
        async def ask(self, question: Question) -> Answer:
            shown.append(question.arguments)
            return Answer(allowed=True, by="test")

    (tmp_path / "schemas.py").write_text(SCHEMAS)
    script(tmp_path, main=[[("helper", {"title": "a"})], "{results}"], helper=["fine"])
    rules: Any = {"agent.delegate": "needs_approval"}
    team_graph = graph(worker("main", "helper"), typed("helper", "Task"), approvals=rules)
    assert go(team_graph, tmp_path, approver=Yes()).output == "[success: fine]"
    assert shown == [{"title": "a"}]


def test_a_typed_output_is_json_and_corrected_until_it_fits(tmp_path: Path) -> None:
    (tmp_path / "schemas.py").write_text(SCHEMAS)
    script(
        tmp_path,
        main=[[("helper", {"input": "x"})], "{results}"],
        helper=["no tool", [("final_result", {"Points": -1})], [("final_result", {"Points": 3, "why": "ä"})]],
    )
    team_graph = graph(worker("main", "helper"), typed("helper", gives="Score"))
    outcome = go(team_graph, tmp_path)
    assert outcome.output == '[success: {"Points":3,"why":"ä"}]', outcome.error
    assert outcome.usage_by_worker["helper"].requests == 3
    script(tmp_path, main=[[("final_result", {"Points": 3})]], helper=["x"])
    assert go(graph(typed("main", gives="Score")), tmp_path).output == '{"Points":3,"why":""}'


def test_an_output_that_never_fits_fails_the_worker(tmp_path: Path) -> None:
    (tmp_path / "schemas.py").write_text(SCHEMAS)
    script(tmp_path, main=[[(builtin.OUTPUT_TOOL, {"Points": "x"})]] * 9)
    outcome = go(graph(typed("main", gives="Score")), tmp_path)
    assert outcome.status == "failed"
    assert outcome.usage.requests == 4


def test_a_recursive_worker_takes_a_tree_that_holds_itself(tmp_path: Path) -> None:
    (tmp_path / "schemas.py").write_text(SCHEMAS)
    script(tmp_path, main=[[("main", {"title": "a", "parts": [{"title": "b"}]})], "<{results}>"])
    team_graph = graph(
        typed("main", "Task", uses=["main"], recursive=True), max_depth=2, input='{"title": "top"}'
    )
    events: list[Event] = []
    outcome = go(team_graph, tmp_path, on_event=events.append)
    assert outcome.status == "completed", outcome.error
    started = [event.input for event in events if isinstance(event, WorkerStarted)]
    assert started[0] == '{"minutes":5,"parts":[],"title":"top"}'
    assert started[1:] == ['{"minutes":5,"parts":[{"minutes":5,"parts":[],"title":"b"}],"title":"a"}'] * 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("do it", "the input of `main` is not JSON: Expecting value"),
        ('{"title": 3}', "the input of `main` does not fit: `title`: input should be a valid string"),
        ("[]", "the input of `main` does not fit: it is not an object"),
        ("[" * 100_000, "the input of `main` is not JSON"),
        (
            '{"title": "a", "parts": ' + '[{"title": "a", "parts": ' * 500 + "[]" + "}]" * 500 + "}",
            "recursion",
        ),
    ],
)
def test_the_input_of_a_typed_entry_is_judged_before_anything_starts(
    text: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "schemas.py").write_text(SCHEMAS)
    script(tmp_path, main=["never"])
    events: list[Event] = []
    with pytest.raises(LlmdoError) as refused:
        go(graph(typed("main", "Task")), tmp_path, input=text, on_event=events.append)
    assert sentence in refused.value.message
    assert refused.value.hint == "give a JSON object with what `Task` has: `title`, `minutes`, `parts`"
    assert events == []


def test_an_entrys_input_hands_over_no_files(tmp_path: Path) -> None:
    (tmp_path / "schemas.py").write_text(SCHEMAS)
    script(tmp_path, main=["{prompt}"])
    assert go(graph(typed("main", "Older")), tmp_path, input='{"topic": "x"}').output == "On x"
    with pytest.raises(LlmdoError, match="hands over files"):
        go(graph(typed("main", "Older")), tmp_path, input='{"topic": "x", "attachments": ["a.txt"]}')


def test_models_that_cannot_be_used_are_reported_all_at_once(tmp_path: Path) -> None:
    (tmp_path / "schemas.py").write_text(SCHEMAS)
    script(tmp_path, main=["x"], **{name: ["x"] for name in "abcdef"})
    team_graph = graph(
        worker("main", *"abcdef"),
        typed("a", "Missing"),
        typed("b", "plain"),
        typed("c", "Many"),
        typed("d", gives="Broken"),
        typed("e", "Odd"),
        typed("f", gives="Many"),
    )
    with pytest.raises(LlmdoError) as refused:
        go(team_graph, tmp_path)
    message = refused.value.message
    assert message.count("\n  - ") == 5
    for problem in (
        "no attribute `Missing`",
        "`schemas.py:plain` is not a pydantic model",
        "has no fields",
        "Broken",
    ):
        assert problem in message
    assert "`attachments` of `schemas.py:Odd` is not a list of paths" in message


CODE = """
from schemas import Task

async def plan(runtime, input):
    one = await runtime.call_agent("helper", Task(title="from an instance"))
    two = await runtime.call_agent("helper", {"title": "from data"})
    three = await runtime.call_agent("helper", '{"title": "from text"}')
    four = await runtime.call_agent("other", {"b": 1, "a": 2})
    return " ".join([one, two, three, four])

async def wrong(runtime, input):
    return await runtime.call_agent("helper", {"minutes": 1})
"""


def planned(name: str) -> Graph:
    return graph(
        typed("helper", "Task"), worker("other"), function=f"entries.py:{name}", calls=["helper", "other"]
    )


def test_code_calls_a_typed_worker_with_a_model_data_or_json(tmp_path: Path) -> None:
    (tmp_path / "schemas.py").write_text(SCHEMAS)
    (tmp_path / "entries.py").write_text(CODE.replace("from schemas import Task", SCHEMAS))
    script(tmp_path, helper=["<{prompt}>"], other=["<{prompt}>"])
    outcome = go(planned("plan"), tmp_path)
    titles = [json.loads(text)["title"] for text in (outcome.output or "").strip("<>").split("> <")[:3]]
    assert titles == ["from an instance", "from data", "from text"]
    assert (outcome.output or "").endswith('<{"a":2,"b":1}>')
    error = go(planned("wrong"), tmp_path).error
    assert error == "the input of `helper` does not fit: `title`: field required"


def test_the_arguments_of_a_tool_are_judged_from_text_as_from_data(tmp_path: Path) -> None:
    (tmp_path / "schemas.py").write_text(SCHEMAS)
    with Root.open(tmp_path) as files, Modules(tmp_path, files, listed(tmp_path)) as modules:
        team_graph = graph(typed("task", "Task"))
        takes = signatures_of(team_graph, team_graph.workers, modules)["task"].takes
    assert isinstance(takes, TypedInput)
    judge = takes.validator(files=False)
    assert judge.validate_json('{"title": "a"}') == judge.validate_python({"title": "a"}) == {"title": "a"}
    for broken in ("{", '{"title": "\\ud800"}', "[" * 10_000, b"\xff"):
        with pytest.raises(ModelRetry, match="are not JSON"):
            judge.validate_json(broken)
    with pytest.raises(ModelRetry, match="it is not an object"):
        judge.validate_json("3")


def test_plain_input_is_what_a_worker_takes_that_says_nothing(tmp_path: Path) -> None:
    with Root.open(tmp_path) as files, Modules(tmp_path, files, {}) as modules:
        team_graph = graph(worker("main"))
        signature = signatures_of(team_graph, team_graph.workers, modules)["main"]
    assert signature.takes == PlainInput()
    assert signature.gives is None


def test_an_output_that_never_fits_says_what_was_wrong_with_the_last_one(tmp_path: Path) -> None:
    (tmp_path / "schemas.py").write_text(SCHEMAS)
    script(tmp_path, main=[[("final_result", {"Points": -1})]] * 9)
    outcome = go(graph(typed("main", gives="Score")), tmp_path)
    assert outcome.error == (
        "Exceeded maximum output retries (3); the last mistake: `Points`: points are not negative"
    )


def test_arguments_that_never_fit_say_what_was_wrong_with_the_last_ones(tmp_path: Path) -> None:
    outcome = ask(tmp_path, "Task", *[{"title": "x", "minutes": 0}] * 9)
    assert "exceeded max retries" in outcome.error
    assert "minutes" in outcome.error


VALUES = """
from schemas import Score

async def judged(runtime, input):
    score = await runtime.call_agent("helper", input)
    assert type(score) is Score, score
    text = await runtime.call_agent("other", "x")
    return Score(Points=score.points + len(text))

async def odd(runtime, input):
    return {"what": object()}
"""


def test_code_is_given_the_instance_of_a_typed_output_and_may_return_one(tmp_path: Path) -> None:
    (tmp_path / "entries.py").write_text(VALUES)
    (tmp_path / "schemas.py").write_text(SCHEMAS)
    script(tmp_path, helper=[[("final_result", {"Points": 4})]], other=["abc"])
    workers = (typed("helper", gives="Score"), worker("other"))
    outcome = go(graph(*workers, function="entries.py:judged", calls=["helper", "other"]), tmp_path)
    assert (outcome.output, outcome.is_typed) == ('{"Points":7,"why":""}', True), outcome.error
    assert getattr(outcome.value, "points", None) == 7
    failed = go(graph(*workers, function="entries.py:odd", calls=["helper"]), tmp_path)
    assert (failed.output, failed.value, failed.is_typed) == (None, None, False)
    assert failed.error is not None
    assert failed.error.startswith("the function of entry `go` returned no data: ")


def test_the_value_of_a_typed_entry_is_the_instance_and_of_a_plain_one_its_text(tmp_path: Path) -> None:
    (tmp_path / "schemas.py").write_text(SCHEMAS)
    script(tmp_path, main=[[("final_result", {"Points": 4})]])
    outcome = go(graph(typed("main", gives="Score")), tmp_path)
    assert (type(outcome.value).__name__, outcome.output) == ("Score", '{"Points":4,"why":""}')
    script(tmp_path, main=["text"])
    assert go(graph(worker("main")), tmp_path).value == "text"
