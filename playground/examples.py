"""The examples of the playground: workspaces of `examples/`, and small projects of other tools in `projects/`."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]

WORKSPACES = {
    "pitchdeck": ("A team that writes pitch decks", "A workspace: reading, writing, and who is asked."),
    "confused_deputy": ("A confused deputy", "What one worker may not do, another does for it."),
    "sealed_inbox": (
        "An inbox of strangers",
        "A workspace with flow rules: what may follow a stranger's words.",
    ),
}
PROJECTS = {
    "triage": ("An issue bot in a workflow", "GitHub Actions: anybody's issue starts an agent with a token."),
    "agents": ("Two agents of Claude Code", "One has no shell, and may call one that has."),
    "servers": ("An assistant with servers", "MCP servers, a mailbox and the web in one agent of opencode."),
}
_TEXTS = {".toml", ".worker", ".md", ".py", ".json", ".yml", ".yaml", ".lock", ".txt"}
_MOST = 64 * 1024  # bytes of a file


def examples() -> dict[str, object]:
    """Each example with its title, a sentence and its files."""
    chosen = [(name, ROOT / "examples" / name, words) for name, words in WORKSPACES.items()]
    chosen += [(name, Path(__file__).parent / "projects" / name, words) for name, words in PROJECTS.items()]
    return {
        name: {"title": title, "about": about, "files": _texts(folder)}
        for name, folder, (title, about) in chosen
    }


def _texts(folder: Path) -> dict[str, str]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix in _TEXTS)
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in paths
        if path.stat().st_size <= _MOST and "__pycache__" not in path.parts and ".llmdo" not in path.parts
    }
