"""Qwen Code: its session, and the agents that it calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import items, table, text
from llmdo.base.values import dataclass
from llmdo.features.qwen import AGENTS, SETTINGS
from llmdo.features.qwen.settings import LINES, MODES, QwenRules, rules_of
from llmdo.features.qwen.table import ALIASES, DISPLAYED, NAMED
from llmdo.foreign.events import ClientEvents
from llmdo.foreign.files import Files, folder_place, renaming
from llmdo.foreign.servers import judge, servers_in
from llmdo.foreign.team import MAX_NAME, Agent, Team
from llmdo.graph.described import Server
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.foreign.reading import Text
    from llmdo.foreign.team import AgentCall, Grant
    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Document, Route

    Declared = Mapping[str, tuple[Server, Place]]

KEYS = frozenset({
    "approvalMode", "background", "color", "description", "disallowedTools", "hooks", "model", "modelConfig", "name",
    "runConfig", "skills", "tools",
})  # fmt: skip
SECTIONS = {
    "permissions": ("allow", "ask", "deny"),
    "tools": (
        "allowed", "approvalMode", "autoAccept", "callCommand", "core", "discoveryCommand",
        "enableToolOutputTruncation", "exclude", "sandbox", "sandboxImage", "shell",
        "truncateToolOutputLines", "truncateToolOutputThreshold", "useBuiltinRipgrep", "useRipgrep",
    ),
}  # fmt: skip
"""The sections that decide something, and the keys in them."""
SERVER_KEYS = frozenset({
    "args", "authProviderType", "command", "cwd", "description", "env", "excludeTools", "extensionName", "headers",
    "httpUrl", "includeTools", "oauth", "targetAudience", "targetServiceAccount", "tcp", "timeout", "trust", "type",
    "url",
})  # fmt: skip
SESSION = "main-session"
"""The name of a project's session here."""
ANY = "general-purpose"
"""The built-in agent, which has every tool."""
EVERY_TOOL = "every tool"
READS = frozenset({"SessionStart", "SubagentStart", "UserPromptSubmit"})
"""The events whose hooks add to the conversation."""
_COMMANDS = (("tools", "discoveryCommand"), ("tools", "callCommand"), ("mcp", "serverCommand"))
_WITHOUT = frozenset({"agent"})
"""A tool that agents do not have, so that they call nobody."""

_TOOLS = re.compile(
    r"^tools:[ \t]*(?P<inline>[^\r\n]*)\r?\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?P<below>[^\r\n]*)", re.MULTILINE
)
"""The key `tools` of a header, and the first line below it that counts."""
_NAME = re.compile(r"[\w-]+")
_RESERVED = frozenset({"config", "default", "model", "self", "system", "tool", "user"})
_SHORTEST, _LONGEST = 2, 50  # characters of a name
_LEAST = 10  # characters of a prompt
_IN_LINES = "write each tool in a line of its own below `tools:`, with two blanks before its `-`"


def read(tree: Tree) -> Team:
    """The session and the agents of a project of Qwen Code."""
    files = Files(tree, "Qwen Code")
    paths = files.find((AGENTS, SETTINGS))
    path = next((path for path in paths if path.endswith(".json")), SETTINGS)
    document = files.json(path) if not tree.only or path in paths else None
    home = _home(files, document) if document else _QwenHome(QwenRules(), {}, {})
    agents = [
        agent
        for path in paths
        if path.endswith(".md") and (content := files.text(path, KEYS))
        for agent in _QwenAgent(files, home, path, content).agents()
    ]
    own = {agent.name for agent in agents}
    if document and ANY not in own:
        agents.append(_built_in(home))
    session = [_session(files, document, home, agents)] if document else []
    return Team(
        format="qwen",
        agents=(*session, *agents),
        files=files.paths,
        problems=tuple(files.problems),
        starts="allowed",  # in a folder that is trusted
        max_depth=1,
    )


@dataclass(frozen=True, slots=True)
class _QwenHome:
    """The common data of a session and of all agents that it calls."""

    rules: QwenRules
    servers: Declared
    trusted: Mapping[str, Place]
    """The settings that let all tools of a server go unasked."""

    def everything(self, rules: QwenRules, at: Place, without: Iterable[str] = ()) -> Iterator[Grant]:
        """Every tool that is not taken away."""
        taken = {*without}
        for line in LINES.values():
            if line.tool not in taken:
                yield from rules.grants(line, at, EVERY_TOOL)
        for name, (server, declared) in self.servers.items():
            if f"mcp__{name}" not in taken:
                yield from rules.server(name, server, declared, self.trusted.get(name))


def _home(files: Files, document: Document) -> _QwenHome:
    for section, known in SECTIONS.items():
        files.misspelt_keys(document, known, section)
    allowed = [name for name, _ in files.texts(document, "mcp", "allowed")]
    excluded = {name for name, _ in files.texts(document, "mcp", "excluded")}
    declared = servers_in(document, "mcpServers")
    judge(files, declared)
    trusted = {}
    for name in declared:
        files.misspelt_keys(document, SERVER_KEYS, "mcpServers", name)
        if table(document.data, "mcpServers", name).get("trust") is True:
            trusted[name] = Place(document, ("mcpServers", name, "trust"))
            message = f"nothing asks before a call of the MCP server `{excerpt(name)}`, because it is trusted"
            hint = "take `trust` out, and name the tools that may go unasked in `permissions.allow`"
            files.note("LDO554", trusted[name], message, hint)
    there = {
        name: each
        for name, each in declared.items()
        if name not in excluded and (not allowed or name in allowed)
    }
    return _QwenHome(rules_of(files, document), there, trusted)


def _session(files: Files, document: Document, home: _QwenHome, agents: Iterable[Agent]) -> Agent:
    """The session that a person starts: it has every tool and calls every agent."""
    at = Place(document, ())
    calls: tuple[AgentCall, ...] = tuple(
        call for agent in agents for call in home.rules.call(agent.name, agent.at)
    )
    return Agent(
        name=SESSION,
        at=at,
        header=document.data,
        description="The session of Qwen Code.",
        grants=tuple(home.everything(home.rules, at)),
        calls=calls,
        events=tuple(_events(files, document)),
        inherits=home.rules.core is None,
        but=home.rules.without,
    )


def _built_in(home: _QwenHome) -> Agent:
    at = folder_place(".qwen")
    grants = home.everything(home.rules.below(None, None), at, _WITHOUT)
    return Agent(name=ANY, at=at, description="Built into Qwen Code.", grants=tuple(grants), is_entry=False)


def _events(files: Files, document: Document) -> Iterator[Grant]:
    """What the settings make Qwen Code run, and where they send the conversation."""
    client, data = ClientEvents(files), document.data
    for route in _COMMANDS:
        place = Place(document, route)
        if text(place.data).strip():
            yield client.command(".".join(route), text(place.data), place, is_read=route == _COMMANDS[0])
    places: list[Route] = [("security", "auth", "baseUrl")]
    for provider, models in table(data, "modelProviders").items():
        places += [("modelProviders", provider, number, "baseUrl") for number, _ in enumerate(items(models))]
    for place in (Place(document, route) for route in places):
        if address := text(_value(place)):
            yield client.receiver("the model", address, place)
    if data.get("disableAllHooks") is not True:
        yield from client.hooks([Place(document, ("hooks",))], reads=READS)


def _value(place: Place) -> object:
    """The value at a place; None where its parents are of another type."""
    value: object = place.document.data
    for step in place.route:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _fault(name: str) -> str | None:
    """What Qwen Code refuses in the name of an agent."""
    if not _NAME.fullmatch(name):
        return "has other characters than letters, digits, `-` and `_`"
    if len(name) > _LONGEST:
        return f"has more than {_LONGEST} characters"
    if len(name) < _SHORTEST:
        return f"has fewer than {_SHORTEST} characters"
    if name.strip("-_") != name:
        return "begins or ends with `-` or `_`"
    return "is reserved" if name.lower() in _RESERVED else None


def _mended(name: str) -> str | None:
    """A name like this one that Qwen Code takes, if there is one."""
    plain = re.sub(r"[^\w-]+", "-", name).strip("-_")[:_LONGEST].strip("-_")
    other = f"{plain}-agent" if plain and _fault(plain) else plain
    return other if other and not _fault(other) else None


@dataclass(frozen=True, slots=True)
class _QwenAgent:
    """The reading of one agent file."""

    files: Files
    home: _QwenHome
    path: str
    text: Text

    def _place(self, *route: str | int, of_key: bool = False) -> Place:
        return Place(self.text.document, route, of_key)

    def agents(self) -> Iterator[Agent]:
        """The agent that the file declares; none, with the reason noted, if Qwen Code does not load it."""
        header = self.text.document.data
        if refusal := self._refusal():
            why, at, hint = refusal
            message = f"`{self.path}` {why}, so Qwen Code does not load this agent"
            self.files.note("LDO152", at, message, hint)
            return
        self.files.misspelt_keys(self.text.document, KEYS)
        mode = text(header.get("approvalMode")) or None
        mode_at = self._place("approvalMode") if mode else None
        rules = self.home.rules.below(mode, mode_at)
        if mode == "yolo" and mode_at:
            message = "mode `yolo` never asks for approval"
            self.files.note("LDO554", mode_at, message, "allow by name what asks too often")
        at = self._place("name", of_key=True)
        without = {DISPLAYED.get(name, name) for name in self._names("disallowedTools")}
        listed = [name for name, _ in self._listed()]
        inherits = self._is_unread() or not listed or "*" in listed
        model = header.get("model")
        name = excerpt(str(header["name"]), MAX_NAME)
        yield Agent(
            name=name,
            at=at,
            path=self.path,
            prompt=self.text.prompt,
            header=header,
            description=str(header["description"]),
            model=model if isinstance(model, str) and model != "inherit" else None,
            grants=tuple(
                self.home.everything(rules, at, {*without, *_WITHOUT})
                if inherits
                else self._grants(rules, without)
            ),
            inherits=inherits,
            but=tuple(sorted(without)),
            is_entry=any(self.home.rules.call(name, at)),  # as a person names it in a session
        )

    def _names(self, key: str) -> Iterator[str]:
        value = self.text.document.data.get(key)
        yield from (
            each for each in ([value] if isinstance(value, str) else items(value)) if isinstance(each, str)
        )

    def _refusal(self) -> tuple[str, Place, str | None] | None:
        """Why the agent is not loaded, with the place of that and what to write there; None if it is."""
        header = self.text.document.data
        for key in ("name", "description"):
            if header.get(key) is None or not str(header[key]).strip():
                return f"has no `{key}`", self._place(), None
        mode = header.get("approvalMode")
        if isinstance(header.get("tools"), dict):
            return "has `tools` that are no list", self._place(), None
        if mode not in (None, "", *MODES):
            return f"has the mode `{excerpt(str(mode))}`", self._place(), None
        name = str(header["name"]).strip()
        if why := _fault(name):
            other = _mended(name)
            hint = f"write `name: {other}`" if other else None
            return f"has the name `{excerpt(name)}`, which {why}", self._place("name"), hint
        if len(self.text.prompt.strip()) < _LEAST:
            return f"has a prompt of fewer than {_LEAST} characters", self._place(), None
        return None

    def _is_unread(self) -> bool:
        """Whether the version that is followed takes `tools` for no list, which is noted.

        That one reads a list by the two blanks before each `-` alone: without them the agent has every tool, and any
        other text makes it refuse the agent, which later versions load with the tools that the text names.
        """
        lines = _TOOLS.search(self.text.document.source.text)
        if lines is None or self.text.document.data.get("tools") is None:
            return False
        if not lines["inline"] and lines["below"].startswith("- "):
            message = f"{NAMED} takes no item without two blanks before its `-`, so `tools` does nothing"
            self.files.note("LDO151", self._place("tools", of_key=True), message, _IN_LINES)
            return True
        if lines["inline"] or not lines["below"].startswith("  - "):
            message = f"{NAMED} takes these `tools` for no list, so it does not load this agent"
            hint = _IN_LINES if [*self._listed()] else None
            self.files.note("LDO152", self._place("tools", of_key=True), message, hint)
        return False

    def _listed(self) -> Iterator[tuple[str, Place]]:
        """The names of `tools`, of which later versions read a text with commas as well."""
        value = self.text.document.data.get("tools")
        if isinstance(value, str):
            yield from ((each.strip(), self._place("tools")) for each in value.split(",") if each.strip())
        else:
            yield from ((str(each), self._place("tools", number)) for number, each in enumerate(items(value)))

    def _grants(self, rules: QwenRules, without: set[str]) -> Iterator[Grant]:
        for name, place in self._listed():
            tool = DISPLAYED.get(name, name)
            if tool in without or tool in _WITHOUT:
                continue
            if tool in LINES:
                yield from rules.grants(LINES[tool], place)
            elif tool.startswith("mcp__"):
                server = tool.split("__")[1]
                if server not in self.home.servers:
                    self.files.unknown_server(place, server, self.home.servers)
                known = self.home.servers[server][0] if server in self.home.servers else Server()
                yield from rules.server(server, known, place, self.home.trusted.get(server))
            else:
                meant = ALIASES.get(tool)
                message = f"{NAMED} has no tool `{excerpt(tool)}`"
                self.files.note("LDO250", place, message, renaming(place, tool, meant))
