"""The project in which clients work: files with names of all kinds, a history, settings, agents, a server, a policy."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from bench.benign.wording import TEXT
from bench.clients import servant
from llmdo.features.hook import install
from llmdo.services import locking
from llmdo.workspace import lock, project

if TYPE_CHECKING:
    from pathlib import Path

    from bench.benign.policies import Policy

FILES = (
    "README.md",
    "CHANGES.txt",
    "src/app.py",
    "src/main.js",
    "src/core/model.py",
    "src/core/deep/er/and/deeper/leaf.py",
    "src/with space/a b.py",
    "src/größe/maß.py",
    "src/it's/quote's.py",
    "src/semi;colon/a&b.txt",
    "src/[brackets]/(round) {curly}.txt",
    "src/dollar$HOME/$x.txt",
    "src/-dash/-file.txt",
    "docs/index.md",
    "docs/how to/first steps.md",
    "docs/日本語/概要.md",
    "docs/naïve café.md",
    "docs/api/v1/errors.md",
    'docs/say "hello".md',
    "docs/emoji 🎉.md",
    "docs/old.md",
    "docs/older.md",
    "tests/test_app.py",
    "tests/data/table.csv",
    "tests/data/empty.txt",
    "migrations-old/0001.sql",
    "migrations/0001.sql",
    "private/notes.txt",
    "docs/migrations/guide.md",
    "docs/private/howto.md",
    "assets/logo.png",
    ".editorconfig",
    "scripts/build.sh",
    "logs/2026-11-26.log",
    "data/a.json",
    "data/b.json",
    "data/c%20d.json",
    "data/tab\there.txt",
)
LINKS = {"notes": "docs", "latest.md": "docs/index.md", "src/docs": "../docs", "docs/up.md": "../README.md"}
SESSIONS = {"codex": "codex", "gemini": "main-session", "opencode": "build"}
TEST = """\
import unittest

class Sums(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(1 + 1, 2)
"""


def write(root: Path, client: str, policy: Policy) -> None:
    """Writes the project of a client under a policy, with a lock."""
    for path in FILES:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(TEXT, encoding="utf-8")
    (root / "tests/test_sums.py").write_text(TEST)
    (root / "Makefile").write_text("test:\n\tpython3 -m unittest -q tests.test_sums\n\nlint:\n\t@echo fine\n")
    (root / "package.json").write_text(
        '{"name": "shop", "scripts": {"test": "echo tested", "lint": "echo fine"}}\n'
    )
    for path, target in LINKS.items():
        (root / path).symlink_to(target)
    {"codex": _codex, "gemini": _gemini, "opencode": _opencode}[client](root, policy)
    head = f'schema = 1\n\n[workspace]\nname = "shop"\nfrom = ["{client}"]\n\n'
    (root / "llmdo.toml").write_text(
        head + policy.manifest.replace("SESSION", SESSIONS[client]), encoding="utf-8"
    )
    install.write(root, install.change_for(root, client))
    lock.write(root, locking.derive(project.read(root)))
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "begin"]):
        subprocess.run([*git, *words], cwd=root, check=True)


def _codex(root: Path, policy: Policy) -> None:
    own = root / ".codex"
    (own / "agents").mkdir(parents=True)
    lines = ['sandbox_mode = "workspace-write"', 'approval_policy = "never"']
    lines += [
        f"[mcp_servers.servant]\ncommand = {json.dumps(servant.COMMAND)}\nargs = {json.dumps(servant.ARGS)}"
    ]
    lines += ['default_tools_approval_mode = "approve"']
    (own / "config.toml").write_text("\n".join([*lines, ""]))
    for agent in policy.agents:
        text = f'name = "{agent}"\ndescription = "Works."\ndeveloper_instructions = "Work."\n'
        (own / f"agents/{agent}.toml").write_text(text)
    if policy.listed:
        (own / "rules").mkdir()
        rules = [
            f'prefix_rule(pattern={json.dumps(each.split())}, decision="allow")' for each in policy.listed
        ]
        (own / "rules/project.rules").write_text("\n".join([*rules, ""]))


def _gemini(root: Path, policy: Policy) -> None:
    own = root / ".gemini"
    (own / "agents").mkdir(parents=True)
    allowed = [f"run_shell_command({each})" for each in policy.listed]
    settings = {
        # Or else it asks the model every few turns whether that repeats itself, and waits for another answer.
        "model": {"disableLoopDetection": True},
        "mcpServers": {"servant": {"command": servant.COMMAND, "args": servant.ARGS, "trust": True}},
        **({"tools": {"allowed": allowed}} if allowed else {}),
    }
    (own / "settings.json").write_text(json.dumps(settings, indent=1))
    for agent in policy.agents:
        (own / f"agents/{agent}.md").write_text(f"---\nname: {agent}\ndescription: Works.\n---\nWork.\n")


def _opencode(root: Path, policy: Policy) -> None:
    own = root / ".opencode/agent"
    own.mkdir(parents=True)
    bash = {"*": "ask", **{f"{each}*": "allow" for each in policy.listed}} if policy.listed else "allow"
    settings = {
        "permission": {"bash": bash},
        "mcp": {"servant": {"type": "local", "command": [servant.COMMAND, *servant.ARGS], "enabled": True}},
    }
    (root / "opencode.json").write_text(json.dumps(settings, indent=1))
    for agent in policy.agents:
        (own / f"{agent}.md").write_text("---\ndescription: Works.\nmode: subagent\n---\nWork.\n")
