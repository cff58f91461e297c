"""Tools that code calls: declared, before the same gate as a model's calls, and in the journal at their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo.diff import diff
from llmdo.journal import Runs
from llmdo.reach import Analysis
from llmdo.runtime import Answer, ApproveAll, AskLater, Question, RunOptions, RunOutcome
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.replay_mode import ReplayMode
from llmdo.runtime.telemetry.events import Event, ToolCalled, ToolFinished
from llmdo.runtime.telemetry.redaction import Redaction
from llmdo.services import locking
from llmdo.workspace import project
from tests.support import commands
from tests.support.building import script
from tests.support.locks import locked
from tests.support.running import run_sync

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
toolset-modules = ["tools.py"]

[toolsets.calc]
capabilities = { add = ["x.calc.cpu"], wipe = ["x.calc.wipe"], day = [] }

[toolsets.desk]
capabilities = { "*" = [] }
calls = ["calc.add", "calc.wipe", "calc.day", "filesystem.read_file", "filesystem.write_file"]
configure = { filesystem = { read = ["notes/**"], write = ["out/**"] } }

[approvals.rules]
"x.calc.cpu" = "allowed"
"fs.write:out/**" = "allowed"

[entries.go]
worker = "main"
input = "go"
may = ["fs.read:notes/**", "fs.write:out/**", "x.calc"]

[entries.code]
function = "entries.py:code"
input = "calc.add"
calls = ["calc.add", "calc.wipe", "desk.do"]
"""

TOOLS = """\
import asyncio, contextvars, datetime, json, pathlib, threading
from pydantic_ai import ModelRetry, RunContext
from pydantic_ai.toolsets import FunctionToolset

calc = FunctionToolset(id="calc")
desk = FunctionToolset(id="desk")
DONE = pathlib.Path(__file__).with_name("done.txt")

def done(text):
    with DONE.open("a") as file:
        file.write(text + "\\n")

@calc.tool_plain
def add(a: int, b: int = 1) -> dict[str, int]:
    done(f"add {a} {b}")
    if a == 13:
        raise ModelRetry("no thirteens here")
    return {"sum": a + b}

@calc.tool_plain
def wipe() -> str:
    done("wipe")
    return "wiped"

@calc.tool_plain
def day(when: datetime.date) -> datetime.date:
    return when + datetime.timedelta(days=1)

@calc.tool_plain
def secret() -> str:
    done("secret")
    return "secret"

@desk.tool
async def do(ctx: RunContext, name: str, arguments: dict) -> str:
    return json.dumps(await ctx.deps.call_tool(name, arguments))

@desk.tool
def outside(ctx: RunContext) -> str:
    told = []
    def work():
        try:
            told.append(asyncio.run(ctx.deps.call_tool("calc.add", {"a": 1})))
        except Exception as error:
            told.append(str(error))
    thread = threading.Thread(target=lambda: contextvars.Context().run(work))
    thread.start()
    thread.join()
    return told[0]

@desk.tool
async def threaded(ctx: RunContext, key: str | None) -> str:
    call = lambda: asyncio.run(ctx.deps.call_tool("calc.add", {"a": 1}, key=key))
    return json.dumps(await asyncio.to_thread(call))

@desk.tool
async def many(ctx: RunContext) -> str:
    async def one(number):
        await asyncio.sleep(0.001 * (3 - number))
        return (await ctx.deps.call_tool("calc.add", {"a": number}))["sum"]
    return json.dumps(await asyncio.gather(*map(one, range(3))))
"""

ENTRIES = """\
import json

async def code(runtime, input):
    name, _, arguments = input.partition(" ")
    return json.dumps(await runtime.call_tool(name, json.loads(arguments or '{"a": 1}')))
"""

WORKER = "---\nname: main\nmodel: python:models.py:main\ntoolsets: [desk]\n---\nDo.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "entries.py").write_text(ENTRIES, encoding="utf-8")
    (tmp_path / "main.worker").write_text(WORKER, encoding="utf-8")
    for folder in ("notes", "other", "out"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text(f"text of {folder}", encoding="utf-8")
    asking(tmp_path, "calc.add", {"a": 1})
    return locked(tmp_path)


def asking(root: Path, name: str, arguments: dict[str, object]) -> None:
    script(root, main=[[("do", {"name": name, "arguments": arguments})], "{results}"])


def go(root: Path, entry: str = "go", **options: object) -> RunOutcome:
    read = project.read(root)
    run_options = RunOptions(**options)  # type: ignore[arg-type]
    return run_sync(locking.derive(read), root=root, prompts=read.prompts, entry=entry, options=run_options)


def done(root: Path) -> list[str]:
    path = root / "done.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def kept(root: Path, mode: ReplayMode | None = None, entry: str = "go", **options: object) -> RunOutcome:
    """The run `r`, begun or gone on with."""
    runs = Runs(root)
    with runs.open("r") if "r" in runs.names() else runs.create("r") as journal:
        recorder = Recorder(journal, Redaction.of({}), mode)
        return go(root, entry, run="r", recorder=recorder, **options)


def test_a_call_has_its_place_and_its_events_and_counts(root: Path) -> None:
    events: list[Event] = []
    outcome = go(root, on_event=events.append)
    assert outcome.output == '[success: {"sum": 2}]'
    called = [event for event in events if isinstance(event, ToolCalled)]
    assert [(event.path, event.worker, event.toolset) for event in called] == [
        ("main/do#1", "main", "desk"),
        ("main/do#1/calc.add#1", "main", "calc"),
    ]
    assert [event.outcome for event in events if isinstance(event, ToolFinished)] == ["success", "success"]
    assert outcome.usage.tool_calls == 2
    assert outcome.usage_by_worker["main"].tool_calls == 2


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("calc.secret", {}, 'add `calls = ["calc.secret"]` to [toolsets.desk] of llmdo.toml'),
        ("filesystem.edit_file", {}, "may not call `filesystem.edit_file` from code"),
        ("desk.do", {"name": "calc.add", "arguments": {}}, "[toolsets.desk]"),
        ("filesystem.read_file", {"path": "other/a.txt"}, "is blocked"),
        ("filesystem.write_file", {"path": "llmdo.toml", "content": ""}, "is blocked"),
        ("calc.wipe", {}, "needs approval, which was not given"),
        ("calc.add", {"a": "x"}, "the arguments do not fit `calc.add`: `a`:"),
        ("calc.add", {"a": 13}, "no thirteens here"),
    ],
)
def test_what_is_not_declared_allowed_or_fit_is_told_to_the_code_and_not_done(
    name: str, arguments: dict[str, object], message: str, root: Path
) -> None:
    asking(root, name, arguments)
    outcome = go(root)
    assert outcome.status == "completed"
    assert outcome.output is not None
    assert outcome.output.startswith("[failed: ")
    assert message in outcome.output
    assert done(root) == (["add 13 1"] if "thirteens" in message else [])


def test_what_the_code_may_it_does_under_the_configuration_of_its_toolset(root: Path) -> None:
    asking(root, "filesystem.write_file", {"path": "out/b.txt", "content": "b"})
    assert go(root).status == "completed"
    assert (root / "out" / "b.txt").read_text(encoding="utf-8") == "b"


def test_a_model_is_not_shown_what_only_code_may_call(root: Path) -> None:
    script(root, main=["{tools}"])
    assert go(root).output == "do,many,outside,threaded"


def test_the_same_rules_ceilings_and_policies_hold(root: Path) -> None:
    manifest = (root / "llmdo.toml").read_text(encoding="utf-8")
    narrow = manifest.replace('"fs.write:out/**", "x.calc"]', '"fs.write:out/**"]')
    (root / "llmdo.toml").write_text(narrow, encoding="utf-8")
    outcome = go(root)
    assert [(call.path, call.tool, call.decision) for call in outcome.denied] == [
        ("main/do#1/calc.add#1", "add", "blocked")
    ]
    limited = manifest.replace("[entries.code]", "[entries.go.limits]\ntool-calls = 1\n\n[entries.code]")
    (root / "llmdo.toml").write_text(limited, encoding="utf-8")
    assert "the run's limit of 1 tool call is reached" in str(go(root).output)
    assert done(root) == []


def test_a_function_calls_what_its_entry_names_and_nothing_else(root: Path) -> None:
    assert go(root, "code").output == '{"sum": 2}'
    nested = 'desk.do {"name": "calc.add", "arguments": {"a": 4}}'
    assert go(root, "code", input=nested).output == '"{\\"sum\\": 5}"'
    refused = go(root, "code", input="calc.day")
    assert refused.status == "failed"
    assert 'add `calls = ["calc.day"]` to [entries.code]' in str(refused.error)
    approved = go(root, "code", input="calc.wipe {}", approver=ApproveAll())
    assert approved.output == '"wiped"'
    assert done(root) == ["add 1 1", "add 4 1", "wipe"]


def test_a_person_is_asked_about_the_call_itself(root: Path) -> None:
    questions: list[Question] = []

    class Person:
        async def ask(self, question: Question) -> Answer:
            questions.append(question)
            return Answer(allowed=True, by="test")

    asking(root, "calc.wipe", {})
    assert go(root, approver=Person()).output == '[success: "wiped"]'
    assert [(question.path, question.worker, question.tool) for question in questions] == [
        ("main/do#1/calc.wipe#1", "main", "wipe")
    ]


def test_a_run_that_waits_for_the_answer_goes_on_and_calls_it_once(root: Path) -> None:
    asking(root, "calc.wipe", {})
    assert kept(root, approver=AskLater()).status == "waiting"
    assert kept(root, approver=ApproveAll()).output == '[success: "wiped"]'
    replayed = kept(root, ReplayMode(live=False))
    assert (replayed.status, replayed.output) == ("completed", '[success: "wiped"]')
    assert done(root) == ["wipe"]


def test_code_that_goes_on_or_is_repeated_is_handed_what_it_had(root: Path) -> None:
    first = kept(root, entry="code")
    assert first.output == '{"sum": 2}'
    for mode in (None, ReplayMode(live=False)):
        again = kept(root, mode, entry="code")
        assert (again.output, again.usage.tool_calls) == ('{"sum": 2}', 1)
    assert done(root) == ["add 1 1"]


@pytest.mark.long
@pytest.mark.parametrize("live", [True, False])
def test_another_call_at_the_same_place_stops_the_run(live: bool, root: Path) -> None:
    kept(root, entry="code")
    entries = root / "entries.py"
    text = entries.read_text(encoding="utf-8")
    entries.write_text(text.replace("json.loads(arguments or '{\"a\": 1}')", '{"a": 2}'), encoding="utf-8")
    again = kept(root, ReplayMode(live=live), entry="code")
    assert again.status == "failed"
    assert "`add` is called with another input than recorded" in str(again.error)
    other_tool = text.replace("(name, json.loads(arguments or '{\"a\": 1}')", '("calc.wipe", {}')
    entries.write_text(other_tool, encoding="utf-8")
    other = kept(root, ReplayMode(live=live), entry="code", approver=ApproveAll())
    assert done(root) == (["add 1 1", "wipe"] if live else ["add 1 1"])
    assert other.status == ("completed" if live else "failed")


def test_where_nobody_knows_whose_code_it_is_nothing_is_called(root: Path) -> None:
    script(root, main=[[("outside", {})], "{results}"])
    assert "`call_tool` is for the code of a tool or of an entry, while that runs" in str(go(root).output)
    assert done(root) == []


def test_parallel_calls_have_the_places_of_their_tasks(root: Path) -> None:
    script(root, main=[[("many", {})], "{results}"])
    events: list[Event] = []
    assert go(root, on_event=events.append).output == "[success: [1, 2, 3]]"
    paths = {event.path for event in events if isinstance(event, ToolCalled)} - {"main/many#1"}
    assert paths == {f"main/many#1/calc.add#one-{number}.1" for number in (1, 2, 3)}


@pytest.mark.parametrize(("key", "number"), [("the first", "=the first"), (None, "~")])
def test_a_call_of_a_thread_goes_by_its_key_or_its_input(key: str | None, number: str, root: Path) -> None:
    script(root, main=[[("threaded", {"key": key})], "{results}"])
    events: list[Event] = []
    assert kept(root, on_event=events.append).output == '[success: {"sum": 2}]'
    [path] = [event.path for event in events if isinstance(event, ToolCalled) and event.tool == "add"]
    assert path.startswith(f"main/threaded#1/calc.add#{number}")


def test_what_a_served_tool_had_called_counts_as_well(root: Path) -> None:
    script(root, main=[[("many", {})], "{results}"])
    first = kept(root)
    replayed = kept(root, ReplayMode(live=False))
    assert (first.usage.tool_calls, replayed.usage.tool_calls) == (4, 4)
    assert replayed.usage_by_worker["main"].tool_calls == 4
    assert len(done(root)) == 3


def test_results_are_the_plain_data_that_a_replay_has(root: Path) -> None:
    asking(root, "calc.day", {"when": "2026-02-28"})
    assert go(root).output == '[success: "2026-03-01"]'


def test_reach_has_what_code_calls_with_its_path_and_gate(root: Path) -> None:
    read = project.read(root)
    analysis = Analysis(read.graph)
    rows = {
        str(row.capability): (row.decision, [hop.name for hop in row.path], row.tool)
        for row in analysis.of(read.graph.entries["go"])
    }
    assert rows["fs.write:out/**"] == ("allowed", ["main", "desk"], "filesystem.write_file")
    assert rows["fs.read:notes/**"] == ("allowed", ["main", "desk"], "filesystem.read_file")
    assert rows["x.calc.wipe"] == ("needs_approval", ["main", "desk"], "calc.wipe")
    coded = {str(row.capability): row for row in analysis.of(read.graph.entries["code"])}
    assert [hop.name for hop in coded["x.calc.cpu"].path] == ["calc"]
    assert "fs.write:out/**" in coded, "what the code of a called tool calls"


def test_why_graph_and_diff_tell_of_what_code_calls(root: Path) -> None:
    why = commands.llmdo(root, "reach", "go", "fs.write")
    assert "  main\n  > desk (filesystem.write_file)  main.worker:4:12" in why.stdout, why.stderr
    graph = commands.llmdo(root, "reach", "--graph", "go")
    assert "[desk]" in graph.stdout
    assert "fs.write:out/**" in graph.stdout
    before = project.read(root).graph
    manifest = (root / "llmdo.toml").read_text(encoding="utf-8")
    (root / "llmdo.toml").write_text(
        manifest.replace('write = ["out/**"]', 'write = ["**"]'), encoding="utf-8"
    )
    difference = {entry.name: entry for entry in diff(before, project.read(root).graph).entries}
    widened = [row for row in difference["code"].rows if row.effect == "widens"]
    assert "fs.write:**" in [str(row.capability) for row in widened]
    assert commands.llmdo(root, "check", "--locked").returncode == 1
