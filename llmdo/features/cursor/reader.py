"""Cursor: its session, one with each plugin, and agents, which have every tool of their session."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, finding
from llmdo.base.parts import text
from llmdo.base.values import dataclass, replace
from llmdo.features.cursor import AGENTS, COMMAND_LINE, EDITOR, HOOKS, SANDBOX, SERVERS, WORKTREES
from llmdo.features.cursor.header import agent_text, is_true, opening, rules_around, unquoted
from llmdo.features.cursor.permissions import LINES, CursorPermissions, permissions_of
from llmdo.features.cursor.plugins import plugins_in
from llmdo.features.cursor.table import TABLE
from llmdo.features.cursor.worktrees import worktree_events
from llmdo.foreign import reading
from llmdo.foreign.events import ClientEvents
from llmdo.foreign.files import Files
from llmdo.foreign.instead import in_a_header
from llmdo.foreign.permissions import written
from llmdo.foreign.servers import judge, servers_in
from llmdo.foreign.team import MAX_NAME, Agent, AgentCall, Team
from llmdo.syntax.document import Place
from llmdo.syntax.frontmatter import late_header

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from llmdo.features.cursor.plugins import CursorPlugin
    from llmdo.foreign.reading import Text
    from llmdo.foreign.team import Grant
    from llmdo.foreign.tree import Tree
    from llmdo.graph.described import Server
    from llmdo.syntax.document import Document

KEYS = frozenset({
    "background", "description", "force-default-model", "is_background", "model", "name", "readonly",
})  # fmt: skip
"""The keys of an agent file."""
SERVER_KEYS = frozenset({"args", "auth", "command", "cwd", "env", "envFile", "headers", "type", "url"})
SANDBOX_KEYS = frozenset({
    "additionalReadPaths", "additionalReadonlyPaths", "additionalReadwritePaths", "disableTmpWrite",
    "enableSharedBuildCache", "networkPolicy", "readBoundary", "type",
})  # fmt: skip
_FOR_TOOLS = frozenset({
    "allowed-tools", "allowedTools", "disallowedTools", "mcpServers", "permissionMode", "permissions", "tools",
})  # fmt: skip
"""Keys with which the agents of other tools have fewer tools."""
SESSION = "main-session"
"""The name of a project's session here."""
EVERY_TOOL = "every tool"
_ENDINGS = tuple(PurePosixPath(each).suffix for each in AGENTS)
READS = frozenset({"beforeSubmitPrompt", "sessionStart", "subagentStart"})
"""The events whose hooks add to the conversation."""
MAX_DEPTH = 4  # an agent and a child of it, each over the worker that stands for every agent
_READING = ("Read", "Search")
_READS_BY_COMMANDS = next(line for line in TABLE if line.tool == "Shell of a read-only agent")
_PAGES = ("agents", "index", "readme")
"""Names of files that nobody means as agents where they have no header."""
_NO_AGENTS = frozenset({
    ".cache", ".git", ".hg", ".next", ".nuxt", ".svn", "__pycache__", "build", "dist", "node_modules",
})  # fmt: skip
"""Folders in which the client looks for no agent."""
_FOLDER = ".cursor/agents/"
_HEADER = "write `description: TEXT` between two lines `---` at the start of the file"
_NOT_LOADED = ", so Cursor loads no agent from it"
_BLANKS = re.compile(r"[\s_]+")


def read(tree: Tree) -> Team:
    """The session and the agents of a project of Cursor."""
    files = Files(tree, "Cursor")
    paths = files.find(AGENTS)
    home = _home(files)
    agents = [*_agents(files, home, dict.fromkeys(paths, _FOLDER.rstrip("/")))]
    sessions = [*home.sessions()]
    for plugin in plugins_in(files):
        names = {each.name for each in agents}
        sessions_with, brought = _with_plugin(files, home, plugin, names)
        sessions += sessions_with
        agents += brought
    return Team(
        format="cursor",
        agents=(*sessions, *agents),
        files=files.paths,
        problems=tuple(files.problems),
        max_depth=MAX_DEPTH,
    )


@dataclass(frozen=True, slots=True)
class _Home:
    """The common data of the session and of every agent that it calls."""

    settings: tuple[Document, ...]
    """The files of the project that are about its session."""
    permissions: CursorPermissions
    servers: Mapping[str, tuple[Server, Place]]
    events: tuple[Grant, ...]
    """The hooks, and the commands for worktrees."""

    def everything(self, at: Place) -> Iterator[Grant]:
        """Every tool that no file takes away."""
        for name, line in LINES.items():
            if name not in ("Mcp", "Task"):
                yield from self.permissions.grants(line, at, EVERY_TOOL)
        for name, (server, declared) in self.servers.items():
            yield from self.permissions.server(name, server, declared)

    def reading(self, at: Place) -> Iterator[Grant]:
        """The tools of an agent that may not write: it has no server and no web either."""
        for name in _READING:
            yield from self.permissions.grants(LINES[name], at)
        shell = LINES["Shell"]
        if any(self.permissions.grants(shell, at)):
            yield from self.permissions.grants(_READS_BY_COMMANDS, at, shell.tool)

    def sessions(self) -> Iterator[Agent]:
        """The session that a person starts, if a file of the project is about it."""
        for document in self.settings[:1]:
            yield self.session(SESSION, Place(document, ()), document.data)

    def session(self, name: str, at: Place, header: Mapping[str, object], own: Iterable[Agent] = ()) -> Agent:
        """A session; `own` are agents that no other one has."""
        return Agent(
            name=name,
            at=at,
            header=header,
            description="The session of Cursor.",
            grants=tuple(self.everything(at)),
            calls=tuple(AgentCall(name=each.name, at=each.at) for each in own),
            events=self.events,
            everyone=at,
            inherits=True,
            is_callable=False,
            permissions=written(self.permissions.rules),
        )


def _home(files: Files) -> _Home:
    """The data in the JSON files of the project, with ineffective settings noted."""
    command_line, editor, servers, sandbox, hooks, worktrees = (
        files.json(_path(files.tree, path))
        for path in (COMMAND_LINE, EDITOR, SERVERS, SANDBOX, HOOKS, WORKTREES)
    )
    known: dict[str, tuple[Server, Place]] = {}
    if servers:
        files.misspelt_keys(servers, {"mcpServers"})
        known = servers_in(servers, "mcpServers")
        judge(files, known)
        for name in known:
            files.misspelt_keys(servers, SERVER_KEYS, "mcpServers", name)
    if sandbox:
        files.misspelt_keys(sandbox, SANDBOX_KEYS)
    permissions = permissions_of(files, command_line, editor, hooks)
    documents = (command_line, editor, servers, sandbox, hooks, worktrees)
    tables = [Place(hooks, ("hooks",))] if hooks else []
    events = [*ClientEvents(files).hooks(tables, reads=READS)]
    if worktrees:
        events += worktree_events(files, worktrees)
    return _Home(tuple(filter(None, documents)), permissions, known, tuple(events))


def _with_plugin(
    files: Files, home: _Home, plugin: CursorPlugin, names: Collection[str]
) -> tuple[list[Agent], list[Agent]]:
    """The session with a plugin, and the agents of the plugin, by other names than `names`, which no other calls.

    A plugin without agents, servers and hooks adds nothing to a session that there is.
    """
    servers = {**plugin.servers}
    judge(files, servers)
    for at in [each for _, each in servers.values()]:
        files.misspelt_keys(at.document, SERVER_KEYS, *at.route)
    client = ClientEvents(files, plugin.root, starts_there=True)
    events = [replace(each, is_of_person=True) for each in client.hooks(plugin.hooks, reads=READS)]
    with_it = replace(
        home,
        permissions=home.permissions.with_hooks(files, plugin.hooks, plugin.root),
        servers={**home.servers, **servers},
        events=(*home.events, *events),
    )
    agents = [
        replace(
            agent,
            name=excerpt(f"{plugin.name}:{agent.name}", MAX_NAME) if agent.name in names else agent.name,
            is_entry=False,
            is_callable=False,
        )
        for agent in _agents(files, with_it, plugin.agents)
    ]
    calls = [AgentCall(name=each.name, at=each.at) for each in agents if each.everyone]
    agents = [
        replace(agent, calls=tuple(each for each in calls if each.name != agent.name))
        if agent.everyone
        else agent
        for agent in agents
    ]
    if not (agents or events or servers) and (home.settings or names):
        return [], []
    name = excerpt(f"{SESSION} with {plugin.name}", MAX_NAME)
    return [with_it.session(name, plugin.at, plugin.at.document.data, agents)], agents


def _agents(files: Files, home: _Home, paths: Mapping[str, str]) -> Iterator[Agent]:
    """The agents in files, each with the folder of agents that it is in."""
    for path, folder in paths.items():
        inner = path.removeprefix(f"{folder}/")
        is_looked_for = path.endswith(_ENDINGS) and _NO_AGENTS.isdisjoint(inner.split("/"))
        if is_looked_for and (content := _text(files, path, inner)):
            yield _agent(files, home, path, content, folder)


def _path(tree: Tree, path: str) -> str:
    """The path of a file of this name: its own if it was given alone, else Cursor's location for it."""
    return tree.only if tree.only and PurePosixPath(tree.only).name == PurePosixPath(path).name else path


def _text(files: Files, path: str, inner: str) -> Text | None:
    """The agent file at `path`; None where Cursor loads none from it, which is noted unless it is a page.

    `inner`: its path in the folder of agents.
    """
    source = files.source(path)
    if source is None:
        return None
    content = agent_text(source, KEYS)
    if content and content.prompt.strip():
        return content
    if content:
        message = f"`{path}` has no text below its header{_NOT_LOADED}"
        files.problems.append(finding("LDO152", source.location(), message))
    elif "/" not in inner and PurePosixPath(path).stem.lower() not in _PAGES:
        problem = reading.headless(source, _NOT_LOADED)
        hint = problem.hint or (None if source.text.startswith("---") else _HEADER)
        files.problems.append(replace(problem, hint=hint))
    return None


def _name(file: PurePosixPath) -> str:
    """The name of an agent that its header does not name."""
    return _BLANKS.sub("-", file.stem)


def _narrower(content: Text, rules: tuple[int, int] | None, folder: str) -> str:
    """The change that leaves an agent what reads; `rules` are those between which its header stands by accident."""
    late = late_header(content.document.source) if rules else None
    if rules and not (late and late.is_unopened):
        first, last = rules
        return (
            f"write `readonly: true` below line {first}, as Cursor takes what stands between the lines {first} and "
            f"{last} for its header: it then keeps the tools and commands that read, and edits no file; or move the "
            f"file out of `{folder}` if it is no agent"
        )
    at = Place(content.document, ("readonly",))
    where = f" in place of `readonly: {excerpt(text(at.data))}`" if at.data is not None else " in its header"
    where = in_a_header(at) if rules else where
    return (
        f"write `readonly: true`{where}, which leaves the tools and commands that read; it then edits no file"
    )


def _agent(files: Files, home: _Home, path: str, content: Text, folder: str) -> Agent:
    """The agent in a file; Cursor requires no key."""
    header = content.document.data
    for key in header:
        at_key = Place(content.document, (key,), of_key=True)
        if key in _FOR_TOOLS:
            hint = (
                "an agent of Cursor has every tool of the session, or with `readonly: true` those that read"
            )
            files.unknown_key(at_key, key, KEYS, hint)
    files.misspelt_keys(content.document, KEYS | _FOR_TOOLS)
    name = unquoted(header.get("name")).strip() or _name(PurePosixPath(path))
    named = next((each for each in ("name", "description") if each in header), None)
    at = Place(content.document, (named,) if named else (), of_key=True)
    rules = rules_around(content, KEYS)
    if rules:
        at = opening(content.document)
    reads_only = is_true(header, "readonly")
    model = unquoted(header.get("model"))
    return Agent(
        name=excerpt(name, MAX_NAME),
        at=at,
        path=path,
        prompt=content.prompt,
        header=header,
        description=unquoted(header.get("description")) or None,
        model=model if model not in ("", "inherit") else None,
        grants=tuple(home.reading(at) if reads_only else home.everything(at)),
        everyone=None if reads_only else at,
        inherits=not reads_only,
        narrower=_narrower(content, rules, folder),
        is_entry=not home.settings,
    )
