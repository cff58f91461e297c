"""However the journal of a run is edited, what goes on from it executes no call that the rules of today do not let through."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.base.diagnostic import LlmdoError
from llmdo.graph.resolved import Graph
from llmdo.graph.toolset import Tool
from llmdo.journal import Runs
from llmdo.runtime import RunOptions
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.replay_mode import ReplayMode
from llmdo.runtime.telemetry.redaction import Redaction
from tests.support.building import (
    capabilities,
    graph,
    prompts,
    rules,
    script,
    toolset,
    use,
    with_code,
    worker,
)
from tests.support.laws import tried
from tests.support.running import run_sync

from . import forging

TOOLS = """
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

LOG = Path(__file__).with_name("effects.log")

class Ways(FunctionToolset):
    def __init__(self):
        super().__init__(id="ways")
        self.add_function(act)

    def get_capabilities(self, name, tool_args, ctx, config):
        return [f"x.ways.{tool_args['what']}"]

def act(what: str) -> str:
    with LOG.open("a") as log:
        log.write(what + "\\n")
    return f"did {what}"
"""

WAYS = ("look", "pay", "ask")
STEPS: list[Any] = [
    [("act", {"what": what}) for what in WAYS],
    [("write_file", {"path": path, "content": "x"}) for path in ("a.txt", "b.txt")],
    [("helper", {"input": "x"}), ("act", {"what": "pay"})],
    "{results}",
]
TODAY = rules(
    {"x.ways.pay": "blocked", "x.ways.ask": "needs_approval", "fs.write:a.txt": "blocked"}, "your policy.toml"
)
MAY_HAPPEN = {"look", "b.txt"}
PATHS = [
    *(f"main/act#{number}" for number in (1, 2, 3, 4)),
    "main/write_file#1",
    "main/helper#1",
    "main/helper#1/act#1",
]
KINDS = ["decision", "started", "finished", "return", "asked", "answered", "invalid", "call", "files"]
BODIES: list[dict[str, Any]] = [
    {"output": "done", "error": None},
    {"content": "done"},
    {"message": "no", "error": "no"},
    {"allowed": True, "by": "ada", "expires": None, "by_tool": False, "at_terminal": True, "lasts": True},
]


def team(root: Path) -> Graph:
    (root / "tools.py").write_text(TOOLS, encoding="utf-8")
    script(root, main=STEPS, helper=[[("act", {"what": "pay"}), ("act", {"what": "look"})], "{results}"])
    act = Tool(name="act", capabilities=capabilities([f"x.ways.{what}" for what in WAYS]) or (), hook=True)
    return graph(
        worker("main", "ways", "helper", use("filesystem", write=["**"])),
        worker("helper", "ways"),
        toolset("ways", "tools.py:Ways", is_class=True, act=act),
        approvals={"x.ways": "allowed", "fs.write": "allowed"},
    )


def happened(root: Path) -> set[str]:
    log = root / "effects.log"
    return {
        *(log.read_text().splitlines() if log.exists() else ()),
        *(path.name for path in root.glob("[ab].txt")),
    }


def forget(root: Path) -> None:
    for path in (root / "effects.log", root / "a.txt", root / "b.txt"):
        path.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def recorded() -> Any:
    """A run in which everything was let through, and the folder that it lies in."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        team_graph = with_code(team(root), root)
        with Runs(root).create("r") as journal:
            recorder = Recorder(journal, Redaction.of({}))
            run_sync(
                team_graph,
                root=root,
                prompts=prompts(team_graph),
                entry="go",
                options=RunOptions(run="r", recorder=recorder),
            )
        assert happened(root) == {*WAYS, "a.txt", "b.txt"}
        shutil.copytree(Runs(root).folder, root / "honest")
        yield root, team_graph


def reset(root: Path) -> None:
    shutil.rmtree(Runs(root).folder)
    shutil.copytree(root / "honest", Runs(root).folder)
    forget(root)


def go_on(root: Path, team_graph: Graph, replay_mode: ReplayMode) -> None:
    """Goes on with what the journal says, as far as that goes."""
    try:
        with (Runs(root).open if replay_mode.live else Runs(root).read)("r") as journal:
            options = RunOptions(
                run="r", recorder=Recorder(journal, Redaction.of({}), replay_mode), tightening=TODAY
            )
            run_sync(team_graph, root=root, prompts=prompts(team_graph), entry="go", options=options)
    except (LlmdoError, KeyError, TypeError, ValueError):
        pass  # a journal that is not one of ours, as its reader finds


Edit = Callable[[sqlite3.Connection], object]


def sql(text: str, *values: object) -> Edit:
    return lambda journal: journal.execute(text, values)


def merged(changes: dict[str, Any]) -> Edit:
    """Puts these into the bodies of all decisions."""

    def edit(journal: sqlite3.Connection) -> None:
        for seq, body in journal.execute("SELECT seq, body FROM entry WHERE kind = 'decision'").fetchall():
            changed = json.dumps({**json.loads(body), **changes}).encode()
            journal.execute("UPDATE entry SET body = ? WHERE seq = ?", (changed, seq))

    return edit


RAISED = st.sampled_from([[], ["fs.read:b.txt"], ["x.ways.look"], ["data.untrusted"], ["fs.write:b.txt"]])
OUTCOMES = st.sampled_from(["success", "asks", "allowed", "denied", "failed", "retried", ""])
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "raised": RAISED,
        "declared": RAISED,
        "decision": st.sampled_from(["allowed", "needs_approval", "blocked"]),
        "allowed": st.booleans(),
        "by": st.sampled_from(["rules", "ada", "approve-all"]),
        "asks": st.booleans(),
        "changed": st.sampled_from([None, {"what": "look"}, {"what": "pay"}]),
    },
)
COPY = (
    "INSERT OR IGNORE INTO entry (head, path, kind, step, outcome, digest, body, at) "
    "SELECT head, path, kind, step + ?, outcome, digest, body, at FROM entry WHERE kind = ?"
)
ADD = "INSERT OR REPLACE INTO entry (head, path, kind, step, outcome, digest, body, at) VALUES ('', ?, ?, ?, ?, ?, ?, 0)"
EDITS = st.one_of(
    CHANGES.map(merged),
    st.builds(sql, st.just(COPY), st.integers(1, 3), st.sampled_from(KINDS)),
    st.builds(
        sql,
        st.just("UPDATE OR IGNORE entry SET kind = ? WHERE kind = ?"),
        st.sampled_from(KINDS),
        st.sampled_from(KINDS),
    ),
    st.builds(sql, st.just("UPDATE entry SET outcome = ? WHERE kind = ?"), OUTCOMES, st.sampled_from(KINDS)),
    st.builds(
        sql,
        st.just("DELETE FROM entry WHERE kind = ? AND path = ?"),
        st.sampled_from(KINDS),
        st.sampled_from(PATHS),
    ),
    st.builds(
        sql,
        st.just(ADD),
        st.sampled_from(PATHS),
        st.sampled_from(KINDS),
        st.integers(1, 3),
        OUTCOMES,
        st.just(""),
        st.sampled_from(BODIES).map(lambda body: json.dumps(body).encode()),
    ),
)


@tried(40)
@given(cut=st.integers(0, 3), edits=st.lists(EDITS, max_size=4), reruns=st.booleans())
def test_no_edit_of_a_journal_executes_what_is_not_let_through_today(
    recorded: tuple[Path, Graph], cut: int, edits: Sequence[Edit], *, reruns: bool
) -> None:
    root, team_graph = recorded
    reset(root)
    if cut:
        forging.cut(root, "started", "finished", requests=cut)
    with forging.opened(root) as journal:
        for edit in edits:
            edit(journal)
    go_on(root, team_graph, ReplayMode(live=False, reruns=True) if reruns else ReplayMode())
    assert happened(root) <= (set() if reruns else MAY_HAPPEN)


def test_an_unedited_journal_goes_on_with_what_is_let_through(recorded: tuple[Path, Graph]) -> None:
    root, team_graph = recorded
    reset(root)
    forging.cut(root, "started", "finished", requests=1)
    go_on(root, team_graph, ReplayMode())
    assert happened(root) == MAY_HAPPEN
