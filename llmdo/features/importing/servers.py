"""The servers of an imported project, as a manifest of ours declares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.scaffold.files import toml, toml_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.foreign.team import Agent
    from llmdo.graph.described import Server
    from llmdo.policy.authority import Capability


def raised_by(server: Server, agents: Iterable[Agent]) -> set[Capability]:
    """What the calls of a server raise: the graph leaves out what another tool of an agent does more mildly."""
    return {
        capability
        for agent in agents
        for grant in agent.grants
        if grant.server == server and grant.decision != "blocked"
        for capability in grant.capabilities
    }


def is_reachable(server: Server) -> bool:
    """Whether our manifest can say how to reach a server."""
    return bool(server.command or (server.url or "").startswith(("https://", "http://")))


def launch(server: Server) -> str:
    """The way to reach a server, as our manifest says it."""
    if server.url and not server.command:
        return f"url = {toml_text(server.url)}"
    env = f", env = {toml([*server.env])}" if server.env else ""
    return f"command = {toml_text(server.command or '')}, args = {toml([*server.args])}{env}"
