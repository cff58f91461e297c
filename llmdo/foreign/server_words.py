"""The words in the names of servers and of their tools, and what they say of both."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.foreign.events import is_script
from llmdo.foreign.known_servers import known_server

if TYPE_CHECKING:
    from llmdo.graph.toolset import Toolset

OPEN_SERVERS = frozenset(
    {
        "brave", "browser", "browserbase", "browsermcp", "chrome", "crawl", "discord", "duckduckgo", "exa", "fetch",
        "firecrawl", "github", "gitlab", "gmail", "imap", "jira", "kagi", "kagimcp", "linear", "linkup", "mail",
        "outlook", "perplexity", "playwright", "puppeteer", "reddit", "reftools", "rss", "scrape", "search", "searxng",
        "selenium", "sentry", "serpapi", "serper", "slack", "tavily", "telegram", "twitter", "web", "whatsapp",
        "youtube", "zendesk",
    }
)  # fmt: skip
"""Words in a server's name or start that show that it brings anybody's text, and sends."""
ONLY_SEARCH = frozenset({"brave", "perplexity", "search", "serpapi", "youtube"})
"""Those of them that only search."""
PAGES = ONLY_SEARCH | {
    "browser", "browserbase", "browsermcp", "chrome", "crawl", "duckduckgo", "exa", "fetch", "firecrawl", "kagi",
    "kagimcp", "linkup", "playwright", "puppeteer", "reftools", "scrape", "searxng", "selenium", "serper", "tavily",
    "web",
}  # fmt: skip
"""Those of them that bring the pages that an agent chooses to read, not what somebody sends."""

_READING = frozenset({"describe", "find", "get", "list", "read", "search", "show", "view"})
"""The first words of tools that change nothing, perhaps after that of their server."""
_MAKING = frozenset({
    "add", "assign", "create", "delete", "fork", "merge", "post", "publish", "push", "reply", "send", "upload",
})  # fmt: skip
"""The first words of tools that answer with what they made themselves; others may answer with all that is there.

What `update`, `request` and `run` answer with may be what others wrote.
"""
_SEARCHING = frozenset({"context", "research", "researcher", "search"})
_FETCHING = frozenset(
    {"browse", "contents", "crawl", "crawling", "extract", "fetch", "map", "open", "read", "scrape"}
)
"""Words of tools that fetch pages."""

_WORD = re.compile(r"[a-z]+")
_NEW_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""The beginning of a word within a name such as `listPullRequests`."""
_PRODUCT = re.compile(r"DuckDuckGo|GitHub|GitLab|WhatsApp|YouTube")
"""A name that is one word."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*(?:=.*)?")
_OF_TWO_WORDS = re.compile(r"\b(?P<first>ref)[-.](?P<second>tools)\b")
"""A name that only both of its words together show."""
_NO_SERVER = re.compile(r"github[-_]?copilot")
"""The name of a product in the names of extensions of VS Code, which bring nothing from GitHub."""
_FROM_A_FORGE = re.compile(
    r"^(?:git\+)?(?:https?|ssh)://(?:[^/@]*@)?git(?:hub|lab)\.com/|^git(?:hub|lab):|^git@git(?:hub|lab)\.com:"
)
"""The place that a program is downloaded from, which says nothing about what it does."""


def server_words(name: str, toolset: Toolset) -> frozenset[str]:
    """The words of a toolset's name, and of the start of its server; none of a script, which its author named."""
    parts = [name]
    if server := toolset.server:
        if known_server(server) is None and any(map(is_script, (server.command or "", *server.args))):
            return frozenset()
        args = (_FROM_A_FORGE.sub("", arg) for arg in server.args if not _VARIABLE.fullmatch(arg))
        parts += [server.command or "", *args, server.url or ""]
    start = _OF_TWO_WORDS.sub(r"\g<first>\g<second>", _NO_SERVER.sub("", " ".join(parts).lower()))
    return frozenset(_WORD.findall(start))


def own_name(toolset: str, tool: str) -> str:
    """The name that a server gives its tool, in small words; empty for all of its tools together."""
    if tool.startswith("mcp__"):
        return in_words(tool.removeprefix("mcp__").partition("__")[2])
    return in_words(tool.removeprefix(toolset).lstrip("._/"))


def in_words(name: str) -> str:
    """A name in small letters, with a `_` before each word that only a capital sets apart."""
    return _NEW_WORD.sub("_", _PRODUCT.sub(lambda each: each[0].capitalize(), name)).lower()


def says_reading(name: str) -> bool:
    """Whether the name of a server's tool, in small words, is one of those that change nothing.

    It begins with a word of them, or is what they read, as `issue_read` is, but not `mark_as_read`.
    """
    is_read = name.endswith("_read") and not name.startswith("mark_")
    return is_read or not _first(name).isdisjoint(_READING)


def says_making(name: str) -> bool:
    """Whether the name of a server's tool begins with a word of those that answer with what they made themselves."""
    return not _first(name).isdisjoint(_MAKING)


def says_search(name: str) -> bool:
    """Whether a tool only hands words to a search: one that takes an address lets its host know what stands there."""
    words = {*_WORD.findall(name)}
    return words.isdisjoint(_FETCHING) and not words.isdisjoint(_SEARCHING)


def _first(name: str) -> frozenset[str]:
    """The first word of a tool's name, and the one after that of its server."""
    words = _WORD.findall(name)
    return frozenset(words[:2] if words[:1] and words[0] in OPEN_SERVERS - PAGES else words[:1])
