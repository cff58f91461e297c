"""Who starts a workflow of gh-aw, what its steps bring in, and which hosts its tools send to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from llmdo import foreign

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.foreign.team import Agent


def workflow(root: Path, header: str) -> Agent:
    (root / ".github/workflows").mkdir(parents=True)
    (root / ".github/workflows/w.md").write_text(f"---\n{header}\n---\nGo.\n", encoding="utf-8")
    read = foreign.read("gh-aw", root)
    assert read.team.problems == ()
    (agent,) = read.team.agents
    return agent


def raised(agent: Agent) -> set[str]:
    return {str(each) for grant in agent.grants for each in grant.capabilities}


@pytest.mark.parametrize(
    ("on", "starts"),
    [
        ("on: daily around 14:00", {"daily around 14:00": "the owner"}),
        ("on: [push, issues]", {"issues": "those who may write", "push": "those who may write"}),
        ("on:\n  issues:\n  reaction: eyes", {"issues": "those who may write"}),
        ("on:\n  issues:\n  schedule: daily\n  roles: all", {"issues": "anyone", "schedule": "the owner"}),
        ("on:\n  issues:\n  roles: [admin, read]", {"issues": "perhaps anyone"}),
        ("on:\n  issues:\n  roles: [admin]\n  skip-bots: [x]", {"issues": "those who may write"}),
        (
            "on:\n  pull_request:\n  push:\n  roles: all",
            dict.fromkeys(("pull_request", "push"), "those who may write"),
        ),
    ],
)
def test_members_start_a_workflow_unless_its_roles_say_otherwise(
    tmp_path: Path, on: str, starts: dict[str, str]
) -> None:
    assert {start.event: start.by for start in workflow(tmp_path, on).starts} == starts


@pytest.mark.parametrize("key", ["pre-steps", "steps", "pre-agent-steps"])
def test_steps_of_the_agents_job_bring_in_what_they_ask_github_for(tmp_path: Path, key: str) -> None:
    header = f"on: push\ntools:\n  github: false\n{key}:\n  - run: gh issue list > issues.txt"
    assert "data.untrusted" in raised(workflow(tmp_path, header))


@pytest.mark.parametrize(
    ("engine", "hosts"),
    [
        ("", {"net.connect:docs.example"}),
        ("engine: copilot\n", {"net.connect:docs.example"}),
        ("engine:\n  id: copilot\n", {"net.connect:docs.example"}),
        ("engine: codex\n", {"net.connect"}),
        ("engine:\n  id: claude\n", {"net.connect:docs.example"}),
        ("engine: claude-sonnet-4-6\n", {"net.connect:docs.example"}),
        ("sandbox:\n  agent: false\n", {"net.connect"}),
    ],
)
def test_pages_that_the_client_fetches_come_through_the_firewall(
    tmp_path: Path, engine: str, hosts: set[str]
) -> None:
    header = f"on: push\n{engine}network:\n  allowed: [defaults, docs.example]\ntools:\n  bash: false\n  web-fetch:"
    assert {each for each in raised(workflow(tmp_path, header)) if each.startswith("net.")} == hosts
