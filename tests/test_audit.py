"""The audit: every decision is a record, and whatever is done to the file afterwards shows."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo import audit
from llmdo.audit import START, Link, chained, read
from llmdo.diagnostic import LlmdoError
from llmdo.journal import Runs
from llmdo.runtime import ApproveAll
from llmdo.runtime.telemetry.events import Decided, RunFinished, RunStarted, ToolFinished
from llmdo.runtime.telemetry.redaction import Redaction
from llmdo.runtime.telemetry.trail import open_trail
from tests.commands import llmdo

from .runtime.building import go, graph, script, use, worker

NOTHING = Redaction.of({})
END = {"kind": "run_finished"}


def chain(*records: dict[str, object]) -> list[str]:
    last, lines = Link(), []
    for record in (*records, END):
        line, last = chained(record, last)
        lines.append(line.removesuffix("\n"))
    return lines


FIVE = chain(*({"kind": "decided", "text": f"record {number}", "bidi": "\u202e"} for number in range(5)))
HEAD = read(FIVE).last.head


def test_a_whole_chain_holds() -> None:
    found = read(FIVE, HEAD)
    assert (found.faults, len(found.records), found.last.number) == ((), 6, 6)
    assert found.records[0]["prev"] == START


@given(st.integers(0, 5), st.data())
def test_any_edit_of_any_line_shows(line: int, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(FIVE[line]) - 1))
    put = data.draw(st.characters(min_codepoint=32, max_codepoint=126))
    edited = FIVE[line][:at] + put + FIVE[line][at + 1 :]
    assert bool(read([*FIVE[:line], edited, *FIVE[line + 1 :]]).faults) == (edited != FIVE[line])


@given(st.permutations(range(6)).filter(lambda order: order != list(range(6))))
def test_any_other_order_shows(order: list[int]) -> None:
    assert read([FIVE[line] for line in order]).faults


@given(st.sets(st.integers(0, 5), min_size=1))
def test_any_gap_shows(gone: set[int]) -> None:
    assert read([line for number, line in enumerate(FIVE) if number not in gone]).faults


def test_a_repeated_record_and_one_of_another_audit_show() -> None:
    other = chain({"kind": "decided", "text": "other"})
    assert read([*FIVE[:2], FIVE[1], *FIVE[2:]]).faults[0].line == 3
    assert read([*FIVE[:1], other[0], *FIVE[2:]]).faults


def test_each_fault_says_where_and_what() -> None:
    edited = FIVE[2].replace("record 2", "record x")
    faults = {fault.line: fault.message for fault in read([*FIVE[:2], edited, FIVE[4], "{}", "x"]).faults}
    assert faults == {
        3: "this record was changed",
        4: "record 5 follows record 3: some are missing, or out of order",
        5: "this is not a record",
        6: "the end is missing: the run was killed or still goes on, or the end was cut off",
    }


def test_a_cut_end_and_a_new_chain_show_where_the_head_was_noted() -> None:
    assert [fault.is_end for fault in read(FIVE[:3]).faults] == [True]
    forged = chain({"kind": "decided", "text": "forged"})
    assert read(forged).faults == ()
    assert "not the one that was noted" in read(forged, HEAD).faults[0].message
    assert read([], HEAD).faults


@pytest.mark.parametrize(
    "line",
    ["", "null", "[]", "1", '{"n": 1}', '{"n": true, "prev": "", "hash": ""}', "[" * 10_000, '{"n": 1e999}'],
)
def test_what_is_no_record_is_said_to_be_none(line: str) -> None:
    assert "this is not a record" in {fault.message for fault in read([line, *FIVE]).faults}


def started(isolation: str | None = "isolation of commands: none") -> RunStarted:
    return RunStarted(path="main", run="r", entry="main", input="x", models={}, isolation=isolation)


def decided(**more: Any) -> Decided:
    said: dict[str, Any] = {
        "path": "main/t#1",
        "worker": "main",
        "toolset": "t",
        "tool": "t",
        "arguments": {},
        "raised": (),
        "decision": "allowed",
        "allowed": True,
        "by": "rules",
        "reasons": (),
    }
    return Decided(**(said | more))


def test_a_run_leaves_a_record_of_every_decision_and_result(tmp_path: Path) -> None:
    script(
        tmp_path,
        main=[
            [("write_file", {"path": "a.txt", "content": "x"}), ("read_file", {"path": "a.txt"})],
            [("write_file", {"path": "b.txt", "content": "sk-abcdefghijklmnopqrstuvwxyz"})],
            "{results}",
        ],
    )
    made = graph(worker("main", use("filesystem", write=["**"])), approvals={"fs.write:b.txt": "blocked"})
    path = tmp_path / "audit"
    with open_trail(path, NOTHING, "approve-all") as trail:
        go(made, tmp_path, approver=ApproveAll(), on_event=trail)
    found = read(path.read_text().splitlines(), trail.last.head)
    assert found.faults == ()
    assert [record["kind"] for record in found.records] == [
        "run_started",
        *("decided", "decided", "tool_finished", "tool_finished"),
        *("decided", "tool_finished"),
        "run_finished",
    ]
    asked, _, *_, blocked, _, _ = [*found.records][1:]
    said = {
        "path": "main/write_file#1",
        "worker": "main",
        "toolset": "filesystem",
        "tool": "write_file",
        "capabilities": ["fs.write:a.txt"],
        "decision": "needs_approval",
        "allowed": True,
        "by": "approve-all",
        "mode": "approve-all",
        "isolation": None,
        "arguments": {"path": "a.txt", "content": "x"},
        "changed": None,
    }
    assert said.items() <= asked.items()
    assert asked["time"].endswith("+00:00")
    assert (blocked["decision"], blocked["allowed"], blocked["by"]) == ("blocked", False, "rules")
    assert blocked["reasons"] == ['`fs.write:b.txt`: "fs.write:b.txt" = "blocked" (llmdo.toml)']
    assert "sk-abc" not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_changed_call_is_recorded_before_and_after(tmp_path: Path) -> None:
    with open_trail(tmp_path / "a", NOTHING, "prompt") as trail:
        trail(started())
        trail(decided(decision="needs_approval", allowed=False, arguments={"a": 1}, changed={"a": 2}))
        trail(ToolFinished(path="main/t#1", tool="t", outcome="success", result={"b": 1}))
        trail(RunFinished(path="main", run="r", status="completed", error=None))
    records = read((tmp_path / "a").read_text().splitlines()).records
    assert (records[1]["arguments"], records[1]["changed"]) == ({"a": 1}, {"a": 2})
    assert records[1]["isolation"] == "isolation of commands: none"
    assert records[2]["bytes"] == len('{"b": 1}')


def test_a_run_that_goes_on_continues_the_chain(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for _ in range(3):
        with open_trail(path, NOTHING, "prompt") as trail:
            trail(started())
            trail(decided())
    with open_trail(path, NOTHING, "prompt") as trail:
        trail(RunFinished(path="main", run="r", status="completed", error=None))
    found = read(path.read_text().splitlines())
    assert (found.faults, found.last.number) == ((), 7)


def test_a_chain_that_does_not_hold_is_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for text in (FIVE[1] + "\n", "{}\n", FIVE[0], FIVE[0] + "\n" + FIVE[1][:20], "\xff"):
        path.write_text(text, encoding="latin-1")
        with pytest.raises(LlmdoError):
            open_trail(path, NOTHING, "prompt")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_nothing_runs_once_the_audit_cannot_be_written(tmp_path: Path) -> None:
    script(tmp_path, main=[[("write_file", {"path": "a.txt", "content": "x"})], "{results}"])
    made = graph(worker("main", use("filesystem", write=["**"])), approvals={"fs.write": "allowed"})
    from llmdo.runtime.telemetry.trail import Trail

    full = os.open("/dev/full", os.O_WRONLY)
    with Trail(full, Link(), NOTHING, "prompt") as trail:
        outcome = go(made, tmp_path, on_event=trail)
    assert outcome.status == "failed"
    assert "the audit cannot be written: No space left on device" in (outcome.error or "")
    assert not (tmp_path / "a.txt").exists()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("")
    (tmp_path / "a").symlink_to("elsewhere")
    with pytest.raises(LlmdoError, match="cannot write"):
        open_trail(tmp_path / "a", NOTHING, "prompt")
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(LlmdoError, match="cannot write"):
        open_trail(tmp_path / "fifo", NOTHING, "prompt")


MANIFEST = """
schema = 1
[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:main"
[approvals.rules]
"fs.write:a.txt" = "allowed"
"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")
    (tmp_path / "llmdo.toml").write_text(MANIFEST)
    (tmp_path / "main.worker").write_text(
        "---\nname: main\nentry: true\ntoolsets: {filesystem: {write: ['**']}}\n---\nGo.\n"
    )
    writes = [("write_file", {"path": path, "content": "\u202etxt"}) for path in ("a.txt", "b.txt")]
    script(tmp_path, main=[writes, "{results}"])
    return tmp_path


def test_the_command_shows_and_verifies_what_a_run_did(workspace: Path) -> None:
    ran = llmdo(workspace, "run", "main", "x")
    head = next(line for line in ran.stderr.splitlines() if line.startswith("audit: ")).rpartition(" ")[2]
    shown = llmdo(workspace, "audit", "last")
    assert shown.returncode == 0, shown.stderr
    assert "allowed main/write_file#1 by rules, raises fs.write:a.txt" in shown.stdout
    assert 'because `fs.write:a.txt`: "fs.write:a.txt" = "allowed" (llmdo.toml:8)' in shown.stdout
    assert "denied  main/write_file#2 by reject-all, raises fs.write:b.txt" in shown.stdout
    assert "\u202e" not in shown.stdout

    good = llmdo(workspace, "audit", "last", "--verify", "--head", head)
    assert (good.returncode, good.stdout) == (0, f"the chain holds: 6 records, head {head}\n")
    document = json.loads(llmdo(workspace, "audit", "last", "--format", "json").stdout)
    assert (document["schema"], document["status"], document["head"]) == ("llmdo.audit/1", "holds", head)

    path = next((workspace / ".llmdo/runs").glob("*.audit.jsonl"))
    path.write_text(path.read_text().replace('"allowed":false', '"allowed":true'))
    bad = llmdo(workspace, "audit", "last", "--verify")
    assert (bad.returncode, bad.stdout) == (1, "line 3: this record was changed\n")
    assert "the chain does not hold" in llmdo(workspace, "audit", "last").stderr


def test_no_tool_reaches_the_audit(workspace: Path) -> None:
    script(
        workspace,
        main=[[("write_file", {"path": ".llmdo/runs/x.audit.jsonl", "content": "x"})], "{results}"],
    )
    ran = llmdo(workspace, "run", "--approve-all", "main", "x")
    assert "needs approval, which was not given" in ran.stdout
    assert not (workspace / ".llmdo/runs/x.audit.jsonl").exists()


def test_a_run_without_a_place_for_its_audit_does_not_begin(workspace: Path) -> None:
    (workspace / ".llmdo").symlink_to("/tmp")
    ran = llmdo(workspace, "run", "main", "x")
    assert ran.returncode == 2
    assert not (workspace / "a.txt").exists()
    (workspace / ".llmdo").unlink()
    (workspace / ".llmdo").write_text("")
    ran = llmdo(workspace, "run", "main", "x")
    assert (ran.returncode, "--no-journal" in ran.stderr) == (2, True)
    assert not (workspace / "a.txt").exists()


def test_a_run_that_is_not_there_is_said_so(workspace: Path) -> None:
    assert "no run has an audit here" in llmdo(workspace, "audit", "last").stderr
    assert llmdo(workspace, "audit", "../../etc/passwd").returncode == 2


def test_an_audit_that_somebody_made_up_is_shown_without_harm(tmp_path: Path) -> None:
    from llmdo.render.audit import decisions

    odd: list[dict[str, Any]] = [
        {"kind": kind, name: value}
        for kind in ("run_started", "decided", "tool_finished", "run_finished", None, [], "\x1b[2J")
        for name in ("time", "path", "reasons", "arguments", "outcome", "capabilities", "changed")
        for value in (None, 1, [], {}, "\x1b[2J\u202e", [["x"]], [None])
    ]
    found = audit.read([chained(record, Link())[0].strip() for record in odd])
    assert all(line.isprintable() for line in decisions(found))


def test_the_audit_is_among_the_files_of_its_run(tmp_path: Path) -> None:
    assert Runs(tmp_path).audit("r1").name == "r1.audit.jsonl"
    with pytest.raises(LlmdoError):
        Runs(tmp_path).audit("../x")


def test_the_isolation_in_force_is_told_first_and_recorded(workspace: Path) -> None:
    with (workspace / "llmdo.toml").open("a") as file:
        file.write('[toolsets.shell]\nisolation = "off"\n')
    header = (workspace / "main.worker").read_text().replace("toolsets: {", "toolsets: {shell: {}, ")
    (workspace / "main.worker").write_text(header)
    first = llmdo(workspace, "run", "main", "x").stderr.splitlines()
    told = next(line for line in first if line.startswith("run "))
    assert 'isolation of commands: none; does not cover: the manifest says `isolation = "off"`' in told
    assert "files outside the workspace, the network" in told
    records = json.loads(llmdo(workspace, "audit", "last", "--format", "json").stdout)["records"]
    assert told.endswith(records[0]["isolation"])
    assert {record["isolation"] for record in records if record["kind"] == "decided"} == {
        records[0]["isolation"]
    }
