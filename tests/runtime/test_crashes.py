"""Code of the workspace that raises: the place of it, with its source line, is where people look."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from llmdo.base.backtrace import MOST, Frame
from llmdo.runtime import RunOutcome
from llmdo.runtime.telemetry.events import Event, RunFinished, ToolFinished, WorkerFinished
from tests.support.building import go, graph, script, toolset, worker
from tests.support.commands import llmdo

TOOLS = """
from pydantic_ai.toolsets import FunctionToolset

sums = FunctionToolset(id="sums")


def half(x):
    return 1 / x


def down(n):
    return down(n - 1) if n else 1 / 0


@sums.tool_plain
def share(n: int) -> float:
    return half(n)


@sums.tool_plain
def deep(n: int) -> float:
    return down(n)


@sums.tool_plain
def reworded() -> float:
    try:
        return half(0)
    except ZeroDivisionError as error:
        raise ValueError("nothing to share") from error


@sums.tool_plain
def elsewhere() -> object:
    import json
    return json.loads("{")
"""
SUMS = toolset("sums", "tools.py:sums", share=[], deep=[], reworded=[], elsewhere=[])
MODELS = """
from pydantic_ai.models.function import FunctionModel


def answer(messages, info):
    return {}["äöü"]


model = FunctionModel(answer)
"""
CODE = """
async def nightly(runtime, text):
    return [][3]
"""
HALF = Frame(path="tools.py", line=8, column=12, end_column=17, function="half", source="    return 1 / x")
MANIFEST = """
schema = 1
[workspace]
name = "shop"
workers = ["*.worker"]
toolset-modules = ["tools.py"]
[approvals.rules]
"x" = "allowed"
[entries.main]
worker = "main"
input = "go"
"""
MAIN = "---\nname: main\nmodel: python:models.py:main\ntoolsets: [sums]\n---\nGo.\n"


def called(tmp_path: Path, tool: str, arguments: dict[str, Any], **options: Any) -> RunOutcome:
    """The outcome of a run whose model calls that tool."""
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    script(tmp_path, main=[[(tool, arguments)], "never"])
    return go(graph(worker("main", "sums"), SUMS), tmp_path, **options)


def test_a_tool_that_raises_shows_the_workspaces_frames_from_the_innermost(tmp_path: Path) -> None:
    events: list[Event] = []
    outcome = called(tmp_path, "share", {"n": 0}, on_event=events.append)
    assert outcome.error == (
        "the tool `share` of worker `main` raised ZeroDivisionError: division by zero (tools.py:8)"
    )
    assert [(frame.function, frame.line) for frame in outcome.frames] == [("half", 8), ("share", 17)]
    assert outcome.frames[0] == HALF
    ends = [event for event in events if isinstance(event, ToolFinished | WorkerFinished | RunFinished)]
    assert [event.kind for event in ends] == ["tool_finished", "worker_finished", "run_finished"]
    assert all((event.error, event.frames) == (outcome.error, outcome.frames) for event in ends)


def test_a_failure_in_a_library_is_reported_by_the_line_that_called_it(tmp_path: Path) -> None:
    outcome = called(tmp_path, "elsewhere", {})
    [frame] = outcome.frames
    assert (frame.function, frame.source) == ("elsewhere", '    return json.loads("{")')
    everything = called(tmp_path, "elsewhere", {}, debug=True)
    assert everything.error == outcome.error
    paths = [traced.path for traced in everything.frames]
    assert paths.index("tools.py") > 0
    assert any(path.endswith("json/decoder.py") for path in paths)
    assert any(path.endswith("runtime/gate/toolset.py") for path in paths)


def test_what_is_raised_is_where_it_is_raised_and_not_its_cause(tmp_path: Path) -> None:
    outcome = called(tmp_path, "reworded", {})
    assert [frame.source.strip() for frame in outcome.frames] == [
        'raise ValueError("nothing to share") from error'
    ]


def test_of_a_deep_recursion_the_innermost_frames_are_kept(tmp_path: Path) -> None:
    outcome = called(tmp_path, "deep", {"n": 90})
    assert len(outcome.frames) == MOST
    assert {frame.function for frame in outcome.frames} == {"down"}


def test_a_model_that_raises_shows_its_line(tmp_path: Path) -> None:
    (tmp_path / "crashing.py").write_text(MODELS, encoding="utf-8")
    outcome = go(graph(worker("main", model="python:crashing.py:model")), tmp_path)
    assert outcome.error == "the model `function:function:answer:` raised KeyError: 'äöü' (crashing.py:6)"
    [frame] = outcome.frames
    assert frame.source[frame.column - 1 : frame.end_column - 1] == '{}["äöü"]'


def test_a_function_entry_that_raises_shows_its_line(tmp_path: Path) -> None:
    (tmp_path / "entries.py").write_text(CODE, encoding="utf-8")
    team_graph = graph(worker("main", model="test"), function="entries.py:nightly")
    outcome = go(team_graph, tmp_path)
    assert outcome.error == (
        "the function of entry `go` raised IndexError: list index out of range (entries.py:3)"
    )
    assert [frame.function for frame in outcome.frames] == ["nightly"]


def test_a_calling_model_is_told_the_place_and_no_source(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    script(
        tmp_path,
        main=[[("helper", {"input": "x"})], "{results}"],
        helper=[[("share", {"n": 0})], "never"],
    )
    outcome = go(graph(worker("main", "helper"), worker("helper", "sums"), SUMS), tmp_path)
    assert outcome.output == (
        "[failed: `helper` failed: the tool `share` of worker `helper` raised ZeroDivisionError: "
        "division by zero (tools.py:8)]"
    )


def test_what_lies_in_an_environment_within_the_workspace_is_no_code_of_it(tmp_path: Path) -> None:
    package = tmp_path / ".venv/lib/site-packages"
    package.mkdir(parents=True)
    (package / "vendored_halving.py").write_text("def half(x):\n    return 1 / x\n", encoding="utf-8")
    own = f"import sys\nsys.path.append({str(package)!r})\nfrom vendored_halving import half\n"
    (tmp_path / "tools.py").write_text(own + TOOLS.replace("def half(x)", "def unused(x)"), encoding="utf-8")
    script(tmp_path, main=[[("share", {"n": 0})], "never"])
    outcome = go(graph(worker("main", "sums"), SUMS), tmp_path)
    assert [frame.function for frame in outcome.frames] == ["share"]


@pytest.mark.long
def test_the_command_line_the_journal_and_a_replay_show_the_lines(tmp_path: Path) -> None:
    (tmp_path / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    (tmp_path / "main.worker").write_text(MAIN, encoding="utf-8")
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    script(tmp_path, main=[[("share", {"n": 0})], "never"])
    expected = [
        "--> tools.py:8:12 in half", "|", "8 |     return 1 / x", "|            ^^^^^",
        "::: tools.py:17:12 in share", "|", "17 |     return half(n)", "|            ^^^^^^^",
    ]  # fmt: skip

    def has_them(text: str) -> bool:
        lines = [line.strip() for line in text.splitlines()]
        return any(lines[at : at + len(expected)] == expected for at in range(len(lines)))

    ran = llmdo(tmp_path, "run")
    assert ran.returncode == 1
    assert has_them(ran.stderr)
    assert has_them(llmdo(tmp_path, "runs", "show", "last").stdout)
    assert has_them(llmdo(tmp_path, "runs", "replay", "last").stderr)
    document = json.loads(llmdo(tmp_path, "runs", "show", "last", "--format", "json").stdout)
    [call] = document["calls"][0]["children"]
    assert document["frames"] == call["frames"]
    assert [frame["line"] for frame in call["frames"]] == [8, 17]
    assert json.loads(llmdo(tmp_path, "run", "--format", "json").stdout)["frames"] == call["frames"]


def test_a_model_that_raises_within_a_delegate_shows_its_line_in_the_journal(tmp_path: Path) -> None:
    (tmp_path / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "crashing.py").write_text(MODELS, encoding="utf-8")
    (tmp_path / "main.worker").write_text(MAIN.replace("sums", "helper"), encoding="utf-8")
    helper = MAIN.replace("name: main", "name: helper\ndescription: Helps.").replace(
        "models.py:main", "crashing.py:model"
    )
    (tmp_path / "helper.worker").write_text(helper, encoding="utf-8")
    script(tmp_path, main=[[("helper", {"input": "x"})], "{results}"])
    assert "(crashing.py:6)" in llmdo(tmp_path, "run").stdout
    for form in ("text", "markdown"):
        text = llmdo(tmp_path, "runs", "show", "last", "--format", form).stdout
        assert text.count("--> crashing.py:6:12 in answer") == 1
        assert '6 |     return {}["äöü"]' in text
    document = json.loads(llmdo(tmp_path, "runs", "show", "last", "--format", "json").stdout)
    [call] = document["calls"][0]["children"]
    assert [frame["line"] for frame in call["frames"]] == [6]


@pytest.mark.long
def test_the_markdown_of_a_crashed_run_has_durations_the_error_and_its_lines(tmp_path: Path) -> None:
    (tmp_path / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    (tmp_path / "main.worker").write_text(MAIN, encoding="utf-8")
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    script(tmp_path, main=[[("share", {"n": 0})], "never"])
    llmdo(tmp_path, "run")
    page = llmdo(tmp_path, "runs", "show", "last", "--format", "markdown").stdout
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| main")]
    assert [row[0] for row in rows] == ["| main", "| main/share#1"]
    assert all(re.fullmatch(r"\d+\.\d\d s", row[2]) for row in rows)
    assert page.count("raised ZeroDivisionError: division by zero (tools.py:8)") == 1
    assert page.count("     --> tools.py:8:12 in half\n") == 1


@pytest.mark.few(1)
@pytest.mark.parametrize("flags", [[], ["--debug"]], ids=["plain", "debug"])
def test_a_debugged_run_shows_the_frames_of_libraries_as_well(flags: list[str], tmp_path: Path) -> None:
    (tmp_path / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
    (tmp_path / "main.worker").write_text(MAIN, encoding="utf-8")
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    script(tmp_path, main=[[("share", {"n": 0})], "never"])
    done = llmdo(tmp_path, "run", *flags)
    assert ("site-packages/pydantic_ai" in done.stderr) == bool(flags)
