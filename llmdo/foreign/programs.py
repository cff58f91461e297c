"""The hosts that a program of the project connects to, as far as its text tells: a script of a shell or of a language.

A language names programs and libraries in comments and patterns too, as one that looks for them in other files: only
what it imports, calls or starts counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.foreign import scripts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.source import Source, Span

OF_A_SHELL = (".bash", ".sh", ".zsh")

_COMMENT = re.compile(r"^[ \t]*(?:#|//|\*).*$", re.MULTILINE)
_OF_SHELLS = re.compile(
    r"\b(?:aria2c|curl|npx|uvx|wget)\b|\bgh (?:api|issue|pr|run)\b|\bgit (?:clone|fetch|pull)\b"
    r"|\burlopen\b|\burllib\.request\b|\brequests\.(?:get|post)\b"
)
_STARTED = (
    r"(?:curl|npx|uvx|wget|gh['\"`, ]+(?:api|issue|pr|run)|git['\"`, ]+(?:clone|fetch|pull))(?=[ '\"`])"
)
_OF_LANGUAGES = re.compile(
    rf"""
    ^[ \t]*(?:import|from)[ \t](?:[^\n'"]*[ \t,])?(?:aiohttp|http\.client|httpx|requests|urllib3|urllib\.request)\b
    |\burlopen\(|\bfrom[ \t]+urllib[ \t]+import[ \t][^\n]{0, 200}\brequest\b
    |(?<![.\w])fetch\(|\b(?:from|import|require\()[ \t]*["'](?:node:)?(?:axios|got|https?|node-fetch|undici)["']
    |\bNet::HTTP\b|\bopen-uri\b
    |\b(?:invoke-(?:restmethod|webrequest)|irm|iwr)\b
    |\(\s{{0,80}}(?:\[\s{{0,80}})?f?["'`]{_STARTED}
    |\[\s{{0,80}}["'](?:curl|wget)["'],\s{{0,80}}f?["']-
    |["'`](?:curl|wget)[ ](?:-|["']?https?:)
    """,
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
_SAYS_NOTHING = re.compile(
    r"\bgit['\"`, ]+(?:fetch|pull)\b|\bgh['\"`, ]+(?:issue|pr)['\"`, ]+(?:comment|create|edit)\b"
)
"""Commands over the network that print nothing of what others wrote."""
_ADDRESS = re.compile(r"https?://[^\s\"'`<>\\)\]]+")
_QUOTED = re.compile(r"\"([^\"\n]{4,1000})\"|'([^'\n]{4,1000})'|`([^`]{4,4000})`")
_GIVEN = re.compile(
    r"[\"']--?ur[il]s?\b|\bsys\.argv\b|\bprocess\.argv\b|\bARGV\b|\bparam\s*\(", re.IGNORECASE
)
"""Signs that whoever starts a program says where it connects to."""


def connects(path: str, text: str) -> bool:
    """Whether a program connects to some host."""
    code = _COMMENT.sub("", text)
    return bool((_OF_SHELLS if path.endswith(OF_A_SHELL) else _OF_LANGUAGES).search(code))


def hosts(path: str, text: str) -> Iterator[str | None]:
    """The hosts that a program connects to; None for one that its text does not say."""
    if path.endswith(OF_A_SHELL):
        yield from scripts.hosts(text)
    elif connects(path, text):
        code = _COMMENT.sub("", text)
        named = {scripts.host_of(address) for address in _ADDRESS.findall(code)}
        yield from named if named and not _GIVEN.search(code) else [None]


def brings_words(path: str, text: str) -> bool:
    """Whether a program may print what somebody wrote at a host that its text does not name, or at GitHub."""
    if path.endswith(OF_A_SHELL):
        return scripts.brings_words(text)
    return None in {*hosts(path, _SAYS_NOTHING.sub("", text))}


def quoted(source: Source) -> Iterator[tuple[Span, str]]:
    """The texts that a program of a language quotes, each with its place: what it hands to a shell is one of them."""
    for match in _QUOTED.finditer(source.text, 0, scripts.MAX_LENGTH):
        yield source.span_between(*match.span()), match[match.lastindex or 0]
