"""Items whose calls did not finish: probes settle them, and no person is needed, whatever the store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Llmdo
from tests.features.batch.conftest import inputs
from tests.features.batch.test_stores import expire

from .conftest import killed, killed_within, lines

START = ("batch", "main", "--inputs", "in.jsonl", "--out", "out.jsonl")


@pytest.fixture(params=["files", pytest.param("postgres", marks=pytest.mark.fleet)])
def kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """The address of the store; None for files."""
    if request.param == "files":
        return None
    store = request.getfixturevalue("store")
    monkeypatch.setenv("LLMDO_STORE", store)
    return str(store)


def left(root: Path, moment: str, address: str | None, *words: str) -> None:
    """A batch whose process was killed in a call, and is known to be gone."""
    killed(root, moment, *(words or START))
    if address is not None:
        expire(address)


def items(llmdo: Llmdo, root: Path) -> list[dict[str, object]]:
    shown = json.loads(llmdo("batch", "show", "last", "--format", "json", cwd=root).out)
    return [dict(row) for row in shown["rows"]]


def states(llmdo: Llmdo, root: Path) -> list[object]:
    return [item["state"] for item in items(llmdo, root)]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_batch_goes_on_without_a_person(llmdo: Llmdo, root: Path, kept: str | None, moment: str) -> None:
    inputs(root, "pay ada bob", "pay eve")
    left(root, moment, kept)
    resumed = llmdo("batch", "resume", "last", cwd=root)
    assert resumed.code == 0, resumed.err
    assert (states(llmdo, root), lines(root, "paid")) == (["completed"] * 2, ["ada", "bob", "eve"])


def test_what_a_probe_does_not_know_is_for_a_person(llmdo: Llmdo, root: Path, kept: str | None) -> None:
    inputs(root, "pay ada")
    left(root, "after", kept)
    (root / "probe").write_text("raises")
    assert llmdo("batch", "resume", "last", cwd=root).code == 1
    (item,) = items(llmdo, root)
    assert item["state"] == "unsure"
    assert "`pay` at main/pay#1 (its probe `was_paid` raised ConnectionError: the bank is away)" in str(
        item["error"]
    )
    asked = lines(root, "probed")
    assert llmdo("batch", "resume", "last", cwd=root).code == 1
    assert (states(llmdo, root), lines(root, "probed")) == (["unsure"], asked), "asked again without a person"
    (root / "probe").unlink()
    assert llmdo("batch", "retry", "last", cwd=root).code == 0
    assert (states(llmdo, root), lines(root, "paid")) == (["completed"], ["ada"])


@pytest.mark.few(2)
@pytest.mark.parametrize("word", ["again", "give-up"])
def test_a_person_may_still_decide(llmdo: Llmdo, root: Path, kept: str | None, word: str) -> None:
    inputs(root, "pay ada")
    left(root, "after", kept)
    (root / "probe").write_text("does not know")
    assert llmdo("batch", "resume", "last", cwd=root).code == 1
    asked = lines(root, "probed")
    assert llmdo("batch", "retry", "last", "--unsure", word, cwd=root).code == 0
    assert lines(root, "paid") == ["ada"] * (2 if word == "again" else 1)
    assert lines(root, "probed") == asked


def test_a_call_that_ended_the_run_is_not_repeated_where_it_took_effect(
    llmdo: Llmdo, root: Path, kept: str | None
) -> None:
    inputs(root, "pay ada")
    (root / "breaks").touch()
    assert llmdo(*START, cwd=root).code == 1
    assert (states(llmdo, root), lines(root, "probed")) == (["failed"], [])
    (root / "probe").write_text("does not know")
    assert llmdo("batch", "retry", "last", cwd=root).code == 1
    assert states(llmdo, root) == ["unsure"]
    (root / "probe").unlink()
    assert llmdo("batch", "retry", "last", cwd=root).code == 0
    (item,) = items(llmdo, root)
    assert (item["state"], item["output"]) == ("completed", "paid ada, says the bank")
    assert lines(root, "paid") == ["ada"]
    assert llmdo("replay", str(item["run"]), cwd=root).code == 0


def test_a_call_that_ended_the_run_is_repeated_where_it_took_no_effect(llmdo: Llmdo, root: Path) -> None:
    tools = (root / "tools.py").read_text()
    (root / "tools.py").write_text(
        tools.replace(
            '    note("paid.log"',
            '    if HERE.joinpath("refuses").exists():\n        raise OSError\n    note("paid.log"',
        )
    )
    assert llmdo("lock", cwd=root).code == 0
    inputs(root, "pay ada")
    (root / "refuses").touch()
    assert llmdo(*START, cwd=root).code == 1
    assert llmdo("batch", "retry", "last", cwd=root).code == 1
    assert (states(llmdo, root), len(lines(root, "probed"))) == (["failed"], 1)
    (root / "refuses").unlink()
    assert llmdo("batch", "retry", "last", cwd=root).code == 0
    assert (states(llmdo, root), lines(root, "paid")) == (["completed"], ["ada"])
    assert len(lines(root, "probed")) == 2
    keys = {line.split()[0] for line in (root / "begun.log").read_text().splitlines()}
    assert len(keys) == 3, "each execution has a key of its own"


@pytest.mark.parametrize("word", ["again", "give-up"])
def test_a_word_is_about_what_was_asked_and_not_about_what_a_probe_can_settle(
    llmdo: Llmdo, root: Path, word: str
) -> None:
    inputs(root, "pay ada give:eve")
    killed_within(root, 2, *START)
    assert llmdo("batch", "resume", "last", cwd=root).code == 1
    (item,) = items(llmdo, root)
    assert (item["state"], "pay" in str(item["error"])) == ("unsure", False)
    (root / "probe").write_text("does not know")
    assert llmdo("batch", "retry", "last", "--unsure", word, cwd=root).code == 1
    (item,) = items(llmdo, root)
    assert (item["state"], "`pay` at main/pay#1 (its probe" in str(item["error"])) == ("unsure", True)
    (root / "probe").unlink()
    assert llmdo("batch", "retry", "last", cwd=root).code == 0
    assert (lines(root, "paid"), len(lines(root, "given"))) == (["ada"], 2 if word == "again" else 1)
