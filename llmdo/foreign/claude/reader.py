"""Claude Code: agents in `.claude/agents` and in plugins, permissions in `settings.json`, servers in `.mcp.json`."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean, excerpt, finding
from llmdo.base.parts import table as table_in
from llmdo.base.values import dataclass, field
from llmdo.foreign import reading
from llmdo.foreign import servers as mcp
from llmdo.foreign.claude import AGENTS, SETTINGS
from llmdo.foreign.claude.agents import KEYS, AgentReader, Around
from llmdo.foreign.claude.built_in import built_in_agents
from llmdo.foreign.claude.modes import MODES
from llmdo.foreign.claude.session import main_session
from llmdo.foreign.claude.settings import KEYS as PERMISSION_KEYS
from llmdo.foreign.claude.settings import settings_of
from llmdo.foreign.claude.tools import SessionTools
from llmdo.foreign.team import MAX_NAME, Team
from llmdo.foreign.tree import few
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.foreign.claude.settings import ClaudeSettings
    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Document

OWN = ".claude/"
COPILOT = ".agent.md"
"""How the names of GitHub Copilot's agents end, which lie in `agents` as well; not in a folder of Claude Code."""
SERVERS = ".mcp.json"
MAX_DEPTH = 10  # five calls, each over the worker that stands for every agent

IDENTIFYING = frozenset({"description", "name", "tools"})
"""Keys of which an agent has one."""


def read(tree: Tree) -> Team:
    """The agents of a project of Claude Code, and the session in which a person starts them."""
    paths, problems = few(*tree.find(AGENTS))
    paths = tuple(path for path in paths if path.startswith(OWN) or not path.endswith(COPILOT))
    reader = _ClaudeReader(tree, [*problems])
    texts = [(path, text) for path in paths if (text := reader.text(path))]
    homes = {_home(path) for path, _ in texts}
    reader.problems.extend(
        note for path, note in reader.others.items() if path.startswith(OWN) or _home(path) in homes
    )
    document = reader.json(SERVERS)
    documents = reader.settings()
    settings = settings_of(documents)
    reader.judge(settings, documents)
    declared = mcp.servers_in(document, "mcpServers") if document else {}
    servers = {name: each for name, each in declared.items() if name not in settings.refused_servers}
    identities = [_identity(path, text.document) for path, text in texts]
    known = dict.fromkeys(identities)
    agents = [
        AgentReader(
            Around(identities=known, settings=settings, servers=servers, plugin=_plugin(path)),
            path,
            text,
            name,
            reader.problems,
        ).agent()
        for (path, text), name in zip(texts, identities, strict=True)
    ]
    tools = SessionTools(settings, servers, settings.mode)
    if at := next(_places(documents, texts), None):
        agents.insert(0, main_session(tools, at))
    return Team(
        format="claude",
        agents=(*agents, *built_in_agents(agents, tools)),
        files=tuple(sorted({*reader.files})),
        problems=tuple(reader.problems),
        starts="allowed" if servers else "needs_approval",
        max_depth=MAX_DEPTH,
    )


def _places(documents: Iterable[Document], texts: Iterable[tuple[str, reading.Text]]) -> Iterator[Place]:
    """What shows that Claude Code is used in the project itself, as what a session has its place from."""
    for document in documents:
        yield Place(document, ("permissions",), of_key=True)
    for path, text in texts:
        if path.startswith(OWN):
            yield Place(text.document, ("name",), of_key=True)


@dataclass(slots=True)
class _ClaudeReader:
    """One reading of a project: collects its problems."""

    tree: Tree
    problems: list[Diagnostic]
    files: list[str] = field(default_factory=list)
    others: dict[str, Diagnostic] = field(default_factory=dict)
    """What files are no agents, which matters where there are agents."""

    def text(self, path: str) -> reading.Text | None:
        """The agent file at `path`; None where it is none."""
        source = self._source(path)
        if source is None:
            return None
        text = reading.text(source, KEYS)
        lacking = _lacking(path, text)
        if text is None or lacking:
            if PurePosixPath(path).stem.lower() != "readme":
                message = f"`{path}` has {lacking}, so it is no agent to Claude Code"
                self.others[path] = finding("LDO152", source.location(), message)
            return None
        self.problems.extend(text.document.problems)
        return text

    def json(self, path: str) -> Document | None:
        """The JSON file at `path`; None where there is none."""
        source = self._source(path)
        if source is None:
            return None
        document = reading.json_with_comments(source)
        self.problems.extend(document.problems)
        return document

    def _source(self, path: str) -> Source | None:
        read = self.tree.read(path)
        if read is None:
            return None
        source, problems = read
        self.files.append(path)
        self.problems.extend(problems)
        return None if problems else source

    def settings(self) -> list[Document]:
        """The settings of the project, those of the person in it last."""
        return [document for path in SETTINGS if (document := self.json(path))]

    def judge(self, settings: ClaudeSettings, documents: Sequence[Document]) -> None:
        """Notes what of the settings does nothing, and what switches questions off."""
        for document in documents:
            self._judge(document)
        for rule in settings.rules:
            if rule.flaw:
                self._note("LDO151", rule.at, f"`{rule.at.data}` does nothing: {rule.flaw}")
        mode = settings.mode
        if mode.name == "bypassPermissions" and mode.at:
            message = "mode `bypassPermissions` never asks for approval"
            self._note("LDO554", mode.at, message, "what asks too often can be allowed by name")

    def _judge(self, document: Document) -> None:
        table = table_in(document.data, "permissions")
        for key in table.keys() - PERMISSION_KEYS:
            self._unknown(Place(document, ("permissions", key), of_key=True), key, PERMISSION_KEYS)
        place = Place(document, ("permissions", "defaultMode"))
        if place.data == "auto":
            self._note("LDO151", place, "mode `auto` is not heeded in the settings of a project")
        elif place.data is not None and place.data not in MODES:
            self._unknown(place, str(place.data), MODES)
        place = Place(document, ("enableAllProjectMcpServers",))
        if place.data is True:
            message = "`enableAllProjectMcpServers` starts every server of `.mcp.json` without a question"
            self._note("LDO554", place, message, "name the servers in `enabledMcpjsonServers`")

    def _unknown(self, place: Place, name: str, known: Iterable[str]) -> None:
        message = f"Claude Code does not know `{name}`, so it does nothing"
        self._note("LDO151", place, message, did_you_mean(name, known))

    def _note(self, code: str, place: Place, message: str, hint: str | None = None) -> None:
        self.problems.append(finding(code, place.location, message, hint=hint))


def _lacking(path: str, text: reading.Text | None) -> str | None:
    """What a file lacks to be an agent; None where it is one."""
    if text is None:
        return "no header"
    header = text.document.data
    if not path.startswith(OWN):  # a plugin's agent may be called after its file
        return None if header.keys() & IDENTIFYING else "neither `name` nor `description`"
    if not header.get("name"):
        return "no `name`"
    if str(header["name"]).startswith("-") or ":" in str(header["name"]):
        return "a `name` with `:`, or that begins with `-`"
    return None if header.get("description") else "no `description`"


def _identity(path: str, document: Document) -> str:
    """What Claude Code calls an agent: its name, after the plugin that it comes with."""
    name = document.data.get("name")
    own = name.strip() if isinstance(name, str) and name.strip() else PurePosixPath(path).stem
    plugin = _plugin(path)
    return excerpt(f"{plugin}:{own}" if plugin else own, MAX_NAME)


def _home(path: str) -> str:
    """The folder of agents that a file lies in."""
    above, agents, _ = f"/{path}".partition("/agents/")
    return above + agents


def _plugin(path: str) -> str | None:
    """The plugin that an agent file belongs to; None for one of the project itself."""
    above, agents, _ = f"/{path}".partition("/agents/")
    folder = above.rpartition("/")[2]
    return folder if agents and folder not in ("", ".claude") else None
