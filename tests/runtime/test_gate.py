"""The gate stands before every tool, and decides on the arguments that run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from llmdo.graph.toolset import Tool
from llmdo.policy.authority import Capability
from llmdo.runtime import Answer, ApproveAll, Question, RejectAll
from llmdo.runtime.gate.call import Call, outside_of
from llmdo.runtime.telemetry.events import Decided, Event, ToolCalled, ToolFinished
from tests.support.building import capabilities, go, graph, script, toolset, use, worker

TOOLS = """
from pathlib import Path
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.toolsets import FunctionToolset

DONE = Path(__file__).with_name("done.txt")

def done(text):
    DONE.write_text(DONE.read_text() + text if DONE.exists() else text)
    return text

calc = FunctionToolset(id="calc")

@calc.tool_plain
def add(a: int, b: int) -> str:
    return done(str(a + b))

@calc.tool_plain(metadata={"capabilities": ["x.calc.cpu", "net.connect"]})
def wide() -> str:
    return done("wide")

@calc.tool_plain
def unlocked() -> str:
    return done("unlocked")

@calc.tool_plain
def broken() -> str:
    raise ValueError("out of order")

@calc.tool_plain(requires_approval=True)
def careful() -> str:
    return done("careful")

@calc.tool
def doubtful(ctx: RunContext) -> str:
    if not ctx.tool_call_approved:
        raise ApprovalRequired
    return done("doubtful")

@calc.tool_plain(defer_loading=True)
def late() -> str:
    return done("late")

class Notes(FunctionToolset):
    def __init__(self, prefix="note"):
        super().__init__(id="notes")
        self.prefix = prefix
        self.tool_plain(self.note)

    async def note(self, lines: list[str]) -> str:
        return done(f"{self.prefix} {'+'.join(lines)}")

    def get_capabilities(self, name, tool_args, ctx, config):
        match tool_args["lines"][0]:
            case "raise": raise RuntimeError("hook")
            case "text": return "x.notes.write"
            case "number": return {1}
            case "outside": return {"net.connect"}
            case "nothing": return set()
            case "configure": config.update(prefix="mine")
            case "unhashable": return [{}]
            case "path": return ["fs.write:./secret//x"]
            case "anywhere": return ["fs.write:../x"]
        return {"x.notes.write"}

calling = FunctionToolset(id="calling")

@calling.tool
async def ask_helper(ctx: RunContext, name: str = "helper") -> str:
    return await ctx.deps.call_agent(name, "by code", ctx)

@calling.tool
async def own_file(ctx: RunContext, path: str) -> str:
    line, content = await ctx.deps.load_attachment(path)
    return f"{content.identifier} {len(content.data)}"
"""

NOTE = Tool(name="note", capabilities=capabilities(["x.notes.write"]) or (), hook=True)
CALC = toolset(
    "calc",
    "tools.py:calc",
    add=["x.calc.cpu"],
    wide=["x.calc.cpu"],
    broken=[],
    careful=[],
    doubtful=[],
    late=[],
)
NOTES = toolset("notes", "tools.py:Notes", is_class=True, note=NOTE)
CALLING = toolset("calling", "tools.py:calling", ask_helper=[], own_file=[])
HELPER = worker("helper")


@pytest.fixture(autouse=True)
def _tools(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "a.txt").write_text("secret")


def done(root: Path) -> str:
    file = root / "done.txt"
    return file.read_text() if file.exists() else ""


EVERY_TOOL = [
    (("filesystem", "read_file"), {"path": "a.txt"}, "fs.read"),
    (("filesystem", "list_files"), {}, "fs.list"),
    (("filesystem", "write_file"), {"path": "done.txt", "content": "x"}, "fs.write"),
    (("calc", "add"), {"a": 1, "b": 2}, "x.calc"),
    (("notes", "note"), {"lines": ["x"]}, "x.notes"),
    (("helper", "helper"), {"input": "x"}, "agent.delegate"),
]


@pytest.mark.parametrize(("tool", "arguments", "capability"), EVERY_TOOL)
def test_no_tool_of_any_kind_is_reached_around_the_gate(
    tmp_path: Path, tool: tuple[str, str], arguments: dict[str, Any], capability: str
) -> None:
    line = use("filesystem", write=["**"]) if tool[0] == "filesystem" else use(tool[0])
    script(tmp_path, main=[[(tool[1], arguments)], "{results}"], helper=["helped"])
    members = (worker("main", line), HELPER, CALC, NOTES)
    asked: list[str] = []

    class Witness(RejectAll):
        async def ask(self, question: Question) -> Answer:
            asked.append(question.tool)
            return await super().ask(question)

    outcome = go(graph(*members, approvals={capability: "needs_approval"}), tmp_path, approver=Witness())
    assert asked == [tool[1]]
    assert f"`{tool[1]}` needs approval, which was not given" in (outcome.output or "")
    assert [call.tool for call in outcome.denied] == [tool[1]]
    assert done(tmp_path) == ""
    assert "helper" not in outcome.usage_by_worker

    blocked = go(graph(*members, approvals={capability: "blocked"}), tmp_path, approver=ApproveAll())
    hidden = tool[0] != "notes"  # the hook of a toolset may raise nothing, so not every call of it is blocked
    assert ("Unknown tool name" if hidden else "`note` is blocked") in (blocked.output or "")
    assert done(tmp_path) == ""

    allowed = go(graph(*members, approvals={capability: "allowed"}), tmp_path)
    assert "[success:" in (allowed.output or "")


def test_every_toolset_that_an_agent_is_given_is_a_gate(tmp_path: Path) -> None:
    from pydantic_ai import Agent

    from llmdo.runtime.gate.toolset import Gate

    given: list[object] = []
    original = Agent.run

    async def watched(self: Any, *args: Any, **more: Any) -> Any:
        given.extend(more["toolsets"])
        assert [attached for attached in self.toolsets if getattr(attached, "tools", None)] == []
        return await original(self, *args, **more)

    script(tmp_path, main=[[("helper", {"input": "x"})], "x"], helper=["x"])
    team_graph = graph(worker("main", "filesystem", "calc", "notes", "helper"), HELPER, CALC, NOTES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Agent, "run", watched)
        go(team_graph, tmp_path)
    assert len(given) == 4
    assert all(type(attached) is Gate for attached in given)


def test_code_that_calls_a_worker_meets_the_gate_too(tmp_path: Path) -> None:
    script(tmp_path, main=[[("ask_helper", {})], "{results}"], helper=["{prompt}"])
    members = (worker("main", "calling", "helper"), HELPER, CALLING)
    assert go(graph(*members), tmp_path).output == "[success: by code]"
    refused = go(graph(*members, approvals={"agent.delegate": "blocked"}), tmp_path)
    assert "`helper` is blocked" in (refused.output or "")
    assert refused.denied[0].path == "main/ask_helper#1/helper#1"


def test_code_calls_only_the_delegates_of_its_worker(tmp_path: Path) -> None:
    script(tmp_path, main=[[("ask_helper", {"name": "other"})], "{results}"], helper=["x"], other=["x"])
    outcome = go(graph(worker("main", "calling", "helper"), HELPER, worker("other"), CALLING), tmp_path)
    assert "`main` may not call `other`" in (outcome.output or "")


def test_a_file_that_code_asks_for_meets_the_gate(tmp_path: Path) -> None:
    script(tmp_path, main=[[("own_file", {"path": "a.txt"})], "{results}"])
    members = (worker("main", "calling"), CALLING)
    assert "a.txt 6" in (go(graph(*members), tmp_path).output or "")
    outcome = go(graph(*members, approvals={"fs.read:a.txt": "blocked"}), tmp_path)
    assert "`load_attachment` is blocked" in (outcome.output or "")


def test_a_tool_is_hidden_where_one_of_the_things_that_it_always_does_is_blocked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", encoding="utf-8")
    script(tmp_path, main=[[("edit_file", {"path": "a.txt", "old": "x", "new": "y"})], "{results}"])
    team_graph = graph(worker("main", use("filesystem", write=["**"])), approvals={"fs.write": "blocked"})
    outcome = go(team_graph, tmp_path)
    assert "Unknown tool name" in (outcome.output or "")
    assert "read_file" in (outcome.output or "")


def test_a_tool_without_a_locked_declaration_is_hidden(tmp_path: Path) -> None:
    script(tmp_path, main=["{tools}"])
    outcome = go(graph(worker("main", "calc"), CALC, approvals={"x.calc": "allowed"}), tmp_path)
    assert outcome.output == "add,broken,careful,doubtful,late,wide"


def test_metadata_wider_than_the_lock_blocks(tmp_path: Path) -> None:
    script(tmp_path, main=[[("wide", {})], "{results}"])
    rules = {"x.calc": "allowed", "net.connect": "allowed"}
    outcome = go(graph(worker("main", "calc"), CALC, approvals=rules), tmp_path, approver=ApproveAll())  # type: ignore[arg-type]
    assert "`wide` is blocked: `capability.undeclared`" in (outcome.output or "")
    assert "names `net.connect`, which is not declared" in outcome.denied[0].why[-1]
    assert done(tmp_path) == ""


@pytest.mark.parametrize(
    ("first", "fault"),
    [
        ("raise", "get_capabilities of `notes` raised RuntimeError"),
        ("text", "get_capabilities of `notes` did not return a set"),
        ("unhashable", "returned something that is not a capability"),
        ("number", "returned something that is not a capability"),
        ("outside", "`net.connect` is not among what `note` declares"),
    ],
)
def test_a_hook_that_fails_or_goes_beyond_blocks(tmp_path: Path, first: str, fault: str) -> None:
    script(tmp_path, main=[[("note", {"lines": [first]})], "{results}"])
    rules = {"x.notes": "allowed", "net.connect": "allowed"}
    team_graph = graph(worker("main", "notes"), NOTES, approvals=rules)  # type: ignore[arg-type]
    outcome = go(team_graph, tmp_path, approver=ApproveAll())
    assert "is blocked: `capability.undeclared`" in (outcome.output or "")
    assert fault in outcome.denied[0].why[-1]
    assert done(tmp_path) == ""


@pytest.mark.parametrize(("line", "met"), [("path", "fs.write:secret/x"), ("anywhere", "fs.write")])
def test_a_rule_meets_a_path_however_the_hook_spells_it(tmp_path: Path, line: str, met: str) -> None:
    script(tmp_path, main=[[("note", {"lines": [line]})], "{results}"])
    note = Tool(name="note", capabilities=capabilities(["fs.write"]) or (), hook=True)
    team_graph = graph(
        worker("main", "notes"),
        toolset("notes", "tools.py:Notes", is_class=True, note=note),
        approvals={"fs.write": "allowed", "fs.write:secret/**": "blocked"},
    )
    outcome = go(team_graph, tmp_path)
    assert f"`note` is blocked: `{met}`" in (outcome.output or "")


def test_a_hook_narrows_what_a_call_raises_only_where_the_lock_knows_it(tmp_path: Path) -> None:
    script(tmp_path, main=[[("note", {"lines": ["nothing"]})], "{results}"])
    assert "[success" in (go(graph(worker("main", "notes"), NOTES), tmp_path).output or "")
    without = toolset("notes", "tools.py:Notes", is_class=True, note=["x.notes.write"])
    outcome = go(graph(worker("main", "notes"), without), tmp_path)
    assert "needs approval" in (outcome.output or "")


def test_a_class_is_made_with_the_configuration_of_its_use(tmp_path: Path) -> None:
    script(tmp_path, main=[[("note", {"lines": ["a"]})], "{results}"])
    team_graph = graph(worker("main", use("notes", prefix="memo")), NOTES, approvals={"x": "allowed"})
    assert go(team_graph, tmp_path).output == "[success: memo a]"


def test_a_hook_cannot_change_the_configuration_that_it_is_shown(tmp_path: Path) -> None:
    script(tmp_path, main=[[("note", {"lines": ["configure"]})], "{results}"])
    team_graph = graph(worker("main", use("notes", prefix="memo")), NOTES, approvals={"x": "allowed"})
    assert go(team_graph, tmp_path).output == "[success: memo configure]"
    assert [used.config for used in team_graph.workers["main"].uses] == [{"prefix": "memo"}]


def test_the_arguments_that_were_approved_are_the_ones_that_run(tmp_path: Path) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.toolsets import WrapperToolset

    given: list[dict[str, Any]] = []
    original = Agent.run

    class Watched(WrapperToolset[Any]):
        async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
            given.append(tool_args)
            return await super().call_tool(name, tool_args, ctx, tool)

    async def watched(self: Any, *args: Any, **more: Any) -> Any:
        more["toolsets"] = [Watched(gate) for gate in more["toolsets"]]
        return await original(self, *args, **more)

    class Mutating:
        async def ask(self, question: Question) -> Answer:
            given[0]["lines"].append("rm -rf")
            given[0]["lines"][0] = "changed"
            assert question.arguments == {"lines": ["a", "b"]}
            return Answer(allowed=True, by="test")

    script(tmp_path, main=[[("note", {"lines": ["a", "b"]})], "{results}"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Agent, "run", watched)
        outcome = go(graph(worker("main", "notes"), NOTES), tmp_path, approver=Mutating())
    assert given[0]["lines"] == ["changed", "b", "rm -rf"]
    assert outcome.output == "[success: note a+b]"


class Raises:
    async def ask(self, question: Question) -> Answer:
        raise RuntimeError("no idea")


class SaysTrue:
    async def ask(self, question: Question) -> Any:
        return True


class SaysWordsForYes:
    async def ask(self, question: Question) -> Any:
        return Answer(allowed="no", by="test")  # type: ignore[arg-type]


@pytest.mark.parametrize("approver", [Raises(), SaysTrue(), SaysWordsForYes(), None, RejectAll()])
def test_whatever_is_not_a_yes_is_a_no(tmp_path: Path, approver: Any) -> None:
    script(tmp_path, main=[[("add", {"a": 1, "b": 2})], "{results}"])
    outcome = go(graph(worker("main", "calc"), CALC), tmp_path, approver=approver)
    assert "[failed: `add` needs approval, which was not given" in (outcome.output or "")
    assert (done(tmp_path), outcome.status) == ("", "completed")


def test_a_no_names_the_rule_and_the_flag_that_would_allow_it(tmp_path: Path) -> None:
    script(tmp_path, main=[[("add", {"a": 1, "b": 2})], "{results}"])
    denied = go(graph(worker("main", "calc"), CALC), tmp_path).denied[0]
    assert denied.why[-1] == (
        'nobody can be asked here: add `"x.calc.cpu" = "allowed"` to [approvals.rules] in llmdo.toml, '
        "or run with --approve x.calc.cpu"
    )


WRITE = {"path": "done.txt", "content": "written"}


def test_approve_all_says_yes_to_a_question_and_lifts_no_block(tmp_path: Path) -> None:
    script(tmp_path, main=[[("write_file", WRITE)], "{results}"])
    writer = worker("main", use("filesystem", write=["**"]))
    go(graph(writer), tmp_path, approver=ApproveAll())
    assert done(tmp_path) == "written"
    (tmp_path / "done.txt").unlink()
    blocking: list[dict[str, Any]] = [
        {"approvals": {"fs.write:done.txt": "blocked"}},
        {"tighten": {"fs.write:done.txt": "blocked"}},
        {"may": ["fs.write:reports/**"]},
        {"may": ["fs.read"]},
    ]
    for how in blocking:
        outcome = go(graph(writer, **how), tmp_path, approver=ApproveAll())
        assert outcome.status == "completed"
        assert done(tmp_path) == "", how


def test_approve_all_does_not_answer_for_a_protected_file(tmp_path: Path) -> None:
    script(tmp_path, main=[[("write_file", {"path": "tools.py", "content": "x"})], "{results}"])
    team_graph = graph(
        worker("main", "calc", use("filesystem", write=["**"])), CALC, approvals={"fs.write": "allowed"}
    )
    outcome = go(team_graph, tmp_path, approver=ApproveAll())
    assert "needs approval, which was not given" in (outcome.output or "")
    assert (tmp_path / "tools.py").read_text() == TOOLS

    class Anyone:
        async def ask(self, question: Question) -> Answer:
            return Answer(allowed=True, by="a program")

    go(team_graph, tmp_path, approver=Anyone())
    assert (tmp_path / "tools.py").read_text() == TOOLS

    class Person:
        async def ask(self, question: Question) -> Answer:
            return Answer(allowed=True, by="a person", at_terminal=True)

    go(team_graph, tmp_path, approver=Person())
    assert (tmp_path / "tools.py").read_text() == "x"


def test_the_entrys_ceiling_holds_three_levels_down(tmp_path: Path) -> None:
    script(
        tmp_path,
        main=[[("one", {"input": "x"})], "{results}"],
        one=[[("two", {"input": "x"})], "{results}"],
        two=[[("three", {"input": "x"})], "{results}"],
        three=[[("write_file", WRITE)], "{results}"],
    )

    def tree(**entry: Any) -> Any:
        return graph(
            worker("main", "one"),
            worker("one", "two", may=entry.pop("one", None)),
            worker("two", "three"),
            worker("three", use("filesystem", write=["**"])),
            approvals={"fs.write": "allowed"},
            **entry,
        )

    assert go(tree(), tmp_path).status == "completed"
    assert done(tmp_path) == "written"
    (tmp_path / "done.txt").unlink()
    outcome = go(tree(may=["fs.write:reports/**"]), tmp_path)
    assert "outside the ceiling of entry `go`" in (outcome.output or "")
    outcome = go(tree(one=["fs.write:reports/**"]), tmp_path)
    assert "outside the ceiling of worker `one`" in (outcome.output or "")
    assert done(tmp_path) == ""


@pytest.mark.parametrize(
    ("entry", "ceiling", "origin"), [("reports/**", "**", "entry `go`"), ("**", "reports/**", "worker `one`")]
)
def test_a_ceiling_below_takes_the_place_of_none_above(
    tmp_path: Path, entry: str, ceiling: str, origin: str
) -> None:
    script(
        tmp_path,
        main=[[("one", {"input": "x"})], "{results}"],
        one=[[("two", {"input": "x"})], "{results}"],
        two=[[("write_file", WRITE)], "{results}"],
    )
    files = use("filesystem", write=["**"])
    team_graph = graph(
        worker("main", "one"),
        worker("one", "two", may=[f"fs.write:{ceiling}"]),
        worker("two", files, may=["fs.write"]),
        approvals={"fs.write": "allowed"},
        may=[f"fs.write:{entry}"],
    )
    assert f"outside the ceiling of {origin}" in (go(team_graph, tmp_path).output or "")
    assert done(tmp_path) == ""


@pytest.mark.parametrize(
    ("first", "then", "offered"),
    [("narrow", "leaf", "edit_file,list_files,read_file,write_file"), ("leaf", "narrow", "read_file")],
)
def test_what_is_hidden_from_a_worker_depends_on_who_called_it(
    tmp_path: Path, first: str, then: str, offered: str
) -> None:
    script(
        tmp_path,
        main=[[(first, {"input": "x"})], [(then, {"input": "x"})], "{results}"],
        narrow=[[("leaf", {"input": "x"})], "{results}"],
        leaf=["{tools}"],
    )
    team_graph = graph(
        worker("main", "narrow", "leaf"),
        worker("narrow", "leaf", may=["fs.read"]),
        worker("leaf", use("filesystem", write=["**"])),
        approvals={"fs.write": "allowed"},
    )
    assert f"success: {offered}]" in (go(team_graph, tmp_path).output or "")


def test_a_workers_rules_hold_for_its_own_calls_only(tmp_path: Path) -> None:
    script(
        tmp_path,
        main=[[("helper", {"input": "x"}), ("add", {"a": 1, "b": 1})], "{results}"],
        helper=[[("add", {"a": 2, "b": 2})], "{results}"],
    )
    team_graph = graph(
        worker("main", "helper", "calc", approvals={"x.calc": "needs_approval"}),
        worker("helper", "calc"),
        CALC,
        approvals={"x.calc": "allowed"},
    )
    outcome = go(team_graph, tmp_path)
    assert done(tmp_path) == "4"
    assert [call.path for call in outcome.denied] == ["main/add#1"]


@pytest.mark.parametrize("tool", ["careful", "doubtful"])
def test_a_tool_that_asks_for_approval_itself_is_asked_about(tmp_path: Path, tool: str) -> None:
    script(tmp_path, main=[[(tool, {})], "{results}"])
    team_graph = graph(worker("main", "calc"), CALC)
    assert "of its own accord" in (go(team_graph, tmp_path).output or "")
    assert done(tmp_path) == ""
    assert go(team_graph, tmp_path, approver=ApproveAll()).output == f"[success: {tool}]"


def test_a_deferred_tool_brings_no_search_tool_along(tmp_path: Path) -> None:
    script(tmp_path, main=["{tools}"])
    outcome = go(graph(worker("main", "calc"), toolset("calc", "tools.py:calc", late=[])), tmp_path)
    assert outcome.output == "late"


def test_a_tool_that_raises_ends_its_worker_with_a_sentence(tmp_path: Path) -> None:
    script(tmp_path, main=[[("broken", {})]])
    outcome = go(graph(worker("main", "calc"), CALC), tmp_path)
    assert outcome.error == "the tool `broken` of worker `main` raised ValueError: out of order (tools.py:29)"


def test_events_tell_of_the_call_the_decision_and_the_end(tmp_path: Path) -> None:
    script(tmp_path, main=[[("add", {"a": 1, "b": 2})], "x"])
    events: list[Event] = []
    go(graph(worker("main", "calc"), CALC, approvals={"x": "allowed"}), tmp_path, on_event=events.append)
    about = [event for event in events if event.path == "main/add#1"]
    assert [event.kind for event in about] == ["tool_called", "decided", "tool_finished"]
    called, decided, finished = about
    assert isinstance(called, ToolCalled)
    assert called.arguments == {"a": 1, "b": 2}
    assert isinstance(decided, Decided)
    assert (decided.call.allowed, decided.call.by) == (True, "rules")
    assert isinstance(finished, ToolFinished)
    assert (finished.outcome, finished.result) == ("success", "3")
    assert [event.kind for event in events] == [
        "run_started",
        "worker_started",
        "model_requested",
        "model_responded",
        *(event.kind for event in about),
        "model_requested",
        "model_responded",
        "worker_finished",
        "run_finished",
    ]


def test_a_cancelled_question_is_no_answer(tmp_path: Path) -> None:
    from llmdo.runtime import RunOptions, run
    from tests.support.building import prompts, with_code

    script(tmp_path, main=[[("add", {"a": 1, "b": 2})], "{results}"])
    waiting = asyncio.Event()

    class Slow:
        async def ask(self, question: Question) -> Answer:
            waiting.set()
            await asyncio.sleep(60)
            return Answer(allowed=True, by="test")

    async def scenario() -> None:
        team_graph = graph(worker("main", "calc"), CALC)
        options = RunOptions(approver=Slow())
        task = asyncio.create_task(
            run(
                with_code(team_graph, tmp_path),
                root=tmp_path,
                prompts=prompts(team_graph),
                entry="go",
                options=options,
            )
        )
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert done(tmp_path) == ""


@pytest.mark.parametrize(
    ("raised", "declared", "words"),
    [
        (["fs.read:kb/x"], ["fs.read:mail/**"], "`t` may read `mail/**`; `kb/x` lies outside"),
        (["fs.read.protected:kb/x"], ["fs.read:mail/**"], "`t` may read `mail/**`; `kb/x` lies outside"),
        (
            ["fs.delete"],
            ["fs.delete:a/**", "fs.delete:b"],
            "`t` may delete `a/**`, `b`; the whole folder lies outside",
        ),
        (["x.t.mail:c"], ["x.t.mail:a"], "`t` may do `x.t.mail` in `a`; `c` lies outside"),
        (["fs.write:a"], ["fs.read:a"], None),
        (["fs.read:a/b"], ["fs.read:a/**"], None),
    ],
)
def test_what_lies_outside_is_said_with_what_a_tool_may_do(
    raised: list[str], declared: list[str], words: str | None
) -> None:
    call = Call(
        path="1",
        toolset="s",
        tool="t",
        arguments={},
        raised=tuple(map(Capability.parse, raised)),
        declared=tuple(map(Capability.parse, declared)),
    )
    assert outside_of(call) == words
