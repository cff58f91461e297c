"""Who may answer what, and that what was asked about is what runs."""

from __future__ import annotations

import asyncio
from collections import namedtuple
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AnyUrl, BaseModel, Field

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import replace
from llmdo.cli.approving import ApprovalOptions, approving
from llmdo.graph.resolved import ShellSettings
from llmdo.graph.toolset import Tool
from llmdo.policy.authority import Capability
from llmdo.policy.shell import parse_rules
from llmdo.runtime import Answer, ApproveAll, ApproveSome, Question, RejectAll
from llmdo.runtime.gate.identity import canonical
from llmdo.runtime.telemetry.events import Asked, Event
from tests.support.building import capabilities, go, graph, script, toolset, use, worker

TOOLS = """
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

DONE = Path(__file__).with_name("done.txt")

class Moody(FunctionToolset):
    asked = []

    def __init__(self):
        super().__init__(id="moody")
        self.tool_plain(self.act)

    async def act(self, what: list[str]) -> str:
        DONE.write_text(",".join(what))
        return "acted"

    def get_capabilities(self, name, tool_args, ctx, config):
        self.asked.append(1)
        match tool_args["what"][0]:
            case "changes" if len(self.asked) > 1: return ["x.moody.other"]
            case "grows" if len(self.asked) > 1: return ["x.moody.some", "x.moody.other"]
            case "writes": tool_args["what"].append("more")
        return ["x.moody.some"]
"""
MOODY = toolset(
    "moody",
    "tools.py:Moody",
    is_class=True,
    act=Tool(name="act", capabilities=capabilities(["x.moody"]) or (), hook=True),
)
NOBODY = {"XDG_CONFIG_HOME": "/nonexistent"}
YES = Answer(allowed=True, by="test", at_terminal=True)


@pytest.fixture(autouse=True)
def _tools(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)


def done(root: Path) -> str:
    file = root / "done.txt"
    return file.read_text() if file.exists() else ""


class Says:
    """An approver that does something and then gives an answer."""

    def __init__(self, answer: Any = YES, act: Any = None) -> None:
        self.answer, self.act = answer, act
        self.questions: list[Question] = []

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        if self.act:
            self.act(question)
        answer: Answer = self.answer
        return answer


@pytest.mark.parametrize("raises", ["changes", "grows"])
def test_a_call_that_raises_something_else_after_the_answer_is_blocked(tmp_path: Path, raises: str) -> None:
    script(tmp_path, main=[[("act", {"what": [raises]})], "{results}"])
    outcome = go(graph(worker("main", "moody"), MOODY), tmp_path, approver=Says())
    assert "`act` is blocked: the call is not the one any more that was asked about" in (outcome.output or "")
    assert [call.decision for call in outcome.denied] == ["blocked"]
    assert done(tmp_path) == ""


def test_arguments_that_change_while_a_person_thinks_are_blocked(tmp_path: Path) -> None:
    script(tmp_path, main=[[("act", {"what": ["a"]})], "{results}"])

    def mutate(question: Question) -> None:
        question.arguments["what"].append("rm -rf")  # type: ignore[attr-defined]

    outcome = go(graph(worker("main", "moody"), MOODY), tmp_path, approver=Says(act=mutate))
    assert "is blocked" in (outcome.output or "")
    assert done(tmp_path) == ""


def test_a_hook_that_writes_into_its_arguments_changes_no_call(tmp_path: Path) -> None:
    script(tmp_path, main=[[("act", {"what": ["writes"]})], "{results}"])
    asker = Says()
    go(graph(worker("main", "moody"), MOODY), tmp_path, approver=asker)
    assert asker.questions[0].arguments == {"what": ["writes"]}
    assert done(tmp_path) == "writes"


def test_a_refusal_for_many_reasons_names_the_first_and_how_many_more_there_are(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(
        TOOLS.replace('return ["x.moody.some"]', 'return [f"fs.delete:a/{one}" for one in range(100, 140)]')
    )
    tool = Tool(name="act", capabilities=capabilities(["fs.delete:a/**"]) or (), hook=True)
    script(tmp_path, main=[[("act", {"what": ["all"]})], "{results}"])
    outcome = go(
        graph(worker("main", "moody"), toolset("moody", "tools.py:Moody", is_class=True, act=tool)), tmp_path
    )
    output = outcome.output or ""
    assert output.count("no rule names `fs.delete:a/1") == 5
    assert "needs_approval; and 35 more" in output
    [denied] = outcome.denied
    assert len(denied.why) == 41
    assert denied.why[-1].endswith("--approve fs.delete:a/104 and 35 more")


def test_other_arguments_are_no_yes_even_where_the_answer_says_so(tmp_path: Path) -> None:
    script(tmp_path, main=[[("act", {"what": ["a"]})], "{results}"])
    asker = Says(Answer(allowed=True, by="test", arguments={"what": "not a list"}))
    outcome = go(graph(worker("main", "moody"), MOODY), tmp_path, approver=asker)
    assert "a person changed its arguments to some that it does not take" in (outcome.output or "")
    assert done(tmp_path) == ""


def test_other_arguments_for_a_call_that_code_makes_are_a_no(tmp_path: Path) -> None:
    (tmp_path / "entries.py").write_text(
        "async def nightly(runtime, input):\n    return await runtime.call_agent('helper', 'x')\n"
    )
    script(tmp_path, helper=["helped"])
    team_graph = graph(
        worker("helper"),
        function="entries.py:nightly",
        calls=["helper"],
        approvals={"agent": "needs_approval"},
    )
    asker = Says(Answer(allowed=True, by="test", arguments={"input": "y"}))
    assert go(team_graph, tmp_path, approver=asker).status == "failed"
    assert asker.questions[0].fault_of is None
    assert go(team_graph, tmp_path, approver=Says()).output == "helped"


@pytest.mark.parametrize("raises", ["changes", "grows"])
def test_approve_all_answers_for_what_the_call_raised_and_for_no_more(tmp_path: Path, raises: str) -> None:
    script(tmp_path, main=[[("act", {"what": [raises]})], "{results}"])
    outcome = go(graph(worker("main", "moody"), MOODY), tmp_path, approver=ApproveAll())
    assert "the call is not the one any more that was asked about" in (outcome.output or "")
    assert done(tmp_path) == ""


def test_approve_all_does_not_answer_for_a_command_whose_file_changes(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("echo harmless\n")
    script(tmp_path, main=[[("shell", {"command": ["sh", "run.sh"]})], "{results}"])
    rules = parse_rules({"rules": [{"run": ["sh"]}]})
    team_graph = replace(graph(worker("main", "shell")), shell=ShellSettings(rules=rules, isolation="off"))

    def swap(event: Event) -> None:
        if isinstance(event, Asked):
            (tmp_path / "run.sh").write_text("echo harm\n")

    outcome = go(team_graph, tmp_path, approver=ApproveAll(), on_event=swap)
    assert "not the one any more that was asked about" in (outcome.output or "")


def test_an_approver_of_ones_own_that_says_yes_to_all_cannot_change_the_call(tmp_path: Path) -> None:
    class Changing(ApproveAll):
        async def ask(self, question: Question) -> Answer:
            cast("dict[str, Any]", question.arguments)["what"].append("more")
            return await super().ask(question)

    script(tmp_path, main=[[("act", {"what": ["once"]})], "{results}"])
    outcome = go(graph(worker("main", "moody"), MOODY), tmp_path, approver=Changing())
    assert "the call is not the one any more that was asked about" in (outcome.output or "")
    assert done(tmp_path) == ""


def test_a_command_is_another_one_when_the_file_that_it_runs_has_changed(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("echo harmless\n")
    script(tmp_path, main=[[("shell", {"command": ["sh", "run.sh"]})], "{results}"])
    team_graph = graph(worker("main", "shell"))
    rules = parse_rules({"rules": [{"run": ["sh"]}]})
    team_graph = replace(team_graph, shell=ShellSettings(rules=rules, isolation="off"))

    def swap(_: Question) -> None:
        (tmp_path / "run.sh").write_text("echo harm\n")

    allowed = go(team_graph, tmp_path, approver=Says())
    assert "harmless" in (allowed.output or "")
    outcome = go(team_graph, tmp_path, approver=Says(act=swap))
    assert "not the one any more that was asked about" in (outcome.output or "")


def question(*asking: str, **more: Any) -> Question:
    fields: dict[str, Any] = {
        "path": "main/x#1",
        "worker": "main",
        "toolset": "t",
        "tool": "x",
        "arguments": {},
        "capabilities": tuple(map(Capability.parse, asking)),
        "asking": tuple(map(Capability.parse, asking)),
        "reasons": (),
        "advice": (),
        "terminal_only": False,
    }
    return Question(**(fields | more))


@pytest.mark.parametrize(
    ("flags", "asked", "allowed"),
    [
        (["fs.write"], question("fs.write:a.txt"), True),
        (["fs"], question("fs.write:a.txt"), True),
        (["fs.write"], question("fs.write"), True),
        (["fs.write:reports/**"], question("fs.write:reports/a.md"), True),
        (["fs.write:reports/**"], question("fs.write:other/a.md"), False),
        (["fs.write:reports/**"], question("fs.write"), False),
        (["fs.write"], question("fs.write:a.txt", "net.connect"), False),
        (["fs.write", "net"], question("fs.write:a.txt", "net.connect"), True),
        (["fs.writ"], question("fs.write:a.txt"), False),
        (["proc.exec"], question("proc.exec.read"), True),
        (["proc.exec"], question("proc.exec.unvouched"), False),
        (["proc"], question("proc.exec.unvouched"), False),
        (["proc.exec.unvouched"], question("proc.exec.unvouched"), True),
        (["fs"], question("fs.write.protected:llmdo.toml", terminal_only=True), False),
        (["fs.write.protected"], question("fs.write.protected:llmdo.toml", terminal_only=True), False),
        (["x"], question("x.calc.cpu", by_tool=True), False),
        (["x"], question(), False),
    ],
)
def test_approve_answers_where_all_that_is_asked_about_lies_within(
    flags: list[str], asked: Question, allowed: bool
) -> None:
    approver = ApproveSome(tuple(map(Capability.parse, flags)), RejectAll())
    answer = asyncio.run(approver.ask(asked))
    assert answer.allowed is allowed
    assert answer.by == (" ".join(f"--approve {flag}" for flag in flags) if allowed else "reject-all")


def test_approve_lifts_no_block_and_no_ceiling(tmp_path: Path) -> None:
    script(tmp_path, main=[[("write_file", {"path": "done.txt", "content": "x"})], "{results}"])
    approver = ApproveSome((Capability("fs"),), RejectAll())
    writer = worker("main", use("filesystem", write=["**"]))
    go(graph(writer), tmp_path, approver=approver)
    assert done(tmp_path) == "x"
    (tmp_path / "done.txt").unlink()
    blocking: list[dict[str, Any]] = [
        {"approvals": {"fs.write:done.txt": "blocked"}},
        {"tighten": {"fs.write": "blocked"}},
        {"may": ["fs.read"]},
    ]
    for how in blocking:
        go(graph(writer, **how), tmp_path, approver=approver)
        assert done(tmp_path) == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ApprovalOptions(approve=("fs.wirte",)), "`--approve` names `fs.wirte`, which is not a capability"),
        (ApprovalOptions(approve=("fs.write:../x",)), "is not a capability, perhaps with"),
        (ApprovalOptions(approve=("x.calc",)), "`--approve` names `x.calc`, which is not a capability"),
        (ApprovalOptions(approve=("fs",), approve_all=True), "answers everything that `--approve` does"),
        (ApprovalOptions(reject_all=True, approve_all=True), "conflicts with"),
    ],
)
def test_flags_that_mean_nothing_are_refused(options: ApprovalOptions, message: str) -> None:
    with pytest.raises(LlmdoError, match=message.replace("(", "\\(")):
        approving(options, graph(worker("main")), NOBODY)


def test_the_mode_says_who_answers() -> None:
    team_graph = graph(worker("main"))
    assert approving(ApprovalOptions(approve_all=True), team_graph, NOBODY).mode == "approve-all"
    assert approving(ApprovalOptions(reject_all=True), team_graph, NOBODY).mode == "reject-all"
    some = approving(ApprovalOptions(approve=("fs.write", "net"), reject_all=True), team_graph, NOBODY)
    assert (some.mode, some.unasked) == ("approve fs.write net, else reject-all", False)


@pytest.mark.parametrize("key", ["approve-all", "approve_all", "mode", "approver"])
@pytest.mark.parametrize("table", ["[approvals]", "[workspace]", "[entries.main]"])
def test_no_workspace_can_approve_for_the_person_who_runs_it(tmp_path: Path, key: str, table: str) -> None:
    from llmdo import checks
    from llmdo.workspace import project as projects

    name = "" if "workspace" in table else "[workspace]\nname='w'\n"
    own = "name='w'\n" if "workspace" in table else ""
    (tmp_path / "llmdo.toml").write_text(f"schema = 1\n{name}{table}\n{own}{key} = true\n")
    assert "LDO102" in {finding.code for finding in checks.check(projects.read(tmp_path))}


def test_no_variable_of_the_environment_approves(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LLMDO_APPROVE_ALL", "LLMDO_APPROVE", "LLMDO_APPROVALS"):
        monkeypatch.setenv(name, "1")
    assert (
        approving(ApprovalOptions(), graph(worker("main")), NOBODY | {"LLMDO_APPROVE_ALL": "1"}).mode
        == "reject-all"
    )
    assert not isinstance(approving(ApprovalOptions(), graph(worker("main")), NOBODY).approver, ApproveAll)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def spelled(value: object) -> str:
    """A value as Python spells it, its keys in order."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key!r}:{spelled(value[key])}" for key in sorted(value)) + "}"
    return "[" + ",".join(map(spelled, value)) + "]" if isinstance(value, list) else repr(value)


@given(VALUES, VALUES)
def test_two_values_have_one_canonical_form_only_where_they_are_the_same(
    value: object, other: object
) -> None:
    assert (canonical(value) == canonical(other)) == (spelled(value) == spelled(other))


def test_one_in_its_four_forms_has_four_canonical_forms() -> None:
    assert len({canonical(value) for value in (1, 1.0, True, "1", [1], {"1": 1}, None, "None")}) == 8


class Zone(tzinfo):
    """A time zone that does not say which one it is."""

    def __repr__(self) -> str:
        return "zone"


@pytest.mark.parametrize("value", [object(), [print], {1: object()}, datetime(2026, 1, 1, tzinfo=Zone())])
def test_what_tells_nothing_of_itself_has_no_canonical_form(value: object) -> None:
    with pytest.raises(TypeError):
        canonical(value)


class Colour(Enum):
    RED = "red"


class Amount(BaseModel, extra="allow"):
    value: Decimal
    note: str = Field(default="", exclude=True)


@dataclass
class Span:
    start: date
    days: int


Pair = namedtuple("Pair", "a b")
TYPED: list[object] = [
    *(date(2026, 1, 1), datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC), time(1), timedelta(1)),
    *(Decimal(1), Decimal("1.0"), UUID(int=1), Colour.RED, b"red", Path("red"), AnyUrl("http://red.example")),
    *(Amount(value=Decimal(1)), Amount(value=Decimal(1), note="x"), Amount(value=Decimal(1), more=2)),
    *(
        Span(date(2026, 1, 1), 1),
        Span(date(2026, 1, 1), 2),
        (1,),
        [1],
        {1},
        frozenset({1}),
        Pair(1, 2),
        (1, 2),
    ),
    *({1: 2}, {"1": 2}, {1: "2"}, "red", "2026-01-01", repr(date(2026, 1, 1))),
]


def test_values_of_python_types_have_a_canonical_form_each() -> None:
    forms = [canonical(value) for value in TYPED]
    assert len(set(forms)) == len(TYPED)
    assert [canonical(deepcopy(value)) for value in TYPED] == forms
