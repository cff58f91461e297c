"""Agents of Gemini CLI in Markdown: which of them it loads, and the meaning of the tools that they name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, nearest
from llmdo.base.parts import items, table, text
from llmdo.base.values import dataclass
from llmdo.features.gemini.settings import BY_MEANING, LINES, ORIGIN, GeminiRules, tool_called
from llmdo.foreign import servers
from llmdo.foreign.edits import names_text
from llmdo.foreign.events import started
from llmdo.foreign.files import renaming
from llmdo.foreign.lines import Line
from llmdo.foreign.meaning import meant_tool
from llmdo.foreign.team import MAX_NAME, Agent, capability_of
from llmdo.graph.described import Server
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.foreign.files import Files
    from llmdo.foreign.reading import Text
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Document

LOCAL = frozenset({
    "description", "display_name", "kind", "max_turns", "mcpServers", "mcp_servers", "model", "name", "temperature",
    "timeout_mins", "tools",
})  # fmt: skip
REMOTE = frozenset(
    {"agent_card_json", "agent_card_url", "auth", "description", "display_name", "kind", "name"}
)
_KINDS = ("local", "remote")
EVERY_TOOL = "every tool"
DISCOVERED = Line("discovered_tool_*", (capability_of("discovered"),), "needs_approval", "open", "")
"""The tools that `tools.discoveryCommand` prints: unknown before it runs."""
MANY = 6  # names in a message
_UNLOADED = "so Gemini CLI does not load this agent"
_NAME = re.compile(r"[a-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Declared:
    """A server as a file declares it."""

    server: Server
    at: Place
    trust: Place | None = None
    """The setting that lets all of its tools go unasked."""

    def shows(self, tool: str) -> bool:
        """Whether its lists of tools leave this one."""
        options = table(self.at.data)
        included = options.get("includeTools", options.get("include_tools"))
        excluded = options.get("excludeTools", options.get("exclude_tools"))
        return (included is None or tool in items(included)) and tool not in items(excluded)


def servers_of(document: Document, key: str) -> dict[str, Declared]:
    """The servers in the table at `key`; one whose list of tools is empty has none."""
    declared: dict[str, Declared] = {}
    for name, (server, at) in servers.servers_in(document, key).items():
        options = at.data if isinstance(at.data, dict) else {}
        if options.get("includeTools", options.get("include_tools")) != []:
            trust = Place(document, (key, name, "trust")) if options.get("trust") is True else None
            declared[name] = Declared(server, at, trust)
    return declared


def note_trust(files: Files, declared: Mapping[str, Declared]) -> None:
    """Notes the servers whose tools go unasked."""
    for name, each in declared.items():
        if each.trust:
            message = f"nothing asks before a call of the MCP server `{excerpt(name)}`, because it is trusted"
            hint = "take `trust` out, and name the tools that may go unasked in `tools.allowed`"
            files.note("LDO554", each.trust, message, hint)


@dataclass(frozen=True, slots=True)
class Home:
    """The common data of a session and of all agents that it calls."""

    rules: GeminiRules
    servers: Mapping[str, Declared]
    discovers: Place | None = None
    """The setting that makes tools of a command's output."""

    def everything(self, at: Place) -> Iterator[Grant]:
        """Every tool that is not taken away."""
        toolset = None if self.rules.core is not None else EVERY_TOOL
        for line in LINES.values():
            if self.servers or "mcp.read" not in line.capabilities:
                yield from self.rules.grants(line, at, toolset)
        if self.discovers:
            yield from self.rules.grants(DISCOVERED, self.discovers)
        for name, each in self.servers.items():
            yield from self.rules.server(name, each.server, each.at, each.trust)

    def starts(self) -> Iterator[Grant]:
        """The starts of servers of which the rules leave nothing."""
        for name, each in self.servers.items():
            is_left = any(self.rules.server(name, each.server, each.at, each.trust))
            if self.rules.starts(name) and not is_left:
                yield started(name, each.server, each.at)


@dataclass(frozen=True, slots=True)
class AgentFile:
    """The reading of one agent file."""

    files: Files
    home: Home
    path: str
    text: Text

    @property
    def header(self) -> Mapping[str, object]:
        """All that the file says besides the prompt."""
        return self.text.document.data

    @property
    def is_remote(self) -> bool:
        """Whether another machine runs it."""
        kind = self.header.get("kind")
        return kind == "remote" if kind else bool(self.header.keys() & {"agent_card_json", "agent_card_url"})

    def _place(self, *route: str | int, of_key: bool = False) -> Place:
        return Place(self.text.document, route, of_key)

    def agent(self, *, is_entry: bool) -> Agent | None:
        """The agent that the file declares; None, with the reason noted, if Gemini CLI does not load it.

        A person starts it by `@NAME`, unless the session may not call it.
        """
        if self._is_refused():
            return None
        header = self.header
        at = self._place("name", of_key=True)
        model = header.get("model")
        listed = self._listed()
        has_all = listed is None or any(tool == "*" for tool, _ in listed)
        name = excerpt(text(header["name"]), MAX_NAME)
        return Agent(
            name=name,
            at=at,
            path=self.path,
            prompt=self.text.prompt,
            header=header,
            description=text(header.get("description")) or None,
            model=model if isinstance(model, str) and model != "inherit" else None,
            grants=tuple(self._grants(at, listed)),
            inherits=not self.is_remote and has_all and self.home.rules.core is None,
            but=self.home.rules.without,
            is_entry=is_entry and any(self.home.rules.call(name, at)),
        )

    def _is_refused(self) -> bool:
        """Whether Gemini CLI refuses the file: it does so for any key and any tool that it does not know.

        Each reason is noted at its place, as none is mended by another's mending.
        """
        of_any_kind = self._has_strange_kind()  # for it is not known which of the two was meant
        faults = [
            self._lacks_keys(),
            self._has_no_name(),
            of_any_kind,
            self._has_strange_keys(of_any_kind=of_any_kind),
            self._has_strange_tools(),
        ]
        return any(faults)

    def _lacks_keys(self) -> bool:
        is_described = self.is_remote or text(self.header.get("description"))
        wanted = {"name": isinstance(self.header.get("name"), str), "description": is_described}
        if lacking := [f"`{key}`" for key, is_there in wanted.items() if not is_there]:
            message = f"`{self.path}` has no {' and no '.join(lacking)}, {_UNLOADED}"
            self.files.note("LDO152", self._place(), message)
        return bool(lacking)

    def _has_no_name(self) -> bool:
        """Whether its name is none that an agent may have."""
        name = self.header.get("name")
        is_wrong = isinstance(name, str) and not _NAME.fullmatch(name)
        if is_wrong:
            message = f"`{excerpt(str(name))}` is not a name of lower-case letters, digits, `-` and `_`, {_UNLOADED}"
            self.files.note("LDO152", self._place("name"), message)
        return is_wrong

    def _has_strange_kind(self) -> bool:
        is_strange = "kind" in self.header and self.header["kind"] not in _KINDS
        if is_strange:
            value = self.header["kind"]
            kind, place = text(value), self._place("kind", of_key=value is None)
            what = "empty" if value is None else f"`{excerpt(str(value))}`"
            message = f"`kind` is {what}, neither `local` nor `remote`, {_UNLOADED}"
            self.files.note("LDO151", place, message, renaming(place, kind, nearest(kind, _KINDS)))
        return is_strange

    def _has_strange_keys(self, *, of_any_kind: bool) -> bool:
        known = LOCAL | REMOTE if of_any_kind else REMOTE if self.is_remote else LOCAL
        if unknown := [key for key in self.header if key not in known]:
            names = ", ".join(f"`{excerpt(key)}`" for key in unknown)
            place = self._place(unknown[0], of_key=True)
            message = f"Gemini CLI does not know {names}, and loads no agent that has what it does not know"
            hint = renaming(place, unknown[0], nearest(unknown[0], known))
            self.files.note("LDO151", place, message, hint)
        return bool(unknown)

    def _has_strange_tools(self) -> bool:
        tools = self.header.get("tools", [])
        if not isinstance(tools, list):
            self.files.note("LDO151", self._place("tools"), f"`tools` is not a list, {_UNLOADED}")
            return True
        if strange := [tool for tool in tools if not isinstance(tool, str) or not _is_tool(tool)]:
            self._note_tools(tools.index(strange[0]), [str(tool) for tool in strange])
        return bool(strange)

    def _note_tools(self, number: int, strange: list[str]) -> None:
        """Notes the unknown tools of its list, at the first of them, all together."""
        place = self._place("tools", number)
        names = ", ".join(f"`{excerpt(tool)}`" for tool in strange[:MANY])
        more = f" and {len(strange) - MANY} more" if len(strange) > MANY else ""
        what, them = ("tool", "it") if len(strange) == 1 else ("tools", "them")
        message = f"Gemini CLI has no {what} {names}{more}, and loads no agent that names {them}"
        near = {tool: meant_tool(tool, LINES, BY_MEANING) for tool in strange[:MANY]}
        hint = renaming(place, strange[0], near[strange[0]])
        if len(strange) > 1:
            meant = ", ".join(f"`{tool}` for `{excerpt(name)}`" for name, tool in near.items() if tool)
            rest = names_text(name for name, tool in near.items() if not tool)
            others = f", and take {rest} out" if rest and not more else ""
            hint = f"write {meant}{others}" if meant else None
        self.files.note("LDO250", place, message, hint)

    def _listed(self) -> list[tuple[str, Place]] | None:
        """The tools that it names; None if it has those of the session."""
        tools = self.header.get("tools")
        if isinstance(tools, list):
            return [(str(tool), self._place("tools", number)) for number, tool in enumerate(tools)]
        return None

    def _grants(self, at: Place, listed: list[tuple[str, Place]] | None) -> Iterator[Grant]:
        if self.is_remote:
            yield self._of_another_machine(at)
            return
        if listed is None:
            yield from self.home.everything(at)
        for tool, place in listed or ():
            yield from self._of_tool(tool, place)
        for key in ("mcpServers", "mcp_servers"):
            own = servers_of(self.text.document, key)
            note_trust(self.files, own)
            for name, each in own.items():
                yield from self.home.rules.server(name, each.server, each.at, each.trust)

    def _of_another_machine(self, at: Place) -> Grant:
        name = text(self.header["name"])
        line = Line(name, (capability_of(name), "data.untrusted", "net.connect"), "allowed", "open", "")
        return line.grant(at, ORIGIN, toolset="another machine")

    def _of_tool(self, name: str, place: Place) -> Iterator[Grant]:
        rules, known = self.home.rules, self.home.servers
        if line := LINES.get(tool_called(name)):
            yield from rules.grants(line, place)
        elif name == "*":
            yield from self.home.everything(place)
        elif name == "mcp_*":
            for server, each in known.items():
                yield from rules.server(server, each.server, place, each.trust)
        elif name.startswith("mcp_"):
            near = [server for server in known if name.startswith(f"mcp_{server}_")]
            server = max(near, key=len) if near else name.removeprefix("mcp_").partition("_")[0]
            if not near:
                self.files.unknown_server(place, server, known)
            each = known[server] if near else Declared(Server(), place)
            tool = name.removeprefix(f"mcp_{server}_")
            if tool == "*" or not near or each.shows(tool):
                yield from rules.server(server, each.server, place, each.trust)
        else:
            yield from rules.grants(DISCOVERED, place)


def _is_tool(name: str) -> bool:
    return tool_called(name) in LINES or name == "*" or name.startswith(("mcp_", "discovered_tool_"))
