"""Well-known public servers, from their registries: locked, compared and run as strangers' servers are."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from llmdo.workspace import project
from tests.support.mcp_workspaces import workspace
from tests.toolsets.mcp.test_running import called, locked

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

FILESYSTEM = "@modelcontextprotocol/server-filesystem@2026.8.31"
TIME = "mcp-server-time==2026.10.19"


def installed(words: list[str], folder: Path) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"`{words[0]}` could not install it: {done.stderr.strip()[-200:]}")


@pytest.fixture(scope="module")
def filesystem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of the reference filesystem server."""
    if shutil.which("npm") is None:
        pytest.skip("there is no npm")
    folder = tmp_path_factory.mktemp("npm")
    installed(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", ".", FILESYSTEM], folder)
    return folder / "node_modules/.bin/mcp-server-filesystem"


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of the reference time server."""
    folder = tmp_path_factory.mktemp("pip")
    installed([sys.executable, "-m", "venv", "venv"], folder)
    installed(["venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", TIME], folder)
    return folder / "venv/bin/mcp-server-time"


def root_with(tmp_path: Path, program: Path, *args: str, table: str = "", rules: str = "") -> Path:
    root = workspace(tmp_path, table=table, rules=f'"mcp" = "allowed"\n{rules}')
    words = ", ".join(f'"{word}"' for word in args)
    lines = (root / "llmdo.toml").read_text().splitlines()
    mcp = f'mcp = {{ command = "{program}", args = [{words}] }}'
    (root / "llmdo.toml").write_text(
        "\n".join(mcp if line.startswith("mcp =") else line for line in lines) + "\n"
    )
    return root


def test_the_filesystem_server_reads_and_writes_as_declared(tmp_path: Path, filesystem: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("hello")
    table = 'capabilities = { "read_*" = ["mcp.read"], write_file = ["fs.write:notes/**"] }'
    rules = '"fs.write:notes/**" = "allowed"'
    root = locked(root_with(tmp_path, filesystem, str(notes), table=table, rules=rules))
    tools = project.read(root).graph.toolsets["raw"].tools
    assert {"read_text_file", "write_file", "list_directory"} <= set(tools)
    read = tools["read_text_file"].definition
    assert read is not None
    assert "readOnlyHint: true" in read.hints
    assert [str(capability) for capability in tools["read_text_file"].capabilities] == [
        "data.untrusted",
        "mcp.read",
    ]
    assert "hello" in called(root, "read_text_file", path=str(notes / "a.txt"))
    assert "success" in called(root, "write_file", path=str(notes / "b.txt"), content="bye")
    assert (notes / "b.txt").read_text() == "bye"
    outside = called(root, "read_text_file", path="/etc/passwd")
    assert "failed" in outside
    assert "root:" not in outside


@pytest.mark.needs_bwrap
def test_the_filesystem_server_cannot_write_what_it_does_not_declare(
    tmp_path: Path, filesystem: Path
) -> None:
    table = 'isolation = "require"\ncapabilities = { "*" = ["mcp.read"] }'
    root = locked(root_with(tmp_path, filesystem, str(tmp_path), table=table))
    assert "failed" in called(root, "write_file", path=str(tmp_path / "llmdo.toml"), content="x")
    assert "schema = 1" in (root / "llmdo.toml").read_text()


def test_the_time_server_tells_the_time(tmp_path: Path, clock: Path) -> None:
    root = locked(root_with(tmp_path, clock, "--local-timezone", "UTC"))
    identity = project.read(root).graph.toolsets["raw"].identity
    assert identity is not None
    assert "time" in identity.name
    assert "UTC" in called(root, "get_current_time", timezone="UTC")
    lock = (root / "llmdo.lock").read_text()
    assert "Get current time" in lock
