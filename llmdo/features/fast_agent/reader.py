"""fast-agent: the agents of its cards, with the servers of the configuration above them."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt_of_end, finding
from llmdo.base.parts import items, table, text
from llmdo.base.values import dataclass, field
from llmdo.features.fast_agent import BESIDE, CONFIGURATIONS, FILES, HOME, PYTHON, TOOLS
from llmdo.features.fast_agent.card import (
    KEYS,
    OF_CARDS_ALONE,
    TYPES,
    Card,
    CardReader,
    Surroundings,
    server_at,
)
from llmdo.features.fast_agent.code import cards_in, configurations_in, may_declare, unread
from llmdo.foreign.files import Files
from llmdo.foreign.servers import judge, servers_in
from llmdo.foreign.team import MAX_NAME, Team
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.foreign.tree import Tree
    from llmdo.graph.described import Server
    from llmdo.syntax.document import Document

SKILLS = (".fast-agent/skills/*/SKILL.md", ".agents/skills/*/SKILL.md", ".claude/skills/*/SKILL.md")
SERVER_KEYS = frozenset({
    "access_token", "args", "auth", "command", "connector_id", "cwd", "defer_loading", "description", "elicitation",
    "env", "headers", "http_read_timeout_seconds", "http_timeout_seconds", "implementation", "include_instructions",
    "load_on_start", "management", "max_missed_pings", "name", "ping_interval_seconds", "protocol_mode",
    "read_timeout_seconds", "read_transport_sse_timeout_seconds", "reconnect_on_disconnect", "roots", "sampling",
    "target", "transport", "url",
})  # fmt: skip

_LEAST = 20  # characters of an agent's home before a long name of its own


def read(tree: Tree) -> Team:
    """The agents of the cards of a project."""
    files = Files(tree, "fast-agent")
    paths = files.find(FILES)
    configurations = _Configurations(files, tuple(filter(_is_configuration, paths)))
    cards = list(_cards(files, paths))
    homes = {card.home for card in cards}
    has_skills = bool(not tree.only and tree.find(SKILLS)[0])
    agents, declaring = [], configurations.declaring
    fronts = _fronts(cards)
    for home in sorted(homes):
        together = [card for card in cards if card.home == home]
        identities = {card.name: f"{fronts[home]}{card.name}" for card in together}
        tools = [identities[card.name] for card in together if card.is_tool]
        for card in together:
            in_code = card.is_configured_in_code
            configuration = _Configuration("", {}) if in_code else configurations.of(card.path)
            around = Surroundings(
                configuration.servers,
                configuration.web,
                has_skills,
                identities,
                tools,
                configuration.path,
                declaring,
            )
            agents.append(CardReader(files, card, around).agent())
    configurations.note_alone(
        [
            path
            for path in files.paths
            if path.endswith(PYTHON) and (source := files.source(path)) and any(unread(source))
        ]
    )
    return Team(
        format="fast-agent",
        agents=tuple(agents),
        files=files.paths,
        problems=tuple(files.problems),
        starts="allowed",
    )


def _fronts(cards: Sequence[Card]) -> dict[str, str]:
    """What goes before the names of agents, by their home: a part of it where it is long, and never that of another."""
    longest: dict[str, int] = {}
    for card in cards:
        longest[card.home] = max(len(card.name), longest.get(card.home, 0))
    if len(longest) == 1:
        return dict.fromkeys(longest, "")
    fronts = {".": ""}
    taken: set[str] = set()
    for home in sorted(longest.keys() - fronts.keys()):
        front = short = excerpt_of_end(home, max(MAX_NAME - 1 - longest[home], _LEAST))
        number = 1
        while front in taken:
            number += 1
            front = f"{short} ({number})"
        taken.add(front)
        fronts[home] = f"{front}/"
    return fronts


def _cards(files: Files, paths: Iterable[str]) -> Iterator[Card]:
    """The cards at these paths, and those next to a configuration."""
    for path in paths:
        if not _is_configuration(path) and (card := _card(files, path)):
            yield card
    folders = {PurePosixPath(path).parent for path in paths if _is_configuration(path)}
    beside = [(folder / pattern).as_posix() for folder in sorted(folders) for pattern in BESIDE]
    if not folders or files.tree.only:
        return
    for path in files.tree.find(beside)[0]:
        if card := _card(files, path, is_sure=False):
            yield card
    for path in files.tree.find([(folder / f"**/*{PYTHON}").as_posix() for folder in sorted(folders)])[0]:
        yield from _in_python(files, path)


def _in_python(files: Files, path: str) -> Iterator[Card]:
    """The agents of a Python file; one without any is not noted as read."""
    if not (content := files.looked_into(path)) or not may_declare(content):
        return
    if source := files.source(path):
        files.problems.extend(unread(source))
        cards = [*cards_in(source)]
        if any(card.is_configured_in_code for card in cards):
            files.problems.extend(configurations_in(source))
        for card in cards:
            files.problems.extend(card.document.problems)
            yield card


def _is_configuration(path: str) -> bool:
    return PurePosixPath(path).name in CONFIGURATIONS


@dataclass(frozen=True, slots=True)
class _Configuration:
    """The configuration of the cards below it."""

    path: str
    """Its file; empty if there is none."""
    servers: Mapping[str, tuple[Server, Place]]
    web: Place | None = None


@dataclass(slots=True)
class _Configurations:
    """The configurations of a project, each read once."""

    files: Files
    paths: Sequence[str]
    """The files that there are."""
    _known: dict[str, _Configuration | None] = field(default_factory=dict)
    """By path; None if there is no file."""
    _asked: set[str] = field(default_factory=set)
    """The files of those that are above a card."""

    def of(self, card: str) -> _Configuration:
        """The nearest one above a card."""
        for folder in PurePosixPath(card).parents:
            for place in (folder, folder / HOME):
                for name in CONFIGURATIONS:
                    if configuration := self._at((place / name).as_posix()):
                        self._asked.add(configuration.path)
                        return configuration
        return _Configuration("", {})

    @property
    def declaring(self) -> Mapping[str, str]:
        """The first file that declares each server of the project."""
        declaring: dict[str, str] = {}
        for path in self.paths:
            for name in configuration.servers if (configuration := self._at(path)) else ():
                declaring.setdefault(name, path)
        return declaring

    def _at(self, path: str) -> _Configuration | None:
        if path not in self._known:
            document = self.files.yaml(path)
            self._known[path] = self._read(document) if document else None
        return self._known[path]

    def note_alone(self, unread_files: Sequence[str]) -> None:
        """Notes those above no agent and no unread file of agents: those of one may be in Python elsewhere."""
        for path in self.paths:
            if any(PurePosixPath(each).is_relative_to(PurePosixPath(path).parent) for each in unread_files):
                continue
            self._at(path)
            message = f"no card is read with `{path}`: its agents may be in Python that is not beside it"
            if path not in self._asked and (source := self.files.source(path)):
                self.files.problems.append(finding("LDO154", source.location(), message))

    def _read(self, document: Document) -> _Configuration:
        servers = servers_in(document, "mcp", "servers")
        judge(self.files, servers)
        for name, (_, at) in servers.items():
            self.files.misspelt_keys(document, SERVER_KEYS, "mcp", "servers", name)
            if isinstance(at.data, dict) and "target" in at.data:
                servers[name] = (server_at(at.data), at)
        for number, entry in enumerate(items(table(document.data, "mcp").get("targets"))):
            name = text(table(entry).get("name")) or text(entry) or text(table(entry).get("target"))
            servers[name] = (server_at(entry), Place(document, ("mcp", "targets", number)))
        providers = (
            provider
            for provider in document.data
            if table(document.data, provider, "web_search").get("enabled") is True
        )
        return _Configuration(
            document.source.path,
            servers,
            next((Place(document, (provider, "web_search", "enabled")) for provider in providers), None),
        )


def _card(files: Files, path: str, *, is_sure: bool = True) -> Card | None:
    """The card at `path`, or None. Unless `is_sure`, it must have keys of a card: other tools keep agents there too."""
    name = PurePosixPath(path)
    if name.stem.lower() in ("readme", "skill"):
        return None
    is_tool = name.parent.name in TOOLS
    if name.suffix in (".yaml", ".yml"):
        document = files.yaml(path)
        prompt = text(document.data.get("instruction")) if document else ""
    else:
        content = files.text(path, KEYS)
        document, prompt = (content.document, content.prompt) if content else (None, "")
    if document is None or (not is_sure and not _is_card(document)):
        return None
    if not document.data and not document.problems:
        message = f"`{path}` is empty, so it is not a card"
        files.problems.append(finding("LDO152", document.source.location(), message))
        return None
    return Card(path, document, prompt, is_tool)


def _is_card(document: Document) -> bool:
    keys = document.data.keys()
    kind = document.data.get("type")
    return keys <= KEYS and bool(keys & OF_CARDS_ALONE) and (kind is None or text(kind) in TYPES)
