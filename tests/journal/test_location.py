"""Where a run that has written files goes on, whose journal several machines have."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from tests.support import postgres

if lacking := postgres.lacking():
    if os.environ.get("LLMDO_TEST_POSTGRES"):
        pytest.fail(lacking, pytrace=False)
    pytest.skip(lacking, allow_module_level=True)

from llmdo.features.postgres.runs import PostgresRuns
from llmdo.graph.resolved import Graph
from llmdo.journal import JournalEntry, JournalError, Runs
from llmdo.journal.decided import DecidedCall, record_of
from llmdo.journal.entries import pack
from llmdo.journal.location import ElsewhereError, MachineFolder, require_here
from llmdo.journal.stored import RunIndex
from llmdo.policy.authority import Capability
from llmdo.workspace import project
from tests.support.commands import llmdo
from tests.support.locks import locked

pytestmark = pytest.mark.fleet

MODELS = """\
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

CALLS = {
    "write": ToolCallPart("write_file", {"path": "out/a.txt", "content": "a"}),
    "read": ToolCallPart("read_file", {"path": "llmdo.toml"}),
    "pay": ToolCallPart("pay", {}),
}

def answer(messages, info):
    words = str(messages[0].parts[-1].content).split()
    returned = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
    return ModelResponse(parts=[CALLS[words[returned]] if returned < len(words) else TextPart("done")])

rules = FunctionModel(answer)
"""
TOOLS = """\
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")

@tools.tool_plain(metadata={"capabilities": ["x.tools.pay"]})
def pay() -> str:
    return "paid"
"""
MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:rules"

[entries.main]
worker = "main"

[toolsets.tools]
python = "tools.py:tools"

[approvals.rules]
"fs.write:out/**" = "allowed"
"""
SERVERS = """\

[toolsets.far]
mcp = { url = "https://far.example/mcp" }

[toolsets.near]
mcp = { command = "near" }
"""
WORKER = (
    "---\nname: main\ntoolsets:\n  tools: {}\n  filesystem: { read: ['**'], write: ['out/**'] }\n---\nWork.\n"
)


def machine(folder: Path, servers: str = "") -> Path:
    """A checkout of the workspace."""
    folder.mkdir()
    texts = {"llmdo.toml": MANIFEST + servers, "models.py": MODELS, "tools.py": TOOLS, "main.worker": WORKER}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def machines(root: Path) -> tuple[Path, Path]:
    """Two checkouts: what tells machines apart tells folders apart as well."""
    return locked(machine(root / "here")), locked(machine(root / "there"))


@pytest.mark.long
def test_a_run_that_wrote_files_goes_on_where_they_are(
    store: str, machines: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = machines
    monkeypatch.setenv("LLMDO_STORE", store)
    waiting = llmdo(here, "run", "main", "write pay", "--approvals", "later")
    assert waiting.returncode == 3, waiting.stderr
    answered = llmdo(there, "approve", "last", "--yes", "main/pay#1")
    assert answered.returncode == 0, "a question is answered anywhere"
    refused = llmdo(there, "resume", "last")
    assert refused.returncode == 2
    where = (
        f"has written files in another folder of `{socket.gethostname()}`, or may have: `write_file` at main/"
    )
    assert where in refused.stderr, refused.stderr
    assert "shared = true" in refused.stderr
    again = llmdo(there, "resume", "last")
    assert again.stderr == refused.stderr, "a refusal leaves nothing behind"
    resumed = llmdo(here, "resume", "last")
    assert (resumed.returncode, "done" in resumed.stdout) == (0, True), resumed
    assert "done" in llmdo(there, "resume", "last").stdout, "how a complete run ended is told anywhere"


def test_where_all_machines_see_one_folder_it_goes_on_anywhere(
    store: str, machines: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = machines
    monkeypatch.setenv("LLMDO_STORE", store)
    assert llmdo(here, "run", "main", "write pay", "--approvals", "later").returncode == 3
    manifest = there / "llmdo.toml"
    manifest.write_text(manifest.read_text().replace("[entries.main]", "shared = true\n\n[entries.main]"))
    resumed = llmdo(there, "resume", "last", "--approve-all")
    assert (resumed.returncode, "done" in resumed.stdout) == (0, True), resumed


def test_a_run_that_wrote_no_files_goes_on_anywhere(
    store: str, machines: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = machines
    monkeypatch.setenv("LLMDO_STORE", store)
    assert llmdo(here, "run", "main", "read pay", "--approvals", "later").returncode == 3
    resumed = llmdo(there, "resume", "last", "--approve-all")
    assert (resumed.returncode, "done" in resumed.stdout) == (0, True), resumed


@pytest.mark.long
def test_an_item_of_a_batch_is_unsure_where_its_files_are_not(
    store: str, machines: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = machines
    monkeypatch.setenv("LLMDO_STORE", store)
    (here / "in.jsonl").write_text('{"key": "a", "input": "write pay"}\n')
    begun = llmdo(here, "batch", "main", "--inputs", "in.jsonl", "--key", "key", "--input", "{input}")
    assert begun.returncode == 3, begun.stderr
    assert llmdo(there, "approve", "last", "--yes", "main/pay#1").returncode == 0
    refused = llmdo(there, "batch", "resume", "last")
    [row] = json.loads(llmdo(there, "batch", "show", "last", "--format", "json").stdout)["rows"]
    assert (row["state"], refused.returncode) == ("unsure", 1), row
    assert "has written files in another folder of" in row["error"]
    assert "`write_file` at main/" in row["error"]
    retried = llmdo(here, "batch", "retry", "last", "--unsure", "again")
    assert retried.returncode == 0, retried.stderr


def session(step: int, folder: Path | None) -> JournalEntry:
    body = {} if folder is None else {"location": MachineFolder.of(folder).data}
    return JournalEntry(path="main", kind="session", step=step, body=pack({"run": "r", **body}))


def decision(*raised: str, toolset: str = "tools", allowed: bool = True) -> JournalEntry:
    decided = DecidedCall(
        path="main/act#1",
        worker="main",
        toolset=toolset,
        tool="act",
        arguments={},
        raised=tuple(map(Capability.parse, raised)),
        declared=(),
        decision="allowed" if allowed else "blocked",
        allowed=allowed,
        by="rules",
        reasons=(),
    )
    return JournalEntry(path="main/act#1", kind="decision", step=1, body=pack(record_of(decided)))


@pytest.fixture
def graph(root: Path) -> Graph:
    return project.read(machine(root / "machine", SERVERS)).graph


def require(runs: RunIndex, folder: Path, graph: Graph, *entries: JournalEntry) -> None:
    with runs.create("r") as journal:
        for entry in entries:
            journal.add(entry)
        journal.commit()
    with runs.read("r") as journal:
        require_here(journal, folder, graph)


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("raised", "toolset", "writes"),
    [
        ((), "tools", False),
        (("fs.read:a", "fs.list", "data.untrusted"), "filesystem", False),
        (("fs.write:out/a.txt",), "filesystem", True),
        (("fs.read", "fs.write.protected:llmdo.toml"), "filesystem", True),
        (("fs.delete",), "tools", True),
        (("proc.exec.read", "fs.read"), "shell", False),
        (("proc.exec",), "shell", True),
        (("proc.exec.unlisted",), "shell", True),
        (("proc.exec.unvouched",), "shell", True),
        (("x.tools.pay", "net.connect"), "tools", False),
        (("x.tools.any",), "tools", True),
        (("capability.undeclared",), "tools", True),
        (("agent.delegate",), "helper", False),
        (("mcp.call", "net.connect"), "far", False),
        (("mcp.start", "mcp.call"), "near", True),
        (("mcp.read",), "near", False),
        (("mcp.call",), "gone", True),
    ],
)
def test_what_is_not_known_to_leave_files_alone_counts_as_writing(
    store: str, root: Path, graph: Graph, raised: tuple[str, ...], toolset: str, writes: bool
) -> None:
    runs = PostgresRuns(root, store)
    entries = session(1, root / "other"), decision(*raised, toolset=toolset)
    if not writes:
        require(runs, root, graph, *entries)
        return
    with pytest.raises(ElsewhereError, match=r"in another folder of `.*`, or may have: `act` at main/act#1"):
        require(runs, root, graph, *entries)


def test_every_process_that_wrote_has_to_have_been_here(store: str, root: Path, graph: Graph) -> None:
    written = decision("fs.write")
    first, second = session(1, root), session(2, root / "other")
    require(PostgresRuns(root, store), root, graph, first, written, second)
    with PostgresRuns(root, store).open("r") as journal:
        journal.add(JournalEntry(path="main/act#2", kind="decision", step=1, body=written.body))
        journal.commit()
        with pytest.raises(ElsewhereError, match="main/act#2"):
            require_here(journal, root, graph)
        with pytest.raises(ElsewhereError, match="main/act#1"):
            require_here(journal, root / "other", graph)


def test_a_call_that_was_refused_has_written_nothing(store: str, root: Path, graph: Graph) -> None:
    refused = decision("fs.write", allowed=False)
    require(PostgresRuns(root, store), root, graph, session(1, root / "other"), refused)


def test_where_nobody_said_where_it_was_it_was_elsewhere(store: str, root: Path, graph: Graph) -> None:
    with pytest.raises(ElsewhereError, match="on a machine that is not on record"):
        require(PostgresRuns(root, store), root, graph, session(1, None), decision("fs.write"))


def test_a_decision_that_says_nothing_is_not_passed_over(store: str, root: Path, graph: Graph) -> None:
    damaged = JournalEntry(path="main/act#1", kind="decision", step=1, body=b'{"allowed":"no"}')
    with pytest.raises(JournalError, match="does not say what was decided"):
        require(PostgresRuns(root, store), root, graph, session(1, root), damaged)


def test_journals_that_are_files_are_where_the_files_are(root: Path, graph: Graph) -> None:
    require(Runs(root), root, graph, session(1, root / "other"), decision("fs.write"))


def test_another_machine_is_another_place(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = MachineFolder.of(root)
    assert MachineFolder.of(root) == before
    (root / "link").symlink_to(root)
    assert MachineFolder.of(root / "link") == before
    monkeypatch.setattr(socket, "gethostname", lambda: "another")
    after = MachineFolder.of(root)
    assert (after.host, after.place != before.place) == ("another", True)
    assert str(root) not in str(after)
