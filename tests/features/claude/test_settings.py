"""What the settings of Claude Code decide about tools, and about agents below a session."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmdo import foreign
from llmdo.base.source import Source
from llmdo.features.claude.hooks import ClaudeHook
from llmdo.features.claude.session import MAIN, any_with
from llmdo.foreign.team import Agent
from llmdo.policy.authority import Capability
from llmdo.syntax.document import Document, Place
from tests.support.laws import tried

ASKS = {"defaultMode": "default"}


def project(
    folder: Path, permissions: object = None, header: str = "", **settings: object
) -> foreign.Foreign:
    file = folder / ".claude/agents/helper.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: helper\ndescription: Helps.\n{header}---\nHelp.\n")
    table = {**settings, "permissions": permissions} if permissions is not None else settings
    (folder / ".claude/settings.json").write_text(json.dumps(table))
    (folder / ".mcp.json").write_text('{"mcpServers": {"issues": {"command": "issues-mcp"}}}')
    return foreign.read("claude", folder)


def decisions(read: foreign.Foreign, entry: str = "helper") -> dict[str, str]:
    return {str(row.capability): row.decision for row in read.analysis.of(read.graph.entries[entry])}


@pytest.mark.parametrize(
    ("permissions", "capability", "expected"),
    [
        ({}, "proc.exec.unlisted", "allowed"),
        ({"disableAutoMode": "disable"}, "proc.exec.unlisted", "needs_approval"),
        ({"defaultMode": "manual"}, "proc.exec.unlisted", "needs_approval"),
        ({"defaultMode": "manual"}, "fs.read", "allowed"),
        ({"defaultMode": "acceptEdits"}, "fs.write", "allowed"),
        ({"defaultMode": "acceptEdits"}, "fs.delete", "allowed"),
        ({"defaultMode": "acceptEdits"}, "proc.exec.unlisted", "needs_approval"),
        ({"defaultMode": "dontAsk"}, "proc.exec.unlisted", "blocked"),
        ({"defaultMode": "dontAsk"}, "fs.list", "allowed"),
        ({"defaultMode": "dontAsk", "allow": ["Bash"]}, "proc.exec.unlisted", "allowed"),
        ({"defaultMode": "dontAsk", "ask": ["Bash"]}, "proc.exec.unlisted", "blocked"),
        ({"defaultMode": "plan"}, "fs.write", "needs_approval"),
        ({"defaultMode": "plan", "allow": ["Edit", "Write"]}, "fs.write", "needs_approval"),
        ({"defaultMode": "plan"}, "proc.exec.unlisted", "allowed"),  # a classifier decides
        ({"defaultMode": "plan", "disableAutoMode": "disable"}, "proc.exec.unlisted", "needs_approval"),
        ({"defaultMode": "bypassPermissions"}, "proc.exec.unlisted", "needs_approval"),
        ({"defaultMode": "bypassPermissions"}, "fs.write", "needs_approval"),
        ({"ask": ["Bash"]}, "proc.exec.unlisted", "needs_approval"),
        ({"ask": ["Bash"], "allow": ["Bash(python3:*)"]}, "proc.exec.unlisted", "needs_approval"),
        ({"ask": ["mcp__*"]}, "mcp.call", "needs_approval"),
        ({"deny": ["Edit"]}, "fs.write", "allowed"),
        ({"deny": ["Edit(**)", "Bash"]}, "fs.write", "blocked"),
        ({**ASKS, "allow": ["mcp__issues__list"]}, "mcp.call", "allowed"),
        ({**ASKS, "deny": ["mcp__issues__list"]}, "mcp.call", "needs_approval"),
        ({**ASKS, "allow": ["WebFetch(domain:example.com)"]}, "net.connect:example.com", "allowed"),
        ({**ASKS, "allow": ["Bash(* install)"]}, "proc.exec.unlisted", "allowed"),
        ({**ASKS, "allow": ["Bash(npm run build)"]}, "proc.exec", "allowed"),
    ],
)
def test_what_the_session_may_do(
    tmp_path: Path, permissions: dict[str, object], capability: str, expected: str
) -> None:
    assert decisions(project(tmp_path, permissions), MAIN)[capability] == expected


@pytest.mark.parametrize(
    ("sandbox", "inside", "outside"),
    [
        ({"enabled": True}, "allowed", "needs_approval"),
        ({"enabled": True, "excludedCommands": ["docker *"]}, "allowed", "needs_approval"),
        ({"enabled": True, "filesystem": {"allowWrite": ["./out"]}}, "allowed", "needs_approval"),
        ({"enabled": True, "filesystem": {"allowWrite": ["~/.kube"]}}, None, "allowed"),
        ({"enabled": True, "network": {"allowAllUnixSockets": True}}, None, "allowed"),
        ({"enabled": True, "network": {"httpProxyPort": 8080}}, None, "allowed"),
        ({"enabled": True, "enableWeakerNestedSandbox": True}, None, "allowed"),
        ({"enabled": True, "autoAllowBashIfSandboxed": False}, None, "needs_approval"),
        ({"enabled": False}, None, "needs_approval"),
    ],
)
def test_commands_in_a_sandbox_do_not_ask(
    tmp_path: Path, sandbox: dict[str, object], inside: str | None, outside: str
) -> None:
    read = project(tmp_path, {**ASKS, "ask": ["Bash"]}, "tools: Bash\n", sandbox=sandbox)
    assert decisions(read).get("x.sandbox.exec") == inside
    assert decisions(read)["proc.exec.unlisted"] == outside


@pytest.mark.parametrize(
    ("network", "allow", "hosts"),
    [
        ({}, [], set()),
        ({"allowedDomains": ["*.parts.example"]}, [], {"net.connect:parts.example"}),
        ({"allowedDomains": ["*"]}, [], {"net.connect"}),
        ({}, ["WebFetch(domain:own.example)"], {"net.connect:own.example"}),
        ({}, ["WebFetch"], {"net.connect"}),
        ({"allowLocalBinding": True}, [], {"net.connect:localhost"}),
    ],
)
def test_commands_in_a_sandbox_reach_the_hosts_that_settings_allow(
    tmp_path: Path, network: dict[str, object], allow: list[str], hosts: set[str]
) -> None:
    sandbox = {"enabled": True, "network": network}
    read = project(tmp_path, {**ASKS, "allow": allow}, "tools: Bash\n", sandbox=sandbox)
    assert {name for name in decisions(read) if name.startswith("net.")} == hosts


@pytest.mark.parametrize("permissions", [{}, {**ASKS, "allow": ["Bash"]}])
def test_commands_may_leave_a_sandbox_where_a_rule_or_the_mode_allows_them(
    tmp_path: Path, permissions: dict[str, object]
) -> None:
    read = project(tmp_path, permissions, "tools: Bash\n", sandbox={"enabled": True})
    assert decisions(read)["proc.exec.unlisted"] == "allowed"


@pytest.mark.parametrize(
    ("session", "own", "expected"),
    [
        ({}, "dontAsk", "allowed"),  # the session may be in mode auto, which holds below
        (ASKS, "dontAsk", "blocked"),
        (ASKS, "bypassPermissions", "allowed"),
        ({**ASKS, "disableBypassPermissionsMode": "disable"}, "bypassPermissions", "needs_approval"),
        ({"defaultMode": "acceptEdits"}, "dontAsk", "needs_approval"),
    ],
)
def test_the_mode_of_an_agent_holds_where_that_of_the_session_lets_it(
    tmp_path: Path, session: dict[str, object], own: str, expected: str
) -> None:
    read = project(tmp_path, session, f"tools: Bash\npermissionMode: {own}\n")
    assert decisions(read)["proc.exec.unlisted"] == expected


@pytest.mark.parametrize(
    ("permissions", "header", "expected"),
    [
        ({}, "", "allowed"),
        ({"ask": ["Bash"]}, "", "needs_approval"),
        ({"deny": ["Bash", "Monitor"]}, "", "blocked"),
        ({}, "permissionMode: plan\n", "allowed"),
    ],
)
def test_the_mode_that_asks_nothing_holds_where_an_organisation_sets_it(
    tmp_path: Path, permissions: dict[str, object], header: str, expected: str
) -> None:
    project(tmp_path, {**ASKS, **permissions}, header, sandbox={"enabled": not permissions})
    managed = {"permissions": {"defaultMode": "bypassPermissions"}}
    (tmp_path / "managed-settings.json").write_text(json.dumps(managed))
    read = foreign.read("claude", tmp_path)
    assert decisions(read)["proc.exec.unlisted"] == expected


def test_a_persons_own_file_in_the_project_sets_the_mode_that_asks_nothing_no_more_than_the_shared_one(
    tmp_path: Path,
) -> None:
    project(tmp_path, {"defaultMode": "acceptEdits"})
    local = {"permissions": {"defaultMode": "bypassPermissions"}}
    (tmp_path / ".claude/settings.local.json").write_text(json.dumps(local))
    reached = decisions(foreign.read("claude", tmp_path), MAIN)
    assert (reached["proc.exec.unlisted"], reached["fs.write"]) == ("needs_approval", "needs_approval")


def test_the_settings_of_a_person_hold_over_those_of_the_project(tmp_path: Path) -> None:
    project(tmp_path, {"defaultMode": "bypassPermissions", "ask": ["WebFetch"]})
    (tmp_path / ".claude/settings.local.json").write_text('{"permissions": {"defaultMode": "default"}}')
    reached = decisions(foreign.read("claude", tmp_path), MAIN)
    assert (reached["proc.exec.unlisted"], reached["net.connect"]) == ("needs_approval", "needs_approval")


def test_a_server_that_is_refused_is_nobodys(tmp_path: Path) -> None:
    read = project(tmp_path, disabledMcpjsonServers=["issues"])
    assert "mcp.call" not in decisions(read, MAIN)


def test_agents_that_may_not_be_called_are_called_by_none(tmp_path: Path) -> None:
    denied = {"deny": ["Bash", "Monitor", "Agent(general-purpose)"]}
    read = project(tmp_path, denied, "tools: Task, Read\n")
    assert set(decisions(read)) == {"agent.delegate", "fs.read"}
    read = project(tmp_path, {"deny": ["Agent"]}, "tools: Task(helper, Explore), Read\n")
    assert set(decisions(read)) == {"fs.read"}
    assert "agent.delegate" not in decisions(read, MAIN)


def test_an_agent_is_what_its_file_and_the_settings_of_the_session_say(tmp_path: Path) -> None:
    def agent(permissions: object = None, header: str = "", **settings: object) -> Agent:
        agents = project(tmp_path, permissions, header, **settings).team.agents
        return next(each for each in agents if each.name == "helper")

    plain = agent()
    assert (plain.description, plain.model, plain.sandbox) == ("Helps.", None, None)
    assert plain.is_callable
    assert [agent(header=f"model: {model}\n").model for model in ("opus", "inherit")] == ["opus", None]
    assert agent(sandbox={"enabled": True}).sandbox == "sandbox"
    assert [agent({"deny": [f"Agent({name})"]}).is_callable for name in ("helper", "other")] == [False, True]


def test_an_agent_of_a_plugin_that_may_call_all_calls_those_with_its_servers(tmp_path: Path) -> None:
    for path, text in {
        "tools/.claude-plugin/plugin.json": '{"name": "helpers", "mcpServers": {"notes": {"command": "notes-mcp"}}}',
        "tools/agents/clerk.md": "---\nname: clerk\ntools: Task\n---\nWork.\n",
        "tools/agents/reader.md": "---\ntools: Read\ndescription: Reads.\n---\nRead.\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    agents = {each.name: each for each in foreign.read("claude", tmp_path).team.agents}
    clerk, reader = (agents[f"helpers:{name}"] for name in ("clerk", "reader"))
    assert [call.name for call in clerk.calls] == [any_with("helpers")]
    assert reader.calls == ()
    spans = [each.at.location.span for each in (clerk, reader)]
    assert [span and span.line for span in spans] == [2, 3], "at its name, or at its description without one"


def test_a_list_of_agents_does_not_limit_an_agent_that_another_session_calls(tmp_path: Path) -> None:
    assert "net.connect" in decisions(project(tmp_path, {}, "tools: Agent(helper)\n"))


def test_an_agent_with_a_memory_writes(tmp_path: Path) -> None:
    reached = decisions(project(tmp_path, {}, "tools: Grep\nmemory: project\n"))
    assert reached["fs.write"] == "allowed"
    assert "fs.write" not in decisions(project(tmp_path, {}, "tools: Grep\nmemory: none\n"))


def test_servers_of_an_agents_own_file_come_beside_its_tools(tmp_path: Path) -> None:
    header = "tools: Read\nmcpServers:\n  - notes: {command: notes-mcp}\n  - issues\n"
    read = project(tmp_path, {}, header)
    assert {grant.tool for grant in read.team.agents[1].grants} == {"Read", "mcp__notes", "mcp__issues"}


@pytest.mark.parametrize("taken", ["mcp__issues", "mcp__issues__*", "mcp__*"])
def test_servers_can_be_taken_from_an_agent(tmp_path: Path, taken: str) -> None:
    read = project(tmp_path, {"deny": ["Agent"]}, f"disallowedTools: {taken}, Write\n")
    assert "mcp.call" not in decisions(read)


@pytest.mark.parametrize(
    "listed", ["Read, Bash(ls:*), Grep", "Read Bash(ls *) Grep", '["Read", "Bash(ls)", Grep]']
)
def test_tools_are_listed_by_commas_or_blanks_or_in_yaml(tmp_path: Path, listed: str) -> None:
    read = project(tmp_path, {}, f"tools: {listed}\n")
    assert {grant.tool for grant in read.team.agents[1].grants} == {"Read", "Bash", "Grep"}


@pytest.mark.parametrize(
    ("matcher", "tools"),
    [
        ("", {"Bash", "Edit", "NotebookEdit", "mcp__issues"}),
        ("*", {"Bash", "Edit", "NotebookEdit", "mcp__issues"}),
        ("Edit, Bash", {"Bash", "Edit"}),
        ("Edit.*", {"Edit", "NotebookEdit"}),
        ("^Edit$|^B.*", {"Bash", "Edit"}),
        ("mcp__issues__list", {"mcp__issues"}),
        ("mcp__issues|Bash", {"Bash"}),  # a server is the name of no tool
        ("mcp__issues__.*", {"mcp__issues"}),
        ("mcp__.*__write.*", {"mcp__issues"}),
        ("mcp__other__.*", set()),
        ("(a+)+$", {"Bash", "Edit", "NotebookEdit", "mcp__issues"}),  # is not run
    ],
)
def test_the_tools_that_a_hook_is_asked_about(matcher: str, tools: set[str]) -> None:
    hook = ClaudeHook("PreToolUse", matcher, Place(Document(Source("a", ""), {}, dict), ()), is_certain=True)
    assert {tool for tool in ("Bash", "Edit", "NotebookEdit", "mcp__issues") if hook.names(tool)} == tools


def test_the_folder_of_a_person_is_read_where_it_is_the_one_that_is_given(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"permissions": {"defaultMode": "dontAsk"}}))
    assert decisions(foreign.read("claude", tmp_path), MAIN)["proc.exec.unlisted"] == "blocked"
    (tmp_path / "managed-settings.json").write_text(json.dumps({"permissions": {"deny": ["WebFetch"]}}))
    (tmp_path / "settings.json").write_text(json.dumps({"permissions": {"allow": ["WebFetch"]}}))
    assert decisions(foreign.read("claude", tmp_path), MAIN)["net.connect"] == "blocked"


def test_the_settings_of_another_tool_are_not_those_of_a_person(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"permissions": "all", "files": {}}))
    assert not foreign.read("claude", tmp_path, may_be_empty=True).team.agents


def test_a_plugin_that_settings_enable_brings_its_servers_into_the_session(tmp_path: Path) -> None:
    manifest = tmp_path / "tools/.claude-plugin/plugin.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"name": "helpers", "mcpServers": {"notes": {"command": "notes-mcp"}}}))
    for enabled in (True, False):
        read = project(tmp_path, enabledPlugins={"helpers@fair": enabled})
        tools = {grant.tool for agent in read.team.agents if agent.name == MAIN for grant in agent.grants}
        assert ("mcp__plugin_helpers_notes" in tools) is enabled
        assert (f"{MAIN} with helpers" in read.graph.entries) is not enabled


def test_a_plugin_of_skills_alone_is_read_with_the_session_that_runs_them(tmp_path: Path) -> None:
    for path, text in {
        "tools/.claude-plugin/plugin.json": '{"name": "helpers"}',
        "tools/skills/push/SKILL.md": "---\nname: push\nallowed-tools: Bash(git commit:*)\n---\nPush.\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert set(foreign.read("claude", tmp_path).graph.entries) == {MAIN}
    reached = decisions(project(tmp_path, ASKS), f"{MAIN} with helpers")
    assert (reached["proc.exec"], reached["proc.exec.unlisted"]) == ("allowed", "needs_approval")


@pytest.mark.parametrize(
    "text", ['{"permissions": {"defaultMode": "ask", "deny": ["Bash"]}}', '{"permissions": {"deny": ["Bash"]']
)
def test_settings_that_claude_code_may_skip_block_nothing(tmp_path: Path, text: str) -> None:
    project(tmp_path)
    (tmp_path / ".claude/settings.json").write_text(text)
    read = foreign.read("claude", tmp_path)
    assert decisions(read, MAIN)["proc.exec.unlisted"] == "allowed"
    assert {each.code for each in read.team.problems} & {"LDO151", "LDO153"}


def test_an_agent_of_a_plugin_given_alone_has_the_servers_of_its_plugin(tmp_path: Path) -> None:
    for path, text in {
        "tools/.claude-plugin/plugin.json": '{"name": "helpers", "mcpServers": {"notes": {"command": "notes-mcp"}}}',
        "tools/agents/clerk.md": "---\nname: clerk\n---\nWork.\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    agents = {
        each.name: each for each in foreign.read("claude", tmp_path / "tools/agents/clerk.md").team.agents
    }
    assert "mcp__plugin_helpers_notes" in {grant.tool for grant in agents["helpers:clerk"].grants}


def test_an_agent_without_bash_still_watches_commands(tmp_path: Path) -> None:
    for taken, left in (("Bash", {"allowed"}), ("Bash, Monitor", set())):
        read = project(tmp_path, {"deny": ["Agent"]}, f"disallowedTools: {taken}\n")
        assert {
            how for capability, how in decisions(read).items() if capability == "proc.exec.unlisted"
        } == left
    reached = decisions(project(tmp_path, {"deny": ["Agent", "Bash"]}))
    assert reached["proc.exec.unlisted"] == "blocked"


RULES = (
    "Bash", "Bash(* install)", "Bash(curl:*)", "Bash(gh issue view:*)", "Bash(gh release list:*)", "Bash(ls:*)",
    "WebFetch", "WebFetch(domain:example.com)", "mcp__issues__list",
)  # fmt: skip
ANY_COMMAND = Capability("proc.exec.unlisted")
OF_COMMANDS = (Capability("fs"), Capability("proc"))
"""What any command may do, where a tool runs any."""


def unasked(folder: Path, permissions: dict[str, object]) -> set[Capability]:
    """What an agent may do without a question."""
    read = project(folder, permissions, "tools: Bash, WebFetch, mcp__issues\n")
    given = next(agent for agent in read.team.agents if agent.name == "helper").grants
    able = {each for grant in given if grant.decision == "allowed" for each in grant.capabilities}
    return {*able, *OF_COMMANDS} if ANY_COMMAND in able else able


@given(st.lists(st.sampled_from(RULES), max_size=3), st.sampled_from(RULES))
@example(["Bash(gh issue view:*)"], "Bash")
@example(["Bash(curl:*)"], "Bash(ls:*)")
@tried(40)
def test_no_mode_and_one_more_rule_take_no_capability_away(allow: list[str], more: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        strict = unasked(folder, {**ASKS, "allow": allow})
        for looser in (
            unasked(folder, {**ASKS, "allow": [*allow, more]}),
            unasked(folder, {"allow": allow}),
            unasked(folder, {"allow": [*allow, more]}),
        ):
            assert not {each for each in strict if not any(other.contains(each) for other in looser)}
