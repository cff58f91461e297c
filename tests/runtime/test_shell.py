"""`shell` in a run: decided on by the gate, on the words that are run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.graph.resolved import Graph
from llmdo.policy.shell import ShellLimits, ShellSettings, parse_rules
from llmdo.policy.vocabulary import Decision
from llmdo.runtime import Answer, ApproveAll, Question
from llmdo.runtime.telemetry.events import Decided, Event
from tests.support.building import Step, go, graph, script, use, worker

MANIFEST = {
    "presets": ["read-only", "git-read"],
    "rules": [
        {"run": ["touch"], "positional": "paths"},
        {"run": ["sh", "slow.sh"]},
        {"run": ["sh", "loud.sh"]},
        {"run": ["sh", "fails.sh"]},
    ],
}
READS: dict[str, Decision] = {"proc.exec.read": "allowed"}
RUNS: dict[str, Decision] = {"proc.exec": "allowed", "fs.write": "allowed"}


def team(
    root: Path, *calls: Any, rules: dict[str, Decision] = READS, isolation: str = "off", **more: Any
) -> Graph:
    """A graph whose only worker makes these calls of `shell` at once and answers with what it was told."""
    steps: list[Step] = [[("shell", call if isinstance(call, dict) else {"command": call}) for call in calls]]
    script(root, main=[*steps, "{results}"])
    line = use("shell", **more.pop("config", {}))
    settings = ShellSettings(
        rules=parse_rules(MANIFEST), isolation=isolation, limits=ShellLimits(output_bytes=50), env=()
    )
    return replace(graph(worker("main", line, **more), approvals=rules), shell=settings)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "README.md").write_text("hello\n")
    (tmp_path / "slow.sh").write_text("echo early; sleep 30")
    (tmp_path / "loud.sh").write_text("seq 1 1000; echo oh >&2")
    (tmp_path / "fails.sh").write_text("echo no >&2; exit 3")
    return tmp_path


def test_a_vouched_command_runs_and_its_result_is_reported(root) -> None:
    outcome = go(team(root, "cat README.md", ["wc", "-l", "README.md"]), root)
    assert (
        outcome.output
        == "[success: exit code 0\nstdout:\nhello] [success: exit code 0\nstdout:\n1 README.md]"
    )


def test_the_tool_says_what_it_takes(root) -> None:
    team_graph = team(root, "ls")
    script(root, main=["{tools}"])
    assert go(team_graph, root).output == "shell"


def test_other_arguments_ask_and_other_programs_are_blocked(root) -> None:
    outcome = go(team(root, "cat /etc/passwd", "rm README.md"), root)
    assert [call.decision for call in outcome.denied] == ["needs_approval", "blocked"]
    assert "proc.exec.unvouched" in outcome.denied[0].reasons[0]
    assert "proc.exec.unlisted" in outcome.denied[1].reasons[0]
    assert (root / "README.md").exists()


def test_shell_syntax_is_refused_with_what_to_do_instead_and_nobody_is_asked(root) -> None:
    outcome = go(team(root, "ls | wc"), root, approver=ApproveAll())
    assert "[failed: `|` is shell syntax: run one program and read its output" in str(outcome.output)
    assert not outcome.denied


def test_the_person_is_shown_and_answers_for_the_command_that_runs(root) -> None:
    questions: list[Question] = []

    class Yes:
        async def ask(self, question: Question) -> Answer:
            questions.append(question)
            return Answer(allowed=True, by="test")

    outcome = go(team(root, ["touch", "new"]), root, approver=Yes())
    assert outcome.output == "[success: exit code 0]"
    assert (root / "new").exists()
    assert questions[0].arguments["command"] == ["touch", "new"]
    assert {str(capability) for capability in questions[0].capabilities} == {
        "proc.exec",
        "fs.read:new/**",
        "fs.write:new/**",
        "fs.write.code:new/**",
    }


def test_a_file_that_became_a_link_while_somebody_thought_is_not_touched(root) -> None:
    class Swap:
        async def ask(self, question: Question) -> Answer:
            (root / "README.md").unlink()
            (root / "README.md").symlink_to("/etc/passwd")
            return Answer(allowed=True, by="test")

    outcome = go(team(root, "touch README.md"), root, approver=Swap())
    assert "the call is not the one any more that was asked about" in (outcome.output or "")


def test_writing_to_what_governs_the_run_is_a_protected_write(root) -> None:
    seen: list[Event] = []
    go(team(root, "touch llmdo.toml", "touch .", rules=RUNS), root, on_event=seen.append)
    raised = [
        {capability.name for capability in event.call.raised} for event in seen if isinstance(event, Decided)
    ]
    assert all("fs.write.protected" in names for names in raised)
    assert not (root / "llmdo.toml").exists()


def test_a_command_beyond_its_time_is_a_failed_result_with_what_it_said(root) -> None:
    outcome = go(team(root, {"command": "sh slow.sh", "timeout_s": 0.3}, rules=RUNS), root)
    assert outcome.output == "[failed: the command was ended after 0.3 s\nstdout:\nearly]"


def test_what_was_cut_off_is_reported(root) -> None:
    output = str(go(team(root, "sh loud.sh", rules=RUNS), root).output)
    assert "(stdout had 3,843 bytes more, which were dropped)" in output
    assert "stderr:\noh" in output


def test_a_failing_program_is_a_result(root) -> None:
    assert go(team(root, "sh fails.sh", rules=RUNS), root).output == "[success: exit code 3\nstderr:\nno]"


def test_a_worker_narrows_what_the_manifest_vouches_for(root) -> None:
    outcome = go(
        team(
            root, "cat README.md", "ls", config={"rules": [{"run": ["ls"], "capability": "proc.exec.read"}]}
        ),
        root,
    )
    assert [call.decision for call in outcome.denied] == ["blocked"]
    assert "README.md" in str(outcome.output)


def test_git_without_isolation_is_more_than_reading(root) -> None:
    outcome = go(team(root, "git status"), root)
    assert [call.decision for call in outcome.denied] == ["needs_approval"]


@pytest.mark.needs_bwrap
def test_git_with_isolation_only_reads(root) -> None:
    outcome = go(team(root, "git status", isolation="require"), root)
    assert not outcome.denied
    assert "not a git repository" in str(outcome.output)


@pytest.mark.needs_bwrap
def test_what_a_command_may_write_follows_the_rules_for_its_worker(root) -> None:
    (root / "w.sh").write_text("echo x > a; echo x > out/a; echo x > README.md")
    (root / "out").mkdir()
    rules: dict[str, Decision] = {"proc.exec": "allowed", "fs.write:out/**": "allowed"}
    team_graph = team(root, "sh w.sh", rules=rules, isolation="require")
    team_graph = replace(
        team_graph, shell=replace(team_graph.shell, rules=parse_rules({"rules": [{"run": ["sh", "w.sh"]}]}))
    )
    go(team_graph, root)
    assert (root / "out/a").exists()
    assert not (root / "a").exists()
    assert (root / "README.md").read_text() == "hello\n"


@pytest.mark.usefixtures("without_bubblewrap")
def test_a_machine_that_cannot_isolate_fails_before_anything_is_asked_where_that_is_required(root) -> None:
    with pytest.raises(LlmdoError, match="cannot be isolated"):
        go(team(root, "ls", isolation="require"), root)
