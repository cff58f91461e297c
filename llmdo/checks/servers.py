"""MCP servers: what the manifest says about them that cannot be meant, or should not be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base import credentials, parts
from llmdo.base.diagnostic import excerpt, finding
from llmdo.graph.launchers import FETCHERS, FETCHING
from llmdo.policy.shell.programs import steers_programs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.values import Json
    from llmdo.syntax.document import Document
    from llmdo.workspace.project import Project

OF_SERVERS = ("include", "exclude", "timeout-s", "instructions", "isolation")
"""What only a toolset that is an MCP server can say."""

LOCAL = ("args", "env", "cwd")
REMOTE = ("headers", "auth")


def without_meaning(project: Project) -> Iterator[Diagnostic]:
    """The values about MCP servers that no format can refuse and nothing can follow."""
    document = project.workspace.document
    for name, table in project.workspace.tables("toolsets").items():
        if "mcp" in table:
            yield from _launch(document, name, parts.table(table, "mcp"))
            continue
        for key in OF_SERVERS:
            if key in table and name != "shell":
                yield finding(
                    "LDO103",
                    document.key("toolsets", name, key),
                    f"`{key}` is for MCP servers, and `{name}` is not one",
                )


def _launch(document: Document, name: str, server: Mapping[str, Json]) -> Iterator[Diagnostic]:
    if ("command" in server) == ("url" in server):
        yield finding(
            "LDO103",
            document.key("toolsets", name, "mcp"),
            f"the MCP server of `{name}` needs either `command` or `url`",
        )
        return
    kind, other = ("a command", REMOTE) if "command" in server else ("an address", LOCAL)
    for key in other:
        if key in server:
            yield finding(
                "LDO103",
                document.key("toolsets", name, "mcp", key),
                f"`{key}` does not go with an MCP server that is {kind}",
            )
    url = parts.text(server.get("url", "https://"))
    if not url.startswith(("https://", "http://", "${")):
        yield finding(
            "LDO103",
            document.value("toolsets", name, "mcp", "url"),
            f"`{excerpt(url)}` is not an address that begins with `https://`",
        )
    env = server.get("env")
    for number, variable in enumerate(parts.texts(env) or parts.table(env)):
        at = document.value("toolsets", name, "mcp", "env", variable if isinstance(env, dict) else number)
        if steers_programs(variable):
            yield finding(
                "LDO103",
                at,
                f"`{variable}` decides what programs load or start, so no MCP server is ever given it",
                hint="remove it",
            )
        elif not (variable.isascii() and variable.isidentifier()):
            yield finding("LDO103", at, f"`{excerpt(variable)}` is not the name of an environment variable")


_TAKING = frozenset(
    {"-p", "--package", "--from", "--with", "--python", "--registry", "--index-url", "-c", "--call"}
)
"""Their options that take a value."""

_PINNED = re.compile(r"(?:@|==)v?[0-9]+(?:\.[0-9]+)+[\w.+-]*$|@[0-9a-f]{40}$")

_SHELLS = frozenset(
    {"ash", "bash", "cmd", "cmd.exe", "csh", "dash", "fish", "ksh", "powershell", "pwsh", "sh", "tcsh", "zsh"}
)


def unpinned_server(project: Project) -> Iterator[Diagnostic]:
    """An MCP server is whatever version of a package is the newest when it is started.

    Whoever can publish that package runs code on this machine at the next start, and nothing that was reviewed says
    what. Name an exact version; better, install the server and name its program.

    Fails:

        mcp = { command = "npx", args = ["-y", "@modelcontextprotocol/server-filesystem", "notes"] }

    Fixed:

        mcp = { command = "npx", args = ["-y", "@modelcontextprotocol/server-filesystem@2025.8.21", "notes"] }
    """
    for document, name, server in _local(project):
        words = [parts.text(server["command"]), *parts.texts(server.get("args"))]
        package, key = _fetched(words)
        if package is not None:
            yield finding(
                "LDO534",
                document.value("toolsets", name, "mcp", *key),
                f"the MCP server `{name}` is the newest `{excerpt(package)}` at each start",
                hint=f"name an exact version, such as `{excerpt(package.partition('@latest')[0])}@1.2.3`"
                if "docker" not in words[0]
                else "name the digest of the image: `IMAGE@sha256:...`",
            )


def _fetched(words: Sequence[str]) -> tuple[str | None, tuple[str | int, ...]]:
    """The package or image without an exact version that these words fetch and run, and where it stands."""
    program = words[0].rpartition("/")[2]
    at = 1
    if program in ("docker", "podman") and "run" in words:
        image = next(
            (
                argument
                for argument in words[2:]
                if re.fullmatch(r"[\w.-]+(?:/[\w.-]+)+(?::[\w.-]+)?", argument)
            ),
            None,
        )
        return (image, ("args", words.index(image) - 1)) if image else (None, ())
    if program in FETCHING:
        while at < len(words) and words[at] in FETCHING[program]:
            at += 1
        if at == 1:
            return None, ()
    elif program not in FETCHERS:
        return None, ()
    package, place = None, 0
    while at < len(words):
        word = words[at]
        if word in ("-p", "--package", "--from"):
            package, place = (words[at + 1] if at + 1 < len(words) else ""), at + 1
        if not word.startswith("-"):
            package, place = (package, place) if package is not None else (word, at)
            break
        at += 2 if word in _TAKING else 1
    if package is None or _PINNED.search(package) or package.startswith((".", "/", "${")):
        return None, ()
    return package, ("args", min(place, len(words) - 1) - 1)


def server_shell(project: Project) -> Iterator[Diagnostic]:
    """An MCP server is started by a shell.

    A shell expands what it is given, so a value that reaches its words becomes a command. Name the program and its
    arguments.

    Fails:

        mcp = { command = "sh", args = ["-c", "notes-server --dir $HOME/notes"] }

    Fixed:

        mcp = { command = "notes-server", args = ["--dir", "${HOME}/notes"] }
    """
    for document, name, server in _local(project):
        if parts.text(server["command"]).rpartition("/")[2].lower() in _SHELLS:
            yield finding(
                "LDO535",
                document.value("toolsets", name, "mcp", "command"),
                f"the MCP server `{name}` is started by a shell",
                hint="name the program itself as `command`, and each of its words in `args`",
            )


def clear_text_server(project: Project) -> Iterator[Diagnostic]:
    """An MCP server is reached over plain HTTP.

    Whoever is on the way can read the arguments and tokens and can change the tools and their results. Use `https`;
    only on this very machine is plain HTTP as good.

    Fails:

        mcp = { url = "http://mcp.example.org/" }

    Fixed:

        mcp = { url = "https://mcp.example.org/" }
    """
    for name, table in project.workspace.tables("toolsets").items():
        url = parts.text(parts.table(table, "mcp").get("url"))
        if url.startswith("http://") and not _LOOPBACK.match(url):
            yield finding(
                "LDO536",
                project.workspace.document.value("toolsets", name, "mcp", "url"),
                f"the MCP server `{name}` is reached over plain HTTP",
                hint="use `https://`",
            )


_LOOPBACK = re.compile(r"http://(?:localhost|127\.[0-9.]+|\[::1\])(?::[0-9]+)?(?:/|$)")


def secret_in_manifest(project: Project) -> Iterator[Diagnostic]:
    """A token of an MCP server stands in the manifest.

    The manifest is committed, and the lock repeats it: everybody who can read the repository has the token. Take it
    out, revoke it, and name the environment variable that holds the new one.

    Fails:

        mcp = { command = "notes-server", env = { NOTES_TOKEN = "9f8a7c6b5d4e3f2a" } }

    Fixed:

        mcp = { command = "notes-server", env = { NOTES_TOKEN = "${NOTES_TOKEN}" } }
    """
    for name, table in project.workspace.tables("toolsets").items():
        for key in dict.fromkeys(_secrets(parts.table(table, "mcp"))):
            # At the name of the toolset: the line of the secret would be printed with the finding.
            yield finding(
                "LDO537",
                project.workspace.document.key("toolsets", name),
                f"a secret of the MCP server `{name}` stands in the manifest: its `{'.'.join(map(str, key))}`",
                hint="revoke it, and write `${NAME}` for the environment variable that holds the new one",
            )


def _secrets(server: Mapping[str, Json]) -> Iterator[tuple[str | int, ...]]:
    """The keys of the texts in which a secret is written out."""
    for key, name in (("command", ""), ("url", ""), ("auth", "authorization")):
        if key in server and credentials.secrets_in(parts.text(server[key]), name):
            yield (key,)
    for number, _ in credentials.secrets_in_words(parts.texts(server.get("args"))):
        yield "args", number
    for key in ("env", "headers"):
        for name, text in parts.table(server, key).items():
            if credentials.secrets_in(parts.text(text), name):
                yield key, name


def _local(project: Project) -> Iterator[tuple[Document, str, Mapping[str, Json]]]:
    for name, table in project.workspace.tables("toolsets").items():
        server = parts.table(table, "mcp")
        if "command" in server:
            yield project.workspace.document, name, server
