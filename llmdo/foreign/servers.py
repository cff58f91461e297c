"""MCP servers, which the formats declare in much the same words."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.values import replace
from llmdo.foreign.known_servers import capabilities_of
from llmdo.foreign.lines import SERVES, Line
from llmdo.foreign.scripts import runs_downloads
from llmdo.graph.described import Server
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.foreign.files import Files
    from llmdo.foreign.team import Grant
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document

URLS = ("url", "serverUrl", "httpUrl", "http_url", "tcp")
"""The keys under which formats have the address of a server."""
_BRIDGES = {"mcp-remote": frozenset[str](), "supergateway": frozenset({"--sse", "--streamableHttp"})}
"""The packages that hand calls on to a server elsewhere, each with the options of which it takes the address, if any.

Without them the second one offers a program of this machine to others.
"""
_OF_THE_MACHINE = ("-", "/", ".", "~", "$")
"""The beginnings of words that are no package."""


def servers_in(document: Document, *route: str) -> dict[str, tuple[Server, Place]]:
    """The servers that the table at `route` declares, each with its place."""
    table: object = document.data
    for step in route:
        table = table.get(step) if isinstance(table, dict) else None
    if not isinstance(table, dict):
        return {}
    return {
        name: (server_of(value), Place(document, (*route, name), of_key=True))
        for name, value in table.items()
        if isinstance(name, str)
    }


def judge(files: Files, servers: Mapping[str, tuple[Server, Place]]) -> None:
    """Notes the servers that are programs which are downloaded whenever they are started."""
    for name, (server, at) in servers.items():
        command = shlex.join((server.command or "", *server.args))
        if runs_downloads(command):
            message = f"the MCP server `{excerpt(name)}` is a program that is downloaded and run: `{excerpt(command)}`"
            hint = "install the server, or keep it in the project, where a change of it is reviewed"
            files.note("LDO557", at, message, hint)


def server_of(table: object) -> Server:
    """The server declared by a table; an unknown one if it is no table."""
    if not isinstance(table, dict):
        return Server()
    command, args = table.get("command"), table.get("args")
    if isinstance(command, list) and command:  # program and arguments in one
        command, *args = command
    env = table.get("env", table.get("environment"))
    url = next((table[key] for key in URLS if key in table), None)
    return Server(
        command=command if isinstance(command, str) else None,
        args=tuple(str(arg) for arg in args) if isinstance(args, list) else (),
        env=tuple(sorted(filter(_is_variable, env))) if isinstance(env, dict) else (),
        url=url if isinstance(url, str) else None,
    )


def _is_variable(name: object) -> bool:
    return isinstance(name, str) and name.isascii() and name.isidentifier()


def line(name: str, server: Server, decision: Decision) -> Line:
    """The abilities of a server called `name`: of one that is not well known, nothing else is known before it runs."""
    known = capabilities_of(server)
    able = SERVES if known is None else tuple(map(str, known))
    return Line(name, (*able, "net.connect") if _is_remote(server) else able, decision, "open", "")


def _is_remote(server: Server) -> bool:
    """Whether its calls go to another machine: to its address, or through a program that hands them on to one."""
    if server.url:
        return True
    words = (server.command or "", *(each for each in server.args if not each.startswith(_OF_THE_MACHINE)))
    packages = {word.rpartition("/")[2].partition("@")[0] for word in words}
    options = {word.partition("=")[0] for word in server.args}
    return any(
        name in packages and (not wanted or not wanted.isdisjoint(options))
        for name, wanted in _BRIDGES.items()
    )


def grant(name: str, server: Server, at: Place, decision: Decision, origin: str) -> Grant:
    """The grant of a server, called `name`: one tool, or all of them."""
    return replace(line(name, server, decision).grant(at, origin), server=server)
