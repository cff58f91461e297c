"""Workflows of GitHub: who gets past a condition, what a script runs, and what a stranger's agent is called first."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from llmdo import foreign
from llmdo.features.github_actions.conditions import narrowed
from llmdo.features.github_actions.step_checks import people_past
from llmdo.foreign import findings, summary
from llmdo.foreign.scripts import commands

if TYPE_CHECKING:
    from llmdo.features.github_actions.conditions import Starters
    from llmdo.foreign.team import Agent

CASES = Path(__file__).parents[2] / "foreign" / "cases"
ALL_BY_ANYONE: Starters = dict.fromkeys(("issue_comment", "issues", "workflow_dispatch"), "anyone")
BY_MEMBERS: Starters = dict.fromkeys(ALL_BY_ANYONE, "those who may write")
PERHAPS: Starters = dict.fromkeys(ALL_BY_ANYONE, "perhaps anyone")
OF_A_COMMENT: Starters = {"issue_comment": "anyone"}
OF_A_MEMBER: Starters = {"issue_comment": "those who may write"}
ASSOCIATION = "contains(fromJSON('[\"OWNER\"]'), github.event.comment.author_association)"


@pytest.mark.parametrize(
    ("condition", "by"),
    [
        ("", ALL_BY_ANYONE),
        ("contains(github.event.comment.body, '@claude')", OF_A_COMMENT),
        ("github.event.sender.type != 'Bot' && github.actor != 'renovate[bot]'", ALL_BY_ANYONE),
        ("!contains(github.event.pull_request.labels.*.name, 'skip')", ALL_BY_ANYONE),
        ("steps.check-label.outputs.has_label == 'false'", PERHAPS),
        ("contains(github.event.issue.labels.*.name, 'agent')", BY_MEMBERS),
        ("github.event.pull_request.merged == true", {}),
        ("github.event.workflow_run.pull_requests[0]", BY_MEMBERS),
        ("github.event.pull_request.head.repo.full_name != github.repository", ALL_BY_ANYONE),
        ("${{ github.event_name == 'issues' }}", {"issues": "anyone"}),
        (
            "(github.event_name != 'issues' && (always() || false))",
            {"issue_comment": "anyone", "workflow_dispatch": "anyone"},
        ),
        (f"github.event_name == 'issues' || {ASSOCIATION}", {**OF_A_MEMBER, "issues": "anyone"}),
        (f"github.event_name == 'issues' || (vars.ON && {ASSOCIATION})", {**OF_A_MEMBER, "issues": "anyone"}),
        (f"github.event_name == 'issues' || (vars.ON || {ASSOCIATION})", {**PERHAPS, "issues": "anyone"}),
        (f"vars.AGENTS == 'on' && {ASSOCIATION}", OF_A_MEMBER),
        (f"contains(github.event.comment.body, 'a || b') && {ASSOCIATION}", OF_A_MEMBER),
        ("github.event.comment.author_association != 'NONE'", ALL_BY_ANYONE),
        ("github.event.comment.author_association == 'CONTRIBUTOR'", {"issue_comment": "perhaps anyone"}),
        ("github.event.comment.author_association == 'FIRST_TIMER'", OF_A_COMMENT),
        ("contains(vars.TRUSTED, github.event.comment.author_association)", PERHAPS),
        (f"!{ASSOCIATION}", ALL_BY_ANYONE),
        # Whoever comments need not be whoever opened the issue.
        (
            "github.event.issue.author_association == 'OWNER'",
            {**OF_A_COMMENT, "issues": "those who may write"},
        ),
        ("github.event.issue.user.login == 'octocat'", {**OF_A_COMMENT, "issues": "those who may write"}),
        ("github.event.pull_request.head.repo.fork != false", ALL_BY_ANYONE),
        ("github.actor == 'octocat'", BY_MEMBERS),
        ("github.event.label.name == 'claude'", BY_MEMBERS),
        ("github.event.pull_request.head.repo.full_name == github.repository", {}),
        ("!github.event.pull_request.head.repo.fork", BY_MEMBERS),
        ("needs.check.outputs.is_member == 'true'", PERHAPS),
        ("steps.gate.outputs.go && vars.AGENTS == 'on'", PERHAPS),
        ("x" * 20_000, PERHAPS),
        ("(" * 100 + "a" + ")" * 100, PERHAPS),
        ("github.event.repository.private", BY_MEMBERS),
        ("github.event.repository.private == true", BY_MEMBERS),
        ("github.event.repository.private != false", BY_MEMBERS),
        ("github.event.repository.visibility == 'private'", BY_MEMBERS),
        ("github.event.repository.visibility != 'public'", BY_MEMBERS),
        (f"github.event.repository.private == true || {ASSOCIATION}", BY_MEMBERS),
        ("!github.event.repository.private", ALL_BY_ANYONE),
        ("github.event.repository.private == false", ALL_BY_ANYONE),
        ("github.event.repository.visibility == 'public'", ALL_BY_ANYONE),
        ("github.event_name == 'push'", {}),
        ("false", {}),
    ],
)
def test_a_condition_is_judged_branch_by_branch(condition: str, by: Starters) -> None:
    assert narrowed(condition, ALL_BY_ANYONE) == by


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ("startsWith(github.event.comment.body || github.event.issue.title || '', '@pear')", {"issues"}),
        ("endsWith(github.event.review.body, '.')", set()),
        ("'MEMBER' == github.event.issue.author_association", {"issues"}),
        ("github.event.pull_request", {"pull_request_target"}),
        ("github.event_name == 'push'", {"push"}),
        ("github.event.pull_request != null && true", {"pull_request_target"}),
        # Nothing is equal to zero, to no text and to false, and is in each text.
        ("github.event.comment.author_association == ''", {"issues", "pull_request_target", "push"}),
        ("github.event.issue.number == 0", {"issues", "pull_request_target", "push"}),
        ("github.event.issue.locked == false", {"issues", "pull_request_target", "push"}),
        (
            "contains('MEMBER', github.event.issue.author_association)",
            {"issues", "pull_request_target", "push"},
        ),
        ("startsWith(github.event.comment.body, '')", {"issues", "pull_request_target", "push"}),
        ("contains(fromJSON('[\"\"]'), github.event.issue.title)", {"issues", "pull_request_target", "push"}),
        ("!github.event.comment", {"issues", "pull_request_target", "push"}),
        ("github.event.comment.body != 'no'", {"issues", "pull_request_target", "push"}),
        ("contains(github.event.issue.title || github.ref, 'a')", {"issues", "pull_request_target", "push"}),
    ],
)
def test_an_event_does_not_pass_a_condition_about_a_thing_that_it_does_not_have(
    condition: str, left: set[str]
) -> None:
    events: Starters = dict.fromkeys(("issues", "pull_request_target", "push"), "the owner")
    called: Starters = {"workflow_call": "the owner"}  # with the event of whoever calls it
    assert {*narrowed(condition, {**events, **called})} == {*left, *called}


@pytest.mark.parametrize(
    ("script", "by"),
    [
        ('gh issue comment "$NUMBER" --body "Started by @${GITHUB_ACTOR}."', "anyone"),
        ("gh pr comment 7 --body 'by @$GITHUB_ACTOR' \\\n  --repo \"$GITHUB_REPOSITORY\"", "anyone"),
        ('gh issue comment 7 --body "@$GITHUB_ACTOR"\n./allowed "$GITHUB_ACTOR"', "perhaps anyone"),
        ('gh issue comment 7 --body "@$GITHUB_ACTOR" && ./allowed "$GITHUB_ACTOR"', "perhaps anyone"),
        ('[ "$GITHUB_ACTOR" = octocat ] || gh issue comment 7 --body "no"', "perhaps anyone"),
        ("gh api repos/desk/site/collaborators/$GITHUB_ACTOR", "those who may write"),
    ],
)
def test_a_step_that_only_comments_checks_nobody(script: str, by: str) -> None:
    assert people_past({"run": script}) == by


def test_a_condition_opens_nothing_that_was_closed_before_it() -> None:
    assert narrowed("vars.ON || always()", BY_MEMBERS) == BY_MEMBERS


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
        "        run: claude -p x --allowedTools 'Bash(git push origin HEAD)'\n"
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


@pytest.mark.parametrize(
    ("run", "key", "named"),
    [
        ("node bundle/gemini.js -p x", "GEMINI_API_KEY", "node bundle/gemini.js"),
        ("scripts/agent.sh", "ANTHROPIC_API_KEY", "scripts/agent.sh"),
        ("cd tools && python agent.py --go", "OPENAI_API_KEY", "python agent.py"),
        ("npx tsx bot.ts", "OPENAI_API_KEY", "tsx bot.ts"),
        ("scripts/agent.sh", "LLM_API_KEY", "scripts/agent.sh"),
        ("scripts/agent.sh", "GOOGLE_API_KEY", "scripts/agent.sh"),
        ("scripts/agent.sh", "GOOGLE_MAPS_API_KEY", None),
        ("scripts/models.py", "LLM_STATS_BEARER_TOKEN", None),
        ("scripts/agent.sh", "NPM_TOKEN", None),
        ("cat tools/SKILL.md scripts/agent.sh", "OPENAI_API_KEY", None),
        ("gh api repos/a/b/issues", "OPENAI_API_KEY", None),
        ("cat p.md; bash ci/agent.sh", "OPENAI_API_KEY", "bash ci/agent.sh"),
        ('bash "${RUNNER_TEMP}/gh-aw/actions/validate_multi_secret.sh" X', "OPENAI_API_KEY", None),
        ("curl https://api.example", "OPENAI_API_KEY", None),
        ("npm ci", "OPENAI_API_KEY", None),
    ],
)
def test_an_unknown_program_with_a_key_of_a_model_is_a_note(
    tmp_path: Path, run: str, key: str, named: str | None
) -> None:
    (tmp_path / ".github/workflows").mkdir(parents=True)
    (tmp_path / ".github/workflows/a.yml").write_text(
        "on: issues\njobs:\n  a:\n    steps:\n"
        f"      - env:\n          {key}: ${{{{ secrets.KEY }}}}\n        run: {run}\n"
    )
    read = foreign.read("github-actions", tmp_path, may_be_empty=True)
    messages = [problem.message for problem in read.team.problems if problem.code == "LDO154"]
    assert [message.split("`")[1] for message in messages] == ([named] if named else [])
    assert not read.team.agents


def raised(agent: Agent) -> set[str]:
    return {str(each) for grant in agent.grants for each in grant.capabilities}


@pytest.mark.parametrize(
    ("command", "connects"),
    [
        ("claude -p x --allowedTools 'WebFetch(domain:docs.example.com)'", {"net.connect:docs.example.com"}),
        (
            "claude -p x --allowedTools 'WebFetch(domain:*.a.example),WebFetch(domain:b.example)'",
            {"net.connect:a.example", "net.connect:b.example"},
        ),
        ("claude -p x --allowedTools 'WebFetch(domain:*)'", {"net.connect"}),
        ("claude -p x --allowedTools 'WebFetch,WebFetch(domain:a.example)'", {"net.connect"}),
        (
            "copilot -p x --deny-tool shell --allow-url https://docs.example/path",
            {"net.connect:docs.example"},
        ),
        ("copilot -p x --deny-tool shell --allow-tool 'url(*.docs.example)'", {"net.connect:docs.example"}),
        ("copilot -p x --allow-tool url", {"net.connect"}),
    ],
)
def test_a_host_that_a_rule_names_is_the_only_one(tmp_path: Path, command: str, connects: set[str]) -> None:
    agent = only_agent(tmp_path, "on: push\n", f"      - run: {command}\n")
    assert {each for each in raised(agent) if each.startswith("net.")} == connects


@pytest.mark.parametrize(
    ("value", "commands"),
    [
        ("shell(python -c print(1,f(2)))", {"proc.exec"}),
        ("shell(python -c print(1,f(2))),write", {"proc.exec"}),
        ("shell(git:*", {"proc.exec.unlisted"}),  # nobody closed it
        ("write,shell", {"proc.exec.unlisted"}),
    ],
)
def test_a_command_with_brackets_that_copilot_may_run_is_one(
    tmp_path: Path, value: str, commands: set[str]
) -> None:
    agent = only_agent(tmp_path, "on: push\n", f"      - run: copilot -p x --allow-tool '{value}'\n")
    assert {each for each in raised(agent) if each.startswith("proc.")} == commands


def test_a_path_that_a_rule_names_is_the_only_one(tmp_path: Path) -> None:
    agent = only_agent(tmp_path, "on: push\n", "      - run: claude -p x --allowedTools 'Edit(docs/**)'\n")
    assert {each for each in raised(agent) if each.startswith("fs.write")} == {"fs.write:docs/**"}


ANOTHER = "on: push\njobs:\n  another:\n    steps:\n      - run: claude -p x\n"
CHECKOUT = "      - uses: actions/checkout@v4\n"
SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("version", "of_v0", "of_v1", "codes"),
    [
        ("beta", True, False, ["LDO151"]),
        ("v0.0.63", True, False, ["LDO151"]),
        ("v1", False, True, ["LDO151"]),
        ("v1.0.30", False, True, ["LDO151"]),
        ("main", False, True, ["LDO151"]),
        (f"{SHA} # v1.0.30", False, True, ["LDO151"]),
        (f"{SHA} # beta", True, False, ["LDO151"]),
        (f"{SHA} # v0.0.63", True, False, ["LDO151"]),
        (f"{SHA} # 1.0.77", False, True, ["LDO151"]),
        (f"{SHA} # 0.0.63", True, False, ["LDO151"]),
        (f"{SHA} # 1", False, True, ["LDO151"]),
        (f"{SHA} # tag=v1.0.77", False, True, ["LDO151"]),
        (f"{SHA}   # release 1.0.77 (2026-04-02)", False, True, ["LDO151"]),
        (f"'{SHA}' # ratchet:anthropics/claude-code-action@v1", False, True, ["LDO151"]),
        (f"{SHA} # of 2026-04-02", True, True, ["LDO154"]),
        (f"{SHA} # of 2026.04.02", True, True, ["LDO154"]),
        (f"{SHA} # 3 options are set below", True, True, ["LDO154"]),
        (SHA, True, True, ["LDO154"]),
        ("our-branch", True, True, ["LDO154"]),
    ],
)
@pytest.mark.parametrize("action", ["claude-code-action", "claude-code-base-action"])
def test_the_inputs_of_an_action_are_those_of_its_pinned_version(
    tmp_path: Path, action: str, version: str, of_v0: bool, of_v1: bool, codes: list[str]
) -> None:
    quote, version = ("'", version[1:]) if version.startswith("'") else ("", version)
    step = (
        f"{CHECKOUT}      - uses: {quote}anthropics/{action}@{version}\n        with:\n          prompt: Go.\n"
        "          allowed_tools: Bash(npm test)\n          claude_args: --allowedTools 'Bash(make all)'\n"
    )
    agent = only_agent(tmp_path, "on: push\n", step)
    tools = {grant.tool for grant in agent.grants}
    assert ("Bash(npm test)" in tools, "Bash(make all)" in tools) == (of_v0, of_v1)
    problems = foreign.read("github-actions", tmp_path).team.problems
    # Before v1 the action calls its prompt otherwise, as the base action does not.
    has_no_prompt = action == "claude-code-action" and not of_v1
    assert [problem.code for problem in problems] == [*codes, *["LDO151"] * has_no_prompt]


def test_a_denial_of_an_unknown_version_denies_nothing(tmp_path: Path) -> None:
    step = (
        f"      - uses: anthropics/claude-code-action@{SHA}\n        with:\n          prompt: Go.\n"
        "          disallowed_tools: Bash\n          claude_args: --allowedTools Bash\n"
    )
    assert "proc.exec.unlisted" in raised(only_agent(tmp_path, "on: push\n", step))


def gemini(root: Path, settings: str, more: str = "") -> Agent:
    step = (
        "      - uses: google-github-actions/run-gemini-cli@v0\n"
        "        env:\n          GITHUB_TOKEN: ${{ github.token }}\n          DEPLOY: ${{ secrets.DEPLOY }}\n"
        f"        with:\n          prompt: Go.\n          settings: '{settings}'\n{more}"
    )
    return only_agent(root, "on: push\npermissions: write-all\n", step)


@pytest.mark.parametrize(
    ("core", "release", "servers"),
    [
        ("read_file", "", set()),
        ("read_file", "0.41.0", set()),
        ("read_file", "v0.40.2", {"gh"}),
        ("mcp_gh_push_files", "", {"gh"}),
        ("mcp_other_push_files", "", set()),
    ],
)
def test_gemini_has_of_a_server_what_its_list_names_from_a_release_on(
    tmp_path: Path, core: str, release: str, servers: set[str]
) -> None:
    settings = (
        f'{{"tools": {{"core": ["{core}"]}}, "mcpServers": {{"gh": {{"command": "github-mcp-server"}}}}}}'
    )
    more = f"          gemini_cli_version: {release}\n" if release else ""
    agent = gemini(tmp_path, settings, more)
    assert {grant.toolset for grant in agent.grants if grant.server} == servers
    assert ("x.github.issues-write" in raised(agent)) == (release == "v0.40.2")


def test_gemini_reads_settings_with_comments_and_starts_with_no_others(tmp_path: Path) -> None:
    core = '"tools": {"core": ["read_file"]}'
    assert raised(gemini(tmp_path / "a", f"{{ /* https://a.example */ {core}}}")) == {"fs.read"}
    assert raised(gemini(tmp_path / "b", f'{{"x": 1 {core}}}')) == set()
    assert "x.gemini.any" in raised(gemini(tmp_path / "c", f'{{"x": 1 ${{{{ inputs.more }}}} {core}}}'))


@pytest.mark.parametrize("tool", ["run_shell_command", "run_shell_command(bash)", "run_shell_command(echo)"])
def test_any_command_of_gemini_is_every_one_and_reads_the_variables_of_its_parent(
    tmp_path: Path, tool: str
) -> None:
    agent = gemini(tmp_path, f'{{"tools": {{"core": ["{tool}"]}}}}')
    assert {"proc.exec.unlisted", "secret.read", "x.github.contents-write"} <= raised(agent)


def test_several_commands_of_gemini_have_one_token_and_none_if_they_are_taken_away(tmp_path: Path) -> None:
    core = '"core": ["run_shell_command(echo)", "run_shell_command(ls)"]'
    agent = gemini(tmp_path / "a", f'{{"tools": {{{core}}}}}')
    tools = [grant.tool for grant in agent.grants]
    assert tools == ["run_shell_command(echo)", "token", "DEPLOY", "run_shell_command(ls)"]
    assert (
        raised(gemini(tmp_path / "b", f'{{"tools": {{{core}, "exclude": ["run_shell_command"]}}}}')) == set()
    )


def started(
    root: Path, before: str, step: str, on: str = "workflow_run: {workflows: [CI]}"
) -> list[tuple[str, str]]:
    """The starts of an agent after the run of another workflow, `CI`, that these events start."""
    (root / ".github/workflows").mkdir(parents=True)
    (root / ".github/workflows/ci.yml").write_text(f"name: CI\non: {before}\njobs: {{}}\n")
    (root / ".github/workflows/a.yml").write_text(f"on:\n  {on}\njobs:\n  a:\n    steps:\n      - {step}\n")
    (agent,) = foreign.read("github-actions", root).team.agents
    return [(start.event, start.by) for start in agent.starts]


@pytest.mark.parametrize(
    ("before", "on", "by"),
    [
        ("push", "workflow_run: {workflows: [CI]}", "those who may write"),
        ("[push, pull_request]", "workflow_run: {workflows: [CI]}", "perhaps anyone"),
        ("issues", "workflow_run: {workflows: [CI]}", "perhaps anyone"),
        ("push", "workflow_run: {workflows: [Elsewhere]}", "perhaps anyone"),
        ("push", "workflow_run: {}", "perhaps anyone"),
    ],
)
def test_whoever_causes_a_run_starts_the_workflow_after_it(
    tmp_path: Path, before: str, on: str, by: str
) -> None:
    assert started(tmp_path, before, "run: claude -p x", on) == [("workflow_run", by)]


@pytest.mark.parametrize(
    ("version", "by"),
    [
        ("v1", "those who may write"),
        ("v1.0.185", "those who may write"),
        ("v1.0.184", "perhaps anyone"),
        (f"{SHA} # 1.0.184", "perhaps anyone"),
        (f"{SHA} # v1 (v1.0.184)", "perhaps anyone"),
        (f"{SHA} # v1 (v1.0.185)", "those who may write"),
        ("beta", "perhaps anyone"),
    ],
)
def test_older_releases_look_at_nobodys_rights_after_a_run(tmp_path: Path, version: str, by: str) -> None:
    step = f"uses: actions/checkout@v4\n      - uses: anthropics/claude-code-action@{version}"
    assert started(tmp_path, "pull_request", step) == [("workflow_run", by)]


@pytest.mark.parametrize(
    ("more", "by"),
    [
        ("", "those who may write"),
        ("    if: always()\n", "anyone"),
        ("    if: always() && needs.gate.result == 'success'\n", "those who may write"),
        ("    if: always() && needs.gate.result != 'skipped'\n", "those who may write"),
        ("    if: always()\n    environment: production\n", "perhaps anyone"),
    ],
)
def test_a_job_is_behind_the_checks_of_those_that_it_needs(tmp_path: Path, more: str, by: str) -> None:
    head = f"on: issue_comment\njobs:\n  gate:\n    if: {ASSOCIATION}\n    steps: []\n  b:\n    needs: gate\n{more}"
    (tmp_path / ".github/workflows").mkdir(parents=True)
    (tmp_path / ".github/workflows/a.yml").write_text(f"{head}    steps:\n      - run: claude -p x\n")
    (agent,) = foreign.read("github-actions", tmp_path).team.agents
    assert [(start.event, start.by) for start in agent.starts] == [("issue_comment", by)]


@pytest.mark.parametrize(
    ("step", "by"),
    [
        ("uses: docker/login-action@v3\n        with:\n          username: ${{ github.actor }}", "anyone"),
        ('run: test "${{ github.actor }}" == octocat', "those who may write"),
        ("run: ./check.sh ${{ github.actor }}", "perhaps anyone"),
        ("run: ./check.sh\n        env:\n          WHO: ${{ github.triggering_actor }}", "perhaps anyone"),
        ("run: ./check.sh $GITHUB_ACTOR", "perhaps anyone"),
        ("run: gh api repos/a/b/collaborators/x/permission", "those who may write"),
        ("uses: actions-cool/check-user-permission@v2", "those who may write"),
    ],
)
def test_a_step_that_looks_who_it_is_keeps_others_out_and_one_that_is_told_may(
    tmp_path: Path, step: str, by: str
) -> None:
    agent = only_agent(tmp_path, "on: issues\n", f"      - {step}\n      - run: claude -p x\n")
    assert [(start.event, start.by) for start in agent.starts] == [("issues", by)]


@pytest.mark.parametrize(
    ("release", "args", "codes"),
    [
        ("v1.0.148", "--allowedTools Bash(gh issue view:*),Read", ["LDO554"]),
        ("v1.0.148", '--allowedTools "Bash(gh issue view:*)",Read', []),
        ("v1.0.148", "--allowedTools 'Bash(gh issue view:*),Read'", []),
        ("v1.0.148", "--allowedTools Read,Grep", []),
        ("v1.0.149", "--allowedTools Bash(gh issue view:*),Read", ["LDO151"]),
        ("v1", "--allowedTools Bash(gh issue view:*),Read", ["LDO151"]),
    ],
)
def test_an_old_release_takes_a_rule_in_no_quotes_for_the_whole_tool(
    tmp_path: Path, release: str, args: str, codes: list[str]
) -> None:
    """What it did until a shell's signs were kept; then it tears the rule at its blanks, which allows nothing."""
    path = tmp_path / ".github/workflows/w.yml"
    path.parent.mkdir(parents=True)
    path.write_text(
        "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n"
        f"      - uses: anthropics/claude-code-action@{release}\n        with:\n          prompt: Go.\n"
        f"          claude_args: |\n            {args}\n",
        encoding="utf-8",
    )
    read = foreign.read("github-actions", tmp_path)
    (agent,) = read.team.agents
    free = any(
        str(each) == "proc.exec.unlisted"
        for grant in agent.grants
        for each in grant.capabilities
        if grant.decision == "allowed"
    )
    assert free is ("LDO554" in codes)
    assert [problem.code for problem in read.team.problems] == codes


@pytest.mark.parametrize(
    ("step", "runs_others"),
    [
        ("uses: anthropics/claude-code-action@beta\n        with: {allowed_tools: 'Bash(find:*)'}", True),
        ("uses: anthropics/claude-code-action@v1.0.99\n        with: {prompt: x, claude_args: ARGS}", True),
        ("uses: anthropics/claude-code-action@v1.0.100\n        with: {prompt: x, claude_args: ARGS}", False),
        ("uses: anthropics/claude-code-action@v1\n        with: {prompt: x, claude_args: ARGS}", False),
        ("run: npx -y @anthropic-ai/claude-code@2.1.112 -p x ARGS", True),
        ("run: npx -y @anthropic-ai/claude-code@2.1.113 -p x ARGS", False),
        ("run: npx -y @anthropic-ai/claude-code@latest -p x ARGS", False),
        ("run: |\n          curl -fsSL https://claude.ai/install.sh | bash -s 1.0.88\n          claude -p x ARGS", True),
    ],
)  # fmt: skip
def test_find_runs_other_programs_in_releases_that_do_not_ask_about_it(
    tmp_path: Path, step: str, runs_others: bool
) -> None:
    allowed = '--allowedTools "Bash(find:*)"'
    step = step.replace("{prompt: x, claude_args: ARGS}", f"{{prompt: x, claude_args: '{allowed}'}}")
    agent = only_agent(tmp_path, "on: push\n", f"{CHECKOUT}      - {step.replace('ARGS', allowed)}\n")
    (raised,) = (grant.capabilities for grant in agent.grants if "find" in grant.toolset)
    assert (str(raised[0]) == "proc.exec.unlisted") is runs_others


@pytest.mark.parametrize(
    ("job", "before", "action", "is_heeded"),
    [
        ("", "", "v1", False),
        ("    runs-on: ubuntu-24.04\n", "", "v1", False),
        ("    runs-on: windows-latest\n", "", "v1.0.159", False),
        ("    runs-on: ubuntu-24.04\n", "", "v1.0.158", True),
        ("    runs-on: [self-hosted, linux]\n", "", "v1", True),
        ("    runs-on: ${{ matrix.os }}\n", "", "v1", True),
        ("", "      - run: ./trust.py hasTrustDialogAccepted\n", "v1", True),
    ],
)
def test_rules_of_a_checkout_allow_something_only_where_the_folder_may_be_trusted(
    tmp_path: Path, job: str, before: str, action: str, is_heeded: bool
) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text('{"permissions": {"allow": ["Bash"], "deny": ["Grep"]}}')
    (tmp_path / ".github/workflows").mkdir(parents=True)
    step = f"      - uses: anthropics/claude-code-action@{action}\n        with: {{prompt: Go.}}\n"
    checkout = "      - uses: actions/checkout@v4\n"
    (tmp_path / ".github/workflows/a.yml").write_text(
        f"on: push\njobs:\n  a:\n{job}    steps:\n{checkout}{before}{step}"
    )
    (agent,) = foreign.read("github-actions", tmp_path).team.agents
    tools = {grant.tool for grant in agent.grants if grant.decision == "allowed"}
    assert ("Bash" in tools) is is_heeded
    assert "Grep" not in tools


@pytest.mark.parametrize(
    ("case", "line"),
    [
        ("LDO555/github-actions-tools-of-the-action", "--allowedTools mcp__notes__* --disallowedTools {}"),
        (
            "LDO552/github-actions-rule-of-the-action-as-well",
            "Bash(git push)\n          disallowed_tools: {}",
        ),
    ],
)
def test_the_line_that_a_hint_gives_takes_away_what_the_action_allows(
    tmp_path: Path, case: str, line: str
) -> None:
    shutil.copytree(CASES / case, tmp_path, dirs_exist_ok=True)
    (flow,) = (
        each for each in findings.check(foreign.read("github-actions", tmp_path)) if each.code != "LDO152"
    )
    named = re.search(r"(?:--disallowedTools |disallowed_tools: )([^`]+)`", flow.hint or "")
    assert named
    tools = ",".join((named[1], *re.findall(r"write `([^`]+)` into `disallowed_tools`", flow.hint or "")))
    path = tmp_path / ".github/workflows/claude.yml"
    key = "claude_args" if line.startswith("--") else "allowed_tools"
    text = re.sub(rf"{key}: .*", lambda _: f"{key}: {line.format(tools)}", path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    after = findings.check(foreign.read("github-actions", tmp_path))
    assert {each.code for each in after} <= {"LDO152"}, "it has no token yet, which is noted as well"


@pytest.mark.parametrize("tool", ["Agent", "Bash", "Write", "WebFetch", "WebSearch", "mcp__github__get_me"])
@pytest.mark.parametrize(
    ("release", "options", "marked"),
    [
        ("v1.0.200", "claude_args: --allowedTools Todo{},{}", "{}"),
        ("v1.0.200", "claude_args: |\n            --max-turns 3\n            --allowedTools '{}'", "{}"),
        (
            "v1.0.200",
            'settings: \'{{"permissions": {{"allow": ["{}"]}}}}\'',
            '\'{{"permissions": {{"allow": ["{}"]}}}}\'',
        ),
        ("beta", "allowed_tools: Todo{},{}", "{}"),
    ],
)
def test_a_tool_stands_at_the_rule_that_allows_it(
    tmp_path: Path, tool: str, release: str, options: str, marked: str
) -> None:
    if release == "beta" and tool == "Write":
        pytest.skip("the action itself gives it")
    given = options.format(tool, tool)
    uses = f"      - uses: anthropics/claude-code-action@{release}\n        with:\n          prompt: x\n"
    agent = only_agent(tmp_path, "on: push\n", f"{CHECKOUT}{uses}          {given}\n")
    at = next(each.at for each in agent.grants if each.tool == tool)
    assert at.location.span
    assert at.document.source.marked(at.location.span) == marked.format(tool)
    line = at.document.source.text.splitlines()[at.location.span.line - 1]
    assert line.endswith(given.splitlines()[-1])
    assert not line[: at.location.span.column - 1].endswith("Todo")


@pytest.mark.parametrize(
    ("job", "before", "more", "may_be"),
    [
        ("", "", "", False),
        ("", "      - uses: astral-sh/setup-uv@v7\n", "", False),
        ("    runs-on: self-hosted\n", "", "", True),
        ("", "      - uses: ./.github/actions/prepare\n", "", True),
        ("", "      - run: cp ci/mcp.json .mcp.json\n", "", True),
        ("", "      - uses: actions/checkout@v4\n        with: {repository: o/other}\n", "", True),
        ("", "      - uses: actions/checkout@v4\n        with: {repository: '${{ github.repository }}'}\n", "", False),
        ("", "", "          plugins: notes@ours\n", True),
        ("", "", "          settings: '{\"enabledPlugins\": {\"notes@ours\": true}}'\n", True),
        ("", "", "          settings: ${{ vars.SETTINGS }}\n", True),
        ("", "", "          settings: '{\"permissions\": {\"deny\": []}}'\n", False),
        ("", "", "          claude_args: --plugin-dir tools --allowedTools mcp__notes__*\n", True),
        ("", "", "          claude_args: --mcp-config ${{ vars.SERVERS }} --allowedTools mcp__notes__*\n", True),
        ("", "", "          claude_args: --allowedTools mcp__claude_ai_Notes__*\n", True),
    ],
)  # fmt: skip
def test_a_server_that_nothing_can_declare_is_none(
    tmp_path: Path, job: str, before: str, more: str, may_be: bool
) -> None:
    args = "" if "claude_args" in more else "          claude_args: --allowedTools mcp__notes__*\n"
    (tmp_path / ".github/workflows").mkdir(parents=True)
    (tmp_path / ".github/workflows/a.yml").write_text(
        f"on: push\njobs:\n  a:\n{job}    steps:\n      - uses: actions/checkout@v4\n{before}"
        f"      - uses: anthropics/claude-code-action@v1\n        with:\n          prompt: Go.\n{args}{more}"
    )
    team = foreign.read("github-actions", tmp_path).team
    assert any(grant.server for grant in team.agents[0].grants) is may_be
    assert [each.code for each in team.problems] == ["LDO250"] * (not may_be)


@pytest.mark.parametrize(
    ("script", "may_be"),
    [
        ("claude -p x --allowedTools mcp__notes", False),
        ("cd app && claude -p x --allowedTools mcp__notes", True),
        ("claude mcp add notes x; claude -p x --allowedTools mcp__notes", True),
    ],
)
def test_a_script_may_declare_the_servers_of_its_agent(tmp_path: Path, script: str, may_be: bool) -> None:
    agent = only_agent(tmp_path, "on: push\n", f"      - run: {script}\n")
    assert any(grant.server for grant in agent.grants) is may_be


def test_an_action_of_the_repository_runs_on_the_machine_of_its_job(tmp_path: Path) -> None:
    (tmp_path / ".github/workflows").mkdir(parents=True)
    (tmp_path / "act").mkdir()
    (tmp_path / "act/action.yml").write_text(
        "runs:\n  using: composite\n  steps:\n"
        "    - {shell: bash, run: claude -p x --allowedTools mcp__notes}\n"
    )
    for machine, may_be in (("ubuntu-24.04", False), ("ours", True)):
        (tmp_path / ".github/workflows/a.yml").write_text(
            f"on: push\njobs:\n  a:\n    runs-on: {machine}\n    steps:\n      - uses: ./act # claude\n"
        )
        (agent,) = foreign.read("github-actions", tmp_path).team.agents
        assert any(grant.server for grant in agent.grants) is may_be


@pytest.mark.parametrize(
    ("version", "inputs", "before", "is_started"),
    [
        ("v1", "{}", "", False),
        ("beta", "{direct_prompt: Go.}", "", False),
        (SHA, "{}", "", False),
        ("v1", "{prompt: Go., track_progress: 'true'}", "", False),
        ("v1", "{mode: agent}", "", False),
        ("v1", "{}", "      - uses: actions/setup-node@v4\n      - run: npm install\n", False),
        ("v1", "{prompt: Go.}", "", True),
        ("v1.0.2", "{prompt: Go., track_progress: 'true'}", "", True),
        (SHA, "{prompt: Go.}", "", True),
        ("beta", "{mode: agent}", "", True),
        ("beta", "{use_commit_signing: 'true'}", "", True),
        ("v1", "{}", "      - uses: actions/checkout@v4\n        if: always()\n", True),
        ("v1", "{}", "      - uses: ./prepare\n", True),
        ("v1", "{}", "      - uses: ours/prepare@v1\n", True),
        ("v1", "{}", "      - run: git clone https://github.com/a/b .\n", True),
        ("v1", "{}", "      - run: gh repo clone a/b .\n", True),
        (
            "v1",
            "{}",
            "      - uses: actions/github-script@v7\n        with: {script: 'exec(`git init`)'}\n",
            True,
        ),
    ],
)
def test_the_action_that_answers_comments_needs_a_checkout(
    tmp_path: Path, version: str, inputs: str, before: str, is_started: bool
) -> None:
    step = f"{before}      - uses: anthropics/claude-code-action@{version}\n        with: {inputs}\n"
    for machine, may_be in (("ubuntu-latest", is_started), ("self-hosted", True)):
        (tmp_path / ".github/workflows").mkdir(parents=True, exist_ok=True)
        (tmp_path / ".github/workflows/a.yml").write_text(
            f"on: issues\njobs:\n  a:\n    runs-on: {machine}\n    steps:\n{step}"
        )
        team = foreign.read("github-actions", tmp_path).team
        assert bool(team.agents) is may_be
        assert ("LDO152" in [each.code for each in team.problems]) is not may_be


@pytest.mark.parametrize(
    ("checkout", "uses", "is_own"),
    [
        ("path: t", "./t/act", True),
        ("path: ./t/", "./t/act", True),
        ("path: t/u", "./t/u/act", True),
        ("path: t, repository: '${{ github.repository }}'", "./t/act", True),
        ("path: t, repository: o/other", "./t/act", False),
        ("path: t", "./u/act", False),
    ],
)
def test_an_action_below_the_path_of_a_checkout_is_that_of_the_repository(
    tmp_path: Path, checkout: str, uses: str, is_own: bool
) -> None:
    (tmp_path / "act").mkdir()
    (tmp_path / "act/action.yml").write_text(
        "runs:\n  using: composite\n  steps:\n    - {shell: bash, run: claude -p x}\n"
    )
    (tmp_path / ".github/workflows").mkdir(parents=True)
    (tmp_path / ".github/workflows/another.yml").write_text(ANOTHER)
    (tmp_path / ".github/workflows/a.yml").write_text(  # without the name of an agent
        "on: push\njobs:\n  a:\n    steps:\n      - uses: actions/checkout@v4\n"
        f"        with: {{{checkout}}}\n      - uses: {uses}\n"
    )
    agents = foreign.read("github-actions", tmp_path).team.agents
    assert [agent.path for agent in agents[:-1]] == ["act/action.yml"] * is_own


@pytest.mark.parametrize(
    ("env", "script", "is_named"),
    [
        ("OPENAI_API_KEY", "bash $GITHUB_ACTION_PATH/answer.sh", True),
        ("SYNTHETIC_API_KEY", "bash $GITHUB_ACTION_PATH/run-opencode.sh", True),
        ("SYNTHETIC_API_KEY", "bash $GITHUB_ACTION_PATH/answer.sh", False),
        ("NAME", "bash $GITHUB_ACTION_PATH/run-opencode.sh", False),
    ],
)
def test_a_key_that_a_step_passes_to_an_action_reaches_its_programs(
    tmp_path: Path, env: str, script: str, is_named: bool
) -> None:
    (tmp_path / "act").mkdir()
    (tmp_path / "act/action.yml").write_text(
        f"runs:\n  using: composite\n  steps:\n    - {{shell: bash, run: {script}}}\n"
    )
    (tmp_path / ".github/workflows").mkdir(parents=True)
    (tmp_path / ".github/workflows/a.yml").write_text(
        f"{ANOTHER}  a:\n    steps:\n      - uses: ./act\n        env: {{{env}: '${{{{ secrets.K }}}}'}}\n"
    )
    problems = foreign.read("github-actions", tmp_path).team.problems
    assert [each.code for each in problems] == ["LDO154"] * is_named


@pytest.mark.parametrize(("path", "is_known"), [("t/ci/servers.json", True), ("u/ci/servers.json", False)])
def test_a_file_below_the_path_of_a_checkout_is_that_of_the_repository(
    tmp_path: Path, path: str, is_known: bool
) -> None:
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci/servers.json").write_text('{"mcpServers": {"notes": {"command": "notes-server"}}}')
    step = (
        "      - uses: actions/checkout@v4\n        with: {path: t}\n"
        f"      - run: claude -p x --mcp-config {path} --allowedTools mcp__notes\n"
    )
    (server,) = [each.server for each in only_agent(tmp_path, "on: push\n", step).grants if each.server]
    assert (server.command == "notes-server") is is_known
