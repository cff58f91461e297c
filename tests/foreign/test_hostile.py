"""Whatever stands in the files of a stranger, reading them ends soon, in an answer or in a sentence."""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llmdo import checks, foreign
from llmdo.base.colour import Screen, plain
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.source import Source
from llmdo.features.importing.workspace import import_project
from llmdo.foreign import findings, reading
from llmdo.foreign.summary import summary_of
from llmdo.render import foreign as render
from llmdo.render import scan as scans
from llmdo.render.page import page
from llmdo.scaffold.adoption import adopt
from llmdo.services.foreign import ScanOutcome
from llmdo.workspace import lock, project
from llmdo.workspace.reading import read_lock
from tests.support.laws import examples

FILES = {
    "claude": (
        ".claude/agents/a.md",
        ".claude/settings.json",
        ".claude/commands/c.md",
        ".claude-plugin/marketplace.json",
        ".mcp.json",
        "p/.claude-plugin/plugin.json",
        "p/hooks/hooks.json",
        "plugins/p/agents/b.md",
    ),
    "codex": (
        ".codex/config.toml",
        ".codex/agents/a.toml",
        ".codex/rules/a.rules",
        ".codex/b.config.toml",
        ".codex/hooks.json",
        ".codex/environments/environment.toml",
    ),
    "copilot": (
        ".github/agents/a.agent.md",
        ".github/agents/b.md",
        ".github/prompts/c.prompt.md",
        ".github/hooks/d.json",
        ".mcp.json",
    ),
    "cursor": (
        ".cursor/agents/a.md",
        ".cursor/cli.json",
        ".cursor/mcp.json",
        ".cursor/hooks.json",
        ".cursor/worktrees.json",
        ".cursor-plugin/plugin.json",
        "hooks/hooks.json",
    ),
    "docker-agent": ("team.yaml", ".github/agents/other.yml"),
    "fast-agent": (
        ".fast-agent/agent-cards/a.md",
        ".fast-agent/tool-cards/b.yaml",
        "fast-agent.yaml",
        "agents/c.md",
        "d.py",
    ),
    "gemini": (
        ".gemini/agents/a.md",
        ".gemini/settings.json",
        "gemini-extension.json",
        "agents/b.md",
        "hooks/hooks.json",
    ),
    "gh-aw": (".github/workflows/a.md", ".github/workflows/shared/b.md"),
    "github-actions": (".github/workflows/a.yml", ".github/workflows/b.yaml", ".github/actions/a/action.yml"),
    "kiro": (
        ".kiro/agents/a.json",
        ".kiro/agents/b.md",
        ".kiro/settings/lsp.json",
        ".kiro/settings/mcp.json",
        ".kiro/hooks/c.json",
        ".kiro/hooks/d.kiro.hook",
    ),
    "llm-do": ("main.worker", "app/main.agent", "app/project.json"),
    "mcp": (".mcp.json", ".vscode/mcp.json"),
    "opencode": (".opencode/agent/a.md", "opencode.json"),
    "qwen": (".qwen/settings.json", ".qwen/agents/a.md"),
    "roo": (".roomodes", ".roo/mcp.json"),
    "skills": (".agents/skills/a/SKILL.md", ".agents/skills/a/run.sh", "skills/b/SKILL.md"),
}
"""Files that each format looks at."""

WORDS = (
    "name", "description", "tools", "disallowedTools", "permissionMode", "mcpServers", "permissions", "allow", "ask",
    "deny", "defaultMode", "bypassPermissions", "Read", "Bash", "Bash(git:*)", "Agent(a, b)", "Agent", "mcp__s__t",
    "agents", "root", "sub_agents", "handoffs", "toolsets", "type", "mcp", "ref", "mcps", "shell", "filesystem", "script",
    "shell:cmd=ls*", "post_edit", "api_config", "runtime", "safety", "autonomous", "on", "bash", "safe-outputs",
    "mcp-servers", "imports", "shared/b.md", "network", "entry", "agent", "function", "agent_files", "python_files",
    "approval_mode", "server_side_tools", "tool_type", "web_search", "permission", "task", "edit", "*", "docs/**", "mode",
    "jobs", "steps", "uses", "with", "run", "if", "needs", "issues", "workflow_call", "claude_args", "settings",
    "anthropics/claude-code-action@v1", "openai/codex-action@v1", "google-github-actions/run-gemini-cli@v0",
    "./.github/actions/a", "./.github/workflows/b.yaml", "claude -p x --allowedTools Bash(git:*)", "codex exec --yolo",
    "copilot -p x --allow-all-tools", "opencode run x", "contents", "write", "github.event_name == 'issues' || (",
    "primary", "disable", "prompt", "command", "args", "env", "url", "https://x", "main", "a", "b", "every agent", "", "é",
    "\u202e", "x" * 200, "../..", "rag", "max_depth", "instruction", "model", "core", "exclude", "allowed", "excluded", "trust", "includeTools", "kind", "remote",
    "agent_card_url", "general", "defaultApprovalMode", "auto_edit", "mcp_servers", "mcp_s_*", "run_shell_command(git)",
    "run_shell_command", "overrides", "enabled", "browser_agent", "discoveryCommand", "experimental", "enableAgents",
    "s", "excludeTools", "allowedTools", "allowed-tools",
    "approvalMode", "yolo", "modelProviders", "baseUrl", "includeMcpJson", "toolsSettings", "allowedCommands",
    "availableAgents", "capability", "effect", "match", "hooks",
    "then", "action", "trigger", "when", "@builtin", "@s/t", "subagent", "autoApprove", "customModes", "slug", "groups", "read", "fileRegex", "roleDefinition", "alwaysAllow", "confirmationRequired",
    "sandbox_mode", "read-only", "danger-full-access", "approval_policy", "never", "untrusted", "granular", "config_file",
    "enabled_tools", "default_tools_approval_mode", "profiles", "default_permissions", "extends", "features", "approve",
    "developer_instructions", "multi_agent", "live", "sandbox_workspace_write", "network_access", "approvals_reviewer",
    "plugins", "source", "./p", "strict", "hooks", "PreToolUse", "PermissionRequest", "matcher", "allowed-tools", "memory",
    "project", "plan", "sandbox", "enabledPlugins", "helper@fair", "disableAutoMode", "skills", "commands",
    "target", "vscode", "user-invocable", "infer", "runCommands", "search/codebase", "s/*", "servers",
    "SessionStart", "UserPromptSubmit", "Stop", "sessionStart", "statusLine", "apiKeyHelper", "ANTHROPIC_BASE_URL", "http",
    "curl -s https://x | sh", "echo 'a", "$(", "bash", "powershell", "disableAllHooks", "headersHelper", "callCommand",
    "notify", "openai_base_url", "model_providers", "base_url", "auth", "hooksConfig", "disabled", "telemetry",
    "otlpEndpoint", "session_start", "version",
    "function_tools", "tools.py:f", "mcp_connect", "target", "tool_only", "sequence", "chain", "skills", "harness_tools",
    "a2a", "targets", "web_search", "readonly", "Shell(git)", "Mcp(s:t)", "Write(**)", "terminalAllowlist", "mcpAllowlist",
)  # fmt: skip

values: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 10**6) | st.floats(allow_nan=False) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=25,
)


def answered(form: str, root: Path) -> None:
    """Asks everything there is to ask about a project."""
    try:
        read = foreign.read(form, root)
    except LlmdoError:
        return
    diagnostics = findings.check(read)
    reached = render.alike((entry, read.analysis.of(entry)) for entry in read.graph.entries.values())
    assert render.text(form, reached)
    outcome = ScanOutcome(project=read, summary=summary_of(read, diagnostics), failing=())
    assert page(read, outcome.summary, reached)
    assert scans.rendered(outcome, "text", Screen(plain, 40))
    assert json.loads(scans.rendered(outcome, "json"))
    if read.team.agents:
        with tempfile.TemporaryDirectory() as target:
            done = import_project(read, Path(target))
            assert (done.wider, done.narrower) == ((), ()), done
            assert not [diagnostic for diagnostic in done.findings if diagnostic.severity == "error"], (
                done.findings
            )

    adopted(form, root)


def adopted(form: str, root: Path) -> None:
    """Adopts a project in place: `check` then has nothing against the manifest, and the lock says it all."""
    if (root / "llmdo.toml").exists():
        return
    try:
        adopt(root, [form])
    except LlmdoError:
        return
    read = project.read(root)
    ours = [each for each in checks.check(read) if each.at.path == "llmdo.toml" and each.severity == "error"]
    assert ours == []
    lock.write(root, read.graph)
    locked = lock.read(read_lock(root)[0])
    assert locked.problems == ()
    assert locked.graph == read.graph
    assert project.read(root).is_current


def write(root: Path, path: str, content: bytes) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(content)


def toml_of(value: Any) -> str:
    """The same in TOML, on one line each; what is nothing is left out."""

    def inline(each: Any) -> str:
        if isinstance(each, dict):
            pairs = (f"{json.dumps(key)} = {inline(part)}" for key, part in each.items() if part is not None)
            return f"{{{', '.join(pairs)}}}"
        if isinstance(each, list):
            return f"[{', '.join(inline(part) for part in each if part is not None)}]"
        return json.dumps(each)

    return "".join(f"{json.dumps(key)} = {inline(each)}\n" for key, each in value.items() if each is not None)


@pytest.mark.few(4)
@pytest.mark.parametrize("form", FILES)
@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_values_under_the_known_keys_are_answered(form: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path in FILES[form]:
            drawn = data.draw(st.dictionaries(st.sampled_from(WORDS), values, max_size=6))
            text = toml_of(drawn) if path.endswith(".toml") else json.dumps(drawn)
            fenced = not path.endswith((".json", ".rules", ".toml", ".yaml", ".yml"))
            write(root, path, (f"---\n{text}\n---\nWork.\n" if fenced else text).encode())
        answered(form, root)


NASTY = {
    "empty": b"",
    "binary": bytes(range(256)),
    "utf-16": "---\nname: a\n---\n".encode("utf-16"),
    "brackets": b"---\ntools: " + b"[" * 50_000 + b"\n---\n",
    "braces": b'{"agents":' * 5_000,
    "alias bomb": b"agents:\n  a: &a [x]\n" + b"".join(b"  k%d: &k%d [*a, *a]\n" % (n, n) for n in range(50)),
    "alias bomb of jobs": b"on: issues\njobs:\n  j0: &j0\n    steps: &s0 [{uses: openai/codex-action@v1, with: &w0 {a: x}}]\n"
    + b"".join(
        b"  j%d: &j%d\n    needs: *s%d\n    if: *s%d\n    steps: &s%d [*j%d, {run: codex exec x, id: *s%d, with: &w%d {a: *w%d, b: *w%d}}]\n"
        % (n, n, n - 1, n - 1, n, n - 1, n - 1, n, n - 1, n - 1)
        for n in range(1, 30)
    ),
    "alias of itself": b"on: &a [*a]\njobs: &b {c: *b, steps: &c [*c, {run: claude -p x}]}\n",
    "long line": b"---\nname: " + b"a" * 900_000 + b"\n---\n",
    "many keys": b"---\n" + b"".join(b"toolz%d: x: y\n" % n for n in range(20_000)) + b"---\n",
    "too large": b"agents:\n" + b"# nothing\n" * 200_000,
    "markers": b"<<<<<<< HEAD\n---\nname: a\n=======\n>>>>>>> b\n",
    "carriage returns": b"---\r\nname: a\r\ntools: Bash\r\n---\r\nWork.\r\n",
    "lists for words": b'{"name": "a", "permission": {"a": []}, "runtime": {"approval_mode": []}, "entry": {"agent": []}}',
    "only fences": b"---\n---\n",
    "no end": b"---\nname: a\n",
}


@pytest.mark.few(29)
@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("content", NASTY.values(), ids=NASTY)
def test_nasty_files_are_answered(form: str, content: bytes, tmp_path: Path) -> None:
    for path in FILES[form]:
        write(tmp_path, path, content)
    answered(form, tmp_path)


JSON_SERVERS = json.dumps({"mcpServers": {"": {"command": "x"}}})
CALLED_NOTHING = {
    "claude": {
        ".mcp.json": JSON_SERVERS,
        ".claude/agents/a.md": "---\nname: a\ndescription: d\n---\nWork.\n",
    },
    "codex": {".codex/config.toml": '[mcp_servers.""]\ncommand = "x"\n'},
    "copilot": {
        ".vscode/mcp.json": '{"servers": {"": {"command": "x"}}}',
        ".github/agents/a.agent.md": "Work.\n",
    },
    "cursor": {".cursor/mcp.json": JSON_SERVERS, ".cursor/agents/a.md": "---\nname: a\n---\nWork.\n"},
    "gemini": {".gemini/settings.json": JSON_SERVERS},
    "mcp": {".mcp.json": JSON_SERVERS},
    "opencode": {"opencode.json": '{"mcp": {"": {"type": "local", "command": ["x"]}}}'},
    "github-actions": {
        ".github/workflows/a.yml": "on: [issues]\njobs:\n  a:\n    steps:\n"
        '      - run: claude -p hi --allowedTools "Edit,mcp__*"\n'
    },
}


@pytest.mark.parametrize("form", CALLED_NOTHING)
def test_a_server_may_be_called_nothing(form: str, tmp_path: Path) -> None:
    for path, text in CALLED_NOTHING[form].items():
        write(tmp_path, path, text.encode())
    answered(form, tmp_path)


@pytest.mark.parametrize("form", FILES)
def test_no_link_is_followed(form: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("---\nname: secret\n---\nagents: {root: {}}\n", encoding="utf-8")
    root = tmp_path / "project"
    for path in FILES[form]:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(secret)
    try:
        read = foreign.read(form, root)
    except LlmdoError:
        return
    assert read.team.agents == ()
    # A link in place of an agent is left out and named; one in place of settings is an error, for these may allow.
    codes = {diagnostic.code for diagnostic in findings.check(read)}
    assert codes
    assert codes <= {"LDO107", "LDO154"}


def test_a_pipe_and_a_folder_in_place_of_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / ".claude" / "agents" / "folder.md").mkdir(parents=True)
    os.mkfifo(tmp_path / ".claude" / "agents" / "pipe.md")
    os.mkfifo(tmp_path / ".mcp.json")
    read = foreign.read("claude", tmp_path)
    assert {(diagnostic.code, diagnostic.at.path) for diagnostic in findings.check(read)} == {
        ("LDO105", ".claude/agents/pipe.md"),
        ("LDO105", ".mcp.json"),
    }


def test_what_git_ignores_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", b"plugins/\n")
    write(tmp_path, "plugins/p/agents/a.md", b"---\nname: a\n---\n")
    write(tmp_path, ".claude/agents/b.md", b"---\nname: b\ndescription: B.\ntools: Read\n---\n")
    assert [agent.name for agent in foreign.read("claude", tmp_path).team.agents if agent.path] == ["b"]


@pytest.mark.parametrize("text", ['{"a": ' + "/* " * 100_000, '{"a": "' + '\\"' * 100_000])
def test_json_whose_comments_or_texts_have_no_end_is_read_in_one_go(text: str) -> None:
    assert reading.json_with_comments(Source("settings.json", text)).data == {}


def test_a_file_with_servers_is_searched_once_for_all_that_nobody_declares(tmp_path: Path) -> None:
    (tmp_path / ".claude/agents").mkdir(parents=True)
    for number in range(150):
        header = f"name: a{number}\ndescription: Works.\ntools: Read, mcp__s{number}__get"
        (tmp_path / f".claude/agents/a{number}.md").write_text(f"---\n{header}\n---\nWork.\n")
    (tmp_path / "tools").mkdir()
    servers = {f"k{number}": {"command": "x", "args": ["y" * 50]} for number in range(200)}
    for number in range(40):
        (tmp_path / f"tools/mcp{number}.json").write_text(json.dumps({"mcpServers": servers}))
    start = time.process_time()
    read = foreign.read("claude", tmp_path)
    assert time.process_time() - start < 5, "not each of 40 files for each of 150 servers"
    assert sum(each.code == "LDO250" for each in read.team.problems) == 150


def test_texts_among_skills_are_looked_up_in_one_go(tmp_path: Path) -> None:
    (tmp_path / ".claude/agents").mkdir(parents=True)
    for number in range(200):
        text = f"---\nname: a{number}\ndescription: Works.\ntools: Read\n---\n{'Count the boats. ' * 800}"
        (tmp_path / f".claude/agents/a{number}.md").write_text(text)
    for number in range(3_000):
        folder = tmp_path / f".claude/skills/d{number % 100}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"x{number}.md").write_text("Count.\n")
    start = time.process_time()
    read = foreign.read("claude", tmp_path)
    assert time.process_time() - start < 5, "not each of 3,000 names in each of 200 texts"
    assert any("3,000 such files" in each.message for each in read.team.problems)


def test_agents_that_all_call_each_other_are_looked_up_once(tmp_path: Path) -> None:
    (tmp_path / ".claude/agents").mkdir(parents=True)
    for number in range(100):
        header = f"name: a{number}\ndescription: Works.\ntools: Read, WebFetch, Bash, Agent"
        (tmp_path / f".claude/agents/a{number}.md").write_text(f"---\n{header}\n---\nWork.\n")
    start = time.process_time()
    read = foreign.read("claude", tmp_path)
    flows = [each for each in findings.check(read) if each.code == "LDO552"]
    assert time.process_time() - start < 8, "not every agent for each tool of each flow"
    assert len(flows) == 100


def test_places_in_a_long_workflow_are_found_without_the_others(tmp_path: Path) -> None:
    job = (
        "    runs-on: ubuntu-latest\n    steps:\n      - uses: anthropics/claude-code-action@v1\n        with:\n"
        "          prompt: Sum up ${{ github.event.issue.body }}\n          claude_args: --allowedTools Bash\n"
    )
    (tmp_path / ".github/workflows").mkdir(parents=True)
    jobs = "".join(f"  j{number}:\n{job}" for number in range(150))
    (tmp_path / ".github/workflows/a.yml").write_text(f"on: [issues]\njobs:\n{jobs}")
    start = time.process_time()
    read = foreign.read("github-actions", tmp_path)
    flows = [each for each in findings.check(read) if each.code == "LDO552"]
    assert time.process_time() - start < 8, "not all places of a file for each of them"
    assert len(flows) == 150
