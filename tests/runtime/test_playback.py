"""What a journal is asked changes nothing: only what is repeated moves a run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.journal import Runs
from llmdo.runtime import ApproveAll
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.replay_mode import ReplayMode
from llmdo.runtime.telemetry.redaction import Redaction
from tests.support.building import graph, script, toolset, worker

from .test_recording import start

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = """
from pydantic_ai.toolsets import FunctionToolset

def act(what: str) -> str:
    return what

tools = FunctionToolset(tools=[act], id="tools")
"""


def test_a_journal_may_be_asked_again_and_again_before_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    script(tmp_path, main=[[("act", {"what": "x"})], "{results}"])
    team_graph = graph(worker("main", "tools"), toolset("tools", "tools.py:tools", act=["x.act"]))
    assert start(team_graph, tmp_path, approver=ApproveAll()).status == "completed"
    path, given = "main/act#1", {"what": "x"}
    with Runs(tmp_path).open("r") as journal:
        for mode in (ReplayMode(), ReplayMode(live=False)):
            recorder = Recorder(journal, Redaction.of({}), mode)
            playback = recorder.playback
            for _ in range(3):
                if mode.live:
                    assert playback.decision(path, {"what": "y"}, "finished") is None
                assert playback.is_over(path, "finished")
                assert not playback.is_over(path, "return")
                assert playback.has_called(path)
                assert playback.has_called_otherwise(path, {"what": "y"})
                assert not playback.has_called_otherwise(path, given)
                assert b'"act"' in (playback.next_tools("main") or b"")
            recorded = playback.decision(path, given if mode.live else {"what": "y"}, "finished")
            assert recorded is not None
            assert recorded[0].allowed
            assert recorded[1]
            assert playback.decision(path, given, "finished") is None
