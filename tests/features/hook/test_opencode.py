"""Events of opencode, as the plugin writes them, and the plugin itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from llmdo.features.hook import install
from tests.features.hook.sessions import Session, relock

MANIFEST = """\
schema = 1

[workspace]
name = "shop"
from = ["opencode"]

[approvals.rules]
"fs.write:docs/**" = "needs_approval"
"fs.write:secret/**" = "blocked"

[workers.reader]
may = ["fs.read", "fs.list", "net"]

[flows]
"data.untrusted -> fs.write" = "blocked"
"""
SETTINGS = {
    "permission": {"bash": {"*": "deny", "echo *": "allow"}, "webfetch": "ask"},
    "mcp": {"github": {"type": "local", "command": ["github-mcp-server"]}},
}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    root = tmp_path / "shop"
    (root / ".opencode/agent").mkdir(parents=True)
    (root / "opencode.json").write_text(json.dumps(SETTINGS))
    for name in ("reader", "fixer"):
        (root / f".opencode/agent/{name}.md").write_text(
            "---\ndescription: Does.\nmode: subagent\n---\nDo it.\n"
        )
    (root / "llmdo.toml").write_text(MANIFEST)
    relock(root)
    session = Session(
        root, tmp_path, client="opencode", before="tool.execute.before", begins="chat.message", main="build"
    )
    session.start()
    return session


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("git status", "allowed"),
        ("git status --short -- 'a b.txt'", "allowed"),
        ("git statusx", "blocked"),
        ("git push", "blocked"),
        ("git status && rm a.txt", "blocked"),
    ],
)
def test_a_command_that_settings_allow_by_its_beginning_is_listed(
    session: Session, command: str, decision: str
) -> None:
    settings = {**SETTINGS, "permission": {"bash": {"*": "ask", "git status*": "allow"}}}
    (session.root / "opencode.json").write_text(json.dumps(settings))
    with (session.root / "llmdo.toml").open("a") as manifest:
        manifest.write('[workers.build]\nmay = ["fs.read", "proc.exec"]\n')
    relock(session.root)
    assert session.call("bash", command=command) == decision


@pytest.mark.parametrize(
    ("tool", "arguments", "decision"),
    [
        ("read", {"filePath": "a.txt"}, "allowed"),
        ("write", {"filePath": "a.txt", "content": "x"}, "allowed"),
        ("edit", {"filePath": "docs/a.txt"}, "needs_approval"),
        ("edit", {"filePath": "secret/a.txt"}, "blocked"),
        ("apply_patch", {"patchText": "*** Add File: a.txt\n+x\n"}, "allowed"),
        ("apply_patch", {"patchText": "*** Add File: a.txt\n+x\n*** Delete File: secret/a\n"}, "blocked"),
        ("apply_patch", {"patchText": "*** Add File: a.txt\n+x\n  *** Delete File: secret/a\n"}, "blocked"),
        ("apply_patch", {"patchText": "nonsense"}, "blocked"),
        ("glob", {"pattern": "*"}, "allowed"),
        ("grep", {"pattern": "x", "path": "docs"}, "allowed"),
        ("webfetch", {"url": "https://example.com/"}, "needs_approval"),
        ("task", {"subagent_type": "reader", "prompt": "x"}, "allowed"),
        ("task", {"subagent_type": "nobody", "prompt": "x"}, "blocked"),
        ("todowrite", {"todos": []}, "allowed"),
        ("invalid", {}, "allowed"),
        ("github_get_issue", {}, "allowed"),
        ("gitlab_get_issue", {}, "blocked"),
        ("read_mcp_resource", {"server": "github", "uri": "x"}, "allowed"),
        ("list_mcp_resources", {}, "blocked"),
        ("batch", {"tool_calls": []}, "blocked"),  # whose calls reach no plugin
    ],
)
def test_a_call_of_the_session(
    session: Session, tool: str, arguments: dict[str, object], decision: str
) -> None:
    assert session.call(tool, **arguments) == decision


@pytest.mark.parametrize("rest", ["ask", "deny"])
def test_commands_that_its_own_rules_judge_one_by_one_are_left_to_it(session: Session, rest: str) -> None:
    settings = {**SETTINGS, "permission": {"bash": {"*": rest, "echo x": "allow"}}}
    (session.root / "opencode.json").write_text(json.dumps(settings))
    relock(session.root)
    assert session.answer(session.calling("bash", command="echo x && echo y")).is_left
    assert session.printed(session.calling("bash", command="echo x && echo y")) == (0, "")


def test_commands_under_a_rule_that_lets_any_by_are_judged_by_opencode_alone(session: Session) -> None:
    assert session.answer(session.calling("bash", command="echo x")).decision == "allowed"
    assert session.printed(session.calling("bash", command="echo x && echo y")) == (0, "")


def test_an_agent_is_under_its_ceiling(session: Session) -> None:
    assert session.call("read", "reader", filePath="a.txt") == "blocked"  # nobody started it
    session.call("task", subagent_type="reader", prompt="x")
    assert session.call("read", "reader", filePath="a.txt") == "allowed"
    assert session.call("write", "reader", filePath="a.txt") == "blocked"
    assert session.call("bash", "reader", command="echo x") == "blocked"
    assert session.call("write", filePath="a.txt") == "allowed"


def test_a_session_goes_on_as_the_agent_that_a_person_chooses(session: Session) -> None:
    assert session.call("write", filePath="a.txt") == "allowed"
    session.main = "plan"
    assert session.call("write", filePath="a.txt") == "blocked"
    session.main = "build"
    assert session.call("write", filePath="a.txt") == "allowed"


def test_an_agent_that_is_given_more_words_knows_what_the_session_read(session: Session) -> None:
    session.call("task", subagent_type="fixer", prompt="x")
    assert session.call("write", "fixer", filePath="a.txt") == "allowed"
    session.call("webfetch", url="https://example.com/")
    assert session.call("write", "fixer", filePath="a.txt") == "allowed"
    session.call("task", subagent_type="fixer", prompt="x", task_id="fixer-1")
    assert session.call("write", "fixer", filePath="a.txt") == "blocked"


def test_a_search_in_a_folder_with_a_secret_counts_as_a_read_of_it(session: Session) -> None:
    assert session.call("grep", pattern="x") == "allowed"
    (session.root / "src").mkdir()
    (session.root / "src/.env").write_text("KEY=x\n")
    read = session.call("read", filePath="src/.env")
    assert read != "allowed"
    assert session.call("grep", pattern="x") == read
    assert session.call("grep", pattern="x", path="src") == read
    assert session.call("grep", pattern="x", path=".opencode") == "allowed"
    assert session.call("grep", pattern="x", include="*.py") == "allowed"
    assert session.call("glob", pattern="*") == "allowed"
    assert session.call("list") == "allowed"


def test_a_tool_in_code_is_judged_as_one_also_where_it_has_the_name_of_another(session: Session) -> None:
    code = "export default { description: 'x', args: {}, execute: async () => 'x' }\n"
    assert session.call("deploy", to="x") == "blocked"
    assert session.call("read", filePath="a.txt") == "allowed"
    (session.root / ".opencode/tool").mkdir()
    for name in ("deploy", "read"):
        (session.root / f".opencode/tool/{name}.ts").write_text(code)
    with (session.root / "llmdo.toml").open("a") as manifest:
        manifest.write('\n[workers.build]\napprovals = { "x.read.any" = "blocked" }\n')
    relock(session.root)
    assert session.call("deploy", to="x") == "allowed"
    assert session.call("deploy_all", to="x") == "blocked"
    assert session.call("read", filePath="a.txt") == "blocked"


PLAYER = """\
import { Llmdo } from "./plugin.mjs"
const sessions = { s1: {}, s2: { parentID: "s1" } }
const client = { session: {
  get: async ({ path }) => ({ data: sessions[path.id] }),
  messages: async () => ({ data: [] }),
} }
const hooks = await Llmdo({ client, directory: process.argv[2] })
for (const [kind, sessionID, ...more] of JSON.parse(process.argv[3])) {
  try {
    if (kind === "message") await hooks["chat.message"]({ sessionID }, { message: { agent: more[0] } })
    else await hooks["tool.execute.before"]({ tool: kind, sessionID }, { args: more[0] })
    console.log("allowed")
  } catch (error) {
    console.log(error.message)
  }
}
"""


def played(session: Session, folder: Path, script: str | None, *steps: tuple[object, ...]) -> list[str]:
    """What the plugin makes of messages and calls, with a program in the place of llmdo or none."""
    text = install.change_for(session.root, "opencode").after
    (folder / "plugin.mjs").write_text(text.replace("60000", "2000"))
    (folder / "player.mjs").write_text(PLAYER)
    if script is not None:
        (folder / "bin").mkdir()
        (folder / "bin/llmdo").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "bin/llmdo").chmod(0o755)
    node = shutil.which("node") or ""
    done = subprocess.run(
        [node, str(folder / "player.mjs"), str(session.root), json.dumps(steps)],
        env={**session.environ, "PATH": f"{folder / 'bin'}{os.pathsep}/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not there")


@needs_node
def test_the_plugin_says_who_calls_and_throws_to_deny(session: Session, tmp_path: Path) -> None:
    own = Path(install.__file__).parents[3]
    script = f'PYTHONPATH="{own}" exec "{sys.executable}" -P -m llmdo "$@"'
    first, read, write, start, second, inside, deeper = played(
        session,
        tmp_path,
        script,
        ("message", "s1", "build"),
        ("read", "s1", {"filePath": "a.txt"}),
        ("write", "s1", {"filePath": "secret/a.txt"}),
        ("task", "s1", {"subagent_type": "reader"}),
        ("message", "s2", "reader"),
        ("read", "s2", {"filePath": "a.txt"}),
        ("write", "s2", {"filePath": "a.txt"}),
    )
    assert [first, read, start, second, inside] == ["allowed"] * 5
    assert write.startswith("denied by llmdo: ")
    assert "(path: build/reader/write)" in deeper


PROGRAMS = {
    "no such program": None,
    "a crash": "exit 1",
    "nonsense": "echo nonsense",
    "JSON without a reason": "echo '{}'",
    "kill -9": "kill -9 $$",
    "an exit code of its own": "exit 77",
    "a long wait": "sleep 60",
}


@needs_node
@pytest.mark.parametrize("script", PROGRAMS.values(), ids=PROGRAMS)
def test_the_plugin_denies_whatever_else_comes(session: Session, tmp_path: Path, script: str | None) -> None:
    steps = (("message", "s1", "build"), ("read", "s1", {"filePath": "a.txt"}))
    message, call = played(session, tmp_path, script, *steps)
    assert message == "allowed"  # a person may speak; the call is what is denied
    assert call.startswith("denied: llmdo ")


@needs_node
def test_the_plugin_denies_a_session_that_the_client_does_not_know(session: Session, tmp_path: Path) -> None:
    [call] = played(session, tmp_path, "exit 0", ("read", "s9", {"filePath": "a.txt"}))
    assert "does not find the session" in call
