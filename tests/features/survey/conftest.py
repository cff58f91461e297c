"""Clones of public repositories as a list names them, among them hostile ones."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

AGENT = "---\nname: {name}\ndescription: Does it.\ntools: Read, WebFetch, Bash\n---\nDo it.\n"
MARKUP = "<img src=x onerror=alert(1)>"
SHELL = "`]<script>alert(1)</script>\u202e"
NO_COMMIT = "0123456789" * 4


def clone(folder: Path, files: dict[str, str]) -> str:
    """A repository with these files; its commit, the same for everybody."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    day = "2026-01-01T00:00:00Z"
    who = {
        f"GIT_{role}_{part}": day if part == "DATE" else "a@example"
        for role in ("AUTHOR", "COMMITTER")
        for part in ("NAME", "EMAIL", "DATE")
    }
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "m", "--allow-empty"]):
        subprocess.run(["git", *words], cwd=folder, check=True, env={**who, "PATH": "/usr/bin:/bin"})
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@dataclass(frozen=True)
class Listed:
    """A list, and the folder that its clones are relative to."""

    folder: Path
    list: Path
    commits: dict[str, str]


def listed(folder: Path) -> Listed:
    """The list of one plain project and of all kinds of others."""
    agents = ".claude/agents"
    projects = {
        "acme/plain": {f"{agents}/triage.md": AGENT.format(name="triage"), ".claude/settings.json": "{}"},
        "acme/asks": {".cursor/mcp.json": '{"mcpServers": {"a": {"command": "npx", "args": ["x"]}}}'},
        "evil/markup": {
            f"{agents}/{MARKUP.replace('/', '')}.md": AGENT.format(name=f'"{MARKUP}"'),
            f"{agents}/b.md": f"---\nname: x\ndescription: d\ntools: '{SHELL}'\n---\n",
            ".claude/settings.json": '{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "</code><script>x</script>\u202e"}]}]}}',
        },
        "evil/yaml": {
            f"{agents}/bomb.md": "---\na: &a [x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(99)) + "---\n",
            ".github/workflows/a.yml": "on: [issues\njobs: {{{{",
            f"{agents}/deep.md": f"---\nname: {'[' * 5_000}\n---\n",
        },
        "evil/huge": {f"{agents}/huge.md": AGENT.format(name="huge") + "x" * 2_000_000},
        "acme/empty": {"README.md": "Nothing here.\n"},
    }  # fmt: skip
    commits = {}
    for name, files in projects.items():
        (folder / name).mkdir(parents=True)
        commits[name] = clone(folder / name, files)
    (folder / "acme/folder").mkdir()
    lines = [f"{name}@{commit}" for name, commit in commits.items()]
    lines += [
        f"acme/nowhere@{NO_COMMIT} no/such folder",
        f"acme/plain@{NO_COMMIT}",
        f"acme/folder@{NO_COMMIT}",
    ]
    path = folder / "list.txt"
    path.write_text("# of a test\n\n" + "\n".join(reversed(lines)) + "\n", encoding="utf-8")
    return Listed(folder, path, commits)


@pytest.fixture(scope="session")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Listed:
    """The list, made once: reading changes nothing."""
    return listed(tmp_path_factory.mktemp("clones"))
