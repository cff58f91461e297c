"""A workspace that real editors open, and the settings of them that the docs give."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs" / "editor.md"

FILES = {
    "llmdo.toml": (
        'schema = 1\n\n[workspace]\nname = "w"\nworkers = ["*.worker", "*.worker.md"]\n'
        'toolset-modules = ["kit.py"]\nmodel = "openai:gpt-5"\n'
    ),
    "main.worker": "---\nname: main\ntoolsets:\n  other: {}\n  kit: {}\n  notes: {}\nentry: true\n---\nGo on.\n",
    "other.worker": "---\nname: other\ntoolsets: [kit]\n---\nGo.\n",
    "notes.worker.md": "---\nname: notes\n---\nGo.\n",
    "kit.py": (
        "from pydantic_ai.toolsets import FunctionToolset\n\nkit = FunctionToolset()\n\n\n"
        '@kit.tool_plain(metadata={"capabilities": ["x.kit.read"]})\ndef look(name: str) -> str:\n    return name\n'
    ),
}


def bait(root: Path) -> None:
    """Writes into the workspace what would make a file `executed` if anything of it ran."""
    evil = f"import pathlib\npathlib.Path({str(root / 'executed')!r}).touch()\n"
    (root / "kit.py").write_text(evil + FILES["kit.py"], encoding="utf-8")
    for name in (
        "sitecustomize.py",
        "usercustomize.py",
        "llmdo.py",
        "pygls.py",
        "pydantic_ai.py",
        "typing.py",
    ):
        (root / name).write_text(evil, encoding="utf-8")


def settings(language: str) -> str:
    """The settings that the docs give, by the language in which they are written."""
    (block,) = re.findall(
        rf"^```{language}\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    return str(block)
