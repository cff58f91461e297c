"""Workspaces with an MCP server of ours."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

SERVER = Path(__file__).with_name("mcp_server.py")


def with_installed(folder: Path) -> tuple[Path, Path]:
    """A workspace whose server is a file outside of it, as an installed one is, and that file."""
    server = folder / "installed.py"
    shutil.copy(SERVER, server)
    root = workspace(folder / "w", table='isolation = "off"')  # else it would not see the file
    manifest = (root / "llmdo.toml").read_text()
    (root / "llmdo.toml").write_text(manifest.replace('"server.py"', f'"{server}"'))
    (root / "server.py").unlink()
    return root, server


def workspace(root: Path, *says: str, table: str = "", rules: str = '"mcp" = "allowed"') -> Path:
    """A workspace whose worker `main` has the server `raw`, started with the words `says`."""
    root.mkdir(exist_ok=True)
    shutil.copy(SERVER, root / "server.py")
    words = ", ".join(f'"{word}"' for word in ("-S", "server.py", *says))
    (root / "llmdo.toml").write_text(
        f'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\nmodel = "python:models.py:main"\n'
        f'[toolsets.raw]\nmcp = {{ command = "{sys.executable}", args = [{words}] }}\n{table}\n'
        f"[approvals.rules]\n{rules}\n"
    )
    (root / "main.worker").write_text("---\nname: main\nentry: true\ntoolsets: [raw]\n---\nGo.\n")
    if not (root / "models.py").exists():
        (root / "models.py").write_text("main = None\n")
    return root
