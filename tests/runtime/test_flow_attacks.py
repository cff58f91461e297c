"""Ways around flow rules that were open once: each is tried by a model, or by code, that wants what it should not get."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.building import Step

from .test_flows import READ, SEND, Nobody, Stops, changed, go, kept, play, root

__all__ = ["root"]

MORE = """

hoard = FunctionToolset(id="hoard")
STATE = {}

@hoard.tool
async def fetch(ctx: RunContext, worker: str) -> str:
    STATE["text"] = await ctx.deps.call_agent(worker, "read", ctx)
    STATE.setdefault("fetched", asyncio.Event()).set()
    return "fetched"

@hoard.tool
async def fetch_into(ctx: RunContext, worker: str, path: str) -> str:
    text = await ctx.deps.call_agent(worker, "read", ctx)
    pathlib.Path(__file__).parent.joinpath(path).write_text(text)
    STATE.setdefault("written", asyncio.Event()).set()
    return "written"

@hoard.tool
async def look_back(ctx: RunContext) -> str:
    await STATE.setdefault("fetched", asyncio.Event()).wait()
    return str(STATE["text"])

@hoard.tool
async def take(ctx: RunContext) -> str:
    return str(await ctx.deps.load_attachment("mail/a.txt"))

@hoard.tool
async def keep_runtime(ctx: RunContext) -> str:
    STATE["runtime"] = ctx.deps
    return "kept"

@hoard.tool
async def use_runtime(ctx: RunContext) -> str:
    return await STATE["runtime"].call_agent("reader", "read", key="k")

@hoard.tool
async def background(ctx: RunContext) -> str:
    async def work():
        STATE["text"] = await ctx.deps.call_agent("reader", "read")
        STATE["done"].set()
    STATE["done"] = asyncio.Event()
    STATE["task"] = asyncio.create_task(work())
    return "begun"

@hoard.tool
async def wait(ctx: RunContext) -> str:
    await STATE["done"].wait()
    return STATE["text"]

@hoard.tool
async def read_late(ctx: RunContext) -> str:
    await STATE.setdefault("written", asyncio.Event()).wait()
    return pathlib.Path(__file__).with_name("notes").joinpath("b.txt").read_text()

@hoard.tool
async def ring(ctx: RunContext) -> str:
    STATE.setdefault("written", asyncio.Event()).set()
    return "rung"
"""

HOARD = """
[toolsets.hoard]
capabilities = { "*" = [], fetch_into = ["fs.write:notes/**"], read_late = ["fs.read:notes/b.txt"] }
keeps = KEEPS

[toolsets.desk]"""


@pytest.fixture
def hoarding(root: Path) -> Path:
    return with_hoard(root, keeps=True)


def with_hoard(root: Path, *, keeps: bool) -> Path:
    changed(root, "[toolsets.desk]", HOARD.replace("KEEPS", str(keeps).lower()))
    with (root / "tools.py").open("a", encoding="utf-8") as file:
        file.write(MORE)
    changed(root, "toolsets: { bank: {},", "toolsets: { bank: {}, hoard: {},", "main.worker")
    changed(
        root,
        "toolsets: [bank]",
        "toolsets: { bank: {}, hoard: {}, filesystem: { read: ['notes/**'] } }",
        "sender.worker",
    )
    return root


def asked(root: Path, *main: Step, sender: tuple[Step, ...] = (), reader: tuple[Step, ...] = ()) -> list[str]:
    """The paths of the calls that somebody is asked about."""
    play(root, *main, sender=sender, reader=reader)
    nobody = Nobody()
    outcome = go(root, approver=nobody)
    assert outcome.status == "completed", outcome.error
    return [question.path for question in nobody.asked]


SENDER = ("sender", {"input": "x"})


def test_names_of_strangers_files_are_theirs(root: Path) -> None:
    assert asked(root, [("list_files", {"path": "mail"})], [SEND]) == ["main/send#1"]


def test_a_listing_of_what_was_written_after_a_strangers_text(root: Path) -> None:
    write = ("write_file", {"path": "notes/b.txt", "content": "words"})
    assert asked(root, [("reader", {"input": "x"})], [write], [SENDER], sender=([SEND],)) == [
        "main/sender#1/send#1"
    ]


def test_a_toolset_keeps_what_its_code_came_upon(hoarding: Path) -> None:
    main = ([SENDER, ("fetch", {"worker": "reader"})],)
    assert asked(hoarding, *main, sender=([("look_back", {})], [SEND])) == ["main/sender#1/send#1"]


def test_a_file_carries_what_the_code_that_wrote_it_came_upon(hoarding: Path) -> None:
    fetch = ("fetch_into", {"worker": "reader", "path": "notes/b.txt"})
    main: tuple[Step, ...] = ([SENDER, fetch],)
    # The sender waits for the text, and reads it only then.
    assert asked(hoarding, *main, sender=([("read_late", {})], [SEND])) == ["main/sender#1/send#1"]


def test_a_task_that_outlives_its_call_labels_what_its_toolset_returns_later(hoarding: Path) -> None:
    assert asked(hoarding, [("background", {})], [("wait", {})], [SEND]) == ["main/send#1"]


def test_code_that_asks_by_the_runtime_of_another_call_has_read_the_answer(root: Path) -> None:
    with_hoard(root, keeps=False)
    main: tuple[Step, ...] = ([("keep_runtime", {})], [SENDER])
    assert asked(root, *main, sender=([("use_runtime", {})], [SEND])) == ["main/sender#1/send#1"]


def test_a_file_that_is_written_while_a_call_reads_it(root: Path) -> None:
    with_hoard(root, keeps=False)
    changed(
        root,
        "toolsets: { filesystem: { read: ['mail/**', 'notes/**'] } }",
        "toolsets: { hoard: {}, filesystem: { read: ['mail/**'], write: ['notes/**'] } }",
        "reader.worker",
    )
    write = ("write_file", {"path": "notes/b.txt", "content": "words"})
    # The sender waits in its call until the reader has written, and sends what it has got then.
    main: tuple[Step, ...] = ([SENDER, ("reader", {"input": "x"})],)
    reader: tuple[Step, ...] = ([READ], [write], [("ring", {})])
    assert asked(root, *main, sender=([("read_late", {})], [SEND]), reader=reader) == ["main/sender#1/send#1"]


def test_what_code_loads_is_known_when_the_run_goes_on(root: Path) -> None:
    with_hoard(root, keeps=False)
    changed(
        root,
        "toolsets: { bank: {}, hoard: {}, filesystem: { read: ['notes/**'] } }",
        "toolsets: [bank, hoard]",
        "sender.worker",
    )
    changed(root, "\nattachments: { suffixes: ['.txt'] }", "", "sender.worker")
    changed(root, 'worker = "main"', 'worker = "sender"')
    play(root, sender=([("take", {})], [SEND]))
    first, second = Stops(), Nobody()
    kept(root, approver=first)
    assert [question.path for question in first.asked] == ["sender/send#1"]
    kept(root, approver=second)
    assert [question.path for question in second.asked] == ["sender/send#1"]


SEARCHING = """
from pydantic_ai.native_tools import WebSearchTool
sender = FunctionModel(sender.function, profile={"supported_native_tools": frozenset({WebSearchTool})})
"""


@pytest.mark.parametrize(
    ("flow", "toolsets", "offers"),
    [
        ("fs.read:notes/** -> net", "toolsets: { filesystem: { read: ['notes/**'] } }", 1),
        ("fs.read:notes/** -> net", "toolsets: [bank]", 1),  # whose state may hold it
        ("fs.read:notes/** -> net", "description: x", 0),
        ("data.untrusted -> net", "description: x", 1),  # the second search follows the first
    ],
)
def test_a_tool_that_the_provider_runs_is_asked_about_by_all_that_may_be_read_before(
    flow: str, toolsets: str, offers: int, root: Path
) -> None:
    changed(root, '"data.untrusted -> x.bank.send"', f'"{flow}"')
    changed(root, '"x" = "allowed"', '"x" = "allowed"\n"net" = "allowed"')
    changed(root, "toolsets: [bank]", f"{toolsets}\nnative_tools: [web_search]", "sender.worker")
    play(root, [SENDER])
    with (root / "models.py").open("a", encoding="utf-8") as file:
        file.write(SEARCHING)
    nobody = Nobody()
    assert go(root, approver=nobody).status == "completed"
    assert [question.tool for question in nobody.asked] == ["web_search"] * offers


NARROWS = """

class Narrow(FunctionToolset):
    def get_capabilities(self, name, tool_args, ctx, config):
        if BROKEN:
            raise ValueError("what was there is gone")
        return ["data.untrusted"] if WAS else []

WAS, BROKEN = True, False
narrow = Narrow(id="narrow")

@narrow.tool_plain
def find() -> str:
    return "a page"
"""


@pytest.mark.parametrize("now", ["WAS, BROKEN = False, False", "WAS, BROKEN = False, True"])
def test_what_a_call_raised_that_is_over_is_not_forgotten_by_its_toolset(now: str, root: Path) -> None:
    with (root / "tools.py").open("a", encoding="utf-8") as file:
        file.write(NARROWS.replace("WAS, BROKEN = True, False", "from state import BROKEN, WAS"))
    (root / "state.py").write_text("WAS, BROKEN = True, False", encoding="utf-8")
    table = (
        '[toolsets.narrow]\ncapabilities = { find = ["data.untrusted"] }\nkeeps = false\n\n[toolsets.desk]'
    )
    changed(root, "[toolsets.desk]", table)
    # It calls nobody and loads no file, so its code came upon nothing else.
    changed(root, "toolsets: [bank]", "toolsets: [bank, narrow]\nmay: [x.bank]", "sender.worker")
    changed(root, 'worker = "main"', 'worker = "sender"')
    play(root, sender=([("find", {})], [SEND]))
    first, second = Stops(), Nobody()
    kept(root, approver=first)
    assert [question.tool for question in first.asked] == ["send"]
    (root / "state.py").write_text(now, encoding="utf-8")
    outcome = kept(root, approver=second)
    assert outcome.status == "completed", outcome.error
    assert [question.tool for question in second.asked] == ["send"]
