"""`llmdo add mcp` and `llmdo import mcp`: what is written, and what is not."""

from __future__ import annotations

import json
import time
import tomllib
from pathlib import Path

import pytest

from llmdo import checks
from llmdo.base import credentials
from llmdo.base.diagnostic import LlmdoError
from llmdo.scaffold import add_server, import_servers
from llmdo.workspace import project

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
    assert {finding.code for finding in checks.check(project.read(root))} <= {"LDO304", "LDO402"}


def test_an_address_becomes_a_server(root: Path) -> None:
    add_server(root, "far", url="https://mcp.example.org/")
    assert toolsets(root)["far"] == {"mcp": {"url": "https://mcp.example.org/"}}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"name": "old", "command": ["x"]}, "`old` is a toolset already"),
        ({"name": "shell", "command": ["x"]}, "`shell` is a built-in toolset"),
        ({"name": "a", "command": []}, "a command or an address"),
        ({"name": "a", "command": ["x"], "url": "https://x"}, "a command or an address"),
        ({"name": "a", "command": ["x", "ghp_0123456789abcdefghij0123"]}, "one of the words is a secret"),
        ({"name": "a", "command": ["x", "--token", "X"]}, "one of the words is a secret"),
        ({"name": "a", "url": "https://x/?api_key=X"}, "one of the words is a secret"),
        ({"name": "a b", "command": ["x"]}, "a name"),
    ],
)
def test_what_cannot_be_added_changes_nothing(root: Path, words: dict[str, object], problem: str) -> None:
    with pytest.raises(LlmdoError, match=problem):
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
    imported = toolsets(root)
    assert list(imported) == ["old", "files", "git-hub", "far"]
    assert imported["git-hub"]["mcp"]["env"] == {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "LEVEL": "debug"}  # type: ignore[index]
    assert imported["far"]["mcp"]["headers"] == {"Authorization": "Bearer ${FAR_AUTHORIZATION}"}  # type: ignore[index]
    printed = "\n".join(change.lines)
    assert "`git hub` is called `git-hub`" in printed
    assert "`git-hub`: left out: `autoApprove`, `disabled`" in printed
    assert "put the value of `GITHUB_TOKEN` into the variable `GITHUB_TOKEN`" in printed
    assert "`nothing` is left out" in printed
    codes = {finding.code for finding in checks.check(project.read(root))}
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
def test_a_file_without_servers_is_reported(root: Path, text: str) -> None:
    (root / "mcp.json").write_text(text)
    with pytest.raises(LlmdoError):
        import_servers(root, root / "mcp.json")
    assert (root / "llmdo.toml").read_text() == START


SECRETS = [
    ({"args": ["--token", "X"]}, {"args": ["--token", "${A_TOKEN}"]}),
    ({"args": ["--api-key=X"]}, {"args": ["--api-key=${A_API_KEY}"]}),
    ({"args": ["run", "-e", "API_KEY=X"]}, {"args": ["run", "-e", "API_KEY=${A_API_KEY}"]}),
    (
        {"args": ["--header", "Authorization: Bearer X"]},
        {"args": ["--header", "Authorization: Bearer ${A_AUTHORIZATION}"]},
    ),
    ({"args": ["--header=X-Api-Key:X"]}, {"args": ["--header=X-Api-Key:${A_X_API_KEY}"]}),
    ({"args": ["postgresql://me:X@db/x"]}, {"args": ["postgresql://${A_USERINFO}@db/x"]}),
    ({"args": ['{"apiKey": "X, Y", "n": 1}']}, {"args": ['{"apiKey": "${A_APIKEY}", "n": 1}']}),
    ({"args": ["--token", "${TOKEN:-X}"]}, {"args": ["--token", "${A_TOKEN}"]}),
    (
        {"args": ["--token", "X", "--password", "Y", "--token", "Z"]},
        {"args": ["--token", "${A_TOKEN}", "--password", "${A_PASSWORD}", "--token", "${A_TOKEN_2}"]},
    ),
    ({"url": "https://h/mcp?v=1&api_key=X#a"}, {"url": "https://h/mcp?v=1&api_key=${A_API_KEY}#a"}),
    ({"url": "https://me:p@X@h/"}, {"url": "https://${A_USERINFO}@h/"}),
    ({"url": "https://X@h/"}, {"url": "https://${A_USERINFO}@h/"}),
    ({"headers": {"Authorization": "Bearer X"}}, {"headers": {"Authorization": "Bearer ${A_AUTHORIZATION}"}}),
    ({"headers": {"Cookie": "s=01234567"}}, {"headers": {"Cookie": "${A_COOKIE}"}}),
    ({"env": {"MYSQL_PWD": "0123456X"}}, {"env": ["MYSQL_PWD"]}),
    (
        {"env": {"HEADERS": '{"Authorization": "Bearer X", "v": "1"}'}},
        {"env": {"HEADERS": '{"Authorization": "Bearer ${A_AUTHORIZATION}", "v": "1"}'}},
    ),
]


@pytest.mark.few(7)
@pytest.mark.parametrize(("entry", "taken"), SECRETS)
def test_in_place_of_each_secret_stands_a_variable(
    root: Path, entry: dict[str, object], taken: dict[str, object]
) -> None:
    start = {"url": "https://h/"} if "url" in entry or "headers" in entry else {"command": "x"}
    (root / "mcp.json").write_text(json.dumps({"mcpServers": {"a": {**start, **entry}}}))
    import_servers(root, root / "mcp.json")
    assert toolsets(root)["a"]["mcp"] == {**start, **taken}
    assert "LDO537" not in {finding.code for finding in checks.check(project.read(root))}
    (root / "llmdo.toml").write_text(START + f"[toolsets.a]\nmcp = {inline({**start, **entry})}\n")
    assert "LDO537" in {finding.code for finding in checks.check(project.read(root))}


def inline(value: object) -> str:
    """`value` as TOML that stands in one line."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {inline(each)}' for key, each in value.items())} }}"
    return json.dumps(value)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "words",
    [
        ["--max-tokens", "4096"],
        ["--token", "--verbose"],
        ["--token-file=/run/secrets/token1"],
        ["--private-key", "keys/dev1.pem"],
        ["--sort-key=created_at"],
        ["--public-key", "a1b2c3d4e5"],
        ["--password-stdin", "registry.example.org"],
        ["--header", "Authorization:${AUTH_HEADER}"],
        ["git@example.org:team/token.git", "ssh://git@example.org/x", "@team/token@1.2.3", "x/token:1.2"],
    ],
)
def test_what_is_no_secret_is_taken_over_as_it_is(root: Path, words: list[str]) -> None:
    add_server(root, "a", command=["x", *words])
    (root / "mcp.json").write_text(json.dumps({"mcpServers": {"b": {"command": "x", "args": words}}}))
    import_servers(root, root / "mcp.json")
    assert toolsets(root)["a"]["mcp"]["args"] == toolsets(root)["b"]["mcp"]["args"] == words  # type: ignore[index]
    assert "LDO537" not in {finding.code for finding in checks.check(project.read(root))}


@pytest.mark.long
@pytest.mark.parametrize(
    "text",
    ["key=", *(pytest.param(text, marks=pytest.mark.long) for text in ("token=", "a-", 'key="', "a://b:"))],
)
def test_a_long_text_is_searched_in_a_time_that_grows_with_it(text: str) -> None:
    started = time.process_time()
    credentials.secrets_in(text * (200_000 // len(text)))
    assert time.process_time() - started < 8


def test_a_long_secret_goes_whole() -> None:
    text = f"token={'a1' * 1000}&x=1"
    assert [text[secret.start : secret.end] for secret in credentials.secrets_in(text)] == ["a1" * 1000]


def test_two_servers_with_secrets_of_one_name_keep_them_apart(root: Path) -> None:
    servers = {name: {"command": "x", "env": {"API_KEY": f"secret-of-{name}"}} for name in "ab"}
    (root / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    change = import_servers(root, root / "mcp.json")
    assert toolsets(root)["a"]["mcp"]["env"] == ["API_KEY"]  # type: ignore[index]
    assert toolsets(root)["b"]["mcp"]["env"] == {"API_KEY": "${API_KEY_2}"}  # type: ignore[index]
    assert not any("secret-of" in line for line in change.lines)
