"""Workflows of GitHub: who gets past a condition, what a script runs, and what a stranger's agent is called first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from llmdo import foreign
from llmdo.features.github_actions.conditions import open_to_strangers, passing
from llmdo.foreign import summary
from llmdo.foreign.scripts import commands

if TYPE_CHECKING:
    from llmdo.foreign.team import Agent

CASES = Path(__file__).parents[2] / "foreign" / "cases"
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
            ("claude", "-p", "${{}}", "--model", "x"),
        ),
        ("cat p | timeout 600 npx -y a -p", ("a", "-p")),
        ("if ! codex exec 'a; b' > out; then exit 1; fi", ("codex", "exec", "a; b")),
        ("cat > p <<'EOF'\ndon't\nEOF\ngemini --yolo", ("gemini", "--yolo")),
        ("awf --x -- bash -c 'copilot -p \"a\"'", ("copilot", "-p", "a")),
        ("claude -p \\\n  x  # it's", ("claude", "-p", "x")),
        ("X=`opencode run x`", ("opencode", "run", "x")),
        ('claude -p "${{ github.event.issue.body }}"', ("claude", "-p", "${{}}")),
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


def only_agent(root: Path, head: str, step: str) -> Agent:
    """The agent of a workflow with one step."""
    (root / ".github/workflows").mkdir(parents=True)
    (root / ".github/workflows/a.yml").write_text(f"{head}jobs:\n  a:\n    steps:\n{step}")
    (agent,) = foreign.read("github-actions", root).team.agents
    return agent


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
    step = f"      - uses: anthropics/claude-code-action@v1.0.200\n        with:\n          prompt: Go.\n          claude_args: |\n{lines}"
    agent = only_agent(tmp_path, "on: push\n", step)
    raised = {str(each) for grant in agent.grants for each in grant.capabilities}
    assert (("proc.exec.unlisted" in raised), ("x.claude.any" in raised)) == (free, unknown)


@pytest.mark.long
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


@pytest.mark.parametrize(
    ("token", "permissions", "raised"),
    [
        ("${{ github.token }}", "{contents: write}", "x.github.contents-write"),
        ("${{ secrets.GITHUB_TOKEN }}", "{contents: read}", None),
        ("${{ secrets.GITHUB_TOKEN }}", "write-all", "x.github.contents-write"),
        ("${{ secrets.GITHUB_TOKEN }}", "read-all", None),
        ("${{ secrets.ROBOT }}", "{contents: read}", "x.github.any"),
        ("${{ steps.app.outputs.token }}", "{}", "x.github.any"),
        ("", "{contents: write}", None),
    ],
)
def test_a_push_is_as_able_as_the_token(
    tmp_path: Path, token: str, permissions: str, raised: str | None
) -> None:
    step = (
        f'      - env:\n          GH_TOKEN: "{token}"\n'
        "        run: claude -p x --allowedTools 'Bash(git push:*)'\n"
    )
    agent = only_agent(tmp_path, f"on: push\npermissions: {permissions}\n", step)
    on_github = {
        str(each) for grant in agent.grants for each in grant.capabilities if each.name.startswith("x.")
    }
    assert on_github == ({raised} if raised else set())


def test_commands_that_are_allowed_are_not_where_the_shell_is_denied(tmp_path: Path) -> None:
    step = "      - run: claude -p x --allowedTools 'Bash(npm test)' --disallowedTools Bash\n"
    agent = only_agent(tmp_path, "on: push\n", step)
    assert not [grant for grant in agent.grants if grant.tool.startswith("Bash")]


@pytest.mark.parametrize(
    ("users", "by"), [("'*'", "anyone can start it by `issues`"), ("octocat, hubot", None), ("''", None)]
)
def test_named_users_are_no_strangers(tmp_path: Path, users: str, by: str | None) -> None:
    step = (
        "      - uses: anthropics/claude-code-action@v1\n        with:\n          prompt: Go.\n"
        f"          github_token: ${{{{ github.token }}}}\n          allowed_non_write_users: {users}\n"
    )
    assert only_agent(tmp_path, "on: issues\n", step).started_by == by
