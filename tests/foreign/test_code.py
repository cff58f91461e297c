"""Modules that opencode loads: rows, changes, lines of the lock, and tools that agents call; its own plugin is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from llmdo.features.hook.clients import opencode
from llmdo.features.hook.install import command_for
from llmdo.foreign import findings
from llmdo.foreign.events import is_own_plugin
from llmdo.workspace import project
from tests.foreign.test_diff import compared
from tests.foreign.test_events import rows, written
from tests.support import commands

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.foreign import Foreign

PLUGIN = "export const P = async () => ({})\n"
TOOL = "export default { description: 'x', args: {}, execute: async () => 'x' }\n"
OWN = opencode.own_file(command_for("opencode"), 60)


def settings(**more: Any) -> dict[str, str]:
    return {"opencode.json": json.dumps({"permission": {"*": "deny", "read": "allow"}, **more})}


def at(path: str, text: str = PLUGIN) -> dict[str, str]:
    return {**settings(), path: text}


def events(read: Foreign) -> set[str]:
    return {event.toolset for agent in read.team.agents for event in agent.events}


CHANGES = {
    "a plugin": (settings(), at(".opencode/plugin/a.js"), "widened"),
    "in the other folder": (settings(), at(".opencode/plugins/a.ts"), "widened"),
    "a hidden one": (settings(), at(".opencode/plugin/.a.js"), "widened"),
    "a package": (settings(), settings(plugin=["a"]), "widened"),
    "with options": (settings(), settings(plugin=[["a", {}]]), "widened"),
    "by its later name": (settings(), settings(plugins=[{"package": "a"}]), "widened"),
    "another version": (settings(plugin=["a@1.0.0"]), settings(plugin=["a@1.0.1"]), "changed"),
    "another text": (at(".opencode/plugin/a.js"), at(".opencode/plugin/a.js", PLUGIN + "//"), "changed"),
    "one that connects now": (
        at(".opencode/plugin/a.js"),
        at(".opencode/plugin/a.js", PLUGIN + 'fetch("https://x.example.com")'),
        "widened",
    ),
    "one less": (at(".opencode/plugin/a.js"), settings(), "narrowed"),
    "by folder and by settings": (
        at(".opencode/plugin/a.js"),
        {**settings(plugin=["./.opencode/plugin/a.js"]), ".opencode/plugin/a.js": PLUGIN},
        "same",
    ),
    "no module": (settings(), at(".opencode/plugin/a.mjs"), "same"),
    "further down": (settings(), at(".opencode/plugin/lib/a.js"), "same"),
    "a tool": (settings(), at(".opencode/tool/a.ts", TOOL), "widened"),
    "a formatter": (settings(), settings(formatter={"a": {"command": ["a"]}}), "widened"),
    "one that is off": (settings(), settings(formatter={"a": {"command": ["a"], "disabled": True}}), "same"),
    "a language server": (settings(), settings(lsp={"a": {"command": ["a"]}}), "widened"),
    "a provider of its own": (settings(), settings(provider={"a": {"npm": "a"}}), "widened"),
    "one that opencode has": (settings(), settings(provider={"a": {"npm": "@ai-sdk/openai"}}), "same"),
    "another address": (
        settings(),
        settings(provider={"a": {"options": {"baseURL": "https://x.example.com"}}}),
        "widened",
    ),
    "the plugin of llmdo": (settings(), at(".opencode/plugin/llmdo.js", OWN), "same"),
    "a changed one": (settings(), at(".opencode/plugin/llmdo.js", OWN + "\n"), "widened"),
}


@pytest.mark.few(8)
@pytest.mark.parametrize(("before", "after", "verdict"), CHANGES.values(), ids=CHANGES)
def test_a_change_of_what_opencode_loads_is_judged(
    before: dict[str, str], after: dict[str, str], verdict: str, tmp_path: Path
) -> None:
    assert compared(tmp_path, "opencode", before, after).difference.verdict == verdict


@pytest.mark.parametrize("locked", [False, True])
def test_the_plugin_that_llmdo_writes_is_known_to_the_letter(locked: bool) -> None:
    text = opencode.own_file(command_for("opencode", locked=locked), 60)
    assert is_own_plugin(text)
    assert not is_own_plugin(text.replace("llmdo hook opencode", "true; llmdo hook opencode"))
    assert not is_own_plugin(text.replace("return resolve()", "return reject()"))
    assert not is_own_plugin(f'{text}const command = "x"\n')
    assert not is_own_plugin("")


def test_a_project_with_a_plugin_alone_has_a_session(tmp_path: Path) -> None:
    read = written(tmp_path, {".opencode/plugin/a.js": PLUGIN}, "opencode")
    assert {"build", "plan"} <= read.graph.entries.keys()
    assert events(read) == {"plugin a"}
    alone = written(tmp_path / "own", {".opencode/plugin/llmdo.js": OWN, ".opencode/agent/a.md": "---\n---\nDo.\n"}, "opencode")  # fmt: skip
    assert "build" not in alone.graph.entries
    assert events(alone) == set()


def test_an_agent_that_only_others_call_runs_nothing_itself(tmp_path: Path) -> None:
    agent = "---\ndescription: Does.\nmode: {}\n---\nDo.\n"
    files = {f".opencode/agent/{mode}.md": agent.format(mode) for mode in ("primary", "subagent", "all")}
    read = written(tmp_path, {**files, ".opencode/plugin/a.js": PLUGIN}, "opencode")
    running = {agent.name for agent in read.team.agents if agent.events}
    assert running == {"all", "build", "plan", "primary"}


def test_a_rule_takes_a_tool_in_code_away_and_none_asks_about_it(tmp_path: Path) -> None:
    for number, (rule, is_there, is_noted) in enumerate(
        (
            ({"deploy": "deny"}, False, False),
            ({"dep*": "deny"}, False, False),
            ({"deploy": "ask"}, True, True),
            ({"deploy": "allow"}, True, False),
            ({"deploy": {"x": "deny"}}, True, False),
            ({"deploy": "deny", "*": "ask"}, True, False),
            ({"deploy": {"*": "deny", "x": "allow"}}, True, False),
        )
    ):
        files = {"opencode.json": json.dumps({"permission": rule}), ".opencode/tool/deploy.ts": TOOL}
        read = written(tmp_path / str(number), files, "opencode")
        assert ("x.deploy.any" in rows(read, "build")) is is_there, rule
        assert any(each.code == "LDO151" for each in findings.check(read)) is is_noted, rule
        assert "tool deploy" in events(read)  # it is loaded all the same


def test_what_is_loaded_is_in_the_lock_of_an_adopted_project(tmp_path: Path) -> None:
    manifest = 'schema = 1\n[workspace]\nname = "shop"\nfrom = ["opencode"]\n'
    files = {**at(".opencode/plugin/a.js"), ".opencode/tool/deploy.ts": TOOL, "llmdo.toml": manifest}
    written(tmp_path, files, "opencode")
    assert commands.llmdo(tmp_path, "lock").returncode == 0
    text = (tmp_path / "llmdo.lock").read_text(encoding="utf-8")
    assert "plugin a" in text
    assert "tool deploy" in text
    assert ".opencode/plugin/a.js" in project.read(tmp_path).graph.adopted
    (tmp_path / ".opencode/plugin/a.js").write_text(PLUGIN + "//\n", encoding="utf-8")
    assert commands.llmdo(tmp_path, "lock", "--check").returncode == 1
