"""`llmdo hook doctor` says of a client what its hooks do, by starting it: here a stand-in for Codex of a few lines."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import llmdo
from llmdo.features.hook import install
from llmdo.features.hook.doctor import symptoms
from tests.features.hook.sessions import relock, write

pytestmark = pytest.mark.long

CLIENT = """\
#!{python}
import json, os, subprocess, sys, tomllib, urllib.request
IN_AGENTS, ANY = {in_agents}, {at_all}
home, here = os.environ["HOME"], os.getcwd()
with open(home + "/.codex/config.toml", "rb") as file:
    address = tomllib.load(file)["model_providers"]["scripted"]["base_url"]
with open(".codex/hooks.json") as file:
    hooks = json.load(file)["hooks"]
tools = [{{"type": "function", "name": name}} for name in ("exec_command", "spawn_agent", "wait_agent")]

def fire(event, **more):
    data = {{"session_id": "s1", "cwd": here, "hook_event_name": event, **more}}
    for group in hooks[event]:
        for each in group["hooks"]:
            done = subprocess.run(each["command"], shell=True, input=json.dumps(data), capture_output=True, text=True)
            if done.returncode == 2:
                return done.stderr
            if done.returncode == 0 and done.stdout:
                return json.loads(done.stdout)["hookSpecificOutput"]["permissionDecisionReason"]

def work(prompt, **who):
    sent = [{{"role": "user", "content": [{{"type": "input_text", "text": prompt}}]}}]
    while True:
        body = json.dumps({{"input": sent, "tools": tools}}).encode()
        with urllib.request.urlopen(urllib.request.Request(address + "/responses", body)) as answer:
            events = [json.loads(line[6:]) for line in answer.read().decode().splitlines() if line.startswith("data: ")]
        calls = [each["item"] for each in events if each.get("item", {{}}).get("type") == "function_call"]
        if not calls:
            return
        for call in calls:
            given = json.loads(call["arguments"])
            name = {{"exec_command": "Bash"}}.get(call["name"], call["name"])
            asked = {{"command": given["cmd"]}} if "cmd" in given else given
            fires = ANY and (IN_AGENTS or not who) and name != "wait_agent"
            output = fire("PreToolUse", tool_name=name, tool_input=asked, **who) if fires else None
            if output is None and name == "spawn_agent":
                work(given["message"], agent_id="a1", agent_type=given["agent_type"])
                output = json.dumps({{"agent_id": "a1"}})
            sent.append({{"type": "function_call_output", "call_id": call["call_id"], "output": output or "x"}})

fire("SessionStart", source="startup")
work(sys.argv[-1])
"""


def doctor(folder: Path, *, in_agents: bool = True, at_all: bool = True) -> list[tuple[bool | None, str]]:
    """What is said of a client whose hooks fire in agents, or at all."""
    root = folder / "shop"
    write(root)
    (root / ".codex").mkdir()
    (root / ".codex/config.toml").write_text('sandbox_mode = "read-only"\n')
    (root / "llmdo.toml").write_text('schema = 1\n\n[workspace]\nname = "shop"\nfrom = ["codex"]\n')
    install.write(root, install.change_for(root, "codex"))
    relock(root)
    programs = folder / "bin"
    programs.mkdir()
    own = Path(llmdo.__file__).parents[1]
    (programs / "llmdo").write_text(
        f'#!/bin/sh\nPYTHONPATH="{own}" exec "{sys.executable}" -P -m llmdo "$@"\n'
    )
    (programs / "codex").write_text(CLIENT.format(python=sys.executable, in_agents=in_agents, at_all=at_all))
    for name in ("llmdo", "codex"):
        (programs / name).chmod(0o755)
    environ = {"HOME": str(folder), "PATH": f"{programs}{os.pathsep}/usr/bin:/bin"}
    return [(each.is_fine, each.text) for each in symptoms(root, "codex", environ)]


def test_a_client_that_calls_its_hooks_is_well(tmp_path: Path) -> None:
    stated = doctor(tmp_path)
    assert [text for is_fine, text in stated if is_fine is False] == []
    assert (True, "an agent that it starts: hooks fire") in stated
    assert (True, "a hook that is killed stops the call") in stated


def test_a_client_that_forgets_its_agents_is_not(tmp_path: Path) -> None:
    wrong = [text for is_fine, text in doctor(tmp_path, in_agents=False) if is_fine is False]
    assert wrong == [
        "an agent that it starts: hooks do not fire",
        "an agent that it starts: a call that is denied goes on",
    ]


def test_a_client_that_calls_no_hooks_is_not(tmp_path: Path) -> None:
    wrong = [text for is_fine, text in doctor(tmp_path, at_all=False) if is_fine is False]
    assert "the session: hooks do not fire" in wrong
    assert "a hook that is killed lets the call through" in wrong


def test_without_hooks_or_a_program_nothing_is_started(tmp_path: Path) -> None:
    root = write(tmp_path / "shop", triage="")
    every = [*symptoms(root, "claude", {"HOME": str(tmp_path), "PATH": "/nowhere"})]
    wrong = [each.text for each in every if each.is_fine is False]
    assert len(wrong) == 2
    assert "llmdo hook install claude" in wrong[0]
