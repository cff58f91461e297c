"""Hosts that others than an agent's people can read and write, and whether a rule lets something out to one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.foreign.lines import WRITES_THERE
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import UNTRUSTED

if TYPE_CHECKING:
    from collections.abc import Iterable

SEARCH = "net.search"
"""A search is seen by those who run it, not by the authors of the pages found."""

WRITABLE_HOSTS = frozenset(
    {
        "amazonaws.com", "api.telegram.org", "bitbucket.org", "cloudfunctions.net", "core.windows.net", "crates.io",
        "discord.com", "discordapp.com", "docker.io", "dropbox.com", "firebaseio.com", "ghcr.io", "github.com",
        "gitlab.com", "googleapis.com", "herokuapp.com", "huggingface.co", "netlify.app", "ngrok.app", "ngrok.io",
        "nuget.org", "pastebin.com", "pub.dev", "r.jina.ai", "rubygems.org", "script.google.com",
        "slack.com", "supabase.co", "trycloudflare.com", "vercel.app", "webhook.site", "workers.dev",
    }
)  # fmt: skip
"""Hosts to which anybody can write, or where anybody can have a program: with an account of the attacker's own."""
FORGES = frozenset(
    {
        "bitbucket.org", "crates.io", "docker.io", "ghcr.io", "github.com", "gitlab.com", "huggingface.co", "nuget.org",
        "pub.dev", "rubygems.org",
    }
)  # fmt: skip
"""Those of them that show nobody the addresses that others ask for: to fetch a page there sends nothing."""
FETCH = frozenset({UNTRUSTED, "net.connect"})
"""The capabilities of a tool that only fetches pages."""
WRITABLE_SETS = frozenset({"containers", "dart", "dotnet", "github", "node", "python", "ruby", "rust"})
"""The sets of hosts of gh-aw with such a host among them."""


def lets_out(able: Iterable[Capability]) -> bool:
    """Whether a rule that allows this lets something out: to any host, or to one that anybody can write to."""
    able = (*able,)
    if WRITES_THERE in able:
        return True
    only_fetches = {each.name for each in able} == FETCH
    return any(
        Capability("net").covers_name(each.name)
        and each.name != SEARCH
        and (
            each.scope is None
            or each.is_everywhere
            or (is_writable(each.scope) and not (only_fetches and is_below(each.scope, FORGES)))
        )
        for each in able
    )


def is_writable(host: str) -> bool:
    """Whether anybody can write to a host or a named set of hosts, or read at it what others wrote."""
    return host in WRITABLE_SETS or is_below(host, WRITABLE_HOSTS)


def is_below(host: str, hosts: Iterable[str]) -> bool:
    """Whether a host is one of several, or below one."""
    return any(host == each or host.endswith(f".{each}") for each in hosts)
