"""Workflows of GitHub: who gets past a condition, what a script runs, and what a stranger's agent is called first."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo import foreign
from llmdo.foreign import summary
from llmdo.foreign.github_actions.conditions import open_to_strangers, passing
from llmdo.foreign.github_actions.scripts import commands

CASES = Path(__file__).parent / "cases"
EVENTS = frozenset({"issue_comment", "issues", "workflow_dispatch"})
ASSOCIATION = "contains(fromJSON('[\"OWNER\"]'), github.event.comment.author_association)"


@pytest.mark.parametrize(
    ("condition", "open_by"),
    [
        ("", EVENTS),
        ("contains(github.event.comment.body, '@claude')", EVENTS),
        ("github.event.sender.type != 'Bot' && github.actor != 'renovate[bot]'", EVENTS),
        ("${{ github.event_name == 'issues' }}", {"issues"}),
        ("(github.event_name != 'issues' && (always() || false))", {"issue_comment", "workflow_dispatch"}),
        (f"github.event_name == 'issues' || {ASSOCIATION}", {"issues"}),
        (f"contains(github.event.comment.body, 'a || b') && {ASSOCIATION}", set()),
        ("github.actor == 'octocat'", set()),
        ("github.event.label.name == 'claude'", set()),
        ("needs.check.outputs.is_member == 'true'", set()),
        ("github.event.pull_request.head.repo.full_name == github.repository", set()),
        ("x" * 20_000, set()),
        ("(" * 100 + "a" + ")" * 100, set()),
    ],
)
def test_a_condition_keeps_strangers_out_unless_it_is_certain_that_it_does_not(
    condition: str, open_by: set[str]
) -> None:
    assert open_to_strangers(condition, EVENTS) == open_by


def test_a_condition_about_people_lets_every_event_pass() -> None:
    assert passing(ASSOCIATION, EVENTS) == EVENTS
    assert passing("github.event_name == 'push'", EVENTS) == frozenset()


@pytest.mark.parametrize(
    ("script", "command"),
    [
        (
            'OUT=$(claude -p "$(cat p.txt)" --model x 2>&1 | tee o)',
            ("claude", "-p", "__expression__", "--model", "x"),
        ),
        ("cat p | timeout 600 npx -y a -p", ("a", "-p")),
        ("if ! codex exec 'a; b' > out; then exit 1; fi", ("codex", "exec", "a; b")),
        ("cat > p <<'EOF'\ndon't\nEOF\ngemini --yolo", ("gemini", "--yolo")),
        ("awf --x -- bash -c 'copilot -p \"a\"'", ("copilot", "-p", "a")),
        ("claude -p \\\n  x  # it's", ("claude", "-p", "x")),
        ("X=`opencode run x`", ("opencode", "run", "x")),
        ('claude -p "${{ github.event.issue.body }}"', ("claude", "-p", "__expression__")),
    ],
)
def test_a_command_is_seen_wherever_a_script_has_it(script: str, command: tuple[str, ...]) -> None:
    assert command in list(commands(script))


@pytest.mark.parametrize(
    "script", ["# claude -p x", "echo 'claude -p x'", "cat <<E\nclaude -p x\nE", '"', "'", "$("]
)
def test_what_is_only_text_is_no_command(script: str) -> None:
    assert not [words for words in commands(script) if words[0] == "claude"]


def test_that_a_stranger_starts_what_can_push_comes_first() -> None:
    read = foreign.read("github-actions", CASES / "LDO552" / "github-actions-stranger-can-push")
    headline = summary.check(read).headline
    assert headline[0] == "the only agent can be started by a stranger and push to the repository"


@pytest.mark.parametrize(
    ("arguments", "free", "unknown"),
    [
        ('--allowedTools "Bash(gh api repos/${{ github.repository }}/pulls *)"', False, False),
        ('--allowedTools "Read,${{ inputs.tools }}"', False, True),
        ("${{ inputs.more }}", False, True),
        ("--model ${{ vars.MODEL }}", False, False),
        ("--allowed-tools Bash(dotnet build),Bash(dotnet test)", False, False),
        ("--allowedTools Read Bash", True, False),
        ("--allowedTools 'Bash(git:*)'", True, False),
        ("--allowedTools Bash --disallowedTools Bash", False, False),
        ("--dangerously-skip-permissions", True, False),
        ("# --dangerously-skip-permissions", False, False),
        ("--dangerously-skip-permissions --tools Read", False, False),
        ("--permission-mode plan", False, False),
    ],
)
def test_arguments_of_claude_are_read_as_its_action_reads_them(
    tmp_path: Path, arguments: str, free: bool, unknown: bool
) -> None:
    lines = "".join(f"            {line}\n" for line in arguments.split("\n"))
    text = (
        "on: push\njobs:\n  a:\n    steps:\n      - uses: anthropics/claude-code-action@v1.0.200\n"
        f"        with:\n          prompt: Go.\n          claude_args: |\n{lines}"
    )
    (tmp_path / ".github/workflows").mkdir(parents=True)
    (tmp_path / ".github/workflows/a.yml").write_text(text)
    (agent,) = foreign.read("github-actions", tmp_path).team.agents
    raised = {str(each) for grant in agent.grants for each in grant.capabilities}
    assert (("proc.exec.unlisted" in raised), ("x.claude.any" in raised)) == (free, unknown)


def test_actions_that_use_themselves_come_to_an_end(tmp_path: Path) -> None:
    steps = "      - uses: ./.github/actions/a\n" * 20
    (tmp_path / ".github/workflows").mkdir(parents=True)
    (tmp_path / ".github/actions/a").mkdir(parents=True)
    (tmp_path / ".github/workflows/a.yml").write_text(f"on: push\njobs:\n  a:\n    steps:\n{steps}")
    (tmp_path / ".github/actions/a/action.yml").write_text(
        f"runs:\n  using: composite\n  steps:\n{steps}      - run: codex exec x\n"
    )
    read = foreign.read("github-actions", tmp_path)
    assert len(read.team.agents) <= 1_000
    assert "LDO154" in {each.code for each in read.team.problems}


def test_a_repository_whose_workflows_run_no_agent_yields_nothing(tmp_path: Path) -> None:
    (tmp_path / ".github/workflows").mkdir(parents=True)
    (tmp_path / ".github/workflows/ci.yml").write_text(
        "on: push\njobs:\n  a: &a\n    steps:\n      - uses: acme/setup-claude@v1\n      - run: echo codex\n  b: *nowhere\n"
    )
    read = foreign.read("github-actions", tmp_path, may_be_empty=True)
    assert (read.team.agents, read.team.problems, read.team.files) == ((), (), ())
