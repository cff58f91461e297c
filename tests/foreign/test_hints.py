"""The hint of a flow ends it: what the edit takes away is taken away, and the flow is gone, or has a milder end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from llmdo import foreign
from llmdo.base.values import replace
from llmdo.foreign import advice
from llmdo.foreign.building import named, named_events
from llmdo.foreign.edits import left_after
from llmdo.foreign.flows import WayOut, worst_flows
from llmdo.foreign.refused_options import refused_at_once
from tests.checks.test_cases import copied
from tests.foreign.test_cases import ALL, format_of

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.foreign import Foreign
    from llmdo.foreign.edits import FlowEdit
    from llmdo.foreign.team import Agent

FLOWING = [
    case for case in ALL if re.search(r"LDO55[25]\]", (case / "expect.txt").read_text(encoding="utf-8"))
]
_NUMBERED = re.compile(r" \(\d+\)$")
_WITHOUT = re.compile(
    r"write `(?P<line>tools: [^`]+)`, without `[^`]+` \((?P<path>[^:]+):(?P<number>\d+):\d+\)"
)
_OUT = re.compile(
    r"take `(?P<tool>[^`]+)` out of `tools` \((?P<path>[^:]+):(?P<number>\d+):(?P<column>\d+)\)"
)
_LIST = re.compile(r"^ *(?:- |tools: ?)")
STAYS = re.compile(
    r"can then still send data|a milder flow stays|still brings? words|a flow that is less sure stays"
)


def without(project: Foreign, edit: FlowEdit) -> Foreign:
    """The project whose agents lack the tools and the calls that an edit takes away."""
    agents = named(project.team.agents)
    names, events = {id(agent): name for name, agent in agents.items()}, named_events(agents)
    gone = {(worker, _NUMBERED.sub("", toolset), tool) for worker, toolset, tool in edit.takes}
    silent = {(worker, _NUMBERED.sub("", toolset), tool) for worker, toolset, tool in edit.silences}

    def edited(agent: Agent) -> Agent:
        name = names[id(agent)]
        spots = [(each, (name, each.toolset, each.tool)) for each in agent.grants]
        left = tuple(
            each for each, spot in spots if spot not in gone and not (each.brought_by and spot in silent)
        )
        of_events = events.get(name)
        runs = tuple(each for each in agent.events if (of_events, each.toolset, each.tool) not in gone)
        agent = replace(agent, events=runs)
        if name != edit.caller:
            return replace(agent, grants=left)
        calls = tuple(call for call in agent.calls if edit.callee and call.name != edit.callee)
        return replace(agent, grants=left, calls=calls, everyone=agent.everyone if edit.callee else None)

    team = replace(project.team, agents=tuple(map(edited, project.team.agents)))
    after = foreign.foreign_of(project.root, team, project.teams)
    return replace(after, is_public=project.is_public)


@pytest.mark.parametrize("case", FLOWING, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_what_a_hint_takes_away_ends_the_flow(case: Path, tmp_path: Path) -> None:
    copied(case, tmp_path / "project")
    project = foreign.read(format_of(case), tmp_path / "project")
    for name, flow in worst_flows(project).items():
        edit = advice.edit(project, flow)
        if edit is None:
            continue
        after = worst_flows(without(project, edit)).get(name)
        is_milder = (
            after is None or (after.guess is not None) > (flow.guess is not None) or after.way > flow.way
        )
        assert is_milder, edit.text


@pytest.mark.parametrize("case", FLOWING, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_a_hint_says_whether_a_milder_flow_stays(case: Path, tmp_path: Path) -> None:
    copied(case, tmp_path / "project")
    project = foreign.read(format_of(case), tmp_path / "project")
    for name, flow in worst_flows(project).items():
        edit = advice.edit(project, flow)
        if edit is None or edit.keeps:  # of a tool without some of its rules, all rules are gone here
            continue
        after = worst_flows(without(project, edit)).get(name)
        text = advice.hint(project, flow) or ""
        if " of `explore`, `general` still brings words" in text:
            continue  # by the sessions that the file that it writes brings, which the project does not have yet
        if after and (after.row.tool == "token" or after.row.private[-1].name == "env"):
            after = None  # which nothing but commands uses
        assert bool(STAYS.search(text)) is (after is not None), f"{text}: {after and after.row}"


@pytest.mark.parametrize("case", FLOWING, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_no_other_edit_leaves_fewer_flows_than_the_hint(case: Path, tmp_path: Path) -> None:
    copied(case, tmp_path / "project")
    project = foreign.read(format_of(case), tmp_path / "project")

    def leaves_a_page_to_any_host(edit: FlowEdit, name: str) -> bool:
        after = worst_flows(without(project, edit)).get(name)
        return after is not None and after.guess is None and after.way == WayOut.ANY_HOST

    for name, flow in worst_flows(project).items():
        edit = advice.edit(project, flow)
        others = [each for each in advice._edits(project, flow) if not left_after(flow, each)]
        if edit and flow.guess is None and leaves_a_page_to_any_host(edit, name):
            assert all(leaves_a_page_to_any_host(other, name) for other in others), edit.text


def applied(root: Path, hint: str) -> bool:
    """Whether an edit of a list of tools was made in its file: of one line, or of an item of it."""
    part = hint.partition("; the same with")[0]
    if "; the same with" in hint:
        return False
    if edit := _WITHOUT.match(part):
        file = root / edit["path"]
        lines = file.read_text(encoding="utf-8").split("\n")
        if not _LIST.match(lines[int(edit["number"]) - 1]) or lines[int(edit["number"]) - 1].startswith(" "):
            return False
        lines[int(edit["number"]) - 1] = edit["line"]
    elif edit := _OUT.match(part):
        file = root / edit["path"]
        lines = file.read_text(encoding="utf-8").split("\n")
        line, column = lines[int(edit["number"]) - 1], int(edit["column"]) - 1
        if not _LIST.match(line) or not line[column:].startswith(edit["tool"]):
            return False
        rest = re.sub(r"^(tools:) *, *", r"\1 ", line[:column] + line[column + len(edit["tool"]) :])
        lines[int(edit["number"]) - 1] = re.sub(r", *(?=,|$|\])", "", rest) if "- " not in line else ""
    else:
        return False
    file.write_text("\n".join(lines), encoding="utf-8")
    return True


def test_changes_that_refuse_tools_by_one_option_are_one() -> None:
    assert refused_at_once(
        (
            "write `--disallowedTools Edit` in `claude_args` (w.yml:9:9); it then changes no files",
            "take `Read` out",
            'write `--disallowedTools "Bash(git push:*)"` in `claude_args` (w.yml:9:9)',
            "write `--disallowedTools Edit` in `claude_args` (w.yml:20:9)",
            "write `--disallowedTools Edit` behind `claude`",
            "write `disallowed_tools: Edit` (w.yml:9:9); it then changes no files",
            "write `disallowed_tools: Bash(git push:*)` (w.yml:9:9)",
            "write `Edit` into `disallowed_tools` (w.yml:9:9)",
            "write `Write` into `disallowed_tools` (w.yml:9:9)",
            "write `model: x` (w.yml:9:9)",
        )
    ) == [
        'write `--disallowedTools "Edit,Bash(git push:*)"` in `claude_args` (w.yml:9:9); it then changes no files',
        "take `Read` out",
        "write `--disallowedTools Edit` in `claude_args` (w.yml:20:9)",
        "write `--disallowedTools Edit` behind `claude`",
        "write `disallowed_tools: Edit,Bash(git push:*)` (w.yml:9:9); it then changes no files",
        "write `Edit,Write` into `disallowed_tools` (w.yml:9:9)",
        "write `model: x` (w.yml:9:9)",
    ]
