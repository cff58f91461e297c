"""Kiro: its session, and the agents of a project."""

from __future__ import annotations

import posixpath
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import items, table, text, texts
from llmdo.base.values import dataclass
from llmdo.features.kiro import AGENTS, HOOKS, LANGUAGE_SERVERS, SERVERS
from llmdo.features.kiro.permissions import (
    LINES,
    ORIGIN,
    SHELL,
    KiroPermissions,
    matches,
    of_servers,
    permissions_of,
    tools_named,
)
from llmdo.features.kiro.table import NAMES
from llmdo.foreign.events import ClientEvents
from llmdo.foreign.files import Files
from llmdo.foreign.servers import judge, servers_in
from llmdo.foreign.team import MAX_NAME, Agent, AgentCall, Team
from llmdo.graph.described import Server
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.foreign.team import Grant
    from llmdo.foreign.tree import Tree
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document

    Declared = Mapping[str, tuple[Server, Place]]

KEYS = frozenset({
    "$schema", "allowedTools", "description", "excludedTools", "hooks", "includeMcpJson", "includePowers",
    "keyboardShortcut", "mcpServers", "model", "name", "permissions", "prompt", "resources", "toolAliases", "tools",
    "toolsSettings", "useLegacyMcpJson", "welcomeMessage",
})  # fmt: skip
SERVER_KEYS = frozenset({
    "args", "autoApprove", "command", "cwd", "disabled", "disabledTools", "env", "headers", "oauth", "oauthScopes",
    "requestTimeout", "timeout", "type", "url",
})  # fmt: skip
SESSION = "main-session"
"""The name of a project's session here."""
EVERY_TOOL = "every tool"
READS = frozenset({
    "AgentSpawn", "SessionStart", "UserPromptSubmit", "agentSpawn", "promptSubmit", "userPromptSubmit",
})  # fmt: skip
"""The events whose hooks add to the conversation."""
CALLING = "subagent"
_FOLDER = ".kiro/agents/"
_NAME = re.compile(r"[\w.*+-]{1,100}")
_EVERYTHING = frozenset({"*", "@mcp"})
_INCLUDING = ("includeMcpJson", "useLegacyMcpJson")
"""The keys by which an agent has the servers of `mcp.json`, those of the project and of a person; off by default."""
_INCLUDE = f'"{_INCLUDING[0]}": true'
_OWN_ALONE = "an agent has the servers of its own `mcpServers` alone"


def read(tree: Tree) -> Team:
    """The session and the agents of a project of Kiro."""
    files = Files(tree, "Kiro", may_refuse_repeated=True)
    shared = next((document for path in files.named([SERVERS]) if (document := files.json(path))), None)
    hooks = [document for path in files.named(HOOKS) if (document := files.json(path))]
    languages = next((each for path in files.named([LANGUAGE_SERVERS]) if (each := files.json(path))), None)
    agents = _without_prompts(files, files.named(AGENTS))
    known = _declared(files, shared) if shared else {}
    readers = [reader for path in agents if (reader := _reader(files, path, shared, known, agents))]
    names = [reader.name for reader in readers]
    own = [*filter(None, (shared, *hooks, languages))]
    events = [event for each in hooks for event in _events(files, each)]
    events += _language_servers(files, languages) if languages else ()
    session = [_session(own[0], shared, known, events)] if own else []
    return Team(
        format="kiro",
        agents=(*session, *(reader.agent(names) for reader in readers)),
        files=files.paths,
        problems=tuple(files.problems),
        starts="allowed",
    )


def _declared(files: Files, document: Document) -> Declared:
    """The servers of a file that are not switched off."""
    declared: dict[str, tuple[Server, Place]] = {}
    for name, each in servers_in(document, "mcpServers").items():
        files.misspelt_keys(document, SERVER_KEYS, "mcpServers", name)
        if table(document.data, "mcpServers", name).get("disabled") is not True:
            declared[name] = each
    judge(files, declared)
    return declared


def _session(document: Document, shared: Document | None, known: Declared, events: Iterable[Grant]) -> Agent:
    """The session that a person starts, with every tool."""
    at = Place(document, ())
    permissions = KiroPermissions(tuple(of_servers(shared)) if shared else (), reads_by_default=True)
    grants = [grant for line in LINES.values() for grant in permissions.grants(line, at, EVERY_TOOL)]
    for name, (server, declared) in known.items():
        grants += permissions.server(name, server, declared)
    return Agent(
        name=SESSION,
        at=at,
        header=document.data if shared else {},
        description="The session of Kiro.",
        grants=tuple(grants),
        events=tuple(events),
        everyone=at,
        inherits=True,
        is_callable=False,
    )


def _events(files: Files, document: Document) -> Iterator[Grant]:
    """The commands of a file of hooks, of this version or of those before 1.0."""
    client = ClientEvents(files)
    data = document.data
    if isinstance(data.get("hooks"), dict):
        yield from client.hooks([Place(document, ("hooks",))], reads=READS)
    listed = [("hooks", number) for number, _ in enumerate(items(data.get("hooks")))]
    for route in [*listed, *([()] if "then" in data else [])]:
        hook = table(Place(document, route).data) if route else data
        key = "action" if "action" in hook else "then"
        command = text(table(hook, key).get("command"))
        event = text(hook.get("trigger")) or text(table(hook, "when").get("type")) or "hook"
        if command.strip() and hook.get("enabled") is not False:
            at = Place(document, (*route, key, "command"))
            name = f"hook {excerpt(event, MAX_NAME)}"
            matcher = text(hook.get("matcher"))
            yield client.command(name, command, at, is_read=event in READS, matcher=matcher)


def _language_servers(files: Files, document: Document) -> Iterator[Grant]:
    """The programs that its command line starts for the languages of the project, as soon as this file is there."""
    for name, server in table(document.data, "languages").items():
        command = " ".join([text(table(server).get("command")), *texts(table(server).get("args"))]).strip()
        if command and _has_language(files, table(server)):
            at = Place(document, ("languages", name, "command"))
            yield ClientEvents(files).command(f"language server {excerpt(name, MAX_NAME)}", command, at)


def _has_language(files: Files, server: Mapping[str, object]) -> bool:
    """Whether the project has files of the language of a server, if it says by which these are known."""
    names = [*texts(server.get("project_patterns"))]
    names += [f"*.{ending}" for ending in texts(server.get("file_extensions"))]
    globs = [f"**/{name}" for name in names if _NAME.fullmatch(name)]
    return not globs or bool(files.tree.only) or bool(files.tree.find(globs)[0])


def _reader(
    files: Files, path: str, shared: Document | None, known: Declared, paths: Iterable[str]
) -> _KiroAgent | None:
    """The reader of one agent; None if it cannot be read, or is none."""
    if path.endswith(".json"):
        document, prompt = files.json(path), ""
        if document is None:
            return None
        prompt = _prompt(files, path, text(document.data.get("prompt")))
    else:
        content = files.text_or_prompt(path, KEYS) if PurePosixPath(path).stem.lower() != "readme" else None
        if content is None:
            return None
        document, prompt = content.document, content.prompt
    lacking: Declared = {}
    if not any(document.data.get(key) is True for key in _INCLUDING):
        shared, known, lacking = None, {}, known
    name = text(document.data.get("name")).strip() or path.removeprefix(_FOLDER).rpartition(".")[0]
    if path.endswith(".md") and f"{path.removesuffix('.md')}.json" in paths:
        name = f"{name}.md"  # the same for the editor: the command line reads the other one
    return _KiroAgent(files, path, document, prompt, excerpt(name, MAX_NAME), shared, known, lacking)


def _without_prompts(files: Files, paths: Sequence[str]) -> list[str]:
    """The files of agents, without those that others name as their prompt."""
    documents = {path: files.json(path) for path in paths if path.endswith(".json")}
    prompts = {_prompt_file(path, text(each.data.get("prompt"))) for path, each in documents.items() if each}
    return [path for path in paths if path not in prompts]


def _prompt_file(path: str, prompt: str) -> str | None:
    """The file of the project that a prompt names; None if it is a text, or a file elsewhere."""
    name = prompt.removeprefix("file://")
    inside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if name != prompt else ".."
    return None if inside.startswith(("..", "/")) else inside


def _prompt(files: Files, path: str, prompt: str) -> str:
    """A prompt, from the file that it names if there is one in the project."""
    inside = _prompt_file(path, prompt)
    source = files.source(inside) if inside and not files.tree.only else None
    return source.text if source else prompt


def _server_of(tool: str) -> tuple[str, str | None]:
    """The server that `@SERVER` or `@SERVER/TOOL` names, and the tool if there is one."""
    server, slash, only = tool.removeprefix("@").partition("/")
    return server, only if slash else None


@dataclass(frozen=True, slots=True)
class _KiroAgent:
    """The reading of one agent."""

    files: Files
    path: str
    document: Document
    prompt: str
    name: str
    shared: Document | None
    """The servers of the project, if the agent has them."""
    known: Declared
    lacking: Declared
    """Those of them that it does not have, as it does not include their file."""

    def agent(self, names: Iterable[str]) -> Agent:
        """The agent that the file declares, one of those called `names`."""
        self._judge()
        header = self.document.data
        named = next((key for key in ("name", "description") if key in header), None)
        at = Place(self.document, (named,) if named else (), of_key=True)
        has_all = "tools" not in header and self.path.endswith(".md")
        tools = [("*", at)] if has_all else [*self._tools()]
        has_commands = any(SHELL in tools_named(tool) for tool, _ in tools)
        permissions = permissions_of(self.files, self.document, self.shared, has_commands=has_commands)
        calling = next((place for tool, place in tools if CALLING in tools_named(tool)), None)
        is_limited = isinstance(self._limits(), list)
        model = header.get("model")
        return Agent(
            name=self.name,
            at=at,
            path=self.path,
            prompt=self.prompt,
            header=header,
            description=text(header.get("description")) or None,
            model=model if isinstance(model, str) else None,
            grants=tuple(self._grants(permissions, tools, EVERY_TOOL if has_all else None)),
            calls=tuple(self._calls(names)) if calling and is_limited else (),
            events=tuple(ClientEvents(self.files).hooks([Place(self.document, ("hooks",))], reads=READS)),
            everyone=calling if calling and not is_limited else None,
            inherits=has_all,
        )

    def _limits(self) -> object:
        """The list of agents that it may call, if its file has one."""
        return table(self.document.data, "toolsSettings", CALLING).get("availableAgents")

    def _tools(self) -> Iterator[tuple[str, Place]]:
        tools = self.document.data.get("tools")
        if isinstance(tools, str):
            yield tools, Place(self.document, ("tools",))
        else:
            yield from self.files.texts(self.document, "tools")

    def _grants(
        self, permissions: KiroPermissions, tools: Iterable[tuple[str, Place]], toolset: str | None
    ) -> Iterator[Grant]:
        own = _declared(self.files, self.document)
        declared = {**self.known, **own}
        is_limited = isinstance(self._limits(), list)
        tools = [*tools]
        self._judge_servers(tools, declared)
        for tool, at in tools:
            for name in tools_named(tool) if tool != "@mcp" else ():
                if name != CALLING or not is_limited:
                    yield from permissions.grants(LINES[name], at, toolset)
            if tool in _EVERYTHING:
                for server, (each, _) in declared.items():
                    yield from permissions.server(server, each, at)
            elif tool.startswith("@") and not tool.startswith("@builtin"):
                yield from self._of_server(permissions, tool, at, declared)
            elif not tools_named(tool):
                self.files.unknown_tool(
                    at, tool, (*LINES, *(each for names in NAMES.values() for each in names))
                )

    def _of_server(
        self, permissions: KiroPermissions, tool: str, at: Place, declared: Declared
    ) -> Iterator[Grant]:
        """The tools of a server; those of one that no file declares if it may be a person's own."""
        pattern, only = _server_of(tool)
        matching = [name for name in declared if matches(pattern, name)]
        for name in matching or ([pattern] if self._may_have_others() else []):
            server = declared[name][0] if name in declared else Server()
            yield from permissions.server(excerpt(name, MAX_NAME), server, at, only)

    def _may_have_others(self) -> bool:
        """Whether servers outside the project may be the agent's: of a person's `mcp.json`, or of powers."""
        return any(self.document.data.get(key) is True for key in (*_INCLUDING, "includePowers"))

    def _judge_servers(self, tools: Iterable[tuple[str, Place]], declared: Declared) -> None:
        """Notes the servers that the tools name and the agent lacks, each once."""
        places: dict[str, Place] = {}
        for tool, at in tools:
            if tool.startswith("@") and tool not in _EVERYTHING and not tool.startswith("@builtin"):
                places.setdefault(_server_of(tool)[0], at)
        include = _INCLUDE if self.path.endswith(".json") else _INCLUDE.replace('"', "")
        for pattern, at in places.items():
            if any(matches(pattern, name) for name in declared):
                continue
            if any(matches(pattern, name) for name in self.lacking):
                message = f"`{excerpt(pattern)}` is in `{SERVERS}`, which this agent does not include"
                self.files.note("LDO250", at, message, f"write `{include}`")
            else:
                alone = "" if self._may_have_others() else f"without `{include}` {_OWN_ALONE}"
                self.files.unknown_server(at, pattern, declared, otherwise=alone)

    def _calls(self, names: Iterable[str]) -> Iterator[AgentCall]:
        """The agents that it may call, where its file lists them."""
        settings = table(self.document.data, "toolsSettings", CALLING)
        trusted = [each for each in items(settings.get("trustedAgents")) if isinstance(each, str)]
        others = [name for name in names if name != self.name]
        for pattern, at in self.files.texts(self.document, "toolsSettings", CALLING, "availableAgents"):
            called = [name for name in others if matches(pattern, name)]
            if not called and pattern != self.name:
                self.files.unknown_agent(at, pattern, others)
            for name in called:
                is_trusted = any(matches(each, name) for each in trusted)
                origin = self.path if is_trusted else ORIGIN
                decision: Decision = "allowed" if is_trusted else "needs_approval"
                yield AgentCall(name=name, at=at, decision=decision, origin=origin)

    def _judge(self) -> None:
        header = self.document.data
        if header.get("allowedTools") and "tools" not in header and self.path.endswith(".json"):
            at = Place(self.document, ("allowedTools",), of_key=True)
            message = "an agent in JSON has no tools without `tools`, so `allowedTools` does nothing"
            self.files.note("LDO151", at, message, "name its tools in `tools`")
        self.files.misspelt_keys(self.document, KEYS)
