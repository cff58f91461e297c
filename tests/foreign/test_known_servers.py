"""MCP servers that are well known are what they do; of others nothing is known, and they may read private data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from llmdo import foreign
from llmdo.foreign import findings, servers
from llmdo.foreign.known_servers import DATA, capabilities_of
from llmdo.foreign.summary import FLOWS
from llmdo.graph.described import Server

if TYPE_CHECKING:
    from pathlib import Path

KINDS = ("list", "read", "write", "write.protected")
FILES = {"fs.list", "fs.read", "fs.write", "fs.write.protected"}
SERVES = {"data.untrusted", "mcp.call"}
SEARCHES = {*SERVES, "net.search"}
SANDBOX = {"mcp.call", "net.connect"}


def server(words: str) -> Server:
    command, *args = words.split()
    return Server(url=command) if "://" in command else Server(command=command, args=tuple(args))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("npx -y @modelcontextprotocol/server-filesystem /", FILES),
        ("npx -y @modelcontextprotocol/server-filesystem .", FILES),
        ("npx -y @modelcontextprotocol/server-filesystem", FILES),
        ("npx -y @modelcontextprotocol/server-filesystem docs ~/notes", FILES),
        ("npx -y @modelcontextprotocol/server-filesystem ../docs", FILES),
        ("npx -y @modelcontextprotocol/server-filesystem ${HOME}", FILES),
        (
            "npx @modelcontextprotocol/server-filesystem@latest docs",
            {f"fs.{each}:docs/**" for each in KINDS},
        ),
        (
            "mcp-server-filesystem ./docs/ ${workspaceFolder}/src/mcp-x",
            {f"fs.{each}:{root}/**" for each in KINDS for root in ("docs", "src/mcp-x")},
        ),
        ("docker mcp gateway run --servers=filesystem", FILES),
        ("docker run -i --rm mcp/filesystem /projects", FILES),
        ("uvx mcp-server-git --repository .", FILES),
        ("python -m mcp_server_git", FILES),
        ("npx -y @modelcontextprotocol/server-postgres postgresql://localhost/db", {*SERVES, DATA}),
        ("npx mcp-remote https://mcp.notion.com/sse", {*SERVES, DATA}),
        ("https://mcp.notion.com/mcp", {*SERVES, DATA}),
        (
            "npx -y @wonderwhy-er/desktop-commander@latest",
            {*FILES, "data.untrusted", "net.connect", "proc.exec.unlisted"},
        ),
        (
            "uvx --from git+https://github.com/oraios/serena serena start-mcp-server",
            {*FILES, "proc.exec.unlisted"},
        ),
        (
            "uvx --from git+https://github.com/oraios/serena serena start-mcp-server --context ide-assistant",
            {*FILES},
        ),
        (
            "uvx --from git+https://github.com/oraios/serena serena start-mcp-server --context=desktop-app",
            {*FILES, "proc.exec.unlisted"},
        ),
        ("docker run -i --rm ghcr.io/evalstate/mcp-py-repl:latest", SANDBOX),
        (
            "docker run -i -v ./lab/:/mnt/data ghcr.io/evalstate/mcp-py-repl",
            {*SANDBOX, *(f"fs.{each}:lab/**" for each in KINDS[:3])},
        ),
        (
            "podman run --network=none --mount type=bind,source=./lab,target=/x,readonly mcp/py-repl",
            {"mcp.call", "fs.list:lab/**", "fs.read:lab/**"},
        ),
        ("docker run -i --privileged mcp/py-repl", {*FILES, "proc.exec.unlisted"}),
        ("docker run --pid=host mcp/py-repl", {*FILES, "proc.exec.unlisted"}),
        ("docker run -v /run/docker.sock:/x.sock mcp/py-repl", {*FILES, "proc.exec.unlisted"}),
        ("docker run -v/:/x mcp/py-repl", {*FILES, "proc.exec.unlisted"}),
        ("docker run -v .:/x mcp/py-repl", {*SANDBOX, *FILES}),
        ("docker run -v /home/a:/x:ro -v cache:/y mcp/py-repl", {*SANDBOX, "fs.list", "fs.read"}),
        ("docker exec -i lab mcp-py-repl", {*FILES, "proc.exec.unlisted"}),
        ("docker run -i --rm datalayer/jupyter-mcp-server", {*FILES, "proc.exec.unlisted"}),
        ("uvx mcp-python-interpreter", {*FILES, "proc.exec.unlisted"}),
        ("npx -y mcp-server-code-runner@latest", {*FILES, "proc.exec.unlisted"}),
        ("deno run -N jsr:@pydantic/mcp-run-python stdio", SANDBOX),
        ("uvx mcp-run-python@latest stdio", SANDBOX),
        ("npx -y @e2b/mcp-server", SANDBOX),
        ("npx -y @upstash/context7-mcp@latest", SERVES),
        ("https://learn.microsoft.com/api/mcp", SERVES),
        ("https://learn.example.com/mcp", None),
        ("npx -y @modelcontextprotocol/server-sequential-thinking", {"mcp.call"}),
        ("npx @playwright/mcp@latest", {*SERVES, "net.connect"}),
        ("npx @browsermcp/mcp@latest", {*SERVES, DATA, "net.connect"}),
        ("uvx mcp-server-fetch", {*SERVES, "net.connect"}),
        ("npx -y tavily-mcp@latest", SEARCHES),
        ("npx -y @modelcontextprotocol/server-brave-search", SEARCHES),
        ("https://mcp.exa.ai/mcp", SEARCHES),
        ("npx -y serper-search-scrape-mcp-server", SEARCHES),
        ("uvx duckduckgo-mcp-server", SEARCHES),
        ("npx -y @perplexity-ai/mcp-server", SEARCHES),
        ("npx -y firecrawl-mcp", {*SEARCHES, "net.connect"}),
        ("npx -y ref-tools-mcp@latest", {*SEARCHES, "net.connect"}),
        ("https://api.ref.tools/mcp?apiKey=x", {*SEARCHES, "net.connect"}),
        ("npx -y mcp-remote https://api.ref.tools/mcp", {*SEARCHES, "net.connect"}),
        ("npx -y ref-mcp", None),
        ("https://ref.example.com/mcp", None),
        ("docker run -i --rm isokoliuk/mcp-searxng:latest", SEARCHES),
        ("uvx kagimcp", SEARCHES),
        ("uvx mcp-serpapi", SEARCHES),
        ("npx -y linkup-mcp-server", SEARCHES),
        ("npx -y web-search-mcp", SEARCHES),
        ("docker mcp gateway run --servers=github,duckduckgo", SEARCHES),
        ("npx -y mcp-github-search", SERVES),
        ("filesystem /", None),
        ("node servers/notion.js", None),
        ("docker mcp gateway run --servers=github,filesystem", None),
        ("https://example.com/mcp", None),
    ],
)
def test_a_server_is_known_by_its_package_and_arguments(words: str, expected: set[str] | None) -> None:
    known = capabilities_of(server(words))
    assert (known and {*map(str, known)}) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("https://mill.example/mcp", True),
        ("npx -y mcp-remote https://mill.example/mcp", True),
        ("bunx mcp-remote@latest https://mill.example/mcp --header Authorization:${KEY}", True),
        ("pnpm dlx mcp-remote@0.1.29 https://mill.example/mcp", True),
        ("/usr/local/bin/mcp-remote https://mill.example/mcp", True),
        ("npx -y supergateway --sse https://mill.example/sse", True),
        ("npx -y supergateway --streamableHttp=https://mill.example/mcp", True),
        ("npx -y supergateway --stdio mill-mcp", False),
        ("node ./mcp-remote", False),
        ("npx -y mill-mcp https://mill.example/mcp", False),
    ],
)
def test_a_server_behind_a_bridge_is_connected_to(words: str, *, expected: bool) -> None:
    raised = servers.line("mill", server(words), "allowed").capabilities
    assert ("net.connect" in raised) is expected


def leaks(folder: Path, tools: str, **started: str) -> list[str]:
    (folder / ".claude/agents").mkdir(parents=True)
    (folder / ".claude/agents/a.md").write_text(f"---\nname: a\ndescription: A.\ntools: {tools}\n---\nA.\n")
    commands = {
        name: {"command": words.split()[0], "args": words.split()[1:]} for name, words in started.items()
    }
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": commands}))
    read = foreign.read("claude", folder)
    return [each.message for each in findings.check(read) if each.code in FLOWS and each.subject == "a"]


@pytest.mark.parametrize(
    ("tools", "words", "expected"),
    [
        ("WebFetch, mcp__it", "npx @modelcontextprotocol/server-filesystem /", True),
        ("WebFetch, mcp__it", "npx @modelcontextprotocol/server-filesystem docs", True),
        ("WebFetch, mcp__it", "npx @modelcontextprotocol/server-postgres", True),
        ("WebFetch, mcp__it", "node server.js", True),
        ("WebFetch, mcp__it", "npx @upstash/context7-mcp", False),
        ("WebFetch, mcp__it", "npx @playwright/mcp", False),
        ("WebFetch", "npx @modelcontextprotocol/server-filesystem /", False),
        ("WebSearch, mcp__it", "npx @modelcontextprotocol/server-filesystem /", False),
        ("mcp__it", "node server.js", False),
        ("mcp__it", "npx @modelcontextprotocol/server-slack", True),
        ("mcp__it", "npx @browsermcp/mcp", True),
        ("Read, mcp__it", "npx @modelcontextprotocol/server-filesystem /", False),
    ],
)
def test_what_a_server_reads_is_private_data(
    tmp_path: Path, tools: str, words: str, *, expected: bool
) -> None:
    assert bool(leaks(tmp_path, tools, it=words)) is expected
