"""Folders in which a session can be started: the project's, and those in it with a `.claude` of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean, excerpt, finding, place
from llmdo.base.parts import items, text
from llmdo.base.parts import table as table_in
from llmdo.base.source import Location
from llmdo.base.values import dataclass, field, replace
from llmdo.features.claude import COMMANDS, NESTED_SETTINGS, SETTINGS
from llmdo.features.claude.client import (
    command_events,
    external_plugin,
    hook_events,
    server_events,
    settings_events,
)
from llmdo.features.claude.hooks import ALL_EVENTS, hooks_in, judge_events, judge_hooks
from llmdo.features.claude.modes import BYPASSES, MODES
from llmdo.features.claude.rules import RULES, SKILL, approvals_in, flaw, mended
from llmdo.features.claude.session import SessionTools
from llmdo.features.claude.settings import KEYS, is_broken, settings_of
from llmdo.features.claude.skills import note_no_skills, note_unloaded
from llmdo.features.claude.skipped_rules import instead_of, skipped_in
from llmdo.foreign import servers as mcp
from llmdo.foreign.events import note_unheeded
from llmdo.foreign.files import json_at, line_out
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.features.claude.plugins import ClaudePlugin
    from llmdo.features.claude.settings import ClaudeSettings
    from llmdo.foreign.files import Files
    from llmdo.foreign.permissions import PermissionRule
    from llmdo.foreign.team import Grant
    from llmdo.graph.described import Server
    from llmdo.syntax.document import Document

OWN = ".claude/"
SERVERS = ".mcp.json"
USER_SETTINGS = "settings.json"
"""The file of settings, if the folder that is read is a person's `~/.claude` itself."""
MANAGED_SETTINGS = "managed-settings.json"
"""The same if the folder is handed out by an organisation, whose settings hold over all others."""
_TELLING = frozenset({"enabledPlugins", "hooks", "permissions", "sandbox", "statusLine"})
"""Keys of which a person's settings have one; other files of the same name have none."""

_OF_MODE = frozenset({"defaultMode", "permissionMode", "permission_mode"})
_ELSEWHERE = {
    **dict.fromkeys(_OF_MODE, "the mode is `defaultMode` in `permissions`"),
    **dict.fromkeys(
        (
            "allow", "allowed-tools", "allowedTools", "allowed_tools", "ask", "deny", "deniedTools", "disallowedTools",
            "disallowed_tools", "permission",
        ),
        "rules about tools are in `allow`, `ask` and `deny` of `permissions`",
    ),
    **dict.fromkeys(
        ("apiKey", "api_key"), "a key is what the command in `apiKeyHelper` prints, or each person's own"
    ),
    **dict.fromkeys(
        ("baseURL", "baseUrl", "base_url"), "the address is `ANTHROPIC_BASE_URL` in `env` of each person's own settings"
    ),
}  # fmt: skip
"""Keys of settings that look like others, as those of permissions, and are none, and where these are.

All that there are, by https://code.claude.com/docs/en/settings-reference, have no such names.
"""


_SERVERS_IN = "Claude Code looks for the servers of a project in `{}`"
_LIMITING = (("ask", "needs_approval"), ("deny", "blocked"))
"""The lists of rules that limit what others allow, each with its decision."""
_UNDOTTED = "mcp.json"
_MANIFEST = ".claude-plugin/plugin.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeHome:
    """The configuration of sessions in a folder, and of the agents in it."""

    folder: str
    """Empty for the project's own."""
    settings: ClaudeSettings
    servers: Mapping[str, tuple[Server, Place]]
    approved: tuple[PermissionRule, ...]
    """The rules of its commands and skills while they run."""
    events: tuple[Grant, ...]
    """What Claude Code runs by itself in such a session."""
    at: Place | None
    """The evidence that sessions are started here, or None."""
    plugin: str | None = None
    """The plugin that adds servers or unasked calls to such a session."""
    external: Mapping[str, Place] = field(default_factory=dict)
    """The plugins that its settings enable and the project does not have, each with its place."""

    @property
    def servers_at(self) -> Place | None:
        """The table of the servers that only whoever starts Claude Code in the folder has; None without any."""
        above = f"{self.folder}/" if self.folder else ""
        own = (at for _, at in self.servers.values() if at.document.source.path.startswith(above))
        return next((Place(at.document, at.route[:1], of_key=True) for at in own), None)

    def tools(self) -> SessionTools:
        """The tools of the session itself."""
        return SessionTools(
            self.settings, self.servers, self.settings.mode, self.approved, external=self.external
        )


def above_own(path: str) -> str:
    """The folder whose `.claude` contains a file; the project's own if none does."""
    above, own, _ = f"/{path}".rpartition(f"/{OWN}")
    return above.removeprefix("/") if own else ""


def homes_of(
    files: Files, plugins: Sequence[ClaudePlugin], agents: Iterable[str], own_servers: Iterable[str] = ()
) -> dict[str, ClaudeHome]:
    """The folders with a `.claude` of their own; the project's own is always one of them.

    `own_servers` are those that the `agents` declare for themselves.
    """
    nested = [path for path in files.named([NESTED_SETTINGS]) if above_own(path)]
    commands: dict[str, list[str]] = {}
    for path in files.named(COMMANDS):
        commands.setdefault(above_own(path), []).append(path)
    note_unloaded(files, (path for paths in commands.values() for path in paths if path.endswith(SKILL)))
    agents = tuple(agents)
    note_no_skills(files, (*agents, *commands.get("", ())))
    folders = {"", *map(above_own, [*nested, *agents]), *commands}
    folders = {folder for folder in folders if not f"{folder}/".startswith(OWN)}
    brought = {server for plugin in plugins for server in plugin.servers}
    reader = _HomeReader(files, plugins, frozenset({*own_servers, *brought}))
    return {folder: reader.home(folder, commands.get(folder, [])) for folder in sorted({*folders, ""})}


def with_plugin(files: Files, home: ClaudeHome, plugin: ClaudePlugin) -> ClaudeHome:
    """The configuration of a plugin's agents: the other plugins are up to each person."""
    hooks = tuple(hooks_in(files, plugin.hooks, plugin.root))
    settings = replace(home.settings, asking="").with_hooks(hooks)
    known = {(event.at.document.source.path, event.at.route) for event in home.events}
    events = [*server_events(files, plugin.servers)]
    if not settings.no_hooks:
        events += hook_events(files, plugin.hooks, plugin.root)
        events += command_events(files, plugin.commands, plugin.root)
    new = tuple(each for each in events if (each.at.document.source.path, each.at.route) not in known)
    judge_hooks(files, settings.answering(hooks) if settings.hooks else ())
    approved = () if settings.denies_skills else tuple(approvals_in(files, plugin.commands))
    brings = plugin.servers.keys() - home.servers.keys() or new or (settings.asks and (hooks or approved))
    return replace(
        home,
        settings=settings,
        servers={**home.servers, **plugin.servers},
        approved=(*home.approved, *approved),
        events=(*home.events, *new),
        at=plugin.at,
        plugin=plugin.name if brings and plugin.root else None,
    )


def _is_own(document: Document) -> bool:
    """Whether settings are the project's, not a person's or an organisation's."""
    return f"/{OWN}" in f"/{document.source.path}"


def _elsewhere(document: Document, key: str) -> str:
    """The hint for a key of settings that looks like a permission: where that is, or that it counts nowhere."""
    mode = document.data[key]
    counts = text(mode) in MODES and mode not in ("auto", BYPASSES)
    if key not in _OF_MODE or not _is_own(document) or counts:
        return _ELSEWHERE[key]
    out = line_out(Place(document, (key,), of_key=True))
    return f"{out}: the settings of a project set no mode `{excerpt(str(mode))}` anywhere"


def _first_of_hooks(document: Document) -> str | None:
    """The key by which a file has hooks, also without a table `hooks` around its events; None if it has none."""
    if isinstance(document.data.get("hooks"), dict):
        return "hooks"
    return next((key for key in document.data if key in ALL_EVENTS and document.data[key]), None)


def _asking(files: Files, folder: str, own: Iterable[Document]) -> str:
    """The change of the project's own settings by which sessions in a folder ask; empty if they would not be read."""
    path = f"{folder}/{SETTINGS[0]}".removeprefix("/")
    line = '"defaultMode": "default"'
    document = next((each for each in own if each.source.path == path), None)
    # A line in a file that is skipped does nothing; and mended, its rules may allow what they do not allow now.
    is_skipped = is_broken(document) if document else files.tree.read(path) is not None
    if is_skipped:
        return ""
    stated = document.data.get("permissions") if document else None
    if document is None or not isinstance(stated, dict):
        return f'write `"permissions": {{{line}}}` into `{path}`'
    at = document.key("permissions", *(("defaultMode",) if "defaultMode" in stated else ()))
    return f"write `{line}` under `permissions` ({place(at)})"


def _enabled(documents: Iterable[Document]) -> dict[str, Place]:
    """The plugins that settings enable, each with its place."""
    states = {
        name.partition("@")[0]: (state, Place(document, ("enabledPlugins", name), of_key=True))
        for document in documents
        for name, state in table_in(document.data, "enabledPlugins").items()
    }
    return {name: at for name, (state, at) in states.items() if state is True}


@dataclass(slots=True)
class _HomeReader:
    """The reading of folders with a `.claude`."""

    files: Files
    plugins: Sequence[ClaudePlugin]
    own_servers: frozenset[str]

    def home(self, folder: str, commands: Sequence[str]) -> ClaudeHome:
        """The configuration of sessions in a folder."""
        documents = self._documents(folder)
        tables = [Place(document, ("hooks",)) for document in documents]
        hooks = [*hooks_in(self.files, tables, "")]
        judge_events(self.files, tables)
        enabled = _enabled(documents)
        plugins = [plugin for plugin in self.plugins if plugin.name in enabled or not plugin.root]
        for plugin in plugins:
            hooks += hooks_in(self.files, plugin.hooks, plugin.root)
        settings = self._settings(folder, documents).with_hooks(hooks)
        for document in documents:
            self._judge(document)
        self._judge_settings(settings)
        brought = [path for plugin in plugins for path in plugin.commands]
        at = Place(documents[0], ("permissions",), of_key=True) if documents else None
        if at is None and commands and not folder and (first := self.files.header(commands[0], ())):
            at = Place(first.document, ("description",), of_key=True)
        if at is None and not folder:
            at = next((plugin.at for plugin in plugins if not plugin.root), None)
        servers = {
            **{
                name: server
                for name, server in self._declared(folder).items()
                if name not in settings.refused_servers
            },
            **{name: server for plugin in plugins for name, server in plugin.servers.items()},
        }
        events = [*settings_events(self.files, documents, no_hooks=settings.no_hooks is not None)]
        note_unheeded(self.files, tables, settings.no_hooks)
        events += server_events(self.files, servers)
        if not settings.no_hooks:
            events += hook_events(self.files, tables)
            events += command_events(self.files, commands)
            for plugin in plugins:
                events += self._brought_by(plugin, commands, is_enabled=plugin.name in enabled)
        known = {plugin.name for plugin in self.plugins}
        external = {name: at for name, at in enabled.items() if name not in known}
        events += [external_plugin(name, at) for name, at in external.items()]
        return ClaudeHome(
            folder=folder,
            settings=settings,
            servers=servers,
            events=tuple(events),
            approved=() if settings.denies_skills else tuple(approvals_in(self.files, [*commands, *brought])),
            at=at,
            external=external,
        )

    def _brought_by(
        self, plugin: ClaudePlugin, commands: Sequence[str], *, is_enabled: bool
    ) -> Iterator[Grant]:
        """The hooks of a plugin and of its commands, but those that are the folder's own `commands`."""
        own = [path for path in dict.fromkeys(plugin.commands) if path not in commands]
        yield from command_events(self.files, own, plugin.root)
        for each in hook_events(self.files, plugin.hooks, plugin.root):
            yield replace(each, is_of_person=not is_enabled)

    def _settings(self, folder: str, documents: Sequence[Document]) -> ClaudeSettings:
        """What these settings of a folder decide together, but for hooks."""
        own = [document for document in documents if _is_own(document)]
        others = [document for document in documents if not _is_own(document)]
        settings = settings_of(own, others)
        return replace(settings, asking=_asking(self.files, folder, own), own_servers=self.own_servers)

    def _documents(self, folder: str) -> list[Document]:
        """The settings of a folder, those that hold over others last."""
        paths = [*SETTINGS]
        if folder:
            # Claude Code keeps a person's own settings at the root of the repository.
            paths = [f"{folder}/{SETTINGS[0]}", SETTINGS[1], f"{folder}/{SETTINGS[1]}"]
            if self.files.source(paths[0]) is None:
                return []
        documents = [document for path in paths if (document := self.files.json(path))]
        if not folder:
            for path in (USER_SETTINGS, MANAGED_SETTINGS):
                if path == USER_SETTINGS and documents:
                    continue
                documents += self._telling(path)
        return documents

    def _telling(self, path: str) -> Iterator[Document]:
        """The settings at `path`, if they are those of Claude Code."""
        read = self.files.tree.read(path)
        if read and not read[1] and any(f'"{key}"' in read[0].text for key in _TELLING):
            # Others' files of that name may have comments.
            document = json_at(self.files.tree, path)
            is_telling = document and any(isinstance(document.data.get(key), dict) for key in _TELLING)
            if is_telling and (own := self.files.json(path)):
                yield own

    def _declared(self, folder: str) -> dict[str, tuple[Server, Place]]:
        """The servers of the project and of every folder down to this one."""
        servers: dict[str, tuple[Server, Place]] = {}
        names = folder.split("/") if folder else []
        for end in range(len(names) + 1):
            document = self.files.json("/".join([*names[:end], SERVERS]))
            servers |= mcp.servers_in(document, "mcpServers") if document else {}
        mcp.judge(self.files, servers)
        self._judge_place(folder)
        return servers

    def _judge_place(self, folder: str) -> None:
        """Notes servers and hooks in the folder of settings, where Claude Code does not look for any."""
        above = f"{folder}/" if folder else ""
        undotted = json_at(self.files.tree, f"{above}{OWN}{_UNDOTTED}")
        for path, is_there in (
            (f"{above}{OWN}{SERVERS}", self.files.tree.read(f"{above}{OWN}{SERVERS}") is not None),
            (f"{above}{OWN}{_UNDOTTED}", undotted is not None and bool(undotted.data.get("mcpServers"))),
        ):
            if is_there:
                message = f"`{path}` is not read: no server of it is started, unless a flag names the file"
                hint = _SERVERS_IN.format(f"{above}{SERVERS}")
                self.files.problems.append(finding("LDO154", Location(path), message, hint=hint))
        brought = {place.document.source.path for plugin in self.plugins for place in plugin.hooks}
        if self.files.tree.read(f"{above}{OWN}{_MANIFEST}") is not None:
            brought.add(f"{above}{OWN}hooks/hooks.json")  # whoever installs that folder as a plugin
        for path in (f"{above}{OWN}hooks.json", f"{above}{OWN}hooks/hooks.json"):
            document = json_at(self.files.tree, path) if path not in brought else None
            key = _first_of_hooks(document) if document else None
            if document and key:
                message = f"`{path}` is not read: Claude Code runs no hook of it"
                hint = f"Claude Code looks for the hooks of a project in `{above}{OWN}settings.json`"
                self.files.problems.append(finding("LDO154", document.key(key), message, hint=hint))

    def _judge(self, document: Document) -> None:
        for key in table_in(document.data, "permissions").keys() - KEYS:
            self.files.unknown_key(Place(document, ("permissions", key), of_key=True), key, KEYS)
        for key in filter(_ELSEWHERE.__contains__, document.data):
            self.files.unknown_key(Place(document, (key,), of_key=True), key, (), _elsewhere(document, key))
        if table_in(document.data, "mcpServers") and _is_own(document):
            above = f"{above_own(document.source.path)}/".removeprefix("/")
            message = "Claude Code reads no `mcpServers` of settings, so none of these servers is started"
            at = Place(document, ("mcpServers",), of_key=True)
            self.files.note("LDO151", at, message, _SERVERS_IN.format(f"{above}{SERVERS}"))
        for at, rule, hint in skipped_in(document):
            message = f"`{excerpt(str(at.data))}` does nothing: {rule.why}"
            self.files.note("LDO151", at, message, hint)
        place = Place(document, ("permissions", "defaultMode"))
        if place.data == "auto" and _is_own(document):
            self.files.note("LDO151", place, "Claude Code ignores mode `auto` in the settings of a project")
        elif place.data == BYPASSES and _is_own(document):
            message = f"Claude Code ignores mode `{BYPASSES}` in the settings of a project since 2.1.257"
            hint = "a session then starts in mode `default`; write `default`, or allow by name what asks too often"
            self.files.note("LDO151", place, message, hint)
        elif place.data is not None and str(place.data) not in MODES:
            message = f"Claude Code does not know mode `{place.data}`, and may skip the whole file for it"
            self.files.note("LDO151", place, message, did_you_mean(str(place.data), MODES))
        place = Place(document, ("enableAllProjectMcpServers",))
        folder = above_own(document.source.path)
        if place.data is True and self.files.source(f"{folder}/.mcp.json".removeprefix("/")):
            message = "`enableAllProjectMcpServers` starts every server of `.mcp.json` without a question"
            hint = "name the servers in `enabledMcpjsonServers`"
            if items(document.data.get("enabledMcpjsonServers")):
                hint = f"{line_out(place)}: `enabledMcpjsonServers` names the servers that start"
            self.files.note("LDO554", place, message, hint)

    def _judge_settings(self, settings: ClaudeSettings) -> None:
        """Notes rules that do nothing, and settings that switch questions off, or may do so."""
        for rule in settings.rules:
            if why := flaw(rule):
                hint = instead_of(rule.at, rule.text, mended(rule))
                self.files.note("LDO151", rule.at, f"`{rule.at.data}` does nothing: {why}", hint)
        mode = settings.mode
        if mode.name == BYPASSES and mode.at:
            message = f"mode `{BYPASSES}` never asks for approval"
            self.files.note("LDO554", mode.at, message, "allow by name what asks too often")
        about = [*RULES.about(settings.rules, "Bash")]
        if not any(rule.decision != "allowed" and RULES.whole(rule, "Bash") for rule in about):
            for rule in about:
                if rule.decision == "allowed" and RULES.whole(rule, "Bash") and not flaw(rule):
                    message = f"this allows every command without a question{_but(about)}"
                    self.files.note(
                        "LDO554", rule.at, message, "allow the commands that ask too often by name"
                    )
        judge_hooks(self.files, settings.answering(settings.hooks))


def _but(rules: Iterable[PermissionRule]) -> str:
    """The commands that a rule for all of them does not allow, as the end of a sentence."""
    decisions = {rule.decision for rule in rules if not flaw(rule)}
    lists = [f"`{key}`" for key, decision in _LIMITING if decision in decisions]
    return f", but those that {' and '.join(lists)} name{'s' * (len(lists) == 1)}" if lists else ""
