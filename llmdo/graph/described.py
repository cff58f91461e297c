"""An MCP server: the way to reach it, and its description of itself and its tools when locked."""

from __future__ import annotations

from llmdo.base.values import dataclass, field
from llmdo.graph.keys import LINES, PLAIN, SORTED_WORDS, WORDS, Key, written


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A tool as its MCP server described it when locked: the text that people reviewed and models see."""

    title: str | None = field(
        default=None,
        metadata=written(
            PLAIN,
            lock=Key("title", "str", "The title that an MCP server gives it for people."),
            drift="its title",
        ),
    )
    description: str | None = field(
        default=None,
        metadata=written(
            LINES,
            lock=Key("description", "list[str]", "What an MCP server tells models about it, line by line."),
            drift="its description",
        ),
    )
    input: str = field(
        metadata=written(
            LINES,
            lock=Key("input", "list[str]", "The schema of its arguments, of an MCP server: lines of JSON."),
            drift="its parameters",
        )
    )
    """The schema of its arguments, as JSON with sorted keys, a key a line."""
    output: str | None = field(
        default=None,
        metadata=written(
            LINES,
            lock=Key("output", "list[str]", "The schema of its result, of an MCP server: lines of JSON."),
            drift="the schema of its result",
        ),
    )
    """The schema of its result, in the same form."""
    hints: tuple[str, ...] = field(
        default=(),
        metadata=written(
            WORDS,
            lock=Key("hints", "list[str]", "What an MCP server claims about it; nothing obeys that."),
            drift="its hints",
        ),
    )
    """The server's claims about it, such as `readOnlyHint: true`, sorted. Nothing obeys them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The description that an MCP server gave of itself when it was locked."""

    name: str = field(metadata=written(PLAIN, lock=Key("name", "str", "Its name.")))
    version: str | None = field(
        default=None, metadata=written(PLAIN, lock=Key("version", "str", "Its version."))
    )
    instructions: str | None = field(
        default=None,
        metadata=written(
            LINES,
            lock=Key("instructions", "list[str]", "What it would tell models about its use, line by line."),
        ),
    )
    """Its text for the models of its clients; None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The way to reach an MCP server, a program or an address, and the choice of its tools.

    `${NAME}` in a text is an environment variable, looked up when the server is started.
    """

    command: str | None = field(
        default=None,
        metadata=written(PLAIN, lock=Key("command", "Text", "The program that is the server.")),
    )
    args: tuple[str, ...] = field(
        default=(), metadata=written(WORDS, lock=Key("args", "list[str]", "Its arguments."))
    )
    env: tuple[str, ...] = field(
        default=(),
        metadata=written(
            SORTED_WORDS,
            lock=Key("env", "list[Text]", "Its environment variables: NAME, or NAME=TEXT."),
        ),
    )
    """Its environment variables, sorted: `NAME`, or `NAME=TEXT`."""
    cwd: str | None = field(
        default=None, metadata=written(PLAIN, lock=Key("cwd", "Path", "The folder that it is started in."))
    )
    """The folder of the workspace that it is started in; None for the workspace itself."""
    url: str | None = field(
        default=None, metadata=written(PLAIN, lock=Key("url", "Text", "The address of a remote server."))
    )
    headers: tuple[str, ...] = field(
        default=(),
        metadata=written(SORTED_WORDS, lock=Key("headers", "list[Text]", "HTTP headers: NAME: TEXT.")),
    )
    """`NAME: TEXT` each, sorted."""
    auth: str | None = field(
        default=None,
        metadata=written(PLAIN, lock=Key("auth", "Text", "A bearer token.")),
    )
    """A bearer token."""
    include: tuple[str, ...] | None = field(
        default=None,
        metadata=written(SORTED_WORDS, lock=Key("include", "list[Text]", "The only tools wanted.")),
    )
    """Patterns of tools; others are left out. None for all."""
    exclude: tuple[str, ...] = field(
        default=(),
        metadata=written(SORTED_WORDS, lock=Key("exclude", "list[Text]", "The tools not wanted.")),
    )
