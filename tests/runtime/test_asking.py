"""What a journal keeps of asking: the requests of workers, streamed or not, and the answers to questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from llmdo.journal import Runs
from llmdo.journal.questions import waiting
from llmdo.runtime import ApproveAll, RejectAll, RunOptions, RunOutcome
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.replay_mode import ReplayMode
from llmdo.runtime.telemetry.redaction import Redaction
from tests.support.building import graph, prompts, script, toolset, with_code, worker
from tests.support.running import run_sync

from .test_python_workers import AGENTS, adopting, write
from .test_python_workers import go as start_entry
from .test_recording import broken_models, go_on, start

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = """
from pathlib import Path
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")
LOG = Path(__file__).with_name("effects.log")

@tools.tool
async def think(ctx: RunContext, about: str) -> str:
    with LOG.open("a") as log:
        log.write(about + "\\n")
    return (await Agent(ctx.model).run(about)).output

@tools.tool
async def ask(ctx: RunContext) -> str:
    messages = [ModelRequest.user_text_prompt("directly")]
    return (await ctx.model.request(messages, None, ModelRequestParameters())).text
"""


def test_what_a_tool_asks_its_model_is_part_of_the_tool(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    steps = [[("think", {"about": "a"}), ("think", {"about": "b"}), ("ask", {})], "{results}"]
    script(tmp_path, main=[*steps])
    team_graph = graph(
        worker("main", "tools"),
        toolset("tools", "tools.py:tools", think=["x.tools"], ask=["x.tools"]),
        approvals={"x.tools": "allowed"},
    )
    models = (tmp_path / "models.py").read_text()
    inner = "        if 'go' not in str(messages[0].parts[0].content):\n"
    inner += "            return ModelResponse(parts=[TextPart('inner')])\n"
    (tmp_path / "models.py").write_text(
        models.replace("        step = steps[", f"{inner}        step = steps[")
    )
    first = start(team_graph, tmp_path)
    assert first.status == "completed", first.error
    assert str(first.output).count("inner") == 3
    assert first.usage.requests == 5
    with Runs(tmp_path).read("r") as journal:
        assert [(entry.path, entry.step) for entry in journal.entries("request")] == [
            ("main", 1),
            ("main", 2),
        ]
        assert journal.count("main", "sent") == 5
    broken_models(tmp_path)
    again = go_on(team_graph, tmp_path)
    assert (again.status, again.output, again.error) == ("completed", first.output, None)
    assert go_on(team_graph, tmp_path, replay_mode=ReplayMode(live=False)).output == first.output
    assert sorted((tmp_path / "effects.log").read_text().split()) == ["a", "b"]  # at the same time


STREAMING = """
from pathlib import Path
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

ASKED = Path(__file__).with_name("asked.log")

async def pieces(messages, info):
    with ASKED.open("a") as log:
        log.write("x")
    if len(messages) == 1:
        yield {0: DeltaToolCall(name="look", json_args='{"where": "here"}', tool_call_id="1")}
    else:
        yield "two "
        yield "pieces"

own = FunctionModel(stream_function=pieces)
"""

LISTENING = """
@agent.on_event
async def listen(ctx, event):
    pass
"""


@pytest.mark.long
def test_a_request_that_an_adopted_agent_streams_is_recorded_as_well(tmp_path: Path) -> None:
    adopting(tmp_path, "unused")
    agents = AGENTS.replace("agent = Agent(own,", f"{STREAMING}\nagent = Agent(own,")
    write(tmp_path, agents__py=f"{agents}\n{LISTENING}")

    def outcome(replay_mode: ReplayMode | None = None) -> RunOutcome:
        runs = Runs(tmp_path)
        with runs.create("r") if replay_mode is None else runs.open("r") as journal:
            recorder = Recorder(journal, Redaction.of({}), replay_mode)
            return start_entry(tmp_path, "researcher", run="r", recorder=recorder)

    first = outcome()
    assert (first.status, first.output, first.usage.requests) == ("completed", "two pieces", 2), first.error
    with Runs(tmp_path).read("r") as journal:
        assert [entry.step for entry in journal.entries("request")] == [1, 2]
    for replay_mode in (ReplayMode(), ReplayMode(live=False)):
        assert outcome(replay_mode) == first
    assert (tmp_path / "asked.log").read_text() == "xx"


def test_the_answer_of_an_option_is_kept_without_its_question_and_still_counts(tmp_path: Path) -> None:
    script(tmp_path, main=[[("helper", {"input": "x"})], "{results}"], helper=["fine"])
    team_graph = graph(
        worker("main", "helper"), worker("helper"), approvals={"agent.delegate": "needs_approval"}
    )
    with Runs(tmp_path).create("r") as journal:
        recorder = Recorder(journal, Redaction.of({}), ReplayMode(until="main/helper#1@1"))
        options = RunOptions(run="r", recorder=recorder, approver=ApproveAll())
        stopped = run_sync(
            with_code(team_graph, tmp_path),
            root=tmp_path,
            prompts=prompts(team_graph),
            entry="go",
            options=options,
        )
    assert stopped.status == "interrupted"
    with Runs(tmp_path).read("r") as journal:
        assert [entry.kind for entry in journal.entries("asked", "answered")] == ["answered"]
        assert waiting(journal) == {}
    outcome = go_on(team_graph, tmp_path, approver=RejectAll())
    assert (outcome.status, outcome.output, outcome.denied) == ("completed", "[success: fine]", ())
