"""Claude Code: agents in `.claude/agents` and in plugins, permissions in `settings.json`, servers in `.mcp.json`."""

from __future__ import annotations

import posixpath
import re
import shlex
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, excerpt_of_end, finding
from llmdo.base.source import Location
from llmdo.base.values import dataclass, replace
from llmdo.features.claude import AGENTS, IN_PLUGINS
from llmdo.features.claude.agents import KEYS, MODES_OF_OPENCODE, AgentContext, AgentReader, declared_in
from llmdo.features.claude.headers import ignored
from llmdo.features.claude.homes import OWN, ClaudeHome, above_own, homes_of, with_plugin
from llmdo.features.claude.plugins import plugins_in
from llmdo.features.claude.session import MAIN, any_with, built_in_agents, main_session, server_name
from llmdo.foreign import reading
from llmdo.foreign.files import Files, folder_place
from llmdo.foreign.known import tools_of
from llmdo.foreign.team import MAX_NAME, Team
from llmdo.syntax.document import Document

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.features.claude.plugins import ClaudePlugin
    from llmdo.foreign.team import Agent
    from llmdo.foreign.tree import Tree

COPILOT = ".agent.md"
"""The ending of GitHub Copilot's agents, which are in `agents` as well; not in a folder of Claude Code."""
_SKILL = "/SKILL.md"
MAX_DEPTH = 10  # five calls, each over the worker that stands for every agent

_SAMPLE = re.compile(
    r"(?P<folder>(?:.+/)?"
    r"(?:(?:[^/]+[-_.])?(?:archive[ds]?|backups?)|examples?|fixtures?|samples?|templates?|testdata|tests?))/"
    r"(?:.+/)?agents/"
)
"""Agents in a folder of things to copy, or of things to test with."""
_COUNTS = ", so it counts as an agent of the plugin, with every tool"
_LOADS_NONE = " and loads no agent from this file"
_LOADS_ALL = " and loads the agent by the name of its file, with every tool"
_NOT_LOADED = ", so Claude Code loads no agent from it"
_WITH_COLON = "a `name` with `:`"
_WITH_DASH = "a `name` that begins with `-`"
_NAMED_ANEW = {
    _WITH_COLON: "take the `:` out, which Claude Code refuses since 2.1.218",
    _WITH_DASH: "take the `-` out",
}
"""By fault of a name, the change of it."""
_MCP_OF_GEMINI = re.compile(r"mcp_[^_]")
"""The beginning of tools of a server in Gemini CLI; that of Claude Code is `mcp__SERVER__TOOL`."""
DISTINCTIVE = frozenset({"color", "model", "name", "tools"})
"""Keys of which an agent has one that no plugin lists: pages of documentation have a `description` as well."""


def read(tree: Tree) -> Team:
    """The agents of a project of Claude Code, and the session in which a person starts them."""
    files = Files(tree, "Claude Code", cuts_headers=True, has_strict_json=True)
    paths = files.find(AGENTS)
    plugins = plugins_in(files)
    samples = _samples(files, paths, {path for plugin in plugins for path in plugin.agents})
    agent_files = _apart(_agent_files(files, [path for path in paths if path not in samples], plugins))
    own_servers = {server for file in agent_files for server in declared_in(file.text)}
    homes = homes_of(files, plugins, [file.path for file in agent_files], own_servers)
    identities = {folder: _identities(agent_files, folder) for folder in homes}
    at_plugins = {each.name: with_plugin(files, homes[""], each) for each in plugins}
    agents = [
        AgentReader(
            AgentContext(
                identities=identities[above_own(file.path)],
                home=at_plugins.get(file.plugin or "") or homes[above_own(file.path)],
                plugin=file.plugin,
            ),
            file.path,
            file.text,
            file.name,
            files,
        ).agent()
        for file in agent_files
    ]
    _count_rules(files, [*homes.values(), *at_plugins.values()])
    if any(file.path.startswith(OWN) for file in agent_files):  # a collection beside these is not loaded
        loaded = [f"/{OWN}" in f"/{file.path}" or file.plugin in at_plugins for file in agent_files]
        agents = [
            each if is_loaded else replace(each, is_callable=False)
            for each, is_loaded in zip(agents, loaded, strict=True)
        ]
    started = [home for home in homes.values() if not _is_in(home.folder, samples.values())]
    sessions = [*_sessions(started, agent_files), *_sessions_with(at_plugins)]
    if plugins and not sessions and not agents:  # what such plugins bring along is text alone
        sessions = [main_session(MAIN, homes[""].tools(), plugins[0].at)]
    brought = {name: home.tools() for name, home in at_plugins.items()}
    at = next((each.at for each in sessions), plugins[0].at if plugins else folder_place(OWN.rstrip("/")))
    return Team(
        format="claude",
        agents=(*sessions, *agents, *built_in_agents([*sessions, *agents], homes[""].tools(), brought, at)),
        files=files.paths,
        problems=tuple(dict.fromkeys(files.problems)),
        starts="allowed",  # a person's own servers are, and others where `claude -p` runs
        max_depth=MAX_DEPTH,
    )


def _count_rules(files: Files, homes: Iterable[ClaudeHome]) -> None:
    """Counts settings, commands and skills among the files that name a server which agents name and none declares."""
    for home in homes:
        for rule in (*home.settings.rules, *home.approved):
            if rule.decision == "allowed" and rule.tool.startswith("mcp__"):
                server = server_name(rule.tool)
                if server not in home.servers:
                    files.names_server(rule.at, server)


def _sessions(homes: Iterable[ClaudeHome], files: Sequence[_AgentFile]) -> Iterator[Agent]:
    """The session of the project, and of each folder in it with settings or servers of its own."""
    for home in homes:
        at = home.at
        if at is None:
            has_own = not home.folder and any(OWN in f"/{file.path}" for file in files)
            at = folder_place(OWN.rstrip("/")) if has_own else home.servers_at
        if at:
            nested = [
                file.name
                for file in files
                if home.folder and above_own(file.path) == home.folder
                if not home.settings.denies_call(file.called or file.name)
            ]
            name = f"{home.folder}/{MAIN}".lstrip("/")
            yield main_session(name, home.tools(), at, nested, home.events)


def _sessions_with(homes: Mapping[str, ClaudeHome]) -> Iterator[Agent]:
    """A session with each plugin that adds more than others have."""
    for name, home in homes.items():
        if home.plugin and home.at:
            own = [any_with(name)]
            yield main_session(f"{MAIN} with {name}", home.tools(), home.at, own, home.events)


@dataclass(frozen=True, slots=True)
class _AgentFile:
    """A file that is an agent to Claude Code."""

    path: str
    text: reading.Text
    plugin: str | None
    name: str
    """Its name in Claude Code: its own, after that of its plugin."""
    alias: str = ""
    """Its name as the agent of a plugin, where it is the project's own as well; without a manifest, that without
    the folder it lies in, by which a collection may call it."""
    called: str = ""
    """Its name to others in its folder, where another folder has an agent of that name."""


def _agent_files(files: Files, paths: Sequence[str], plugins: Sequence[ClaudePlugin]) -> list[_AgentFile]:
    """The agents among the files at `paths` and of the plugins; notes why others are none."""
    prefixes = {path: (plugin.name, prefix) for plugin in plugins for path, prefix in plugin.agents.items()}
    names = {plugin.root: plugin.name for plugin in plugins}
    refused = {plugin.root for plugin in plugins if plugin.is_refused}
    agents: list[_AgentFile] = []
    others: dict[str, Diagnostic] = {}
    for path in sorted({*paths, *prefixes}):
        own = f"/{OWN}" in f"/{path}" and not path.startswith(IN_PLUGINS)
        if ("/.claude/worktrees/" in f"/{path}") or (path.endswith((COPILOT, _SKILL)) and not own):
            continue
        plugin, prefix = prefixes.get(path, (None, ""))
        if plugin is None and not own:
            above, agents_folder, within = f"/{path}".partition("/agents/")
            folder = above.removeprefix("/") if agents_folder else ""
            if folder in refused and agents_folder:
                continue
            if folder in names and agents_folder:
                message = f"`{path}` is not among the agents that the plugin `{names[folder]}` lists"
                files.problems.append(finding("LDO152", _start(files, path), message))
                continue
            plugin = folder.rpartition("/")[2] or None
            prefix = "".join(f"{each}:" for each in (plugin, *within.split("/")[:-1]) if each)
        if (source := files.source(path)) is None:
            continue  # which was noted
        text, lost = _as_claude_code(files.header(path, KEYS), is_own=own)
        own = own and (plugin is None or _is_project_agent(path, text))
        if text is None and path in prefixes:
            others[path] = reading.headless(source, _COUNTS)
            text = files.text_or_prompt(path, KEYS)
        if text and not own and (sign := _of_others(text, is_listed=path in prefixes)):
            message = f"`{path}` {sign}, so it is not an agent to Claude Code"
            files.problems.append(finding("LDO152", _start(files, path), message))
            continue
        lacking = _lacking(text, is_own=own, is_listed=path in prefixes) if text else None
        if text is None or lacking:
            if PurePosixPath(path).stem.lower() != "readme":
                others[path] = lost or _without(source, text, lacking)
            continue
        files.problems.extend(text.document.problems)
        scoped = _scoped(path, text, plugin, prefix, is_guessed=not own and path not in prefixes)
        agents.extend(_as_own(scoped, names.get("")) if own and plugin else [scoped])
    folders = {_home(file.path) for file in agents}
    files.problems.extend(
        note
        for path, note in others.items()
        if f"/{OWN}" in f"/{path}" or (path in prefixes and _home(path) in folders)
    )
    return agents


def _scoped(
    path: str, text: reading.Text, plugin: str | None, prefix: str, *, is_guessed: bool
) -> _AgentFile:
    """An agent by its full name; `is_guessed`: no manifest says that it is a plugin's."""
    name = _own_name(path, text)
    alias = ":".join(filter(None, (plugin, name))) if is_guessed else ""
    return _AgentFile(path, text, plugin, excerpt_of_end(prefix + name, MAX_NAME), alias)


def _as_claude_code(
    text: reading.Text | None, *, is_own: bool
) -> tuple[reading.Text | None, Diagnostic | None]:
    """A file without the header that Claude Code ignores, and the finding about that, which a plugin's agent keeps."""
    problem = ignored(text.document.source) if text else None
    if text is None or problem is None:
        return text, None
    message = f"{problem.message}, so Claude Code ignores the header{_LOADS_NONE if is_own else _LOADS_ALL}"
    lost = finding("LDO152", problem.at, message, hint=problem.hint)
    kept = () if is_own else (lost,)
    return replace(text, document=Document(text.document.source, {}, dict, kept)), lost


def _apart(files: Sequence[_AgentFile]) -> list[_AgentFile]:
    """The agents, where those of nested folders share no name with any of another folder."""
    folders: dict[str, set[str]] = {}
    for file in files:
        folders.setdefault(file.name, set()).add(above_own(file.path))
    return [
        replace(file, name=excerpt_of_end(f"{folder}/{file.name}", MAX_NAME), called=file.name)
        if (folder := above_own(file.path)) and len(folders[file.name]) > 1
        else file
        for file in files
    ]


def _identities(files: Iterable[_AgentFile], folder: str) -> dict[str, str]:
    """The agents by the names that others in a folder call them: of one name the nearest, as Claude Code has it."""

    def nearness(file: _AgentFile) -> int:
        above = above_own(file.path)
        return len(above) if not above or f"{folder}/".startswith(f"{above}/") else -1

    by_nearness = sorted(files, key=nearness)
    aliases = {file.alias: file.name for file in by_nearness if file.alias}
    return aliases | {file.called or file.name: file.name for file in by_nearness}


def _samples(files: Files, paths: Iterable[str], prefixes: Collection[str]) -> dict[str, str]:
    """The agents of no plugin in folders of things to copy, which are noted, each with the folder that is named.

    That is the common one of those below the same `examples` or the like, so that a scan of it reads all of them.
    """
    alike: dict[str, dict[str, str]] = {}
    for path in paths:
        if path not in prefixes and (match := _SAMPLE.match(path)):
            around = match["folder"]
            folder = above_own(path) or path.partition("/agents/")[0]
            alike.setdefault(around, {})[path] = folder if _is_in(folder, [around]) else around
    samples: dict[str, str] = {}
    for group in alike.values():
        folder = posixpath.commonpath(group.values())
        named, count = f"nobody starts Claude Code in `{folder}`", f"({len(group)} such files)"
        hint = f"`{shlex.join(('llmdo', 'scan', folder))}` reads them"
        at = Location(next(iter(group)))
        message = f"{named}, so its agents were not read {count}"
        files.problems.append(finding("LDO154", at, message, hint=hint))
        samples |= dict.fromkeys(group, folder)
    return samples


def _is_in(folder: str, others: Iterable[str]) -> bool:
    """Whether a folder is one of these, or in one."""
    return any(f"{folder}/".startswith(f"{each}/") for each in others)


def _start(files: Files, path: str) -> Location:
    source = files.source(path)
    return source.location() if source else Location(path)


def _lacking(text: reading.Text, *, is_own: bool, is_listed: bool) -> str | None:
    """The missing part of a file that is no agent; None for an agent."""
    header = text.document.data
    if "{{" in str(header.get("name")) or isinstance(header.get("name"), list | dict):
        return "a placeholder for a `name`"
    if not is_own:  # a plugin's agent may be called after its file
        if is_listed:
            return None
        if "metadata" in header and not header.keys() & (DISTINCTIVE - {"name"}):
            return "the header of a note"  # as Claude Code writes it into its memory
        return None if header.keys() & DISTINCTIVE else "no `name`"
    if not header.get("name"):
        return "no `name`"
    if str(header["name"]).startswith("-"):
        return _WITH_DASH
    if ":" in str(header["name"]):
        return _WITH_COLON
    return None if header.get("description") else "no `description`"


def _as_own(scoped: _AgentFile, own_plugin: str | None) -> Iterator[_AgentFile]:
    """A plugin's agent as that of the project, where it lies, and of a plugin that is a folder of the project."""
    name = excerpt(_own_name(scoped.path, scoped.text), MAX_NAME)
    yield replace(scoped, plugin=None, name=name, alias=scoped.name)
    if scoped.plugin != own_plugin:
        yield scoped


def _without(source: Source, text: reading.Text | None, lacking: str | None) -> Diagnostic:
    """The finding about a file of which no agent is loaded for what it lacks, or for its name."""
    if text is None or lacking is None:
        return reading.headless(source, _NOT_LOADED)
    hint = _NAMED_ANEW.get(lacking)
    at = text.document.value("name") if hint else source.location()
    return finding("LDO152", at, f"`{source.path}` has {lacking}{_NOT_LOADED}", hint=hint)


def _is_project_agent(path: str, text: reading.Text | None) -> bool:
    """Whether a file that a plugin lists is an agent of the project as well, where it lies."""
    lies_there = f"/{OWN}agents/" in f"/{path}"
    return lies_there and text is not None and not _lacking(text, is_own=True, is_listed=True)


def _of_others(text: reading.Text, *, is_listed: bool) -> str | None:
    """The sign that a file, in a folder of no particular tool, is an agent of Gemini CLI or of opencode alone."""
    header = text.document.data
    tools = {tool for tool, _, _ in reading.tool_items(text.document, "tools")}
    built_in = {tool for tool in tools if not _MCP_OF_GEMINI.match(tool)}
    if built_in <= tools_of("gemini") and any("_" in tool for tool in built_in):
        return "names tools of Gemini CLI alone"
    is_of_opencode = header.get("mode") in MODES_OF_OPENCODE or isinstance(header.get("tools"), dict)
    return "has the header of an agent of opencode" if is_of_opencode and not is_listed else None


def _own_name(path: str, text: reading.Text) -> str:
    name = text.document.data.get("name")
    return name.strip() if isinstance(name, str) and name.strip() else PurePosixPath(path).stem


def _home(path: str) -> str:
    """The folder of agents that a file lies in."""
    above, agents, _ = f"/{path}".partition("/agents/")
    return above + agents
