"""An entry that is one tool: the same gate, reach and lock as where a model calls it, and no model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmdo.diff import diff
from llmdo.reach import Analysis
from llmdo.runtime import ApproveAll, RejectAll, RunOptions, RunOutcome
from llmdo.runtime.telemetry.events import Event, ToolCalled, ToolFinished
from llmdo.services import locking
from llmdo.workspace import lock, project
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
capabilities = { "*" = ["x.calc.cpu"], wipe = ["x.calc.wipe"], review = [] }

[approvals.rules]
"x.calc.cpu" = "allowed"

[entries.sum]
tool = "calc.add"

[entries.shout]
tool = "calc.upper"

[entries.wipe]
tool = "calc.wipe"

[entries.review]
tool = "calc.review"
calls = ["critic"]

[entries.read]
tool = "filesystem.read_file"
may = ["fs.read:notes/**"]
"""

TOOLS = """\
from pydantic_ai import ModelRetry, RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.toolsets import FunctionToolset

calc = FunctionToolset(id="calc")

@calc.tool_plain
def add(a: int, b: int = 1) -> dict[str, int]:
    if a == 13:
        raise ToolFailed("no thirteens here")
    return {"sum": a + b}

@calc.tool_plain
def upper(text: str) -> str:
    return text.upper()

@calc.tool_plain
def wipe() -> str:
    return "wiped"

@calc.tool
async def review(ctx: RunContext, text: str) -> str:
    if text == "model":
        await ctx.model.request()
    if text.startswith("{"):
        text = await ctx.deps.call_agent("other", text, ctx)
    return "review: " + await ctx.deps.call_agent("critic", text, ctx)
"""

WORKER = "---\nname: {}\nmodel: python:models.py:critic\n---\nJudge.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    for name in ("critic", "other"):
        (tmp_path / f"{name}.worker").write_text(WORKER.format(name), encoding="utf-8")
    for folder in ("notes", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text(f"text of {folder}", encoding="utf-8")
    script(tmp_path, critic=["fine: {prompt}"])
    return locked(tmp_path)


def go(root: Path, entry: str, text: str, **options: object) -> RunOutcome:
    read = project.read(root)
    run_options = RunOptions(input=text, **options)  # type: ignore[arg-type]
    return run_sync(locking.derive(read), root=root, prompts=read.prompts, entry=entry, options=run_options)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("entry", "text", "output"),
    [
        ("sum", '{"a": 1, "b": 2}', '{"sum":3}'),
        ("sum", '{"a": 1}', '{"sum":2}'),
        ("shout", "some words", "SOME WORDS"),
        ("shout", '{"text": "words"}', "WORDS"),
        ("shout", "[1, 2]", "[1, 2]"),
        ("shout", "", ""),
        ("read", "notes/a.txt", None),
    ],
)
def test_the_input_is_its_arguments_or_its_one_text(
    entry: str, text: str, output: str | None, root: Path
) -> None:
    outcome = go(root, entry, text)
    if output is None:
        assert outcome.error is not None
        assert "the input of `read_file` is not a JSON object" in outcome.error
    else:
        assert (outcome.output, outcome.error) == (output, None)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("entry", "text", "message"),
    [
        ("sum", "one and two", "the input of `add` is not a JSON object"),
        ("sum", "{}", "the input does not fit `add`: `a`: field required"),
        ("sum", '{"a": "x"}', "the input does not fit `add`: `a`: input should be a valid integer"),
        ("sum", '{"a": 1, "c": 2}', "the input does not fit `add`: `c`: extra inputs are not permitted"),
        ("sum", '{"a": 13}', "no thirteens here"),
        ("sum", "{" * 100_000, "the input of `add` is not a JSON object"),
    ],
)
def test_an_input_that_does_not_fit_is_a_sentence(entry: str, text: str, message: str, root: Path) -> None:
    outcome = go(root, entry, text)
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert message in outcome.error


def test_the_gate_asks_about_the_call_and_events_tell_of_it(root: Path) -> None:
    events: list[Event] = []
    refused = go(root, "wipe", "", approver=RejectAll(), on_event=events.append)
    assert refused.error is not None
    assert "`wipe` needs approval, which was not given" in refused.error
    assert [(call.path, call.decision) for call in refused.denied] == [("wipe/wipe#1", "needs_approval")]
    called = [event for event in events if isinstance(event, ToolCalled)]
    assert [(event.path, event.toolset, event.worker) for event in called] == [
        ("wipe/wipe#1", "calc", "wipe")
    ]
    assert [event.outcome for event in events if isinstance(event, ToolFinished)] == ["denied"]
    assert go(root, "wipe", "", approver=ApproveAll()).output == "wiped"


def test_a_call_outside_the_ceiling_of_the_entry_is_blocked(root: Path) -> None:
    inside = go(root, "read", '{"path": "notes/a.txt"}')
    assert inside.output is not None
    assert "text of notes" in inside.output
    outside = go(root, "read", '{"path": "other/a.txt"}', approver=ApproveAll())
    assert outside.error is not None
    assert "is outside the ceiling of entry `read`" in outside.error


def test_a_tool_calls_the_workers_that_the_entry_lists_and_no_others(root: Path) -> None:
    outcome = go(root, "review", "a plan")
    assert outcome.output == "review: fine: a plan"
    assert set(outcome.usage_by_worker) >= {"critic"}
    other = go(root, "review", '{"text": "{}"}')
    assert other.error is not None
    assert "may not call `other`: it is not among its delegates" in other.error


def test_a_tool_has_no_model_to_ask(root: Path) -> None:
    outcome = go(root, "review", "model")
    assert outcome.error is not None
    assert "a tool that no model calls has no model to ask" in outcome.error


def test_reach_has_the_rows_of_the_tool_alone_and_of_what_it_calls(root: Path) -> None:
    graph = locking.derive(project.read(root))
    rows = {name: Analysis(graph).of(entry) for name, entry in graph.entries.items()}
    facts = {
        name: {(str(row.capability), row.decision, row.tool) for row in rows[name]} for name in sorted(rows)
    }
    assert facts == {
        "read": {
            ("fs.read:**", "blocked", "read_file"),
            ("fs.read:notes/**", "allowed", "read_file"),
            ("fs.read.protected:**", "blocked", "read_file"),
            ("fs.read.protected:notes/**", "blocked", "read_file"),
        },
        "review": {("agent.delegate", "allowed", "critic")},
        "shout": {("x.calc.cpu", "allowed", "upper")},
        "sum": {("x.calc.cpu", "allowed", "add")},
        "wipe": {("x.calc.wipe", "needs_approval", "wipe")},
    }
    assert [hop.name for hop in rows["wipe"][0].path] == ["calc"]


def test_the_lock_knows_the_tool_and_diff_tells_of_another(root: Path) -> None:
    before = locking.derive(project.read(root))
    lock.write(root, before)
    assert project.read(root).is_current
    manifest = root / "llmdo.toml"
    manifest.write_text(MANIFEST.replace('"calc.add"', '"calc.wipe"'), encoding="utf-8")
    stale = project.read(root)
    assert not stale.is_current
    difference = {entry.name: entry for entry in diff(before, locking.derive(stale)).entries}
    rows = {(row.kind, str(row.capability), row.effect) for row in difference["sum"].rows}
    assert ("gained", "x.calc.wipe", "widens") in rows


def test_the_command_line_runs_shows_and_explains_it(root: Path) -> None:
    def llmdo(*words: str) -> tuple[int, str]:
        done = commands.llmdo(root, *words)
        return done.returncode, done.stdout

    assert llmdo("run", "sum", '{"a": 2}') == (0, '{"sum":3}\n')
    assert llmdo("run", "sum", "--all-tools") == (0, "sum > calc > add: x.calc.cpu\n")
    assert llmdo("graph", "sum") == (0, "entry sum\n`-- [calc]\n        allowed: x.calc.cpu\n")
    drawn = json.loads(llmdo("graph", "wipe", "--format", "json")[1])
    [entry] = drawn["entries"]
    assert (entry["name"], entry["starts"], entry["tool"]) == ("wipe", [], "calc.wipe")
    assert [(use["name"], use["decision"]) for use in entry["uses"]] == [("calc", "needs_approval")]
    assert "the only path:" in llmdo("why", "wipe", "x.calc.wipe", "--all")[1]
