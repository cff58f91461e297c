"""The words for owners of projects: kinds of findings, when each is by design, and capabilities."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.codes import CODES
from llmdo.foreign import findings

if TYPE_CHECKING:
    from collections.abc import Mapping


class Kind(NamedTuple):
    """A kind of findings."""

    name: str
    """Its name in a table."""
    by_design: str = ""
    """When it is the owner's intention; llmdo reads files, so it cannot know. Empty for mistakes."""


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "LDO150": Kind("guessed at"),
        "LDO151": Kind("key without effect"),
        "LDO250": Kind(
            "unknown name", "It is none where a person's own configuration has the tool or the server."
        ),
        "LDO251": Kind("name of two agents"),
        "LDO350": Kind("circle of calls", "It is by design where one of them decides when to end."),
        "LDO351": Kind(
            "called by nobody", "It is by design where people or code start the agent by its name."
        ),
        "LDO550": Kind(
            "power of another agent",
            "It is by design where the first agent has work done that it must not do itself.",
        ),
        "LDO551": Kind(
            "every tool",
            "It is the default of these formats, and by design where the agent is to do all that its session can.",
        ),
        "LDO552": Kind(
            "way out for private data",
            "It is by design where whoever can write those words is trusted, or nothing that it reads is private.",
        ),
        "LDO553": Kind("rule wider than its words", "It is by design where any command may run anyway."),
        "LDO554": Kind(
            "questions switched off",
            "It is by design in a workflow or a container that is thrown away, with nothing in it to lose.",
        ),
        "LDO555": Kind(
            "perhaps a way out",
            "Nothing is wrong where the tool returns only what people of the project wrote.",
        ),
        "LDO556": Kind(
            "push on a stranger's word",
            "It is by design where what it pushes is reviewed before anything uses it.",
        ),
        "LDO557": Kind(
            "run by clients",
            "It is by design where the host, and whoever can write there, is trusted like it.",
        ),
    }
)
"""The kinds of findings about projects of other tools, by their codes, but for parts that were not read."""


ABILITIES: Mapping[str, str] = MappingProxyType(
    {
        "proc.exec.unlisted": "any command",
        "proc.exec.read": "listed commands that only read",
        "proc.exec": "listed commands",
        "fs.write.protected": "writing files that govern agents",
        "fs.write.code": "writing files that something executes",
        "fs.write": "writing files",
        "fs.delete": "deleting files",
        "secret.read": "reading secrets",
        "fs.read.protected": "reading files that hold secrets",
        "net.connect": "requests to hosts",
        "net.search": "web searches",
        "mcp.call": "tools of MCP servers",
        "mcp.start": "starting MCP servers",
        "mcp.read": "tools of MCP servers that only read",
        "env.read": "environment variables",
        "fs.read": "reading files",
        "fs.list": "listing files",
        "agent.delegate": "calling agents",
        "data.untrusted": "text that strangers may have written",
        "x.github.contents-write": "pushing to the repository",
        "x.github.issues-write": "writing at issues",
        "x.github.pull-requests-write": "writing at pull requests",
        "x.github.read": "reading at GitHub",
        "x.github": "changing things at GitHub",
        "x.sandbox.exec": "any command in a sandbox",
    }
)
"""Capabilities in words, by their names; a longer name before one that begins it."""


def ability(capability: str) -> str:
    """A capability in words; one that a tool's author named is as that name says."""
    words = (text for name, text in ABILITIES.items() if f"{capability}.".startswith(f"{name}."))
    return next(words, capability.removeprefix("x.").removesuffix(".any"))


def kind(code: str) -> Kind:
    """The words about the findings of a code; those of extensions are called after their code."""
    return KINDS.get(code) or Kind(CODES[code][0].replace("-", " ") if code in CODES else code)


def meaning(code: str) -> str:
    """The meaning of a kind of findings: the first sentence of what `llmdo explain` says."""
    for check in findings.ALL:
        if check.code == code:
            return check.documentation.partition("\n")[0]
    return kind(code).name
