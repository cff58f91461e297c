"""Nothing is executed that may not be executed now, whatever was decided, answered or recorded before."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from llmdo.graph.resolved import Graph
from llmdo.graph.toolset import Tool
from llmdo.journal import Runs
from llmdo.policy.authority import Capability
from llmdo.runtime import Answer, ApproveAll, Question, RunOptions
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.replay_mode import ReplayMode
from llmdo.runtime.telemetry.redaction import Redaction
from llmdo.services import locking
from llmdo.workspace import lock, project
from tests.support import forking
from tests.support.building import graph, rules, script, toolset, use, worker
from tests.support.mcp_workspaces import workspace
from tests.support.running import run_sync

from . import forging
from .test_recording import TOOLS, effects, go_on, start, tools

WRITE: Any = [("write_file", {"path": "a.txt", "content": "x"})]
RERUN = ReplayMode(live=False, reruns=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    return tmp_path


def writing(root: Path, **approvals: Any) -> Graph:
    script(root, main=[WRITE, "{results}"])
    return graph(
        worker("main", use("filesystem", write=["**"])), approvals=approvals or {"fs.write": "allowed"}
    )


# What a replay runs again


def test_a_replay_runs_nothing_again_that_a_forged_recording_calls_reading(root: Path) -> None:
    team_graph = writing(root)
    start(team_graph, root)
    forging.edit(root, "decision", forging.raising("fs.read:a.txt"))
    (root / "a.txt").unlink()
    assert go_on(team_graph, root, replay_mode=RERUN).status == "completed"
    assert not (root / "a.txt").exists()


def test_a_replay_runs_nothing_again_for_being_safe_to_retry(root: Path) -> None:
    script(root, main=[[("effect", {"name": "a"})], "{results}"])
    effect = Tool(name="effect", capabilities=(Capability("net.connect"),), retry="safe")
    team_graph = graph(worker("main", "tools"), tools(effect=effect), approvals={"net": "allowed"})
    start(team_graph, root)
    assert go_on(team_graph, root, replay_mode=RERUN).status == "completed"
    assert effects(root) == ["a"]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("today", "runs"), [({}, 2), ({"fs.read": "blocked"}, 1), ({"fs.read": "needs_approval"}, 1)]
)
def test_a_replay_runs_nothing_again_that_is_not_simply_allowed_today(
    root: Path, today: dict[str, Any], runs: int
) -> None:
    script(root, main=[[("effect", {"name": "a"})], "{results}"])
    team_graph = graph(worker("main", "tools"), tools(effect=["fs.read"]))
    start(team_graph, root)
    go_on(team_graph, root, replay_mode=RERUN, tightening=rules(today, "your policy.toml"))
    assert effects(root) == ["a"] * runs


# What a journal cannot say


@pytest.mark.parametrize("forged", ["allowed twice", "returned", "finished elsewhere"])
def test_a_journal_lets_nothing_through_that_is_blocked_today(root: Path, forged: str) -> None:
    team_graph = writing(root)
    start(team_graph, root)
    (root / "a.txt").unlink()
    forging.cut(root, "started", "finished")
    if forged == "allowed twice":
        forging.allow_twice(root)
    elif forged == "returned":
        forging.add(root, "main/write_file#1", "return", {"output": "done", "error": None})
    else:
        forging.add(root, "main/write_file#1", "finished", {"content": "done"}, step=2)
    mine = rules({"fs.write:a.txt": "blocked"}, "your policy.toml")
    outcome = go_on(team_graph, root, tightening=mine)
    assert "`write_file` is blocked" in (outcome.output or ""), outcome
    assert not (root / "a.txt").exists()


def test_a_delegate_that_returned_does_nothing_any_more(root: Path) -> None:
    script(
        root, main=[[("helper", {"input": "x"})], "{results}"], helper=[[("effect", {"name": "a"})], "done"]
    )
    team_graph = graph(
        worker("main", "helper"), worker("helper", "tools"), tools(), approvals={"x": "allowed"}
    )
    start(team_graph, root)
    (root / "effects.log").unlink()
    forging.cut(root, "started", "finished")
    forging.add(root, "main/helper#1", "return", {"output": "done", "error": None})
    outcome = go_on(
        team_graph, root, tightening=rules({"agent.delegate": "needs_approval"}, "your policy.toml")
    )
    assert outcome.status == "failed", outcome
    assert "which the journal does not hold" in (outcome.error or "")
    assert effects(root) == []


def locked(root: Path) -> Path:
    lock.write(root, locking.derive_with_servers(project.read(root)).graph)
    return root


def serving(
    root: Path, run: str, replay_mode: ReplayMode | None = None, *, new: bool = False, **options: Any
) -> Any:
    """The outcome of `main` of a workspace on disk, with a journal."""
    read = project.read(root)
    with (Runs(root).create if new else Runs(root).open)(run) as journal:
        recorder = Recorder(journal, Redaction.of({}), replay_mode)
        run_options = RunOptions(run=run, input="go", recorder=recorder, **options)
        return run_sync(read.graph, root=root, prompts=read.prompts, entry="main", options=run_options)


STARTS = "import pathlib; pathlib.Path('started.txt').open('a').write('x')\n"


def noting_its_start(root: Path, **more: Any) -> Path:
    """A workspace whose server leaves a mark wherever it is started."""
    team_root = workspace(root, table='isolation = "off"', **more)
    text = (team_root / "server.py").read_text()
    (team_root / "server.py").write_text(text.replace("import json\n", f"import json\n{STARTS}", 1))
    locked(team_root)
    (team_root / "started.txt").unlink()
    return team_root


def test_a_journal_cannot_start_a_server_that_is_blocked_today(tmp_path: Path) -> None:
    root = noting_its_start(tmp_path)
    script(root, main=[[("echo", {"text": "a"})], "{results}"])
    assert serving(root, "r", new=True).output == "[success: a]"
    (root / "started.txt").unlink()
    forging.cut(root, "started", "finished")
    forging.edit(
        root, "decision", lambda body: {**body, "raised": [] if body["tool"] == "(start)" else body["raised"]}
    )
    outcome = serving(root, "r", tightening=rules({"mcp.start": "blocked"}, "your policy.toml"))
    assert "`(start)` is blocked" in (outcome.output or ""), outcome
    assert not (root / "started.txt").exists()


# Servers that a run with `--locked` starts first


@pytest.mark.few(1)
@pytest.mark.parametrize("place", ["caller", "worker", "delegation", "nowhere"])
def test_a_locked_run_starts_only_servers_that_may_be_started_along_some_path(
    tmp_path: Path, place: str
) -> None:
    manifest = {"delegation": '"mcp" = "allowed"\n"agent.delegate" = "needs_approval"'}.get(
        place, '"mcp" = "allowed"'
    )
    root = noting_its_start(tmp_path, rules=manifest)
    ceiling = "may: [mcp.call]\n"
    (root / "main.worker").write_text(
        f"---\nname: main\nentry: true\n{ceiling * (place == 'caller')}toolsets: [helper]\n---\nGo.\n"
    )
    (root / "helper.worker").write_text(
        f"---\nname: helper\n{ceiling * (place == 'worker')}toolsets: [raw]\n---\nHelp.\n"
    )
    lock.write(root, locking.derive(project.read(root)))
    script(root, main=["done"])
    assert serving(root, "r", new=True, locked=True).output == "done"
    assert (root / "started.txt").exists() is (place == "nowhere")
    with Runs(root).read("r") as journal:
        decided = [(entry.path, entry.outcome) for entry in journal.entries("decision")]
        records = [json.loads(line) for line in journal.lines()]
    assert decided == ([("main/helper/raw(start)", "allowed")] if place == "nowhere" else [])
    audited = [(record["path"], record["capabilities"]) for record in records if record["kind"] == "decided"]
    assert audited == ([("main/helper/raw(start)", ["mcp.start"])] if place == "nowhere" else [])


# What code does without a call


SPAWNS = """
from pydantic_ai import RunContext
from pydantic_ai.toolsets import FunctionToolset

own = FunctionToolset(id="own")

@own.tool
async def spawns(ctx: RunContext) -> str:
    return ctx.deps.spawn("helper").frame.path
"""


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        ("allowed", "[success: main/spawns#1/helper#1]"),
        ("needs_approval", "`helper` needs approval, which was not given"),
        ("blocked", "`helper` is blocked"),
    ],
)
def test_code_spawns_only_a_delegate_that_is_let_through_without_a_question(
    tmp_path: Path, decision: Any, message: str
) -> None:
    (tmp_path / "tools.py").write_text(SPAWNS)
    script(tmp_path, main=[[("spawns", {})], "{results}"], helper=["x"])
    team_graph = graph(
        worker("main", "own", "helper"),
        worker("helper"),
        toolset("own", "tools.py:own", spawns=[]),
        approvals={"agent.delegate": decision},
    )
    outcome = start(team_graph, tmp_path, approver=ApproveAll())
    assert message in (outcome.output or ""), outcome
    with Runs(tmp_path).read("r") as journal:
        decided = {entry.path: entry.outcome for entry in journal.entries("decision")}
    assert decided["main/spawns#1/helper#1"] == ("allowed" if decision == "allowed" else "denied")


# What an answer is about


class ChangesFile:
    """A person who says yes, while somebody changes what the command will run."""

    def __init__(self, file: Path, before: bytes) -> None:
        self.file = file
        file.write_bytes(before)

    async def ask(self, question: Question) -> Answer:
        with self.file.open("ab") as file:
            file.write(b"\nrm -rf .")
        return Answer(allowed=True, by="ada", at_terminal=True)


RUNS = """
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")

@tools.tool_plain
def command(words: list[str]) -> str:
    Path(__file__).with_name("ran.txt").write_text(" ".join(words))
    return "ran"
"""


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("size", "words"), [(10, []), (17 * 1024 * 1024, []), (10, [f"w{number}" for number in range(1_100)])]
)
def test_an_answer_is_not_for_a_command_whose_files_changed(
    tmp_path: Path, size: int, words: list[str]
) -> None:
    (tmp_path / "tools.py").write_text(RUNS)
    script(tmp_path, main=[[("command", {"words": ["sh", "job.sh", *words]})], "{results}"])
    team_graph = graph(worker("main", "tools"), toolset("tools", "tools.py:tools", command=["proc.exec"]))
    person = ChangesFile(tmp_path / "job.sh", b"#" * size)
    outcome = start(team_graph, tmp_path, approver=person)
    assert "is not the one any more that was asked about" in (outcome.output or ""), outcome
    assert not (tmp_path / "ran.txt").exists()


class PutsLink(ChangesFile):
    """The same with a link, of which nobody can tell what it will lead to."""

    async def ask(self, question: Question) -> Answer:
        self.file.unlink()
        self.file.symlink_to("/bin/sh")
        return Answer(allowed=True, by="ada", at_terminal=True)


@pytest.mark.parametrize(
    ("is_link", "message"),
    [
        (False, "is not the one any more that was asked about"),
        (True, "nobody can be asked about it: `job.sh`"),
    ],
)
def test_an_answer_is_for_no_command_that_names_a_link(
    tmp_path: Path, message: str, *, is_link: bool
) -> None:
    (tmp_path / "tools.py").write_text(RUNS)
    script(tmp_path, main=[[("command", {"words": ["sh", "job.sh"]})], "{results}"])
    team_graph = graph(worker("main", "tools"), toolset("tools", "tools.py:tools", command=["proc.exec"]))
    person = PutsLink(tmp_path / "job.sh", b"true")
    if is_link:
        (tmp_path / "job.sh").unlink()
        (tmp_path / "job.sh").symlink_to("/bin/sh")
    outcome = start(team_graph, tmp_path, approver=person)
    assert message in (outcome.output or ""), outcome
    assert not (tmp_path / "ran.txt").exists()


# What is on disk before


AGAIN = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from llmdo.runtime.recording.replay_mode import ReplayMode
from tests.runtime.test_recording import allowing, go_on
from tests.support.building import worker
root = Path(sys.argv[2])
made = allowing(worker("main", "tools"))
go_on(made, root, replay_mode=ReplayMode(again=frozenset({"main/effect#1"})))
"""


def test_every_execution_of_a_call_has_a_decision_of_its_own_on_disk(root: Path) -> None:
    script(root, main=[[("effect", {"name": "a"})], "{results}"])
    team_graph = graph(worker("main", "tools"), tools(), approvals={"x.tools": "allowed"})
    start(team_graph, root)
    forging.cut(root, "finished")
    done = forking.run(
        [sys.executable, "-c", AGAIN, str(Path(__file__).parent.parent.parent), str(root)],
        env={**os.environ, "DIE_AT": "a"},
        capture_output=True,
    )
    assert done.returncode == -9, done.stderr
    assert effects(root) == ["a", "a"]
    with Runs(root).read("r") as journal:
        records = [json.loads(line) for line in journal.lines()]
        assert len(list(journal.entries("decision"))) == 2
    assert [record["path"] for record in records if record["kind"] == "decided"] == ["main/effect#1"] * 2
