"""One agent card of fast-agent: the grants of its keys, and the agents it calls."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean, excerpt
from llmdo.base.parts import items, table, text
from llmdo.base.values import dataclass, replace
from llmdo.features.fast_agent import HOME, PYTHON
from llmdo.features.fast_agent.table import TABLE
from llmdo.foreign import servers
from llmdo.foreign.team import MAX_NAME, Agent, AgentCall, Grant, capability_of
from llmdo.graph.described import Server
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.foreign.files import Files
    from llmdo.syntax.document import Document

_COMMON = {"default", "description", "instruction", "name", "schema_version", "tool_only", "type"}
_MODEL = {"api_key", "messages", "model", "request_params"}
_RUN = {*_MODEL, "human_input", "save_trajectory", "use_history"}
_SERVERS = {"prompts", "resources", "servers", "tools"}
TYPES: Mapping[str, frozenset[str]] = {
    "agent": frozenset({
        *_COMMON, *_RUN, *_SERVERS, "agents", "child_timeout_sec", "commands", "cwd", "function_tools", "harness_tools",
        "history_merge_target", "history_source", "lifecycle_hooks", "max_display_instances", "max_parallel",
        "mcp_connect", "shell", "skills", "subagent_model", "subagents", "tool_hooks", "tool_input_schema",
        "trim_tool_history", "variables",
    }),
    "a2a": frozenset({
        *_COMMON, "accepted_output_modes", "auth", "headers", "polling", "relative_card_path",
        "request_timeout_seconds", "streaming", "transport", "url",
    }),
    "chain": frozenset({*_COMMON, "cumulative", "sequence"}),
    "evaluator_optimizer": frozenset({
        *_COMMON, "evaluator", "generator", "max_refinements", "messages", "min_rating", "refinement_instruction",
    }),
    "iterative_planner": frozenset({*_COMMON, *_MODEL, "agents", "plan_iterations"}),
    "maker": frozenset({
        *_COMMON, "k", "match_strategy", "max_samples", "messages", "red_flag_max_length", "worker",
    }),
    "orchestrator": frozenset({*_COMMON, *_RUN, "agents", "plan_iterations", "plan_type"}),
    "parallel": frozenset({*_COMMON, "fan_in", "fan_out", "include_request"}),
    "router": frozenset({*_COMMON, *_RUN, *_SERVERS, "agents"}),
}  # fmt: skip
"""The types of cards, and the keys that each of them has."""
SMART = "smart"
"""An older type: an agent with harness tools."""
KEYS = frozenset(key for keys in TYPES.values() for key in keys)
OF_CARDS_ALONE = KEYS - {"description", "instruction", "model", "name", "prompts", "skills", "tools"}
"""Keys that tell a card from an agent file of another tool."""
_CALLING = ("agents", "sequence", "fan_out", "fan_in", "generator", "evaluator", "worker")
_LINES = {line.tool: line for line in TABLE}
_WEB = re.compile(r"[?&](web_search|web_fetch|x_search)=(?!off|false|0)")


@dataclass(frozen=True, slots=True)
class Card:
    """A card, before the other cards are known."""

    path: str
    document: Document
    prompt: str
    is_tool: bool
    """Whether it is among the cards that another agent is given as tools."""
    scope: str = ""
    """The function, and of several instances the one, in whose application it is, in Python; empty for the file's."""
    is_configured_in_code: bool = False
    """Whether code gives its application the configuration, in place of a file."""

    @property
    def name(self) -> str:
        """The agent's name for others."""
        named = text(self.document.data.get("name")).strip() or PurePosixPath(self.path).stem
        return excerpt(named.replace(" ", "_"), MAX_NAME)

    @property
    def home(self) -> str:
        """The folder whose cards are loaded together."""
        if self.path.endswith(PYTHON):
            return f"{self.path}/{self.scope}" if self.scope else self.path  # an application of its own
        folder = PurePosixPath(self.path).parent.parent
        return (folder.parent if folder.name == HOME else folder).as_posix()

    @property
    def kind(self) -> str:
        """Its type; of none, that of a plain agent."""
        return text(self.document.data.get("type")).strip().lower().replace("-", "_") or "agent"

    def takes(self, key: str) -> bool:
        """Whether a card of its type has this key; one of an unknown type may have any."""
        return key in TYPES.get("agent" if self.kind == SMART else self.kind, KEYS)

    def place(self, *route: str | int, of_key: bool = False) -> Place:
        """The place of a value in the card."""
        return Place(self.document, route, of_key)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The data of a card from outside of it."""

    servers: Mapping[str, tuple[Server, Place]]
    """Those of the configuration that governs it."""
    web: Place | None
    """The setting that switches the model's own search on, for every agent."""
    has_skills: bool
    cards: Mapping[str, str]
    """The identities of the cards in its folder and of itself, by their names."""
    tools: Sequence[str]
    """The identities of those that a run gives to the agent that it starts."""
    configuration: str
    """The file of its servers; empty if there is none."""
    declaring: Mapping[str, str]
    """The file that declares each server of the project."""


@dataclass(frozen=True, slots=True)
class CardReader:
    """The reading of one card."""

    files: Files
    card: Card
    around: Surroundings

    def agent(self) -> Agent:
        """The agent that the card declares."""
        card = self.card
        data = card.document.data
        self._judge_keys()
        at = card.place("name", of_key=True) if "name" in data else card.place()
        model = data.get("model")
        grants = tuple(self._grants(at))
        return Agent(
            name=self.around.cards[card.name],
            at=at,
            path=card.path,
            prompt=card.prompt,
            header=data,
            description=text(data.get("description")) or None,
            model=model if isinstance(model, str) else None,
            grants=grants,
            calls=tuple({call.name: call for call in self._calls(at)}.values()),
            # With servers it may be of a release in which a router answers by these itself, and so reads what they say.
            picks_one=card.kind == "router" and not grants,
            in_order=card.kind == "chain" and _are_distinct(data.get("sequence")),
            is_entry=not card.is_tool and data.get("tool_only") is not True,
        )

    def _judge_keys(self) -> None:
        kind = self.card.kind
        known = TYPES.get("agent" if kind == SMART else kind)
        if known is None:
            message = f"fast-agent has no card of the type `{excerpt(kind)}`, and refuses it"
            self.files.note("LDO151", self.card.place("type"), message, did_you_mean(kind, TYPES))
            return
        for key in self.card.document.data:
            if key not in known:
                message = f"fast-agent refuses the card: one of the type `{kind}` has no key `{excerpt(key)}`"
                self.files.note(
                    "LDO151", self.card.place(key, of_key=True), message, did_you_mean(key, known)
                )

    def _grants(self, at: Place) -> Iterator[Grant]:
        data = self.card.document.data
        if self.card.kind == "a2a":
            line = _LINES["agent of another machine"]
            capabilities = (*line.capabilities, capability_of(self.card.name))
            own = replace(line, tool=self.card.name, capabilities=capabilities)
            yield own.grant(at, _ORIGIN, toolset="another machine")
        yield from self._of_servers()
        for number, entry in enumerate(items(data.get("function_tools"))):
            place = self.card.place("function_tools", number)
            yield from self._of_function(entry, place)
        if isinstance(data.get("function_tools"), str):
            yield from self._of_function(data["function_tools"], self.card.place("function_tools"))
        if shell := self._shell():
            narrower = self._without_shell()
            for name in ("shell", "read_text_file", "write_text_file"):
                given = _LINES[name].grant(shell, _ORIGIN, toolset="shell")
                yield replace(given, narrower=narrower, loss=_NO_SHELL if narrower else "")
        if data.get("harness_tools", self.card.kind == SMART) is True:
            place = self.card.place("harness_tools" if "harness_tools" in data else "type")
            yield _LINES["harness_tools"].grant(place, _ORIGIN)
        for name, place in self._web(at):
            yield _LINES[name].grant(place, _ORIGIN, toolset=name)

    def _shell(self) -> Place | None:
        """The source of the agent's shell: the card, or skills, which need one to run."""
        data = self.card.document.data
        if not self.card.takes("shell"):
            return None
        if data.get("shell") is True:
            return self.card.place("shell")
        skills = data.get("skills")
        if skills == [] or skills is False:
            return None
        if skills:
            return self.card.place("skills")
        return self.card.place() if self.around.has_skills else None

    def _without_shell(self) -> str | None:
        """The change that ends the agent's shell where skills need one; None if it is that of the card's line alone."""
        data = self.card.document.data
        skills = data.get("skills")
        needs = bool(skills) or (skills is None and self.around.has_skills)
        if not needs:
            return None
        return f"write {'`shell: false` and ' if data.get('shell') is True else ''}`skills: []`"

    def _web(self, at: Place) -> Iterator[tuple[str, Place]]:
        """The web tools of the model's provider."""
        if not self.card.takes("model"):
            return
        named = _WEB.findall(text(self.card.document.data.get("model")))
        if "web_search" in named or "x_search" in named or self.around.web:
            yield "web_search", self.card.place("model") if named else self.around.web or at
        if "web_fetch" in named:
            yield "web_fetch", self.card.place("model")

    def _of_function(self, entry: object, place: Place) -> Iterator[Grant]:
        entrypoint = text(entry) or text(table(entry).get("entrypoint"))
        if entrypoint:
            name = excerpt(entrypoint.rpartition(":")[2] or entrypoint, MAX_NAME)
            line = replace(_LINES["function_tools"], tool=name, capabilities=(capability_of(name),))
            yield line.grant(place, _ORIGIN, toolset=name)

    def _of_servers(self) -> Iterator[Grant]:
        data = self.card.document.data
        own = dict(self._connected())
        for number, name in enumerate(items(data.get("servers"))):
            place = self.card.place("servers", number)
            if not isinstance(name, str) or name in own:
                continue
            if name not in self.around.servers and not self.card.is_configured_in_code:
                self._unknown_server(place, name)
            server = self.around.servers[name][0] if name in self.around.servers else Server()
            yield servers.grant(excerpt(name, MAX_NAME), server, place, "allowed", _ORIGIN)
        for name, (server, place) in own.items():
            grant = servers.grant(excerpt(name, MAX_NAME), server, place, "allowed", _ORIGIN)
            shown = excerpt(name)
            both = f"take `{shown}` out of `mcp_connect`, and `{shown}` out of `servers`"
            is_named = place.of_key and name in items(data.get("servers"))  # as it would be unknown then
            yield replace(grant, narrower=both) if is_named else grant

    def _unknown_server(self, place: Place, name: str) -> None:
        """Notes a server that the configuration of the card does not declare, as fast-agent asks no other one."""
        around, hint = self.around, None
        lacking = f"`{around.configuration}` declares no MCP server"
        if not around.configuration:
            lacking = "no configuration above the agent declares the MCP server"
        if elsewhere := around.declaring.get(name):
            hint = f"`{elsewhere}` does, but fast-agent asks only the configuration nearest to the agent"
        self.files.unknown_server(place, name, around.servers, lacking, hint)

    def _connected(self) -> Iterator[tuple[str, tuple[Server, Place]]]:
        """The servers of `mcp_connect`, by name or in a list."""
        connections = self.card.document.data.get("mcp_connect")
        if isinstance(connections, dict):
            for name, entry in connections.items():
                yield str(name), (server_at(entry), self.card.place("mcp_connect", name, of_key=True))
        for number, entry in enumerate(items(connections)):
            name = (
                text(table(entry).get("name")) or text(table(entry).get("target")) or f"server {number + 1}"
            )
            yield name, (server_at(entry), self.card.place("mcp_connect", number))

    def _calls(self, at: Place) -> Iterator[AgentCall]:
        data = self.card.document.data
        for key in _CALLING:
            names = data.get(key)
            named = (
                [(names, self.card.place(key))]
                if isinstance(names, str)
                else [(name, self.card.place(key, number)) for number, name in enumerate(items(names))]
            )
            for name, place in named:
                if not isinstance(name, str):
                    continue
                called = excerpt(name.replace(" ", "_"), MAX_NAME)
                if called in self.around.cards:
                    yield AgentCall(name=self.around.cards[called], at=place)
                else:
                    message = f"no card of this project has an agent `{excerpt(name)}`"
                    hint = (
                        did_you_mean(name, self.around.cards)
                        or "it may be one in Python whose name only code tells"
                    )
                    self.files.note("LDO250", place, message, hint)
        if not self.card.is_tool and self.card.takes("function_tools") and data.get("tool_only") is not True:
            yield from (AgentCall(name=name, at=at) for name in self.around.tools)


_ORIGIN = "fast-agent, which does not ask"
_NO_SHELL = "it then runs no commands, and has no skills"


def _are_distinct(names: object) -> bool:
    """Whether each agent of a chain is in it once: one that comes again is told what those between have read."""
    return len({str(name) for name in items(names)}) == len(items(names))


def server_at(entry: object) -> Server:
    """The connection of a server that is declared by its `target`, or as others are."""
    target = text(table(entry).get("target")).strip()
    if not target:
        return servers.server_of(entry)
    if re.match(r"https?://", target):
        return Server(url=target)
    command, *args = target.split()
    return Server(command=command, args=tuple(args))
