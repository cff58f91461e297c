"""A reason belongs to the agent whose call it decides: it names no rule that stands in the file of another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo import foreign
from llmdo.foreign import Foreign, findings
from llmdo.foreign.building import named, named_events
from llmdo.syntax.document import Place

CASES = sorted(path.parent for path in (Path(__file__).parent / "cases").glob("*/*/expect.txt"))

TEAM = """\
agents:
  root:
    model: openai/gpt-5
    instruction: Lead.
    sub_agents: [planner]
    toolsets:
      - type: filesystem
      - type: shell
  planner:
    model: openai/gpt-5
    instruction: Plan.
    toolsets:
      - type: filesystem
permissions:
  allow: ["read_file", "write_file"]
  ask: ["shell"]
"""

WORKFLOW = """\
---
on: issues
permissions: { contents: write, issues: write }
engine: claude
tools:
  github: { toolsets: [all], read-only: false }
  bash: ["*"]
safe-outputs: { create-issue: {} }
---
Sort.
"""


def foreign_reasons(read: Foreign) -> list[str]:
    """The reasons for calls that are none of what the files say about an agent on the way to the call."""
    agents = named(read.team.agents)
    of_events = {worker: agents[name].events for name, worker in named_events(agents).items()}
    wrong = []
    for entry in read.graph.entries.values():
        for row in read.analysis.of(entry):
            known = {("built in", None), (read.team.format, None)}
            for hop in row.path:
                events = of_events.get(hop.name, ())
                known |= {(event.origin, _at(event.rule_at)) for event in events}
                if agent := agents.get(hop.name):
                    known |= {(grant.origin, _at(grant.rule_at)) for grant in agent.grants}
                    known |= {(call.origin, _at(call.at)) for call in agent.calls}
                    known.add((agent.format, None))
            wrong += [
                f"{entry.name}: {row.capability}: {reason} {_at(reason.rule.at)}"
                for reason in row.reasons
                if reason.rule and (reason.rule.origin, _at(reason.rule.at)) not in known
            ]
    return wrong


def _at(place: Place | None) -> object:
    return place and (place.location.path, place.location.span)


@pytest.mark.parametrize("form", ["docker-agent", "gh-aw"])
def test_alike_agents_of_several_files_are_each_told_of_their_own(tmp_path: Path, form: str) -> None:
    if form == "docker-agent":
        for name in ("a", "b"):
            (tmp_path / f"{name}.yaml").write_text(TEAM, encoding="utf-8")
        (tmp_path / "c.yaml").write_text(f"# below\n{TEAM}", encoding="utf-8")
    else:
        folder = tmp_path / ".github/workflows"
        folder.mkdir(parents=True)
        for name in ("a", "b"):
            (folder / f"{name}.md").write_text(WORKFLOW, encoding="utf-8")
        (folder / "c.md").write_text(WORKFLOW.replace("on: issues", "name: C\non: issues"), encoding="utf-8")
    read = foreign.read(form, tmp_path)
    assert len(read.graph.entries) >= 3
    assert foreign_reasons(read) == []


RUN_BY_STEPS = {"github-actions-opencode-agent-of-its-action", "github-actions-opencode-question-mark"}
"""Here a step of a workflow runs the agent of another format's file, whose rules are then the step's."""


def strangers_places(read: Foreign) -> list[str]:
    """The places on ways to calls that are in the file of an agent which is not on the way."""
    agents = named(read.team.agents).items()
    of_events = {worker: name for name, worker in named_events(dict(agents)).items()}
    files = {agent.path for agent in read.team.agents if "agents/" in agent.path}
    wrong = []
    for entry in read.graph.entries.values():
        for row in read.analysis.of(entry):
            # What a client runs is called by a worker of its own, which stands for its agent.
            names = {of_events.get(hop.name, hop.name) for hop in row.path}
            own = {agent.path for name, agent in agents if {name, agent.name} & names}
            # A prompt of Copilot runs in the agent that it names, whose handoffs it has.
            bases = {
                str(agent.header.get(key)).casefold()
                for _, agent in agents
                for key in ("agent", "mode")
                if agent.path in own and agent.path.endswith(".prompt.md")
            }
            own |= {agent.path for _, agent in agents if agent.name.casefold() in bases}
            places = [(hop.name, hop.use.at.location.path) for hop in row.path if hop.use]
            wrong += [
                f"{entry.name}: {row.capability}: {name} {path}"
                for name, path in places
                if path in files - own
            ]
    return wrong


def test_a_way_over_a_built_in_agent_names_no_file_of_another_agent(tmp_path: Path) -> None:
    (tmp_path / ".claude/agents").mkdir(parents=True)
    for name, tools in (("a", "Read"), ("b", "Read, Task"), ("c", "Read, Task")):
        text = f"---\nname: {name}\ndescription: Works.\ntools: {tools}\n---\nWork.\n"
        (tmp_path / f".claude/agents/{name}.md").write_text(text)
    read = foreign.read("claude", tmp_path)
    assert strangers_places(read) == []
    (finding,) = (each for each in findings.check(read) if each.code == "LDO552" and each.subject == "b")
    assert {each.at.path for each in finding.related} == {".claude/agents/b.md"}


@pytest.mark.few(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_no_place_on_a_way_is_in_the_file_of_another_agent(case: Path) -> None:
    wrong = strangers_places(foreign.read("auto", case, may_be_empty=True))
    if case.name in RUN_BY_STEPS:
        assert all(each.startswith("github-actions/") for each in wrong)
    else:
        assert wrong == []


@pytest.mark.few(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_no_reason_names_the_file_of_another_agent(case: Path) -> None:
    assert foreign_reasons(foreign.read("auto", case)) == []
