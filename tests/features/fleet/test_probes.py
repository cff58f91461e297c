"""What a dead worker had in a call goes on with another one, without a person where a probe knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.features.batch.conftest import inputs
from tests.features.fleet.conftest import Rows, until
from tests.support import postgres
from tests.support.locks import locked
from tests.toolsets.probes.conftest import FILES, lines

if lacking := postgres.lacking():
    pytest.skip(lacking, allow_module_level=True)

from tests.features.fleet.test_worker import EXPIRE, STATES, put_in
from tests.features.fleet.working import process, working

pytestmark = pytest.mark.fleet


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    """The workspace of the bank, locked."""
    folder = tmp_path / "bank"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return locked(folder)


@pytest.mark.parametrize("moment", ["before", pytest.param("after", marks=pytest.mark.long)])
def test_what_a_dead_worker_had_in_a_call_goes_on_without_a_person(
    fleet: str, bank: Path, rows: Rows, moment: str
) -> None:
    inputs(bank, "pay ada", "pay bob", "hello")
    (bank / ("hold" if moment == "before" else "dies-after")).touch()
    put_in(bank, fleet, rows)
    with process(bank, fleet, "--jobs", "2") as child:
        until(lambda: lines(bank, "begun") if moment == "before" else child.poll() is not None)
        child.kill()
    (bank / "hold").unlink(missing_ok=True)
    with working(bank, fleet):
        rows(EXPIRE.partition(";")[0])
        rows(f"{EXPIRE.partition('; ')[2]} WHERE pid = {child.pid}")
        until(lambda: {state for _, state in rows(STATES)} == {"completed"})
    assert lines(bank, "paid") == ["ada", "bob"]
    assert set(lines(bank, "probed")) <= {"ada", "bob"}
    assert lines(bank, "probed")


def test_where_a_probe_does_not_know_no_worker_goes_on(fleet: str, bank: Path, rows: Rows) -> None:
    inputs(bank, "pay ada")
    (bank / "dies-after").touch()
    put_in(bank, fleet, rows)
    with process(bank, fleet) as child:
        until(lambda: child.poll() is not None)
    (bank / "probe").write_text("does not know")
    with working(bank, fleet):
        rows(EXPIRE.partition(";")[0])
        rows(f"{EXPIRE.partition('; ')[2]} WHERE pid = {child.pid}")
        until(lambda: rows(STATES) == [("1", "unsure")])
    assert (lines(bank, "paid"), lines(bank, "probed")) == (["ada"], ["ada"])
