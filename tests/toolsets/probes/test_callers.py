"""Whoever goes on with a run asks its probes: a chat, a program, a process of the page, and a run with another's end."""

from __future__ import annotations

from pathlib import Path

import pytest

import llmdo as package
from llmdo.base.diagnostic import LlmdoError
from llmdo.cli.approving import ApprovalOptions
from llmdo.cli.terminal import Terminal
from llmdo.features.chat.service import ChatRequest, open_chat
from llmdo.services.run import EntryRequest
from llmdo.services.run_processes import ResumeProcesses
from tests.cli.conftest import Llmdo

from .conftest import killed, lines


@pytest.fixture(params=["before", "after"])
def stopped(request: pytest.FixtureRequest, root: Path) -> Path:
    """The workspace with a run whose process was killed in a call."""
    killed(root, request.param, "run", "main")
    return root


def test_a_program(stopped: Path) -> None:
    outcome = package.resume(stopped)
    assert (outcome.status, lines(stopped, "paid")) == ("completed", ["ada"]), outcome.error


def test_a_chat(stopped: Path) -> None:
    host = Terminal(approvals=ApprovalOptions(reject_all=True))
    start = EntryRequest(("main",), project=str(stopped), of_files=False)
    chat = open_chat(ChatRequest(start=start, continues="last"), host)
    assert chat.resumed is not None
    assert (chat.resumed.outcome.status, lines(stopped, "paid")) == ("completed", ["ada"])


def test_a_chat_where_the_last_process_said_how_it_ended(root: Path, llmdo: Llmdo) -> None:
    killed(root, "after", "run", "main")
    (root / "probe").write_text("does not know")
    assert llmdo("resume", "last", cwd=root).code == 130
    (root / "probe").unlink()
    with pytest.raises(LlmdoError) as refused:
        package.run(root, "main", "next", continue_from="last")
    assert refused.value.hint is not None
    test_a_chat(root)


def test_a_process_of_the_page(stopped: Path) -> None:
    with ResumeProcesses(root=stopped) as going:
        run = next(stopped.glob(".llmdo/runs/*.sqlite")).stem
        going.start(run)
        going.wait(run, 60)
        assert going.fault(run) is None
    assert lines(stopped, "paid") == ["ada"]


def test_a_run_that_goes_on_from_it_says_that_the_probe_can_settle_it(stopped: Path) -> None:
    with pytest.raises(LlmdoError) as refused:
        package.run(stopped, "main", "next", continue_from="last")
    assert "was started and did not finish" in refused.value.message
    assert str(refused.value.hint).endswith("asks its probe")
