"""The audit: every decision is a record, and whatever is done to the file afterwards shows."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal import JournalEntry, Runs, audit, read_journal
from llmdo.journal.audit import START, Audit, Link, chained, read
from llmdo.journal.sqlite.connection import VERSION
from llmdo.journal.tree import full_tree, walk
from llmdo.runtime import Answer, ApproveAll, Question, RunOutcome
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.telemetry.redaction import Redaction
from tests.support.building import go, graph, script, toolset, use, worker
from tests.support.commands import llmdo
from tests.support.forging import forging

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.graph.resolved import Graph

NOTHING = Redaction.of({})
END = {"kind": "run_finished"}


def chain(*records: dict[str, object]) -> list[str]:
    last, lines = Link(), []
    for record in (*records, END):
        line, last = chained(record, last)
        lines.append(line)
    return lines


FIVE = chain(*({"kind": "decided", "text": f"record {number}", "bidi": "\u202e"} for number in range(5)))
HEAD = read(FIVE).last.head


def test_a_whole_chain_holds() -> None:
    audited = read(FIVE, HEAD)
    assert (audited.faults, len(audited.records), audited.last.number) == ((), 6, 6)
    assert audited.records[0]["prev"] == START


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
def test_what_is_no_record_is_reported_as_such(line: str) -> None:
    assert "this is not a record" in {fault.message for fault in read([line, *FIVE]).faults}


def start(
    team_graph: Graph, root: Path, run: str = "r", environ: Mapping[str, str] | None = None, **options: Any
) -> RunOutcome:
    with Runs(root).create(run) as journal:
        recorder = Recorder(journal, Redaction.of(environ or {}))
        return go(team_graph, root, run=run, recorder=recorder, **options)


def audit_of(root: Path, run: str = "r") -> Audit:
    with Runs(root).read(run) as journal:
        return read(journal.lines())


def test_a_run_leaves_a_record_of_every_decision_and_result(tmp_path: Path) -> None:
    script(
        tmp_path,
        main=[
            [("write_file", {"path": "a.txt", "content": "x"}), ("read_file", {"path": "a.txt"})],
            [("write_file", {"path": "b.txt", "content": "sk-abcdefghijklmnopqrstuvwxyz"})],
            "{results}",
        ],
    )
    team_graph = graph(
        worker("main", use("filesystem", write=["**"])), approvals={"fs.write:b.txt": "blocked"}
    )
    start(team_graph, tmp_path, approver=ApproveAll(), mode="approve-all")
    audited = audit_of(tmp_path)
    assert audited.faults == ()
    kinds = [record["kind"] for record in audited.records]
    assert (kinds[0], kinds[-1]) == ("run_started", "run_finished")
    assert sorted(kinds[1:5]) == ["decided", "decided", "tool_finished", "tool_finished"]
    assert kinds[5:-1] == ["decided", "tool_finished"]
    asked = next(record for record in audited.records if record.get("tool") == "write_file")
    blocked, refused = audited.records[-3:-1]
    expected = {
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
    assert expected.items() <= asked.items()
    assert asked["time"].endswith("+00:00")
    assert (blocked["decision"], blocked["allowed"], blocked["by"]) == ("blocked", False, "rules")
    assert blocked["reasons"] == ['`fs.write:b.txt`: "fs.write:b.txt" = "blocked" (llmdo.toml)']
    assert refused["outcome"] == "denied"
    assert "sk-abc" not in "".join(map(str, audited.records))


class Asked:
    """Answers one question after the other."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = iter(answers)

    async def ask(self, question: Question) -> Answer:
        return next(self._answers)


def test_a_changed_call_is_recorded_before_and_after(tmp_path: Path) -> None:
    script(tmp_path, main=[[("write_file", {"path": "a.txt", "content": "x"})], "{results}"])
    team_graph = graph(worker("main", use("filesystem", write=["**"])))
    other = {"path": "a.txt", "content": "y"}
    person = Asked(
        Answer(allowed=False, by="ada", arguments=other, at_terminal=True), Answer(allowed=True, by="ada")
    )
    start(team_graph, tmp_path, approver=person)
    first, second = (record for record in audit_of(tmp_path).records if record["kind"] == "decided")
    assert (first["arguments"]["content"], first["changed"]) == ("x", other)
    assert (second["arguments"], second["changed"]) == (other, None)


def test_delegates_and_all_endings_are_recorded_once_however_often_a_run_goes_on(tmp_path: Path) -> None:
    script(
        tmp_path,
        main=[
            [("helper", {"input": "x"}), ("helper", {"input": "y"}), ("read_file", {"path": "none"})],
            [("write_file", {"path": "a.txt", "content": "x"})],
            "done",
        ],
        helper=["{prompt}"],
    )
    team_graph = graph(worker("main", "helper", use("filesystem", write=["**"])), worker("helper"))
    start(team_graph, tmp_path)
    before = audit_of(tmp_path)
    came = sorted(
        (record["path"], record["outcome"]) for record in before.records if record["kind"] == "tool_finished"
    )
    assert came == [
        ("main/helper#1", "success"),
        ("main/helper#2", "success"),
        ("main/read_file#1", "failed"),
        ("main/write_file#1", "denied"),
    ]
    for sessions in (2, 3):
        with Runs(tmp_path).open("r") as journal:
            go(team_graph, tmp_path, run="r", recorder=Recorder(journal, NOTHING))
        after = audit_of(tmp_path)
        assert after.faults == ()
        assert len(after.records) == len(before.records) + 2 * (sessions - 1), "a start and an end each"


def test_a_person_who_ends_a_run_is_recorded_and_asked_again(tmp_path: Path) -> None:
    script(tmp_path, main=[[("write_file", {"path": "a.txt", "content": "x"})], "{results}"])
    team_graph = graph(worker("main", use("filesystem", write=["**"])))
    start(team_graph, tmp_path, approver=Asked(Answer(allowed=False, by="ada", stops=True)))
    with Runs(tmp_path).open("r") as journal:
        go(team_graph, tmp_path, run="r", approver=ApproveAll(), recorder=Recorder(journal, NOTHING))
    answers = [
        (record["by"], record["allowed"])
        for record in audit_of(tmp_path).records
        if record["kind"] == "decided"
    ]
    assert answers == [("ada", False), ("approve-all", True)]


def test_a_record_is_on_disk_before_the_call_that_it_is_about_runs(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(LOOKS, encoding="utf-8")
    calls = [[("safe", {})], [("effect", {})], [("helper", {"input": "x"})], "{results}"]
    script(tmp_path, main=calls, helper=[[("safe", {})], "{results}"])
    tools = toolset("tools", "tools.py:tools", safe=(), effect=["x.tools.effect"])
    team_graph = graph(
        worker("main", "tools", "helper"), worker("helper", "tools"), tools, approvals={"x": "allowed"}
    )
    outcome = start(team_graph, tmp_path)
    assert outcome.status == "completed", outcome.error
    seen = (tmp_path / "seen.txt").read_text().splitlines()
    assert seen == ["main/safe#1", "main/effect#1", "main/helper#1 main/helper#1/safe#1"]


LOOKS = """
import sqlite3
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")
HERE = Path(__file__).parent
told = set()

def look():
    with sqlite3.connect(HERE / ".llmdo/runs/r.sqlite") as journal:
        paths = journal.execute("SELECT path FROM entry WHERE kind = 'decision' ORDER BY seq")
        new = [path for (path,) in paths if path not in told]
    told.update(new)
    with (HERE / "seen.txt").open("a") as seen:
        seen.write(" ".join(new) + "\\n")
    return "looked"

@tools.tool_plain
def safe() -> str:
    return look()

@tools.tool_plain
def effect() -> str:
    return look()
"""


def test_a_chain_that_does_not_hold_is_not_continued(tmp_path: Path) -> None:
    script(tmp_path, main=["done"])
    team_graph = graph(worker("main"))
    start(team_graph, tmp_path)
    with sqlite3.connect(Runs(tmp_path).path("r")) as connection:
        connection.execute("UPDATE entry SET outcome = 'failed' WHERE kind = 'end'")
    connection.close()
    with pytest.raises(LlmdoError, match="was changed, or what came before it"):
        Runs(tmp_path).open("r")


def test_nothing_runs_once_the_audit_cannot_be_written(tmp_path: Path) -> None:
    writes = [[("write_file", {"path": path, "content": "x"})] for path in ("a.txt", "b.txt")]
    script(tmp_path, main=[*writes, "{results}"])
    team_graph = graph(worker("main", use("filesystem", write=["**"])), approvals={"fs.write": "allowed"})
    with Runs(tmp_path).create("r") as journal:
        recorder = Recorder(journal, NOTHING)
        with sqlite3.connect(journal.path) as connection:
            connection.execute(
                "CREATE TRIGGER t BEFORE INSERT ON entry "
                "WHEN new.kind = 'decision' AND CAST(new.body AS TEXT) LIKE '%b.txt%' "
                "BEGIN SELECT raise(ABORT, 'disk is full'); END"
            )
        connection.close()
        outcome = go(team_graph, tmp_path, run="r", recorder=recorder)
    assert outcome.status == "interrupted"
    assert "cannot be written: the disk is full" in (outcome.error or "")
    assert (tmp_path / "a.txt").exists()
    assert not (tmp_path / "b.txt").exists()
    with sqlite3.connect(journal.path) as connection:
        connection.execute("DROP TRIGGER t")
    connection.close()
    assert [record["kind"] for record in audit_of(tmp_path).records] == [
        "run_started",
        "decided",
        "tool_finished",
    ]


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
    ran = llmdo(workspace, "run", "-v", "main", "x")
    head = next(line for line in ran.stderr.splitlines() if line.startswith("audit: ")).rpartition(" ")[2]
    shown = llmdo(workspace, "runs", "audit", "last")
    assert shown.returncode == 0, shown.stderr
    assert "allowed main/write_file#1 by rules, raises fs.write:a.txt" in shown.stdout
    assert 'because `fs.write:a.txt`: "fs.write:a.txt" = "allowed" (llmdo.toml:8)' in shown.stdout
    assert "denied  main/write_file#2 by reject-all, raises fs.write:b.txt" in shown.stdout
    assert "\u202e" not in shown.stdout

    entries = "the journal holds: 16 entries\n"
    good = llmdo(workspace, "runs", "audit", "last", "--verify", "--head", head)
    assert (good.returncode, good.stdout) == (0, f"the chain holds: 6 records, head {head}\n{entries}")
    document = json.loads(llmdo(workspace, "runs", "audit", "last", "--format", "json").stdout)
    assert (document["schema"], document["status"], document["head"]) == ("llmdo.audit/1", "holds", head)

    copied = workspace / "copy.jsonl"
    copied.write_text(llmdo(workspace, "runs", "audit", "last", "--format", "jsonl").stdout)
    same = llmdo(workspace, "runs", "audit", "copy.jsonl", "--verify", "--head", head)
    assert (same.returncode, same.stdout + entries) == (0, good.stdout)
    exported = workspace / "copy.sqlite"
    llmdo(workspace, "runs", "export", "last", exported.name)
    held = llmdo(workspace, "runs", "audit", exported.name, "--head", head)
    assert held.returncode == 0
    assert held.stdout.endswith("the journal holds: 17 entries, 1 of them after the last record\n"), (
        "its sources"
    )

    with sqlite3.connect(next((workspace / ".llmdo/runs").glob("*.sqlite"))) as connection:
        connection.execute(
            "UPDATE entry SET body = CAST(replace(body, '\"allowed\":false', '\"allowed\":true') AS BLOB) "
            "WHERE kind = 'decision'"
        )
    connection.close()
    bad = llmdo(workspace, "runs", "audit", "last", "--verify")
    assert bad.returncode == 1
    assert "`decision` of main/write_file#2, was changed, or what came before it" in bad.stdout


def test_no_tool_reaches_the_audit(workspace: Path) -> None:
    script(
        workspace,
        main=[[("write_file", {"path": ".llmdo/runs/x.sqlite", "content": "x"})], "{results}"],
    )
    ran = llmdo(workspace, "run", "-v", "--approve-all", "main", "x")
    assert "needs approval, which was not given" in ran.stdout
    assert not (workspace / ".llmdo/runs/x.sqlite").exists()


def test_a_run_without_a_place_for_its_audit_does_not_begin(workspace: Path) -> None:
    (workspace / ".llmdo").symlink_to("/tmp")
    ran = llmdo(workspace, "run", "-v", "main", "x")
    assert ran.returncode == 2
    assert not (workspace / "a.txt").exists()
    (workspace / ".llmdo").unlink()
    (workspace / ".llmdo").write_text("")
    ran = llmdo(workspace, "run", "-v", "main", "x")
    assert (ran.returncode, "--no-journal" in ran.stderr) == (2, True)
    assert not (workspace / "a.txt").exists()


def test_a_run_that_is_not_there_is_reported(workspace: Path) -> None:
    assert "no run has a journal here" in llmdo(workspace, "runs", "audit", "last").stderr
    assert llmdo(workspace, "runs", "audit", "../../etc/passwd").returncode == 2


def test_an_audit_that_somebody_made_up_is_shown_without_harm(tmp_path: Path) -> None:
    from llmdo.render.audit import decisions

    odd: list[dict[str, Any]] = [
        {"kind": kind, name: value}
        for kind in ("run_started", "decided", "tool_finished", "run_finished", None, [], "\x1b[2J")
        for name in ("time", "path", "reasons", "arguments", "outcome", "capabilities", "changed")
        for value in (None, 1, [], {}, "\x1b[2J\u202e", [["x"]], [None])
    ]
    audited = audit.read([chained(record, Link())[0] for record in odd])
    assert all(line.isprintable() for line in decisions(audited))


def nested(depth: int) -> str:
    """A record of a chain that is nested that deeply."""
    text = f'{{"n":1,"arguments":{"[" * depth}{"]" * depth},"prev":"{START}"}}'
    return f'{text[:-1]},"hash":"{sha256(text.encode()).hexdigest()}"}}'


def test_a_record_that_can_be_read_can_be_written_again() -> None:
    kept = {depth: len(read([nested(depth)]).records) for depth in (100, 250, *range(950, 1010), 100_000)}
    assert kept.pop(100) == 1
    assert set(kept.values()) == {0}


def test_not_every_line_of_a_huge_file_is_a_fault_of_its_own() -> None:
    faults = read([""] * 5000).faults
    assert (len(faults), faults[1000].message) == (1002, "4,000 more faults")
    assert len(read([""] * 5000, is_open=True).faults) == 1002
    assert read([f'{{"n":{2**53},"prev":"","hash":""}}']).records == ()


def test_the_audit_of_a_session_has_no_end_and_that_of_a_run_has() -> None:
    session = {"kind": "decided", "left": False}
    lines = chain(session, session)[:-1]
    assert (read(lines).faults, read(lines).is_session) == ((), True)
    assert read(lines[1:]).faults
    run = chain({"kind": "run_started"}, session)[:-1]
    assert [fault.is_end for fault in read(run).faults] == [True]
    assert [fault.is_end for fault in read([]).faults] == [True]


def test_half_a_record_is_no_fault_while_it_is_being_written() -> None:
    session = {"kind": "decided", "left": False}
    lines = chain(session, session)[:-1]
    half = [lines[0], lines[1][:20]]
    assert (read(half, is_open=True).faults, read(half, is_open=True).is_open) == ((), True)
    assert [fault.line for fault in read(half).faults] == [2]
    assert read(lines, is_open=True).is_open is False
    assert [fault.line for fault in read(["x", *half], is_open=True).faults] == [1]


def test_the_isolation_in_force_is_reported_first_and_recorded(workspace: Path) -> None:
    with (workspace / "llmdo.toml").open("a") as file:
        file.write('[toolsets.shell]\nisolation = "off"\n')
    header = (workspace / "main.worker").read_text().replace("toolsets: {", "toolsets: {shell: {}, ")
    (workspace / "main.worker").write_text(header)
    first = llmdo(workspace, "run", "-v", "main", "x").stderr.splitlines()
    line_of_run = next(line for line in first if line.startswith("run "))
    assert 'isolation of commands: none; does not cover: the manifest says `isolation = "off"`' in line_of_run
    assert "files outside the workspace, the network" in line_of_run
    records = json.loads(llmdo(workspace, "runs", "audit", "last", "--format", "json").stdout)["records"]
    assert line_of_run.endswith(records[0]["isolation"])
    assert {record["isolation"] for record in records if record["kind"] == "decided"} == {
        records[0]["isolation"]
    }


EARLIER = Path(__file__).parent / "earlier" / "audited.sqlite"
"""A run whose audit an earlier llmdo kept as lines; `make.py` beside it says how it was made."""

EARLIER_HEAD = "6c828f3d56bb8148740e9aaf83768fffeb24e418fa6251bdaaf4d3550a6ca70c"
"""What was printed at its end."""


def test_a_run_of_an_earlier_llmdo_has_the_audit_that_it_had(tmp_path: Path) -> None:
    held = llmdo(tmp_path, "runs", "audit", str(EARLIER), "--verify", "--head", EARLIER_HEAD)
    assert (held.returncode, held.stdout.splitlines()[0]) == (
        0,
        f"the chain holds: 12 records, head {EARLIER_HEAD}",
    )
    assert (
        "allowed main/write_file#2 by root, raises fs.write:b.txt"
        in llmdo(tmp_path, "runs", "audit", str(EARLIER)).stdout
    )


def test_what_is_decided_now_goes_on_from_the_audit_of_an_earlier_llmdo(tmp_path: Path) -> None:
    run = Runs(tmp_path)
    run.prepare()
    run.adopt("r", copy_of(EARLIER, tmp_path))
    with run.open("r") as journal:
        journal.add(JournalEntry(path="main", kind="session", step=3, body=b'{"run":"r","mode":"prompt"}'))
        journal.add(JournalEntry(path="main", kind="end", step=3, outcome="completed"))
        journal.commit()
    with closing(sqlite3.connect(run.path("r"))) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,), (
            "no earlier llmdo adds to it"
        )
    with run.read("r", whole=True) as journal:
        audited = read(journal.lines())
        assert audited.faults == ()
        assert [record["kind"] for record in audited.records[-3:]] == [
            "run_finished",
            "run_started",
            "run_finished",
        ]
        assert audited.records[-2]["prev"] == EARLIER_HEAD


def test_the_calls_of_an_earlier_run_are_told_with_their_arguments(tmp_path: Path) -> None:
    with read_journal(copy_of(EARLIER, tmp_path)) as journal:
        calls = {node.path: node for node in walk(full_tree(journal))}
    assert calls["main/write_file#1"].decisions[0].arguments == {"path": "a.txt", "content": "x"}


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ("UPDATE audit SET line = replace(line, 'b.txt', 'c.txt')", "does not hold"),
        ("UPDATE audit SET line = x'ff' WHERE n = 3", "line 3"),
        ("DELETE FROM audit WHERE n > 2", "held more of the run"),
        ("DELETE FROM audit", "held more of the run"),
        ("UPDATE entry SET outcome = 'failed' WHERE kind = 'end'", "was changed"),
    ],
)
def test_an_edit_of_the_lines_of_an_earlier_llmdo_is_refused(tmp_path: Path, edit: str, problem: str) -> None:
    runs = Runs(tmp_path)
    runs.prepare()
    runs.adopt("r", copy_of(EARLIER, tmp_path))
    runs.open("r").close()  # which puts its anchor down
    with sqlite3.connect(runs.path("r")) as connection:
        connection.execute(edit)
    connection.close()
    with pytest.raises(LlmdoError, match=problem):
        runs.open("r")


def copy_of(file: Path, folder: Path) -> Path:
    target = folder / "copied.sqlite"
    target.write_bytes(file.read_bytes())
    return target


ATTACKS = {
    "a decision": "UPDATE entry SET body = CAST(replace(body, '\"allowed\":false', '\"allowed\":true') AS BLOB) "
    "WHERE kind = 'decision'",
    "arguments": "UPDATE entry SET body = CAST(replace(body, 'b.txt', 'c.txt') AS BLOB) WHERE kind = 'decision'",
    "a result": "UPDATE entry SET body = CAST('{\"content\":\"other\"}' AS BLOB) WHERE kind = 'finished'",
    "a refusal": "UPDATE entry SET outcome = 'success' WHERE kind = 'ended'",
    "the mode": "UPDATE entry SET body = CAST(replace(body, 'reject-all', 'prompt') AS BLOB) "
    "WHERE kind = 'session'",
    "the status": "UPDATE entry SET outcome = 'failed' WHERE kind = 'end'",
    "a body that is none": "UPDATE entry SET body = CAST('[' AS BLOB) WHERE kind = 'decision'",
    "a time that is none": "UPDATE entry SET at = 1e300 WHERE kind = 'decision'",
    "the end": "DELETE FROM entry WHERE seq > 12",
    "a gap": "DELETE FROM entry WHERE kind = 'ended'",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_on_the_entries_shows(workspace: Path, attack: str) -> None:
    head = head_of(llmdo(workspace, "run", "-v", "main", "x").stderr)
    [file] = (workspace / ".llmdo/runs").glob("*.sqlite")
    llmdo(workspace, "runs", "export", "last", "copy.sqlite")
    for edited in (file, workspace / "copy.sqlite"):
        with sqlite3.connect(edited) as connection:
            connection.execute(ATTACKS[attack])
        connection.close()
    assert llmdo(workspace, "runs", "audit", "last", "--verify").returncode != 0
    assert llmdo(workspace, "runs", "audit", "copy.sqlite", "--verify").returncode == 1
    assert llmdo(workspace, "runs", "audit", "last", "--head", head).returncode != 0


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_that_chains_all_of_it_anew_shows_where_the_head_was_noted(
    workspace: Path, attack: str
) -> None:
    head = head_of(llmdo(workspace, "run", "-v", "main", "x").stderr)
    [file] = (workspace / ".llmdo/runs").glob("*.sqlite")
    assert llmdo(workspace, "runs", "audit", "last", "--head", head).returncode == 0
    with forging(file) as connection:
        connection.execute(ATTACKS[attack])
    assert llmdo(workspace, "runs", "audit", "last", "--head", head).returncode == 1


def test_a_swap_of_two_runs_shows_where_the_head_was_noted(workspace: Path) -> None:
    head = head_of(llmdo(workspace, "run", "-v", "main", "x").stderr)
    llmdo(workspace, "run", "-v", "main", "x")
    for name, run in (("first", Runs(workspace).names()[0]), ("second", "last")):
        llmdo(workspace, "runs", "export", run, f"{name}.sqlite")
    assert llmdo(workspace, "runs", "audit", "first.sqlite", "--head", head).returncode == 0
    (workspace / "second.sqlite").replace(workspace / "first.sqlite")
    assert llmdo(workspace, "runs", "audit", "first.sqlite", "--head", head).returncode == 1


def test_an_export_that_took_a_secret_out_has_the_audit_and_the_head_of_the_run(workspace: Path) -> None:
    ran = llmdo(workspace, "run", "-v", "main", "x")
    secret = {**os.environ, "LATER_API_KEY": "created a.txt"}  # by which no result is shown any more
    llmdo(workspace, "runs", "export", "last", "copy.sqlite", environ=secret)
    held = llmdo(workspace, "runs", "audit", "copy.sqlite", "--head", head_of(ran.stderr))
    assert (held.returncode, "redacted: " in held.stdout) == (0, True), held.stdout
    with sqlite3.connect(workspace / "copy.sqlite") as connection:
        connection.execute("UPDATE audit SET line = replace(line, '\"allowed\":false', '\"allowed\":true')")
    connection.close()
    edited = llmdo(workspace, "runs", "audit", "copy.sqlite", "--verify")
    assert (edited.returncode, "this record was changed" in edited.stdout) == (1, True)


def test_an_export_whose_entries_were_chained_anew_and_its_kept_lines_too_contradicts_itself(
    workspace: Path,
) -> None:
    llmdo(workspace, "run", "-v", "main", "x")
    secret = {**os.environ, "LATER_API_KEY": "created a.txt"}
    llmdo(workspace, "runs", "export", "last", "copy.sqlite", environ=secret)
    with forging(workspace / "copy.sqlite") as connection:
        connection.execute(ATTACKS["a decision"])
    edited = llmdo(workspace, "runs", "audit", "copy.sqlite", "--verify")
    assert (edited.returncode, "of the audit does not say what entry" in edited.stdout) == (1, True), (
        edited.stdout
    )


def head_of(printed: str) -> str:
    return next(line for line in printed.splitlines() if line.startswith("audit: ")).rpartition(" ")[2]
