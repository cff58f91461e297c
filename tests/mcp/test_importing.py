"""`llmdo add mcp` and `llmdo import mcp`: what is written, and what is not."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from llmdo import checks, project
from llmdo.diagnostic import LlmdoError
from llmdo.scaffold import add_server, import_servers

START = 'schema = 1\n\n[workspace]\nname = "w"\n\n# kept\n[toolsets.old]\nmcp = { command = "old" }\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "llmdo.toml").write_text(START)
    return tmp_path


def toolsets(root: Path) -> dict[str, dict[str, object]]:
    return tomllib.loads((root / "llmdo.toml").read_text())["toolsets"]


def test_a_command_becomes_a_server(root: Path) -> None:
    change = add_server(root, "notes", command=["npx", "-y", "x@1.2.3", "notes"], env=["B", "A"])
    assert (root / "llmdo.toml").read_text().startswith(START)
    assert toolsets(root)["notes"] == {
        "mcp": {"command": "npx", "args": ["-y", "x@1.2.3", "notes"], "env": ["A", "B"]}
    }
    assert change.written == ("llmdo.toml",)
    assert {one.code for one in checks.check(project.read(root))} <= {"LDO304", "LDO402"}


def test_an_address_becomes_a_server(root: Path) -> None:
    add_server(root, "far", url="https://mcp.example.org/")
    assert toolsets(root)["far"] == {"mcp": {"url": "https://mcp.example.org/"}}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"name": "old", "command": ["x"]}, "`old` is a toolset already"),
        ({"name": "shell", "command": ["x"]}, "`shell` is a built-in toolset"),
        ({"name": "a", "command": []}, "a command or an address"),
        ({"name": "a", "command": ["x"], "url": "https://x"}, "a command or an address"),
        ({"name": "a", "command": ["x", "ghp_0123456789abcdefghij0123"]}, "one of the words is a secret"),
        ({"name": "a b", "command": ["x"]}, "a name"),
    ],
)
def test_what_cannot_be_added_changes_nothing(root: Path, words: dict[str, object], told: str) -> None:
    with pytest.raises(LlmdoError, match=told):
        add_server(root, **words)  # type: ignore[arg-type]
    assert (root / "llmdo.toml").read_text() == START


DESKTOP = {
    "mcpServers": {
        "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me"]},
        "git hub": {
            "command": "docker",
            "args": ["run", "-e", "GITHUB_TOKEN", "ghcr.io/github/github-mcp-server"],
            "env": {"GITHUB_TOKEN": "ghp_0123456789abcdefghij0123", "LEVEL": "debug"},
            "autoApprove": ["create_issue"],
            "disabled": False,
        },
        "far": {
            "type": "http",
            "url": "https://x.example.org/",
            "headers": {"Authorization": "Bearer abcdefgh1"},
        },
        "nothing": {"note": "x"},
    }
}


def test_the_servers_of_a_desktop_client_are_taken_over_without_secrets_and_approvals(root: Path) -> None:
    file = root / "claude_desktop_config.json"
    file.write_text(json.dumps(DESKTOP))
    change = import_servers(root, file)
    text = (root / "llmdo.toml").read_text()
    assert "ghp_" not in text
    assert "abcdefgh1" not in text
    found = toolsets(root)
    assert list(found) == ["old", "files", "git-hub", "far"]
    assert found["git-hub"]["mcp"]["env"] == {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "LEVEL": "debug"}  # type: ignore[index]
    assert found["far"]["mcp"]["headers"] == {"Authorization": "Bearer ${FAR_AUTHORIZATION}"}  # type: ignore[index]
    told = "\n".join(change.lines)
    assert "`git hub` is called `git-hub`" in told
    assert "`git-hub`: left out: `autoApprove`, `disabled`" in told
    assert "put the value of `GITHUB_TOKEN` into the variable `GITHUB_TOKEN`" in told
    assert "`nothing` is left out" in told
    codes = {one.code for one in checks.check(project.read(root))}
    assert "LDO534" in codes
    assert "LDO537" not in codes


def test_the_servers_of_vs_code_are_read_with_comments_and_inputs(root: Path) -> None:
    file = root / "mcp.json"
    file.write_text(
        '{ // VS Code\n "servers": {"a": {"type": "stdio", "command": "${workspaceFolder}/bin/a",'
        ' "env": {"API_KEY": "${input:api-key}", "HOME_DIR": "${env:HOME}"},}},\n}'
    )
    import_servers(root, file)
    assert toolsets(root)["a"]["mcp"] == {
        "command": "./bin/a",
        "env": {"API_KEY": "${API_KEY}", "HOME_DIR": "${HOME}"},
    }


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"mcpServers": {}}', "{", '{"mcpServers": []}'])
def test_a_file_without_servers_is_told(root: Path, text: str) -> None:
    (root / "mcp.json").write_text(text)
    with pytest.raises(LlmdoError):
        import_servers(root, root / "mcp.json")
    assert (root / "llmdo.toml").read_text() == START
