"""Runs with MCP servers that are an address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.workspace import project
from tests.support.mcp_http_server import Remote, remote
from tests.support.mcp_workspaces import workspace
from tests.toolsets.mcp.test_running import called, go, locked


@pytest.fixture(scope="module")
def server() -> Iterator[Remote]:
    with remote() as running:
        yield running


@pytest.fixture
def root(tmp_path: Path, server: Remote, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REMOTE_TOKEN", "s3cret")
    root = workspace(tmp_path, rules='"mcp" = "allowed"\n"net" = "allowed"')
    text = (root / "llmdo.toml").read_text().splitlines()
    mcp = f'mcp = {{ url = "{server.url}", headers = {{ X-Team = "a" }}, auth = "${{REMOTE_TOKEN}}" }}'
    lines = [mcp if line.startswith("mcp =") else line for line in text]
    (root / "llmdo.toml").write_text("\n".join(lines) + "\n")
    return locked(root)


def test_a_remote_server_is_locked_and_called_with_what_was_declared(root: Path, server: Remote) -> None:
    toolset = project.read(root).graph.toolsets["raw"]
    assert list(toolset.tools) == ["broken", "elsewhere", "hello", "huge"]
    assert [str(capability) for capability in toolset.tools["hello"].capabilities] == [
        "data.untrusted",
        "mcp.call",
        "net.connect",
    ]
    assert called(root, "hello") == "[success: hello]"
    assert {headers.get("authorization") for headers in server.headers} == {"Bearer s3cret"}
    assert {headers.get("x-team") for headers in server.headers} == {"a"}
    assert "s3cret" not in (root / "llmdo.lock").read_text()


def test_a_redirect_to_another_server_is_not_followed(root: Path, server: Remote) -> None:
    result = called(root, "elsewhere")
    assert result.startswith("[failed: ")
    assert server.elsewhere == []


def test_an_answer_without_end_is_cut_off(root: Path) -> None:
    assert "is dead: it sent an answer of more than 16,777,216 bytes" in called(root, "huge")


def test_an_error_of_the_server_is_reported(root: Path) -> None:
    outcome = go(root, [("broken", {})], "{results}")
    assert outcome.status == "completed"
    assert (outcome.output or "").startswith("[failed: ")


def test_an_address_where_nobody_is_cannot_be_locked(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    text = (root / "llmdo.toml").read_text().splitlines()
    lines = [
        'mcp = { url = "http://127.0.0.1:1/mcp" }' if line.startswith("mcp =") else line for line in text
    ]
    (root / "llmdo.toml").write_text("\n".join(lines) + "\n")
    with pytest.raises(LlmdoError, match="the MCP server `raw` is dead"):
        locked(root)
