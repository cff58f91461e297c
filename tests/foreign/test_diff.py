"""What a change of a foreign project lets agents do, from two revisions of its files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.services.diff import DiffOutcome, DiffRequest, diff
from tests.foreign.test_history import git
from tests.support import commands

if TYPE_CHECKING:
    from llmdo.diff import Difference


def compared(folder: Path, form: str, before: dict[str, str], after: dict[str, str]) -> DiffOutcome:
    """The files of `before`, committed, against those of `after` on disk."""
    git(folder, "init", "-q")
    for path, text in before.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "m")
    for path in before.keys() - after.keys():
        (folder / path).unlink()
    for path, text in after.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return diff(DiffRequest(origin=(form, str(folder))), lambda _: None)


def claude(name: str, tools: str = "Read, Bash", prompt: str | None = None) -> dict[str, str]:
    header = f"---\nname: {name}\ndescription: Does its part.\ntools: {tools}\n---\n"
    return {f".claude/agents/{name}.md": f"{header}{prompt or f'You are {name}.'}\n"}


def opencode(bash: str) -> dict[str, str]:
    return {
        ".opencode/agent/build.md": "---\ndescription: Builds.\nmode: primary\n---\nBuild.\n",
        ".opencode/agent/review.md": (
            f"---\ndescription: Reviews.\nmode: subagent\ntools:\n  bash: {bash}\n---\nReview.\n"
        ),
    }


def test_an_agent_that_gains_what_its_caller_has_already_is_widened(tmp_path: Path) -> None:
    """Its caller reaches as much as before; who talks to the agent now has a shell."""

    def team(*tools: str) -> dict[str, str]:
        listed = "".join(f"      - type: {tool}\n" for tool in tools)
        return {
            "team.yaml": (
                "agents:\n  root:\n    model: openai/gpt-5\n    instruction: Go.\n    sub_agents: [reader]\n"
                "    toolsets:\n      - type: shell\n  reader:\n    model: openai/gpt-5\n"
                f"    description: Reads.\n    instruction: Read.\n    toolsets:\n{listed}"
            )
        }

    outcome = compared(tmp_path, "docker-agent", team("think"), team("think", "shell"))
    assert outcome.difference.entries[0].rows == ()
    (reader,) = outcome.difference.workers
    assert (reader.name, reader.below, reader.verdict) == ("team/reader", ("team/root",), "widened")
    assert outcome.difference.fails("widened")
    assert (
        "team/reader, below team/root: WIDENED"
        in commands.llmdo(tmp_path, "diff", "--from", "docker-agent", ".").stdout
    )


def test_agents_keep_their_names_where_a_second_format_comes_or_goes(tmp_path: Path) -> None:
    """Alone they are called by their names, beside others after their format: that is no other agent."""
    both = claude("reader", "Read") | opencode("true")
    (tmp_path / "gone").mkdir()
    gone = compared(tmp_path / "gone", "auto", both, claude("reader", "Read")).difference
    assert gone.verdict == "narrowed"
    assert [each.name for each in gone.entries if each.status == "kept"] == [
        "claude/main-session",
        "claude/reader",
    ]
    (tmp_path / "new").mkdir()
    new = compared(tmp_path / "new", "auto", claude("reader", "Read"), both).difference
    assert [each.name for each in new.entries if each.status == "kept"] == [
        "claude/main-session",
        "claude/reader",
    ]


def test_a_tool_that_is_switched_on_widens(tmp_path: Path) -> None:
    outcome = compared(tmp_path, "opencode", opencode("false"), opencode("true"))
    assert outcome.difference.verdict == "widened"


def test_many_agents_that_are_renamed_are_so_in_two_lines(tmp_path: Path) -> None:
    before = {path: text for number in range(20) for path, text in claude(f"old-{number}").items()}
    after = {
        path: text
        for number in range(20)
        for path, text in claude(f"new-{number}", prompt=f"You are old-{number}.").items()
    }
    outcome = compared(tmp_path, "claude", before, after)
    assert len(outcome.difference.renames) == 20
    assert outcome.difference.verdict == "changed"
    done = commands.llmdo(tmp_path, "diff", "--from", "claude", ".")
    assert len(done.stdout.splitlines()) < 8
    assert "  ~ 20 workers renamed: `old-0` to `new-0`, `old-1` to `new-1`" in done.stdout
    assert "and 15 more" in done.stdout
    named = commands.llmdo(tmp_path, "diff", "--from", "claude", ".", "-v").stdout
    assert "`old-9` to `new-9`" in named
    assert "more" not in named
    document = json.loads(
        commands.llmdo(tmp_path, "diff", "--from", "claude", ".", "--format", "json").stdout
    )
    assert document["renames"][0] == {"kind": "worker", "before": "old-0", "after": "new-0"}
    assert {entry["name"]: entry["was"] for entry in document["entries"]}["new-7"] == "old-7"
    page = commands.llmdo(tmp_path, "diff", "--from", "claude", ".", "--format", "markdown").stdout
    assert "* 20 workers renamed: `old-0` to `new-0`" in page
    assert " entries: changed" in page


def test_one_that_gains_among_many_that_are_renamed_is_widened(tmp_path: Path) -> None:
    before = {path: text for number in range(6) for path, text in claude(f"old-{number}", "Read").items()}
    after = {
        path: text
        for number in range(6)
        for path, text in claude(
            f"new-{number}", "Read, Bash" if number == 3 else "Read", f"You are old-{number}."
        ).items()
    }
    difference = compared(tmp_path, "claude", before, after).difference
    assert len(difference.renames) == 6
    (wider,) = [entry for entry in difference.entries if entry.verdict == "widened"]
    assert (wider.name, wider.was) == ("new-3", "old-3")
    assert [row.capability.name for row in wider.rows] == ["proc.exec.unlisted"]


def test_what_only_changed_is_counted(tmp_path: Path) -> None:
    before = {path: text for number in range(14) for path, text in claude(f"a-{number}").items()}
    after = {path: f"{text}More.\n" for path, text in before.items()}
    compared(tmp_path, "claude", before, after)
    done = commands.llmdo(tmp_path, "diff", "--from", "claude", ".")
    assert done.stdout == (
        "read from claude; not enforced by llmdo\n15 entries: changed\nalso:\n"
        "  ~ 14 worker prompts changed: `a-0`, `a-1`, `a-10`, `a-11`, `a-12` and 9 more\nverdict: changed\n"
    )
    assert "`a-9`" in commands.llmdo(tmp_path, "diff", "--from", "claude", ".", "--verbose").stdout
    document = json.loads(
        commands.llmdo(tmp_path, "diff", "--from", "claude", ".", "--format", "json").stdout
    )
    assert len(document["changes"]) == 14


def test_rules_that_another_agent_brings_about_are_no_change_of_an_agent(tmp_path: Path) -> None:
    """What asks for one agent because it is allowed for another is how we put it; its own file is the same."""
    before = {**claude("a", "Bash"), **claude("b", "Bash")}
    settings = {
        ".claude/agents/c.md": "---\nname: c\ndescription: Does it.\ntools: Bash\npermissionMode: bypassPermissions\n---\nGo.\n"
    }
    difference = compared(tmp_path, "claude", before, {**before, **settings}).difference
    assert [entry.name for entry in difference.entries if entry.verdict == "widened"] == ["c"]
    assert [entry.name for entry in difference.entries if entry.verdict == "same"] == ["a", "b"]
    assert {change.route[1] for change in difference.changes} == {"c"}


WORKFLOW = "---\non: issues\ntools:\n  bash: [ls]\n  edit:\n{more}---\nGo.\n"


def test_a_firewall_that_is_switched_off_is_listed_and_widens(tmp_path: Path) -> None:
    path = ".github/workflows/w.md"
    off = {path: WORKFLOW.format(more="sandbox:\n  agent: false\n")}
    difference = compared(tmp_path, "gh-aw", {path: WORKFLOW.format(more="")}, off).difference
    assert {change.route: change.effect for change in difference.changes}[
        "worker", "w", "sandbox"
    ] == "widens"
    assert difference.entries[0].verdict == "widened"
    assert (
        "+ worker `w` `sandbox`: gone, it was `firewall`"
        in commands.llmdo(tmp_path, "diff", "--from", "gh-aw", ".").stdout
    )


def test_a_sandbox_of_claude_code_that_is_removed_widens_though_commands_ask_again(tmp_path: Path) -> None:
    settings = ".claude/settings.json"
    before = {
        **claude("a"),
        settings: '{"sandbox": {"enabled": true}, "permissions": {"defaultMode": "default"}}',
    }
    after = {**before, settings: '{"permissions": {"defaultMode": "default"}}'}
    difference = compared(tmp_path, "claude", before, after).difference
    assert {change.route for change in difference.changes if change.effect == "widens"} == {
        ("worker", "a", "sandbox"),
        ("worker", "main-session", "sandbox"),
    }


def servers(**reached: object) -> dict[str, str]:
    return {".mcp.json": json.dumps({"mcpServers": reached}), **claude("a", "mcp__docs")}


def test_another_server_or_more_variables_for_it_widen(tmp_path: Path) -> None:
    plain = {"command": "npx", "args": ["-y", "@example/docs@1.0"], "env": {"LANG": "C"}}
    for number, (after, verdict) in enumerate(
        (
            ({**plain, "args": ["-y", "@example/docs@2.0"]}, "changed"),
            ({**plain, "args": ["-y", "@example/other"]}, "widened"),
            ({**plain, "command": "node"}, "widened"),
            ({**plain, "env": {"LANG": "C", "TOKEN": "${TOKEN}"}}, "widened"),
            ({**plain, "env": {}}, "narrowed"),
            ({"url": "https://docs.example"}, "widened"),
            (plain, "same"),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        difference = compared(folder, "claude", servers(docs=plain), servers(docs=after)).difference
        assert difference.verdict == verdict, after


def test_a_second_server_widens_although_its_capability_is_the_same(tmp_path: Path) -> None:
    docs, other = {"command": "docs"}, {"command": "database"}
    before, after = servers(docs=docs), servers(docs=docs, other=other)
    agent = ".claude/agents/a.md"
    after[agent] = after[agent].replace("mcp__docs", "mcp__docs, mcp__other")
    difference = compared(tmp_path, "claude", before, after).difference
    assert next(entry for entry in difference.entries if entry.name == "a").verdict == "widened"
    assert {change.route[1] for change in difference.changes if change.effect == "widens"} == {
        "a", "general-purpose", "main-session",
    }  # fmt: skip


def test_a_host_that_is_allowed_is_a_gain_also_beside_safe_outputs(tmp_path: Path) -> None:
    path = ".github/workflows/w.md"
    text = "---\non: issues\nnetwork:\n  allowed: [defaults{more}]\nsafe-outputs:\n  add-comment:\n---\nGo.\n"
    before, after = ({path: text.replace("{more}", more)} for more in ("", ", upload.example"))
    difference = compared(tmp_path, "gh-aw", before, after).difference
    assert [(row.kind, str(row.capability)) for row in difference.entries[0].rows] == [
        ("gained", "net.connect:upload.example")
    ]


def workflow(on: str, users: str = "", condition: str = "always()") -> dict[str, str]:
    """A workflow whose agent reads strangers' text and may write it into issues, whoever starts it."""
    return {
        ".github/workflows/a.yml": (
            f"on: {on}\njobs:\n  a:\n    if: {condition}\n    steps:\n"
            "      - uses: anthropics/claude-code-action@v1\n        with:\n          prompt: Go.\n"
            f"          github_token: ${{{{ github.token }}}}\n{users}"
            "          claude_args: --allowedTools 'Bash(gh issue view:*)'\n"
        )
    }


@pytest.mark.parametrize(
    ("before", "after", "verdict", "words"),
    [
        (
            workflow("issues"),
            workflow("issues", "          allowed_non_write_users: '*'\n"),
            "widened",
            "  + anyone can start `a/a` by `issues`, before those who may write",
        ),
        (
            {".github/workflows/a.yml": "on: pull_request\njobs:\n  a:\n    steps: [run: claude -p x]\n"},
            {
                ".github/workflows/a.yml": "on: pull_request_target\njobs:\n  a:\n    steps: [run: claude -p x]\n"
            },
            "widened",
            "  + anyone can start `a/a` by `pull_request_target`",
        ),
        (
            workflow("issues", "          allowed_non_write_users: '*'\n"),
            workflow("issues", "          allowed_non_write_users: '*'\n", "vars.ON == '1'"),
            "narrowed",
            "  - perhaps anyone can start `a/a` by `issues`, before anyone",
        ),
        (
            workflow("[issues, push]", "          allowed_non_write_users: '*'\n"),
            workflow("push", "          allowed_non_write_users: '*'\n"),
            "narrowed",
            "  - `issues` no longer starts `a/a`; it did by anyone",
        ),
        (
            workflow("schedule"),
            workflow("[schedule, workflow_dispatch]"),
            "changed",
            "  ~ those who may write can start `a/a` by `workflow_dispatch`",
        ),
    ],
)
def test_who_may_start_an_agent_is_compared(
    tmp_path: Path, before: dict[str, str], after: dict[str, str], verdict: str, words: str
) -> None:
    outcome = compared(tmp_path, "github-actions", before, after)
    assert outcome.difference.verdict == verdict
    done = commands.llmdo(tmp_path, "diff", "--from", "github-actions", ".", "--fail-on", "widened")
    assert words in done.stdout
    assert done.returncode == (1 if verdict == "widened" else 0)


def test_a_workflow_of_gh_aw_that_lets_everyone_in_is_widened(tmp_path: Path) -> None:
    path, text = (
        ".github/workflows/w.md",
        "---\non:\n  issues:\n{more}tools:\n  github:\n    lockdown: false\n---\nGo.\n",
    )
    difference = compared(
        tmp_path, "gh-aw", {path: text.format(more="")}, {path: text.format(more="  roles: all\n")}
    ).difference
    (change,) = [change for change in difference.changes if change.route[0] == "entry"]
    assert (change.before, change.after, change.effect) == ("those who may write", "anyone", "widens")


def partial(folder: Path, *, treeless: bool = False) -> Path:
    """A clone that has only the objects of its checkout; the agent `a` gained a shell since the commit before."""
    source = folder / "source"
    for name in ("a", "b"):
        for path, text in claude(name, "Read").items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_text(text, encoding="utf-8")
    git(source, "init", "-q")
    git(source, "config", "uploadpack.allowFilter", "true")
    git(source, "add", "-A")
    git(source, "commit", "-qm", "m")
    for path, text in claude("a", "Read, Bash").items():
        (source / path).write_text(text, encoding="utf-8")
    git(source, "commit", "-qam", "m")
    kept = "tree:0" if treeless else "blob:none"
    git(folder, "clone", "-q", f"--filter={kept}", source.as_uri(), "clone")
    return folder / "clone"


def test_a_file_that_a_partial_clone_lacks_is_named_and_the_rest_compared(tmp_path: Path) -> None:
    notes: list[str] = []
    clone = partial(tmp_path)
    outcome = diff(DiffRequest(before="HEAD~1", origin=("claude", str(clone))), notes.append)
    assert outcome.sides.has_baseline
    verdicts = {entry.name: entry.verdict for entry in outcome.difference.entries}
    assert (verdicts["a"], verdicts.get("b", "same")) == ("widened", "same")
    (warning,) = notes
    assert "`HEAD~1`" in warning
    assert "`.claude/agents/a.md` is not in this clone" in warning


def test_a_file_that_a_partial_clone_lacks_leaves_the_later_side_unknown(tmp_path: Path) -> None:
    clone = partial(tmp_path)
    outcome = diff(DiffRequest(before="HEAD", after="HEAD~1", origin=("claude", str(clone))), lambda _: None)
    assert outcome.difference.unread == 1
    assert outcome.difference.verdict == "unknown"


def test_a_clone_without_the_folders_of_a_revision_has_no_answer(tmp_path: Path) -> None:
    clone = partial(tmp_path, treeless=True)
    with pytest.raises(LlmdoError, match="not in this clone") as raised:
        diff(DiffRequest(before="HEAD~1", origin=("claude", str(clone))), lambda _: None)
    assert raised.value.hint == "fetch the whole history of that revision"


def test_a_folder_below_a_repository_may_be_new(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "m")
    for path, text in claude("a").items():
        (tmp_path / "new" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "new" / path).write_text(text, encoding="utf-8")
    notes: list[str] = []
    outcome = diff(DiffRequest(origin=("claude", str(tmp_path / "new"))), notes.append)
    assert not outcome.sides.has_baseline
    assert notes[0].startswith("no baseline")


def with_submodule(folder: Path) -> Path:
    """A project whose agents are a repository of their own."""
    inner = folder / ".claude/agents"
    inner.mkdir(parents=True)
    for path, text in claude("a", "Read").items():
        (folder / path).write_text(text, encoding="utf-8")
    git(inner, "init", "-q")
    git(inner, "add", "-A")
    git(inner, "commit", "-qm", "m")
    (folder / ".claude/settings.json").write_text('{"permissions": {"deny": ["Bash"]}}')
    git(folder, "init", "-q")
    git(folder, "add", ".claude/settings.json", ".claude/agents")
    git(folder, "commit", "-qm", "m")
    return inner


def test_a_submodule_is_read_at_the_commit_that_a_revision_names(tmp_path: Path) -> None:
    """Its files lie on disk: in a revision they were missing, and each of its agents was new."""
    inner = with_submodule(tmp_path)
    notes: list[str] = []
    outcome = diff(DiffRequest(origin=("claude", str(tmp_path))), notes.append)
    assert (outcome.difference.verdict, notes) == ("same", [])
    (inner / "a.md").write_text(claude("a", "Read, WebFetch")[".claude/agents/a.md"], encoding="utf-8")
    git(inner, "commit", "-qam", "m")
    (wider,) = [each for each in diff_of(tmp_path).entries if each.verdict == "widened"]
    assert (wider.name, wider.status) == ("a", "kept")
    git(tmp_path, "commit", "-qam", "m")
    assert diff_of(tmp_path).verdict == "same"
    assert diff_of(tmp_path, "HEAD~1", "HEAD").verdict == "widened"


def diff_of(folder: Path, before: str = "HEAD", after: str = "worktree") -> Difference:
    request = DiffRequest(before=before, after=after, origin=("claude", str(folder)))
    return diff(request, lambda _: None).difference


@pytest.mark.parametrize("where", ["gone", "elsewhere"])
def test_a_submodule_that_is_not_here_is_named(tmp_path: Path, where: str) -> None:
    """Nor is git asked in a repository outside the one that is read, wherever a stranger's file points."""
    inner = with_submodule(tmp_path / "project")
    if where == "elsewhere":
        (inner / ".git").rename(tmp_path / "outside")
        (inner / ".git").write_text(f"gitdir: {tmp_path / 'outside'}\n")
    else:
        shutil.rmtree(inner / ".git")
    notes: list[str] = []
    diff(DiffRequest(origin=("claude", str(tmp_path / "project"))), notes.append)
    assert any("`.claude/agents` is a repository of its own" in each for each in notes)


def rules(**permissions: list[str]) -> dict[str, str]:
    return {".claude/settings.json": json.dumps({"permissions": permissions})}


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ({"allow": ["Read"]}, {"allow": ["Read", "Bash(cp:*)"]}, "widened"),
        ({"allow": ["Read", "Bash(cp:*)"]}, {"allow": ["Read"]}, "narrowed"),
        ({"allow": ["Bash(git:*)"]}, {"allow": ["Bash(git:*)", "Bash(git log:*)"]}, "changed"),
        ({"allow": ["mcp__a"]}, {"allow": ["mcp__a__*"]}, "changed"),
        ({"deny": ["Read(./x)"]}, {"deny": ["Read(./x)", "Read(./y)"]}, "narrowed"),
        ({"deny": ["Read(./x)"]}, {"deny": []}, "widened"),
        ({"deny": ["Bash(rm:*)"]}, {"ask": ["Bash(rm:*)"]}, "widened"),
        ({"ask": ["Bash(rm:*)"]}, {"deny": ["Bash(rm:*)"]}, "narrowed"),
        ({"deny": ["Bash(rm -r:*)"]}, {"deny": ["Bash(rm:*)"]}, "narrowed"),
        ({"allow": ["Bash(git:*)"]}, {"allow": ["Bash(github-upload:*)"]}, "widened"),
        ({"allow": ["Bash(git *)"]}, {"allow": ["Bash(github-upload *)"]}, "widened"),
        ({"allow": ["Bash(git*)"]}, {"allow": ["Bash(github-upload:*)"]}, "narrowed"),
        ({"allow": ["Bash(git:*)"]}, {"allow": ["Bash(git log:*)"]}, "narrowed"),
        ({"deny": ["Bash(gitk:*)"]}, {"deny": ["Bash(git:*)"]}, "widened"),
        ({"allow": ["Read(src/*)"]}, {"allow": ["Read(src/keys/**)"]}, "widened"),
        ({"allow": ["Read(src/**)"]}, {"allow": ["Read(src/../keys/**)"]}, "widened"),
        ({"allow": ["Read(src/**)"]}, {"allow": ["Read(src/app/**)"]}, "narrowed"),
        ({"ask": ["Edit(./x)", "Write(./x)"]}, {"ask": ["Edit(./x)"]}, "same"),
    ],
)
def test_a_rule_that_shows_in_no_row_is_judged(
    tmp_path: Path, before: dict[str, list[str]], after: dict[str, list[str]], verdict: str
) -> None:
    """Where no file sets a mode nothing asks, so that a rule spares no question there; it does for whoever is asked."""
    difference = compared(tmp_path, "claude", rules(**before), rules(**after)).difference
    assert difference.verdict == verdict


def test_an_agent_with_every_tool_gains_none_by_naming_some(tmp_path: Path) -> None:
    """A server that no file declares may be a person's own: whoever had every tool had it."""
    servers = {".mcp.json": json.dumps({"mcpServers": {"notes": {"command": "notes"}}})}
    every = {".claude/agents/a.md": "---\nname: a\ndescription: Does its part.\n---\nGo.\n"}
    some = claude("a", "Read, mcp__wiki__read", "Go.")
    difference = compared(tmp_path, "claude", servers | every, servers | some).difference
    (entry,) = (each for each in difference.entries if each.name == "a")
    assert entry.verdict == "narrowed"


SCRUB = "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB"


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ({SCRUB: "1"}, {}, "widened"),
        ({SCRUB: "1"}, {SCRUB: "0"}, "widened"),
        ({}, {SCRUB: "1"}, "narrowed"),
        ({}, {"NODE_TLS_REJECT_UNAUTHORIZED": "0"}, "widened"),
        ({"IS_SANDBOX": "1"}, {}, "narrowed"),
        ({}, {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}, "changed"),
        ({"BASH_MAX_TIMEOUT_MS": "1"}, {"BASH_MAX_TIMEOUT_MS": "2"}, "changed"),
        ({SCRUB: "1"}, {SCRUB: "1"}, "same"),
    ],
)
def test_a_switch_in_the_environment_of_claude_code_is_judged(
    tmp_path: Path, before: dict[str, str], after: dict[str, str], verdict: str
) -> None:
    settings = {"permissions": {"allow": ["Read"]}}
    sides = ({".claude/settings.json": json.dumps({**settings, "env": env})} for env in (before, after))
    assert compared(tmp_path, "claude", *sides).difference.verdict == verdict


def test_a_rule_of_cursor_is_judged(tmp_path: Path) -> None:
    before, after = (
        {".cursor/cli.json": json.dumps({"permissions": {"allow": [], "deny": denied}})}
        for denied in (["Shell(rm)"], [])
    )
    assert compared(tmp_path, "cursor", before, after).difference.verdict == "widened"


def workflow(with_: str = "", job: str = "", env: str = "", before: str = "") -> dict[str, str]:
    return {
        ".github/workflows/w.yml": (
            "on: [issues]\npermissions: {contents: read}\njobs:\n  a:\n    runs-on: x\n"
            f"{job}    steps:\n{before}      - uses: anthropics/claude-code-action@v1\n{env}        with:\n"
            f"          anthropic_api_key: ${{{{ secrets.K }}}}\n          prompt: Go.\n{with_}"
        )
    }


APP = (
    "      - id: t\n        uses: actions/create-github-app-token@v2\n        with:\n          app-id: 1\n"
    "          private-key: ${{ secrets.P }}\n"
)
BY_APP = "          github_token: ${{ steps.t.outputs.token }}\n"
SENDS = '          claude_args: --allowedTools "Bash(gh issue comment:*)'


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (workflow(), workflow(env="        env: {ANTHROPIC_BASE_URL: 'https://m.example.com'}\n"), "widened"),
        (workflow(), workflow(env="        env: {ANTHROPIC_BASE_URL: '${{ secrets.URL }}'}\n"), "widened"),
        (workflow(), workflow("          allowed_bots: helper\n"), "changed"),
        (workflow(env=f"        env: {{{SCRUB}: '1'}}\n"), workflow(), "widened"),
        (workflow(), workflow(env="        env: {GEMINI_SANDBOX: 'false'}\n"), "changed"),
        (workflow(), workflow(job="    if: github.actor != 'x'\n"), "changed"),
        (workflow(), workflow(job="    permissions: {contents: read, id-token: write}\n"), "widened"),
        (workflow(), workflow("          github_token: ${{ github.token }}\n"), "widened"),
        (
            workflow(f'{BY_APP}{SENDS}"\n', before=APP),
            workflow(f'{BY_APP}{SENDS}"\n', before=f"{APP}          permission-issues: write\n"),
            "narrowed",
        ),
        (
            workflow(f'{SENDS}"\n'),
            workflow(f'{SENDS.replace("comment:", "comment 7:")}"\n'),
            "narrowed",
        ),
        (
            workflow(f'{BY_APP}{SENDS},Bash(gh issue edit:*)"\n', before=APP),
            workflow(f'{BY_APP}{SENDS}"\n', before=APP),
            "narrowed",
        ),
    ],
)
def test_a_change_of_a_workflow_is_judged(
    tmp_path: Path, before: dict[str, str], after: dict[str, str], verdict: str
) -> None:
    assert compared(tmp_path, "github-actions", before, after).difference.verdict == verdict


def test_another_address_of_the_model_in_gh_aw_widens(tmp_path: Path) -> None:
    before, after = (
        {".github/workflows/w.md": f"---\non: push\nengine:\n  id: claude\n{env}---\nGo.\n"}
        for env in ("", "  env:\n    ANTHROPIC_BASE_URL: https://m.example.com\n")
    )
    assert compared(tmp_path, "gh-aw", before, after).difference.verdict == "widened"


def of_gh_aw(more: str = "", on: str = "") -> dict[str, str]:
    return {".github/workflows/w.md": f"---\non:\n  issues:\n{on}{more}---\nGo.\n"}


def job_of_gh_aw(permissions: str) -> dict[str, str]:
    return of_gh_aw(f"jobs:\n  label:\n    permissions: {permissions}\n    steps: []\n")


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (of_gh_aw(on="  skip-bots: [a]\n"), of_gh_aw(on="  skip-bots: [b, a]\n"), "narrowed"),
        (of_gh_aw(on="  skip-bots: [a]\n"), of_gh_aw(), "widened"),
        (of_gh_aw(on="  skip-roles: [read]\n"), of_gh_aw(on="  skip-roles: read\n"), "changed"),
        (job_of_gh_aw("{issues: read}"), job_of_gh_aw("{issues: write}"), "widened"),
        (job_of_gh_aw("write-all"), job_of_gh_aw("read-all"), "narrowed"),
        (of_gh_aw(), job_of_gh_aw("{contents: read}"), "changed"),
    ],
)
def test_what_no_row_of_gh_aw_shows_is_judged(
    tmp_path: Path, before: dict[str, str], after: dict[str, str], verdict: str
) -> None:
    assert compared(tmp_path, "gh-aw", before, after).difference.verdict == verdict


def test_a_server_of_vs_code_that_no_agent_has_is_a_gain(tmp_path: Path) -> None:
    agent = {".github/agents/a.agent.md": "---\ndescription: Reads.\ntools: [read]\n---\nRead.\n"}
    few, more = (
        {".vscode/mcp.json": json.dumps({"servers": {name: {"command": name} for name in names}})}
        for names in (["docs"], ["docs", "notes"])
    )
    assert compared(tmp_path, "auto", agent | few, agent | more).difference.verdict == "widened"


@pytest.mark.parametrize("form", ["copilot", "auto"])
def test_a_prompt_that_loses_its_tools_is_not_narrower(tmp_path: Path, form: str) -> None:
    """It then has the tools of the agent or of the session that runs it, whatever those are."""
    other = {".github/agents/a.agent.md": "---\ndescription: A.\ntools: [read]\n---\nA.\n"}

    def prompt(tools: str) -> dict[str, str]:
        return {".github/prompts/ask.prompt.md": f"---\ndescription: Asks.\n{tools}---\nAsk.\n", **other}

    outcome = compared(tmp_path, form, prompt("tools: [read]\n"), prompt(""))
    assert outcome.difference.verdict == "unknown"
    report = commands.llmdo(tmp_path, "diff", "--from", form, ".")
    assert "`.github/prompts/ask.prompt.md` names no tools any more" in report.stdout + report.stderr
