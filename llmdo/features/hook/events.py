"""The event of a client, and the access that a call of a tool asks for: values that no client has a word in."""

from __future__ import annotations

from llmdo.base.values import dataclass, field

TYPE_CHECKING = False  # a call is answered before `typing` would be needed for this alone
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Literal, TypeAlias

    Client: TypeAlias = ModuleType
    """A module of `clients`: what each of them says of a client: they all have the same names."""

MAIN_CONTEXT = ""
"""The id of the context of a session itself."""
ANY_AGENT = "*"
"""The type of an agent that a tool starts without naming it."""
ANY_SERVER = "*"
"""The server of a tool that is about all servers of its agent."""


class UnreadableEventError(Exception):
    """An event that is not in the form of its client; the text is a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientEvent:
    """An event that a client reports."""

    kind: Literal["start", "call", "question", "end", "other"]
    """A question is what the client asks a person about a call; an end is that of an agent."""
    session: str
    folder: str
    """The current folder of the client, absolute."""
    context: str = MAIN_CONTEXT
    """The id of the agent at work."""
    agent: str | None = None
    """The name of the agent; None for the main session."""
    tool: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict)
    server: str | None = None
    """The MCP server whose tool it is, where the client says so."""
    is_resumed: bool = False
    """Whether a session starts that had begun before."""
    parent: str | None = None
    """The context that started the agent, in a client where each agent has a session of its own; None in others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The part of a tool's abilities that one call asks for."""

    lines: tuple[str, ...]
    """The lines of the format's table whose abilities it has."""
    files: tuple[str, ...] = ()
    """The paths that it names."""
    folders: tuple[str, ...] = ()
    """The folders that it names with all in them."""
    names: tuple[str, ...] | None = None
    """Patterns of names of the files in these folders in whose contents it looks; None if it looks in none."""
    heeds_ignores: bool = True
    """Whether it passes over files that git ignores."""
    host: str | None = None
    server: str | None = None
    """The MCP server whose tool it is, as agents have it, perhaps with `joint` and the tool."""
    joint: str = "__"
    """What stands between the name of the server and that of the tool."""
    freely: tuple[str, ...] = ()
    """Tools of the agent; it has their abilities that the client lets it have without a question."""
    command: str | None = None
    """A command for a shell."""
    reading: tuple[str, ...] = ()
    """The lines instead of all others for a command that only reads."""
    listed: tuple[str, ...] = ()
    """The same for a command that the client's settings list."""
    is_refined: bool = False
    """Whether the client has rules for parts of it, so that what those seem to deny is left to the client."""
    starts: str | None = None
    """The agent that it starts."""
    is_asked_about: bool = True
    """Whether the client asks a person wherever its rules say so, so that this can be left to it."""


def can_ask(client: Client, tool: str) -> bool:
    """Whether a hook of a client makes it ask a person about a tool."""
    return bool(client.CAN_ASK) and tool not in client.UNASKED


def text(value: object, what: str) -> str:
    """A text of an event.

    Raises:
        UnreadableEventError: It is none, or empty.
    """
    if not isinstance(value, str) or not value or "\0" in value:
        raise UnreadableEventError(f"`{what}` is not a text")
    return value


def tool_input(value: object) -> Mapping[str, object]:
    """The arguments of a call.

    Raises:
        UnreadableEventError: They are no object.
    """
    if not isinstance(value, dict):
        raise UnreadableEventError("the arguments of the tool are not an object")
    return value


def patched_files(patch: str) -> tuple[str, ...]:
    """The files that a patch names, however leniently its client reads it; none if its form is not known."""
    import re  # which most calls do without

    named = r"^[^\S\n]*\*\*\*\s*(?:(?:Add|Update|Delete)\s+File|Move\s+to)\s*:(?P<path>.*)$"
    return tuple(match["path"].strip() for match in re.finditer(named, patch, re.MULTILINE | re.IGNORECASE))


def searched_folders(folder: object, what: str, *patterns: object) -> tuple[str, ...]:
    """The folder in which a call looks for names of these patterns, which may lead to any other; None is the current.

    Raises:
        UnreadableEventError: The folder is no text.
    """
    if any(_may_leave(str(pattern)) for pattern in patterns if pattern is not None):
        return ("/",)
    return ("." if folder is None else text(folder, what),)


def named(*patterns: object) -> tuple[str, ...]:
    """The patterns of names that a call gives, each a text or a list of texts."""
    texts = [each for pattern in patterns for each in (pattern if isinstance(pattern, list) else [pattern])]
    return tuple([each for each in texts if isinstance(each, str) and each])


def _may_leave(pattern: str) -> bool:
    """Whether a pattern of names, or a choice within it, may begin at another folder."""
    for sign in "{(|":
        pattern = pattern.replace(sign, ",")
    return ".." in pattern or any(part.lstrip()[:1] in ("/", "~", "\\") for part in pattern.split(","))
