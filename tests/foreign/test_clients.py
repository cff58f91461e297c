"""What the clients themselves were seen to do (`make clients`), each in a project as small as it goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo import foreign
from llmdo.foreign.team import Team

AGENT = "---\ndescription: Does one thing.\n---\nDo it.\n"


def team(folder: Path, form: str, files: dict[str, str]) -> Team:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return foreign.read(form, folder).team


def decisions(read: Team, agent: str, tool: str) -> list[str]:
    """The decisions about a tool or a server; none if the agent has no such tool."""
    chosen = next(each for each in read.agents if each.name == agent)
    return [grant.decision for grant in chosen.grants if tool in (grant.tool, grant.toolset)]


def called(read: Team, agent: str) -> set[str]:
    return {call.name for each in read.agents if each.name == agent for call in each.calls}


def test_opencode_has_two_sessions_of_its_own(tmp_path: Path) -> None:
    read = team(tmp_path, "opencode", {"opencode.json": '{"permission": {"bash": "ask"}}'})
    assert decisions(read, "build", "bash") == ["needs_approval"]
    assert (decisions(read, "build", "edit"), decisions(read, "plan", "edit")) == (["allowed"], ["blocked"])


@pytest.mark.parametrize(
    ("below", "above", "decision"),
    [
        ('{"bash": "deny", "*": "ask"}', '{"bash": "allow"}', "needs_approval"),
        ('{"bash": {"*": "deny"}}', '{"bash": {"*": "allow"}}', "allowed"),
        ('"ask"', '{"bash": "deny"}', "blocked"),
        ('{"bash": "deny"}', '"ask"', "needs_approval"),
    ],
    ids=["keeps its place", "within a tool", "a word below", "a word above"],
)
def test_opencode_merges_the_permissions_of_several_files(
    tmp_path: Path, below: str, above: str, decision: str
) -> None:
    files = {
        "opencode.json": f'{{"permission": {below}}}',
        ".opencode/opencode.json": f'{{"permission": {above}}}',
    }
    assert decisions(team(tmp_path, "opencode", files), "build", "bash") == [decision]


def test_opencode_takes_an_agent_of_two_files_as_one(tmp_path: Path) -> None:
    settings = '{"agent": {"a": {"mode": "primary", "permission": {"bash": "deny"}}}}'
    read = team(tmp_path, "opencode", {"opencode.json": settings, ".opencode/agent/a.md": AGENT})
    assert [agent.name for agent in read.agents].count("a") == 1
    assert decisions(read, "a", "bash") == ["blocked"]


def test_opencode_starts_no_server_that_is_off_and_heeds_rules_about_one_tool(tmp_path: Path) -> None:
    settings = '{"mcp": {"on": {"type": "local", "command": ["x"]}, "off": {"type": "local", "command": ["y"], "enabled": false}}, "permission": {"on_*": "deny", "on_put": "ask"}}'
    read = team(tmp_path, "opencode", {"opencode.json": settings})
    assert decisions(read, "build", "on") == ["blocked", "needs_approval"]
    assert decisions(read, "build", "off") == []


def test_opencode_knows_old_names_of_tools_only_in_tools(tmp_path: Path) -> None:
    read = team(tmp_path, "opencode", {"opencode.json": '{"permission": {"write": "deny"}}'})
    assert decisions(read, "build", "edit") == ["allowed"]
    assert [problem.code for problem in read.problems] == ["LDO151"]


@pytest.mark.parametrize(("depth", "calls"), [("1", False), ("2", True)])
def test_opencode_nests_calls_as_deep_as_its_settings_say(tmp_path: Path, depth: str, calls: bool) -> None:
    files = {
        "opencode.json": f'{{"subagent_depth": {depth}}}',
        ".opencode/agent/a.md": "---\ndescription: x\nmode: subagent\npermission: {task: {b: allow}}\n---\nDo it.\n",
        ".opencode/agent/b.md": AGENT,
    }
    assert ("b" in called(team(tmp_path, "opencode", files), "a")) is calls


@pytest.mark.parametrize(("form", "name"), [("opencode", "a"), ("auto", "opencode/a")])
@pytest.mark.parametrize(("depth", "reached"), [(0, []), (1, ["b"]), (2, ["b", "c"])])
def test_opencode_ends_a_chain_of_calls_at_its_depth_whatever_is_read_with_it(
    tmp_path: Path, form: str, name: str, depth: int, reached: list[str]
) -> None:
    calling = "---\ndescription: x\npermission: {{task: {{'*': deny, {}: allow}}}}\n---\nDo it.\n"
    files = {
        "opencode.json": f'{{"subagent_depth": {depth}}}',
        ".opencode/agent/a.md": calling.format("b"),
        ".opencode/agent/b.md": calling.format("c"),
        ".opencode/agent/c.md": AGENT,
        ".claude/agents/d.md": AGENT.replace("---\n", "---\nname: d\n", 1),
    }
    team(tmp_path, "opencode", files)
    project = foreign.read(form, tmp_path)
    walk = project.analysis.walk(project.graph.entries[name])
    below = {walk.names[node].rpartition("/")[2] for node in walk.search(frozenset(), free=False).parent}
    assert sorted(below) == ["a", *reached]


@pytest.mark.parametrize(
    ("core", "servers", "agents"),
    [
        ('["glob"]', [], set()),
        ('["glob", "mcp_s_*", "invoke_agent"]', ["allowed"], {"a"}),
        ('["*"]', ["allowed"], set()),
    ],
    ids=["a name", "all three", "a pattern"],
)
def test_gemini_leaves_servers_and_agents_only_where_core_says(
    tmp_path: Path, core: str, servers: list[str], agents: set[str]
) -> None:
    settings = f'{{"tools": {{"core": {core}}}, "mcpServers": {{"s": {{"command": "x"}}}}}}'
    files = {
        ".gemini/settings.json": settings,
        ".gemini/agents/a.md": "---\nname: a\ndescription: x\n---\nDo.\n",
    }
    read = team(tmp_path, "gemini", files)
    assert decisions(read, "main-session", "s") == servers
    assert called(read, "main-session") == agents


def test_gemini_heeds_names_in_the_code_only_to_take_tools_away(tmp_path: Path) -> None:
    settings = '{"tools": {"confirmationRequired": ["ReadFileTool", "glob(x)"], "exclude": ["GrepTool"]}}'
    read = team(tmp_path, "gemini", {".gemini/settings.json": settings})
    assert (
        decisions(read, "main-session", "read_file") == decisions(read, "main-session", "glob") == ["allowed"]
    )
    assert decisions(read, "main-session", "grep_search") == []


def test_gemini_leaves_no_tool_by_its_older_name(tmp_path: Path) -> None:
    settings = '{"tools": {"core": ["search_file_content"], "allowed": ["search_file_content"]}}'
    read = team(tmp_path, "gemini", {".gemini/settings.json": settings})
    assert decisions(read, "main-session", "grep_search") == []


def test_gemini_leaves_a_tool_by_its_name_in_the_code_where_a_rule_allows_it(tmp_path: Path) -> None:
    settings = '{"tools": {"core": ["glob", "ReadFileTool"], "allowed": ["read_file"]}}'
    read = team(tmp_path, "gemini", {".gemini/settings.json": settings})
    assert decisions(read, "main-session", "read_file") == ["allowed"]


def test_gemini_asks_about_nothing_that_its_mode_or_trust_lets_go(tmp_path: Path) -> None:
    settings = (
        '{"tools": {"confirmationRequired": ["mcp_*", "replace"]}, "general": {"defaultApprovalMode": "auto_edit"},'
        ' "mcpServers": {"s": {"command": "x", "trust": true}}}'
    )
    read = team(tmp_path, "gemini", {".gemini/settings.json": settings})
    assert decisions(read, "main-session", "replace") == decisions(read, "main-session", "s") == ["allowed"]


def test_gemini_heeds_rules_about_one_tool_of_a_server(tmp_path: Path) -> None:
    settings = '{"tools": {"allowed": ["mcp_s_put"]}, "mcpServers": {"s": {"command": "x", "excludeTools": ["cut"]}}}'
    agent = "---\nname: a\ndescription: x\ntools: [mcp_s_cut]\n---\nDo.\n"
    read = team(tmp_path, "gemini", {".gemini/settings.json": settings, ".gemini/agents/a.md": agent})
    assert decisions(read, "main-session", "s") == ["needs_approval", "allowed"]
    assert decisions(read, "a", "s") == []


def test_codex_gives_an_agent_the_sandbox_and_approvals_of_the_session(tmp_path: Path) -> None:
    agent = (
        'name = "a"\ndescription = "x"\ndeveloper_instructions = "Do."\n'
        'sandbox_mode = "read-only"\napproval_policy = "never"\n'
    )
    files = {".codex/config.toml": 'sandbox_mode = "danger-full-access"\n', ".codex/agents/a.toml": agent}
    read = team(tmp_path, "codex", files)
    assert (
        decisions(read, "a", "unsandboxed shell")
        == decisions(read, "codex", "unsandboxed shell")
        == ["allowed"]
    )
    assert [problem.code for problem in read.problems].count("LDO151") == 2


@pytest.mark.parametrize(
    ("sandbox", "raised"), [("danger-full-access", "net.search"), ("workspace-write", "data.untrusted")]
)
def test_codex_searches_live_without_a_sandbox(tmp_path: Path, sandbox: str, raised: str) -> None:
    files = {".codex/config.toml": f'sandbox_mode = "{sandbox}"\nweb_search = "cached"\n'}
    (session,) = team(tmp_path, "codex", files).agents
    (search,) = [grant for grant in session.grants if grant.tool == "web_search"]
    assert raised in map(str, search.capabilities)
    assert ("net.search" in map(str, search.capabilities)) == (raised == "net.search")


@pytest.mark.parametrize(
    ("sandbox", "decided"),
    [
        ('sandbox_mode = "workspace-write"', "blocked"),
        ('sandbox_mode = "danger-full-access"', "allowed"),
        ('default_permissions = "p"\npermissions.p.filesystem.":workspace_roots" = "write"', "blocked"),
        ('default_permissions = "p"\npermissions.p.filesystem.":root" = "write"', "allowed"),
    ],
)
def test_codex_calls_a_server_that_asks_where_nobody_is_to_be_asked_without_a_sandbox_alone(
    tmp_path: Path, sandbox: str, decided: str
) -> None:
    settings = (
        f'{sandbox}\napproval_policy = "never"\n'
        '[mcp_servers.s]\ncommand = "x"\ndefault_tools_approval_mode = "prompt"\n'
    )
    assert decisions(team(tmp_path, "codex", {".codex/config.toml": settings}), "codex", "s") == [decided]


def test_codex_gives_an_agent_the_servers_of_the_session(tmp_path: Path) -> None:
    server = '[mcp_servers.s]\ncommand = "x"\n'
    agent = f'name = "a"\ndescription = "x"\ndeveloper_instructions = "Do."\n{server}enabled_tools = []\n'
    read = team(tmp_path, "codex", {".codex/config.toml": server, ".codex/agents/a.toml": agent})
    assert decisions(read, "a", "s") == ["allowed"]


@pytest.mark.parametrize("off", ["[agents]\nenabled = false\n", "[features]\nmulti_agent = false\n"])
def test_codex_spawns_no_agent_where_agents_are_off(tmp_path: Path, off: str) -> None:
    agent = 'name = "a"\ndescription = "x"\ndeveloper_instructions = "Do."\n'
    files = {".codex/config.toml": 'sandbox_mode = "read-only"\n', ".codex/agents/a.toml": agent}
    assert called(team(tmp_path / "on", "codex", files), "codex") == {"a"}
    assert called(team(tmp_path / "off", "codex", {**files, ".codex/config.toml": off}), "codex") == set()


def test_codex_shows_images_whatever_its_settings_say(tmp_path: Path) -> None:
    read = team(tmp_path, "codex", {".codex/config.toml": "[tools]\nview_image = false\n"})
    assert decisions(read, "codex", "view_image") == ["allowed"]


def test_copilot_asks_about_the_own_server_of_an_agent_for_editors(tmp_path: Path) -> None:
    server = "mcp-servers: {s: {type: local, command: x, tools: ['*']}}\n"
    agent = f"---\ndescription: Does one thing.\n{server}%s---\nDo it.\n"
    files = {".github/agents/a.md": agent % "", ".github/agents/b.md": agent % "target: vscode\n"}
    read = team(tmp_path, "copilot", files)
    assert (decisions(read, "a", "s"), decisions(read, "b", "s")) == (["allowed"], ["needs_approval"])


def test_a_server_of_a_session_of_claude_code_is_where_it_is_declared(tmp_path: Path) -> None:
    servers = '{{\n  "mcpServers": {{\n    "{}": {{"command": "notes"}}\n  }}\n}}\n'
    files = {
        ".mcp.json": servers.format("own"),
        ".claude/plugins/fmt/.claude-plugin/plugin.json": '{"name": "fmt"}',
        ".claude/plugins/fmt/.mcp.json": servers.format("notes"),
        ".claude/settings.json": '{"enabledPlugins": {"fmt@x": true}}',
        ".claude/agents/a.md": "---\nname: a\ndescription: x\n---\nDo it.\n",
    }
    read = team(tmp_path, "claude", files)
    places = {
        (agent.name, grant.toolset): (
            grant.at.location.path,
            grant.at.location.span and grant.at.location.span.line,
        )
        for agent in read.agents
        for grant in agent.grants
        if grant.server
    }
    for agent in ("main-session", "general-purpose"):
        assert places[agent, "mcp__own"] == (".mcp.json", 3)
        assert places[agent, "mcp__plugin_fmt_notes"] == (".claude/plugins/fmt/.mcp.json", 3)
    assert places["a", "mcp__own"][0] == ".claude/agents/a.md"  # it says there what it has
