"""Gemini CLI: its session under `.gemini/settings.json`, sessions with an extension, and the agents that they call."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, finding
from llmdo.base.parts import table, text
from llmdo.base.values import replace
from llmdo.features.gemini import AGENTS, EXTENSIONS, HOOKS, MANIFEST, POLICIES, SETTINGS
from llmdo.features.gemini.agents import LOCAL, REMOTE, AgentFile, Home, note_trust, servers_of
from llmdo.features.gemini.client import hook_events, settings_events
from llmdo.features.gemini.settings import ORIGIN, SHELL, GeminiRules, judge_servers, listed, rules_of, whole
from llmdo.features.gemini.table import TABLE
from llmdo.foreign.files import Files
from llmdo.foreign.permissions import listed_commands
from llmdo.foreign.servers import judge
from llmdo.foreign.team import MAX_NAME, Agent, Team
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.foreign.team import Grant
    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Document

SESSION = "main-session"
"""The name of a project's session here."""
BROWSER = "browser_agent"
_BROWSER_LINE = next(line for line in TABLE if line.tool == BROWSER)
_EXTENSION_KEYS = frozenset({
    "contextFileName", "description", "excludeTools", "mcpServers", "migratedTo", "name", "plan", "settings", "themes",
    "version",
})  # fmt: skip


def read(tree: Tree) -> Team:
    """The sessions and the agents of a project of Gemini CLI."""
    files = Files(tree, "Gemini CLI", takes_commas=False)
    paths = files.find((AGENTS, *EXTENSIONS))
    manifests = [path for path in paths if PurePosixPath(path).name == MANIFEST]
    settings = next((path for path in paths if path.endswith(".json") and path not in manifests), SETTINGS)
    agents: list[Agent] = []
    if not (tree.only and manifests):
        agents += _project(files, settings, [path for path in paths if path.endswith(".md")])
    for document in _loaded(files, manifests):
        agents += _extension(files, document)
    return Team(
        format="gemini",
        agents=tuple(agents),
        files=files.paths,
        problems=tuple(files.problems),
        starts="allowed",  # in a folder that a person once trusted
        max_depth=1,
    )


def _project(files: Files, settings: str, paths: Iterable[str]) -> Iterator[Agent]:
    """The session of a project, if it has settings, and its agents."""
    document = files.json(settings)
    home = Home(GeminiRules(), {})
    overrides = table(document.data, "agents", "overrides") if document else {}
    if document:
        servers = servers_of(document, "mcpServers")
        note_trust(files, servers)
        known = {name: (each.server, each.at) for name, each in servers.items()}
        judge(files, known)
        discovers = ("tools", "discoveryCommand")
        home = Home(
            rules_of(files, document, known),
            servers,
            Place(document, discovers) if Place(document, discovers).data else None,
        )
    if document is None or table(document.data, "experimental").get("enableAgents") is not False:
        agents = [
            agent
            for agent in _agents(files, home, paths, is_entry=True)
            if table(overrides, agent.name).get("enabled") is not False
        ]
    else:
        agents = []
    if document and table(overrides, BROWSER).get("enabled") is True:
        agents.append(_browser(Place(document, ("agents", "overrides", BROWSER), of_key=True)))
    if document:
        yield _session(SESSION, document, home, agents, settings_events(files, document))
    yield from agents
    if not files.tree.only:
        _note_policies(files)


def _loaded(files: Files, paths: Iterable[str]) -> Iterator[Document]:
    """The manifests of extensions, of each name the uppermost: a session has one of a name.

    A copy further down is noted where something else is in it.
    """
    uppermost: dict[str, Document] = {}
    for path in sorted(paths, key=lambda path: (path.count("/"), path)):
        if (document := files.json(path)) is None:
            continue
        first = uppermost.setdefault(name := _extension_name(document), document)
        if first is document:
            yield document
        elif _contents(files, document) != _contents(files, first):
            message = f"`{path}` is another copy of the extension `{excerpt(name)}`, and was not read"
            hint = f"a session has one extension of a name, here that of `{first.source.path}`"
            files.note("LDO154", Place(document, ()), message, hint)


def _extension_name(document: Document) -> str:
    folder = PurePosixPath(document.source.path).parent.name
    return text(document.data.get("name")) or folder or "an extension"


def _agent_paths(files: Files, folder: str) -> tuple[str, ...]:
    return () if files.tree.only else files.find([f"{folder}agents/*.md"])


def _contents(files: Files, manifest: Document) -> dict[str, object]:
    """All that is read of an extension, by the path in its folder."""
    folder = manifest.source.path.removesuffix(MANIFEST)
    sources = [files.source(path) for path in (f"{folder}{HOOKS}", *_agent_paths(files, folder))]
    texts = {each.path.removeprefix(folder): each.text for each in sources if each}
    return {**texts, MANIFEST: {**manifest.data, "version": None}}


def _extension(files: Files, document: Document) -> Iterator[Agent]:
    """A session with an extension, and the agents that come with it."""
    folder = document.source.path.removesuffix(MANIFEST)
    name = _extension_name(document)
    files.misspelt_keys(document, _EXTENSION_KEYS)
    judge_servers(files, document)
    # Nobody but a person can trust a server that comes with an extension.
    servers = {
        server: replace(each, trust=None) for server, each in servers_of(document, "mcpServers").items()
    }
    judge(files, {server: (each.server, each.at) for server, each in servers.items()})
    excluded = whole(listed(files.texts(document, "excludeTools"), "blocked"))
    home = Home(GeminiRules(rules=excluded), servers)
    agents = list(_agents(files, home, _agent_paths(files, folder), is_entry=False))
    hooks = files.json(f"{folder}{HOOKS}") if not files.tree.only else None
    events = hook_events(files, [Place(hooks, ("hooks",))], folder.rstrip("/")) if hooks else ()
    yield _session(excerpt(f"{SESSION} with {name}", MAX_NAME), document, home, agents, events)
    yield from agents


def _agents(files: Files, home: Home, paths: Iterable[str], *, is_entry: bool) -> Iterator[Agent]:
    for path in paths:
        if PurePosixPath(path).name.startswith("_"):
            continue  # how Gemini CLI is told to leave a file out
        if content := files.text(path, LOCAL | REMOTE):
            agent = AgentFile(files, home, path, content).agent(is_entry=is_entry)
            if agent:
                yield agent


def _session(
    name: str, document: Document, home: Home, agents: Iterable[Agent], events: Iterable[Grant]
) -> Agent:
    """The session that a person starts: it has every tool and calls every agent."""
    at = Place(document, ())
    return Agent(
        name=name,
        at=at,
        header=document.data,
        description="The session of Gemini CLI.",
        grants=tuple(home.everything(at)),
        calls=tuple(call for agent in agents for call in home.rules.call(agent.name, agent.at)),
        events=(*events, *home.starts()),
        inherits=home.rules.core is None,
        but=home.rules.without,
        permissions=listed_commands(home.rules.rules, SHELL, ":*"),
    )


def _browser(at: Place) -> Agent:
    """The built-in agent of Gemini CLI with a browser, off by default."""
    return Agent(
        name=BROWSER,
        at=at,
        description="Built into Gemini CLI.",
        grants=(_BROWSER_LINE.grant(at, ORIGIN, toolset="a browser"),),
        is_entry=False,
    )


def _note_policies(files: Files) -> None:
    for path in files.tree.find([POLICIES])[0]:
        if source := files.source(path):
            message = "Gemini CLI ignores the policies of a project, so this file does nothing"
            hint = "it reads a person's own, in `~/.gemini/policies`"
            files.problems.append(finding("LDO151", source.location(), message, hint=hint))
