"""MCP servers that are well known: what their tools read and change, by the package, image or host that they are.

A server's own name in a file says nothing: anybody may call anything `filesystem`.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.foreign.hosts import SEARCH
from llmdo.foreign.lines import EDITS, FETCHES, RUNS, SERVES, WRITES
from llmdo.foreign.permissions import scope_of
from llmdo.graph.described import Server
from llmdo.policy.authority import Capability

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = "x.data.read"
"""Reads a database, a mailbox, or an account whose content others do not see, as a person's own browser shows it."""

_FILES = ("fs.list", *EDITS)
_DATA = (*SERVES, DATA)
_PAGES = (*SERVES, "net.connect")
"""Shows any page that it is given the address of."""
_LOOKING = frozenset({
    "browser_console_messages", "browser_network_requests", "browser_snapshot", "browser_take_screenshot",
    "browser_wait_for",
})  # fmt: skip
_LISTING = frozenset({
    "get_console_message", "get_css_styles", "list_console_messages", "list_network_requests", "list_pages",
    "performance_analyze_insight", "select_page", "wait_for",
})  # fmt: skip
_SHOWING = frozenset({"get_network_request", "take_screenshot", "take_snapshot"})
_RUNNING = frozenset({"execute_command", "interact_with_process", "start_process"})
_SANDBOX = ("mcp.call", "net.connect")
"""Runs any code where there is nothing of the machine but a network: the code is no command that reads anything."""


@dataclass(frozen=True, slots=True)
class WellKnownServer:
    """The abilities of a well-known server."""

    capabilities: tuple[str, ...]
    has_roots: bool = False
    """Whether its arguments are the folders that it is confined to."""
    runs_elsewhere: bool = False
    """Whether what it runs is in another process, which no container of the server holds."""
    marks_running: bool = False
    """Whether it marks the tools that run commands as changing something: a client that heeds that asks about them."""
    unmarked: frozenset[str] = frozenset()
    """The tools that only look at the page that is open, if it marks all others, those that open one among them."""
    looking: frozenset[str] = frozenset()
    """Those of the tools that it marks which only look at that page as well, and may write it to a file."""
    fetching: frozenset[str] = frozenset()
    """The tools that bring pages, where the others bring no words of strangers; empty if all may."""
    running: frozenset[str] = frozenset()
    """The tools that run commands, where the others run none; empty if all may."""


_KNOWN = {
    WellKnownServer(_FILES, has_roots=True): ("filesystem",),
    WellKnownServer(_FILES): ("git", "obsidian"),
    WellKnownServer(
        (*_FILES, *RUNS, *FETCHES), marks_running=True, fetching=frozenset({"read_file"}), running=_RUNNING
    ): ("commander",),
    WellKnownServer((*_FILES, *RUNS)): (
        "interpreter", "mcp-server-code-runner", "repl", "serena", "shell", "terminal",
    ),
    WellKnownServer((*_FILES, *RUNS), runs_elsewhere=True): ("jupyter",),
    WellKnownServer(_SANDBOX): ("e2b", "mcp-run-python"),
    WellKnownServer(_DATA): (
        "airtable", "asana", "atlassian", "bigquery", "clickhouse", "confluence", "databricks", "dbhub", "dropbox",
        "duckdb", "dynamodb", "elasticsearch", "gdrive", "gmail", "hubspot", "imap", "jira", "linear", "mongo",
        "mongodb", "mssql", "mysql", "neo4j", "neon", "notion", "outlook", "postgres", "postgresql", "redis",
        "salesforce", "slack", "snowflake", "sqlite", "stripe", "supabase",
    ),
    WellKnownServer(SERVES): (
        "brave", "context7", "deepwiki", "duckduckgo", "exa", "github", "githubcopilot", "gitlab", "kagi", "kagimcp",
        "linkup", "perplexity", "search", "searxng", "serpapi", "serper", "tavily",
    ),
    WellKnownServer((*_PAGES, DATA)): ("browsermcp",),
    WellKnownServer(_PAGES): ("api.ref.tools", "chrome", "fetch", "firecrawl", "puppeteer", "ref-tools-mcp"),
    WellKnownServer(_PAGES, unmarked=_LOOKING): ("playwright",),
    WellKnownServer(_PAGES, unmarked=_LISTING, looking=_SHOWING): ("chrome-devtools-mcp",),
    WellKnownServer(("mcp.call",)): ("everything", "memory", "thinking", "time"),
}  # fmt: skip
"""By what a server does, the words for it in packages such as `@modelcontextprotocol/server-WORD`, or whole names."""

_ANY_SEARCH = "search"
"""The word of servers that search the web, unless another known word says what they search."""
_SEARCHING = frozenset({
    "api.ref.tools", "brave", "duckduckgo", "exa", "firecrawl", "kagi", "kagimcp", "linkup", "perplexity",
    "ref-tools-mcp", "searxng", "serpapi", "serper", "tavily",
})  # fmt: skip
"""The words of servers that search the web, whatever else they do."""

DOCUMENTATION = ("docs.mcp.cloudflare.com", "knowledge-mcp.global.api.aws", "learn.microsoft.com")
"""The hosts of servers that bring a vendor's pages, and nothing of whoever asks."""

TABLE = {
    **{word: known for known, words in _KNOWN.items() for word in words},
    **dict.fromkeys(DOCUMENTATION, WellKnownServer(SERVES)),
}

_MARKS_NONE = frozenset(
    f"@modelcontextprotocol/server-{word}"
    for word in (
        "aws-kb-retrieval", "brave-search", "everart", "gdrive", "github", "gitlab", "google-maps", "postgres",
        "puppeteer", "redis", "slack",
    )
)  # fmt: skip
"""The packages that are archived without a mark at any tool, each as a whole: others of such a name may have some."""
WITHOUT_A_SHELL = ("claude-code", "codex", "copilot-cli", "ide", "ide-assistant", "opencode", "vscode")
"""The contexts of serena (`--context`) that leave out its tool for commands, as the client has one itself."""

_PACKAGE = re.compile(r"mcp|\bserver-|dbhub|serena|desktop-commander", re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9]+")
_FLAG_OF_SERVERS = "--servers"
_REGISTRY = re.compile(r"(?:jsr|npm):")
"""The place that Deno has a package from."""
_CONTAINERS = frozenset({"docker", "nerdctl", "podman"})
_OPENED = re.compile(
    r"--(?:cap-add|device|ipc|pid|privileged|security-opt|userns|volumes-from)\b.*|-v.+|.*\.sock\b.*",
    re.DOTALL,
)
"""A word of a command that lets a container out to the machine, or that may."""
_MOUNT = re.compile(r"(?:.*,)?(?:source|src)=(?P<source>[^,]+).*|(?P<path>[.~/$][^:]*):.*")
"""A folder of the machine, as `--mount` and `--volume` have it; another name is a volume of the container alone."""
_READ_ONLY = re.compile(r".*(?::(?:.*,)?ro(?:,.*)?|,(?:readonly|ro)(?:=true)?(?:,.*)?)")
_HERE = re.compile(r"(?:\.|\$\{workspaceFolder\}|\$\{?PWD\}?)/(?P<path>.+)")


def known_server(server: Server) -> WellKnownServer | None:
    """The well-known server that a command or an address starts; None if it is none, or another one as well."""
    matches = {TABLE[word] for word in _known_words(server)}
    return matches.pop() if len(matches) == 1 else None


def asks_first(server: Server, tool: str) -> bool:
    """Whether a client that asks unless a tool only reads asks before a server opens a page, or a tool of it does.

    It asks about every tool of one that marks none.
    """
    if not _MARKS_NONE.isdisjoint(_names(server)):
        return True
    known = known_server(server)
    return known is not None and bool(known.unmarked) and tool not in known.unmarked


def capabilities_of(server: Server) -> tuple[Capability, ...] | None:
    """The abilities of a well-known server, within its folders if it has any; None of another one."""
    known = known_server(server)
    if known is None:
        return None
    if RUNS[0] in known.capabilities and not known.runs_elsewhere and _is_in_a_container(server):
        return tuple(_contained(server))
    absent = RUNS if _context(server) in WITHOUT_A_SHELL else ()
    searching = (SEARCH,) if _searches(server) else ()
    whole = tuple(Capability.parse(each) for each in (*known.capabilities, *searching) if each not in absent)
    scopes = _scopes(server) if known.has_roots else None
    if not scopes:
        return whole
    return tuple(Capability(each.name, scope) for scope in scopes for each in whole)


def reaches_any_host(server: Server) -> bool:
    """Whether a well-known server opens any address, or runs code where there is a network."""
    return Capability("net.connect") in (capabilities_of(server) or ())


def _searches(server: Server) -> bool:
    """Whether a well-known server searches the web, as one for searching that searches nothing else does."""
    words = _known_words(server)
    return words == {_ANY_SEARCH} or not words.isdisjoint(_SEARCHING)


def _known_words(server: Server) -> set[str]:
    """The words of the packages, images and hosts of a server that are in the table."""
    return {word for name in _names(server) for word in _words(name.lower()) if word in TABLE}


def _words(name: str) -> list[str]:
    """A package or host as a whole, or its words."""
    whole = name.rpartition("/")[2].partition(":")[0]
    return [whole] if whole in TABLE else _WORD.findall(name)


def _is_in_a_container(server: Server) -> bool:
    """Whether a command starts a container of its own for it, which keeps what runs there from the machine."""
    starts_one = (server.command or "").rpartition("/")[2] in _CONTAINERS and server.args[:1] == ("run",)
    return starts_one and not any(map(_OPENED.fullmatch, server.args))


def _contained(server: Server) -> Iterator[Capability]:
    """The abilities of any code in a container: the network, unless it has none, and the folders that it is given."""
    is_cut_off = "none" in _values(server, "--network", "--net")
    yield from (Capability(each) for each in _SANDBOX if not (is_cut_off and each == "net.connect"))
    for value in _values(server, "--mount", "--volume", "-v"):
        if mount := _MOUNT.fullmatch(value):
            scope = _scope(mount["source"] or mount["path"])
            # What governs a run is seldom in a folder of data.
            writing = WRITES[:1] if scope else WRITES
            names = ("fs.list", "fs.read", *(() if _READ_ONLY.fullmatch(value) else writing))
            yield from (Capability(each, scope) for each in names)


def _values(server: Server, *flags: str) -> list[str]:
    """The values of options in a command."""
    words = [
        word for each in server.args for word in (each.split("=", 1) if each.startswith("--") else [each])
    ]
    return [value for flag, value in pairwise(words) if flag in flags]


def _names(server: Server) -> Iterator[str]:
    """The packages, images and hosts among a server's words."""
    if server.command is None:
        yield (server.url or "").partition("://")[2].partition("/")[0]
        return
    words = iter((server.command, *server.args))
    for word in (_REGISTRY.sub("", each, count=1) for each in words):
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
    return next(iter(_values(server, "--context")), None)


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
