"""What waits in a fleet and is called off: no answer has it go on, whoever gives it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.features.batch.conftest import effects, inputs
from tests.features.fleet.conftest import Rows, until
from tests.support import postgres
from tests.support.commands import llmdo

if lacking := postgres.lacking():
    pytest.skip(lacking, allow_module_level=True)

from tests.features.fleet.test_worker import STATES, put_in
from tests.features.fleet.working import working

pytestmark = [pytest.mark.fleet, pytest.mark.long]


@pytest.mark.parametrize("how", ["the batch", "the run"])
def test_a_yes_to_what_was_called_off_runs_nothing(
    fleet: str, workspace: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setenv("LLMDO_STORE", fleet)
    inputs(workspace, "careful a")
    put_in(workspace, fleet, rows)
    with working(workspace, fleet):
        until(lambda: rows(STATES) == [("1", "waiting")])
        ((run,),) = rows("SELECT run FROM llmdo.item")
        words = (
            ("batch", "cancel", "last", "--fleet", fleet) if how == "the batch" else ("runs", "cancel", run)
        )
        assert llmdo(workspace, *words).returncode == 0
        late = llmdo(workspace, "approve", run, "--yes", "main/careful#1", "--by", "ada")
        assert (late.returncode, "was called off" in late.stderr) == (2, True), late
        resumed = llmdo(workspace, "resume", run, "--approve-all")
        assert (resumed.returncode, "was called off by" in resumed.stderr) == (2, True), resumed
        inputs(workspace, "effect b")
        assert llmdo(workspace, "batch", "main", "--inputs", "in.jsonl", "--fleet", fleet).returncode == 0
        until(lambda: effects(workspace) == ["b"])  # so the worker has looked since
    assert (run, "cancelled") in rows("SELECT run, status FROM llmdo.run")
    assert effects(workspace) == ["b"]
