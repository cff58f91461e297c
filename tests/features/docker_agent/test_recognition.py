"""YAML files with `agents`: those of docker-agent are read, those of others are not taken for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from llmdo import foreign
from llmdo.foreign import findings

if TYPE_CHECKING:
    from pathlib import Path

OTHERS = {
    "crewai": "agents:\n  writer:\n    role: Writer\n    goal: Write.\n    backstory: Wrote.\n    model: gpt-5\n",
    "crewai, a list": "agents:\n  - {name: a, role: Writer, goal: Write., instruction: Write., llm: gpt-5}\n",
    "praisonai": "framework: praisonai\ntopic: news\nagents:\n  a:\n    instruction: Write.\n    model: gpt-5\n",
    "promptfoo": "prompts: [a]\nproviders: [openai:gpt-5]\nagents:\n  - {model: gpt-5, instruction: Judge.}\n",
    "kubernetes": "apiVersion: v1\nkind: Team\nagents:\n  a: {model: gpt-5, instruction: Work.}\n",
    "adk": "name: root\nsub_agents: []\nagents:\n  - {model: gemini, instruction: Work., agent_class: LlmAgent}\n",
    "tools of its own": "agents:\n  a: {model: gpt-5, instruction: Work., tools: [search]}\n",
    "models alone": "agents:\n  a: {model: gpt-5}\n  b: {model: gpt-5, temperature: 1}\n",
    "toolsets that are a table": "agents:\n  a: {model: gpt-5, toolsets: {shell: {enabled: true}}}\n",
    "helm": "agents:\n  a:\n    model: {{ .Values.model }}\n    instruction: {{ .Values.text }}\n",
}

OURS = {
    "instruction": "agents:\n  root: {model: m, instruction: Help.}\n",
    "shell": "agents:\n  root:\n    toolsets: [{type: shell}]\n",
    "sub-agents": "agents:\n  root: {sub_agents: [b]}\n  b: {model: m}\n",
    "all that the schema has": "version: '8'\nmetadata: {author: a}\nmodels: {m: {provider: openai}}\n"
    "providers: {p: {}}\npermissions: {allow: [x]}\nrag: {}\nmcps: {}\nagents: {root: {model: m, instruction: I.}}\n",
    "a key that is newer": "tomorrow: 1\nagents:\n  root: {tomorrow: 1, toolsets: [{type: shell}]}\n",
    "a key misspelt": "agents:\n  root: {instructon: Help., sub_agents: [b]}\n  b: {model: m}\n",
    "broken": "agents:\n  root:\n    description: it says: so\n    toolsets: [{type: shell}]\n",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_a_file_of_another_tool_is_no_team(tmp_path: Path, text: str) -> None:
    (tmp_path / "team.yaml").write_text(text)
    read = foreign.read("docker-agent", tmp_path, may_be_empty=True)
    assert not read.team.agents
    assert not read.team.problems


@pytest.mark.parametrize("text", OURS.values(), ids=OURS)
def test_a_file_of_docker_agent_is_a_team(tmp_path: Path, text: str) -> None:
    (tmp_path / "team.yaml").write_text(text)
    assert foreign.read("docker-agent", tmp_path).team.agents or text == OURS["broken"]


def test_a_team_that_is_broken_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_text(OURS["broken"])
    read = foreign.read("docker-agent", tmp_path)
    assert "LDO153" in {each.code for each in findings.check(read)}


def test_toolsets_that_are_used_by_name_are_an_agents_own(tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_text(
        "toolsets:\n  runs: {type: shell}\nagents:\n  root:\n    instruction: I.\n    use_toolsets: [runs, rnus]\n"
    )
    read = foreign.read("docker-agent", tmp_path)
    assert "proc.exec.unlisted" in {
        str(row.capability) for row in read.analysis.of(read.graph.entries["team/root"])
    }
    assert [each.code for each in read.team.problems] == ["LDO250"]


def test_an_answer_is_handed_on_by_force(tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_text(
        "agents:\n  root: {instruction: I., force_handoff: b}\n  b: {toolsets: [{type: shell}]}\n"
    )
    read = foreign.read("docker-agent", tmp_path)
    assert "proc.exec.unlisted" in {
        str(row.capability) for row in read.analysis.of(read.graph.entries["team/root"])
    }


def test_another_tools_session_does_everything(tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_text("agents:\n  root: {instruction: I., harness: {type: codex}}\n")
    read = foreign.read("docker-agent", tmp_path)
    assert "proc.exec.unlisted" in {
        str(row.capability) for row in read.analysis.of(read.graph.entries["team/root"])
    }
