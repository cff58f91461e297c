"""MCP servers that are well known: what their tools read and change, by the package, image or host that they are.

A server's own name in a file says nothing: anybody may call anything `filesystem`.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.foreign.lines import EDITS, RUNS, SERVES
from llmdo.foreign.permissions import scope_of
from llmdo.graph.described import Server
from llmdo.policy.authority import Capability

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = "x.data.read"
"""Reads a database, a mailbox, or an account whose content others do not see."""

_FILES = ("fs.list", *EDITS)
_DATA = (*SERVES, DATA)


@dataclass(frozen=True, slots=True)
class WellKnownServer:
    """The abilities of a well-known server."""

    capabilities: tuple[str, ...]
    has_roots: bool = False
    """Whether its arguments are the folders that it is confined to."""


_KNOWN = {
    WellKnownServer(_FILES, has_roots=True): ("filesystem",),
    WellKnownServer(_FILES): ("git", "obsidian"),
    WellKnownServer((*_FILES, *RUNS)): ("commander", "serena", "shell", "terminal"),
    WellKnownServer(_DATA): (
        "airtable", "asana", "atlassian", "bigquery", "clickhouse", "confluence", "databricks", "dbhub", "dropbox",
        "duckdb", "dynamodb", "elasticsearch", "gdrive", "gmail", "hubspot", "imap", "jira", "linear", "mongo",
        "mongodb", "mssql", "mysql", "neo4j", "neon", "notion", "outlook", "postgres", "postgresql", "redis",
        "salesforce", "slack", "snowflake", "sqlite", "stripe", "supabase",
    ),
    WellKnownServer(SERVES): (
        "brave", "chrome", "context7", "deepwiki", "duckduckgo", "exa", "fetch", "firecrawl", "github", "githubcopilot",
        "gitlab", "perplexity", "playwright", "puppeteer", "search", "tavily",
    ),
    WellKnownServer(("mcp.call",)): ("everything", "memory", "thinking", "time"),
}  # fmt: skip
"""By what a server does, the words for it in packages such as `@modelcontextprotocol/server-WORD`."""

DOCUMENTATION = ("docs.mcp.cloudflare.com", "knowledge-mcp.global.api.aws", "learn.microsoft.com")
"""The hosts of servers that bring a vendor's pages, and nothing of whoever asks."""

TABLE = {
    **{word: known for known, words in _KNOWN.items() for word in words},
    **dict.fromkeys(DOCUMENTATION, WellKnownServer(SERVES)),
}

WITHOUT_A_SHELL = ("claude-code", "codex", "copilot-cli", "ide", "ide-assistant", "opencode", "vscode")
"""The contexts of serena (`--context`) that leave out its tool for commands, as the client has one itself."""

_PACKAGE = re.compile(r"mcp|\bserver-|dbhub|serena|desktop-commander", re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9]+")
_FLAG_OF_SERVERS = "--servers"
_HERE = re.compile(r"(?:\.|\$\{workspaceFolder\}|\$\{?PWD\}?)/(?P<path>.+)")


def known_server(server: Server) -> WellKnownServer | None:
    """The well-known server that a command or an address starts; None if it is none, or another one as well."""
    matches = {
        TABLE.get(word)
        for name in _names(server)
        for word in ([name] if name in DOCUMENTATION else _WORD.findall(name.lower()))
        if word in TABLE
    }
    return matches.pop() if len(matches) == 1 else None


def capabilities_of(server: Server) -> tuple[Capability, ...] | None:
    """The abilities of a well-known server, within its folders if it has any; None of another one."""
    known = known_server(server)
    if known is None:
        return None
    absent = RUNS if _context(server) in WITHOUT_A_SHELL else ()
    whole = tuple(Capability.parse(each) for each in known.capabilities if each not in absent)
    scopes = _scopes(server) if known.has_roots else None
    if not scopes:
        return whole
    return tuple(Capability(each.name, scope) for scope in scopes for each in whole)


def _names(server: Server) -> Iterator[str]:
    """The packages, images and hosts among a server's words."""
    if server.command is None:
        yield (server.url or "").partition("://")[2].partition("/")[0]
        return
    words = iter((server.command, *server.args))
    for word in words:
        flag, _, value = word.partition("=")
        if flag == _FLAG_OF_SERVERS:
            yield value or next(words, "")
        elif _PACKAGE.search(word) and not word.startswith(("-", "/", ".", "$", "~")):
            scheme, address, rest = word.partition("://")
            host, _, path = rest.partition("/")
            yield (
                (path if scheme.startswith("git+") else host) if address else word.rpartition("@")[0] or word
            )
        elif word == server.command and _PACKAGE.search(word):
            yield word.rpartition("/")[2]


def _context(server: Server) -> str | None:
    """The value of `--context`, which serena alone of these servers takes."""
    words = [word for each in server.args for word in each.split("=", 1)]
    return next((value for flag, value in pairwise(words) if flag == "--context"), None)


def _scopes(server: Server) -> list[str] | None:
    """The folders of a file server as scopes of ours; None if one of them is not below the project."""
    packages = (word for word in server.args if _PACKAGE.search(word) and known_server(Server(command=word)))
    package = next(packages, None)
    roots = server.args[server.args.index(package) + 1 :] if package else server.args
    scopes = [_scope(root) for root in roots]
    return [scope for scope in scopes if scope] if all(scopes) else None


def _scope(root: str) -> str | None:
    here = _HERE.fullmatch(root)
    path = (here["path"] if here else root).rstrip("/")
    if path.startswith(("/", "-", "~", "$")) or path in ("", "."):
        return None
    scope = scope_of(path)
    return f"{scope.removesuffix('/**')}/**" if scope and ".." not in scope.split("/") else None
