"""Plugins: the files listed in `plugin.json` and in marketplace entries, or by default those in their folders."""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, excerpt, finding
from llmdo.base.parts import table, text
from llmdo.base.values import dataclass
from llmdo.features.claude import PLUGINS
from llmdo.features.claude.marketplaces import MANIFEST, MARKETPLACE, entries_of, within
from llmdo.features.claude.session import scoped_server
from llmdo.features.claude.skills import SKILL, from_here, skills_in
from llmdo.foreign import servers as mcp
from llmdo.foreign.files import MOST_PLACES, line_out
from llmdo.syntax import globs
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.foreign.files import Files
    from llmdo.graph.described import Server

_OF_A_SUBMODULE = re.compile(r"^\s*path\s*=\s*(.+?)/?\s*$", re.MULTILINE)
_HOOKS = "hooks/hooks.json"
_KEYS_OF_PATHS = ("agents", "commands", "hooks", "mcpServers", "skills")
_MANY = 5  # files in one sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudePlugin:
    """A plugin whose files are in the project."""

    name: str
    root: str
    """Its folder; empty for the project's own."""
    agents: Mapping[str, str]
    """Their files, each with the prefix of the agent's own name."""
    commands: tuple[str, ...]
    """Files of commands and skills."""
    servers: Mapping[str, tuple[Server, Place]]
    """By Claude Code's names for them."""
    hooks: tuple[Place, ...]
    """The tables of hooks."""
    at: Place
    """Its declaration."""
    is_refused: bool = False
    """Whether Claude Code installs nothing of it, as its manifest is not valid."""


def plugins_in(files: Files) -> tuple[ClaudePlugin, ...]:
    """The plugins of a project, in the order of their manifests; external ones are noted."""
    tables: dict[str, list[Place]] = {}
    entries: dict[str, list[Place]] = {}
    for path in _manifests(files):
        document = files.json(path)
        if document is None:
            continue
        if path.endswith(MANIFEST):
            tables.setdefault(path.removesuffix(MANIFEST).rstrip("/"), []).append(Place(document, ()))
        else:
            base = path.removesuffix(MARKETPLACE).rstrip("/")
            for root, place in entries_of(files, Place(document, ()), base):
                entries.setdefault(root, []).append(place)
    return tuple(_plugins(files, tables, entries))


def _manifests(files: Files) -> tuple[str, ...]:
    """The files that declare plugins; for a single agent, that of its plugin."""
    paths = files.named(PLUGINS)
    if paths or files.tree.only is None:
        return paths
    above = f"/{files.tree.only}".partition("/agents/")[0].removeprefix("/")
    beside = f"{above}/{MANIFEST}".removeprefix("/")
    return (beside,) if files.source(beside) is not None else ()


def _plugins(
    files: Files, tables: Mapping[str, list[Place]], entries: Mapping[str, list[Place]]
) -> Iterator[ClaudePlugin]:
    for root in sorted({*tables, *entries}):
        own = tables.get(root, [])
        if not own and not entries[root]:
            continue
        # Entries that share a folder share its files; what they list themselves is their own.
        for number, entry in enumerate(entries.get(root, [None])):
            declared = [*own, *([entry] if entry else [])]
            if entry and table(entry.data).get("strict") is False:
                declared = [entry]
            reader = _PluginReader(files, root, declared, shares=number > 0)
            yield reader.plugin(is_alone=len(entries.get(root, [])) < 2)


def _is_markdown(path: object) -> bool:
    """Whether a value may be the path of an agent's file; a table of agents is read as one."""
    return not isinstance(path, str) or path.endswith(".md")


def _instead_of_path(at: Place) -> str:
    """The hint about a path that does not begin as it has to; empty where it lacks nothing but that."""
    path = text(at.data)
    if path.startswith("../"):
        return "keep it in the plugin's own folder, and write its path from there"
    is_file = at.route[0] != "mcpServers" or path.endswith((".dxt", ".json", ".mcpb"))
    return "" if is_file else "write the path of a file with servers, such as `./.mcp.json`"


def _submodule(files: Files, folder: str) -> str | None:
    """The submodule of git in which a folder lies."""
    source = files.source(".gitmodules")
    paths = _OF_A_SUBMODULE.findall(source.text) if source else ()
    return next((path for path in paths if f"{folder}/".startswith(f"{path}/")), None)


@dataclass(slots=True)
class _PluginReader:
    """The reading of one plugin."""

    files: Files
    root: str
    declared: Sequence[Place]
    """The tables about it."""
    shares: bool
    """Whether the files in its folder are another plugin's already."""

    def plugin(self, *, is_alone: bool) -> ClaudePlugin:
        """The plugin with all its parts."""
        name = self._name(is_alone=is_alone)
        at = Place(self.declared[0].document, (*self.declared[0].route, "name"), of_key=True)
        if folder := next((each for each in self._values("agents") if not _is_markdown(each.data)), None):
            message = (
                "`agents` names a folder, not files that end in `.md`, so Claude Code installs no such plugin"
            )
            self.files.note("LDO151", folder, message, self._instead_of_folder(folder))
        if self._has_other_form() or folder:
            return self._refused(name, at)
        if any(each.document.problems for each in self.declared):
            return self._refused(name, at)
        servers = dict(self._servers(name))
        mcp.judge(self.files, servers)
        plugin = ClaudePlugin(
            name=name,
            root=self.root,
            agents=self._agents(name),
            commands=self._commands(),
            servers=servers,
            hooks=tuple(self._hooks()),
            at=at,
        )
        parts = (plugin.agents, plugin.commands, plugin.servers, plugin.hooks)
        if (
            not any(parts)
            and self.root
            and not self.files.named([self._glob(each) for each in ("**", ".*", ".*/**")])
        ):
            at = self.declared[-1]
            at = Place(at.document, (*at.route, "source"))
            module = _submodule(self.files, self.root)
            why = f", as the submodule `{module}` is not here" if module else self._of_link(self.root)
            self.files.note("LDO250", at, f"there are no files in `{self.root}`{why}")
        return plugin

    def _has_other_form(self) -> bool:
        """Whether a value of the manifest has a form that Claude Code refuses, which is noted.

        Known of an `author` (anthropics/claude-code#65263), of paths (MicrosoftDocs/Agent-Skills#64) that lead out
        (confluentinc/claude-code-confluent-plugin#25), and of those of servers (agenticempire/axint#311).
        """
        manifests = [each for each in self.declared if not each.route]
        authors = [Place(each.document, ("author",)) for each in manifests if "author" in each.document.data]
        texts = [each for each in authors if isinstance(each.data, str)]
        for each in texts:
            table_of_it = json.dumps({"name": each.data})
            message = "`author` is a text, not a table, so Claude Code installs no such plugin"
            self.files.note(
                "LDO151", each, message, f"write `{table_of_it}` in place of `{json.dumps(each.data)}`"
            )
        paths = [
            each
            for key in _KEYS_OF_PATHS
            for each in self._values(key)
            if each.route[0] == key
            and isinstance(each.data, str)
            and not each.data.startswith(
                ("./", "/", "~") if key != "mcpServers" else ("./", "/", "~", "http")
            )
            and each.data != "."
            and (key != "agents" or _is_markdown(each.data))  # a folder there is noted by itself
        ]
        by_hint: dict[str, list[Place]] = {}
        for each in paths:
            by_hint.setdefault(_instead_of_path(each), []).append(each)
        for hint, alike in by_hint.items():
            self._note_paths(alike, hint)
        return bool(texts or paths)

    def _note_paths(self, paths: Sequence[Place], hint: str) -> None:
        """Notes paths of a form that Claude Code refuses; without a hint each is written with its beginning."""
        first, *others = paths
        path, number = (
            text(first.data),
            f" and {len(others):,} more do not begin" if others else " does not begin",
        )
        message = f"`{excerpt(path)}`{number} with `./`, so Claude Code installs no such plugin"
        likewise = ", and the others likewise" if others else ""
        if any(text(each.data).endswith(SKILL) for each in others):
            likewise += f", each `{SKILL}` by its folder"
        hint = hint or f"write `{from_here(first)}` in place of `{path}`{likewise}"
        related = [Related(each.location, "and here") for each in others[:MOST_PLACES]]
        self.files.problems.append(finding("LDO151", first.location, message, hint=hint, related=related))

    def _instead_of_folder(self, at: Place) -> str:
        """The hint about a folder at `agents`: the key says nothing of what is in the folder of that name alone."""
        path = within(self.root, text(at.data))
        names = self.files.named([f"{globs.escape(path)}/**/*.md" if path else "**/*.md"])
        is_alone = len([*self._values("agents")]) == 1
        if path is None or not names or (is_alone and path == self._at("agents")):
            return "leave `agents` out: what is in the folder `agents` is loaded by itself"
        listed = [json.dumps(f"./{each.removeprefix(f'{self.root}/')}") for each in names[:_MANY]]
        files = ", ".join([*listed, "…"] if len(names) > _MANY else listed)
        is_item = isinstance(at.route[-1], int)
        moved = ", or move them into the folder `agents` and leave the key out" if is_alone else ""
        return f"write its files in place of it, as `{files if is_item else f'[{files}]'}`{moved}"

    def _refused(self, name: str, at: Place) -> ClaudePlugin:
        return ClaudePlugin(
            name=name,
            root=self.root,
            agents={},
            commands=(),
            servers={},
            hooks=(),
            at=at,
            is_refused=True,
        )

    def _name(self, *, is_alone: bool) -> str:
        named = self.declared if is_alone else self.declared[-1:]
        names = [text(table(place.data).get("name")).strip() for place in named]
        return next(filter(None, names), "") or posixpath.basename(self.root) or "plugin"

    def _at(self, path: str) -> str:
        return f"{self.root}/{path}" if self.root else path

    def _glob(self, pattern: str) -> str:
        return f"{globs.escape(self.root)}/{pattern}" if self.root else pattern

    def _values(self, key: str) -> Iterator[Place]:
        """The values at a key, one by one if it is a list."""
        for place in self.declared:
            at = Place(place.document, (*place.route, key))
            if isinstance(at.data, list):
                yield from (Place(at.document, (*at.route, number)) for number in range(len(at.data)))
            elif at.data is not None:
                yield at

    def _listed(self, key: str) -> Iterator[tuple[Place, str]]:
        """The paths at a key, as paths of the project."""
        for at in self._values(key):
            sources = [text(table(each).get("source")) for each in table(at.data).values()]
            for path in [at.data] if isinstance(at.data, str) else filter(None, sources):
                whole = within(self.root, path)
                if whole is None or (self.root and not f"{whole}/".startswith(f"{self.root}/")):
                    self.files.note("LDO250", at, f"`{path}` leads out of the plugin, so it is not loaded")
                else:
                    yield at, whole

    def _of_link(self, path: str) -> str:
        """The rest of a sentence about a path where nothing was read as a link is there; else empty."""
        if not self.files.is_link(path):
            return ""
        # One to a folder inside the project is followed.
        where = "" if path.endswith((".json", ".md")) else " out of the project"
        return f" that llmdo reads, as it is a link{where}"

    def _note_without_skills(self, at: Place, path: str) -> None:
        """Notes a listed folder in which no skill is, or which is not there."""
        lying = self.files.named([f"{globs.escape(path)}/**" if path else "**"])
        if not lying:
            self.files.note("LDO250", at, f"the plugin has no `{path}`{self._of_link(path)}")
            return
        deeper = {each for each in lying if each.endswith("/SKILL.md")}
        by_default = {*skills_in(self.files, self._at("skills"))} if not self.shares else set()
        is_default = path == self._at("commands") and not any(True for _ in self._values("commands"))
        hint = line_out(at) if deeper <= by_default else f"a skill lies in a folder of `{path or '.'}` itself"
        anyway = "; its commands are loaded anyway" if is_default else ""
        anyway = "; the folder `skills` is loaded anyway" if deeper and deeper <= by_default else anyway
        message = f"`{path or '.'}` has no skill (`NAME/SKILL.md`), so `skills` loads none from it{anyway}"
        self.files.note("LDO250", at, message, hint)

    def _markdown(self, key: str) -> Iterator[str]:
        """The Markdown files at a key, also those in folders."""
        for at, path in self._listed(key):
            if path.endswith(".md"):
                names = [path] if self.files.source(path) is not None else []
            else:
                names = [*self.files.named([f"{globs.escape(path)}/**/*.md" if path else "**/*.md"])]
            if not names:
                is_there = not path.endswith(".md") and self.files.named([f"{globs.escape(path)}/**"])
                message = (
                    f"`{path}` has no file that ends in `.md`, so `{key}` loads none from it"
                    if is_there
                    else f"the plugin has no `{path}`{self._of_link(path)}"
                )
                self.files.note("LDO250", at, message, line_out(at) if is_there else None)
            yield from names

    def _skills(self) -> Iterator[str]:
        """The skills in folders that are listed, and in `skills`; without both the plugin may be one itself."""
        listed = [*self._listed("skills")]
        for at, path in listed:
            if path.endswith(".md"):
                message = "`skills` names a file, not its folder, so Claude Code loads no skill from it"
                written = text(at.data)
                hint = f"write `{written.rpartition('/')[0]}` for `{written}`" if "/" in written else None
                self.files.note("LDO151", at, message, hint)
            elif names := skills_in(self.files, path):
                yield from names
            else:
                self._note_without_skills(at, path)
        if self.shares:
            return
        yield from skills_in(self.files, self._at("skills"))
        if not listed and not self.files.named([self._glob("skills/**")]):
            yield from self.files.named([self._glob("SKILL.md")])

    def _agents(self, name: str) -> dict[str, str]:
        if any(True for _ in self._values("agents")):
            return dict.fromkeys(self._markdown("agents"), f"{name}:")
        if self.shares:
            return {}
        folder = self._at("agents")
        return {
            path: ":".join([name, *path.removeprefix(f"{folder}/").split("/")[:-1], ""])
            for path in self.files.named([self._glob("agents/**/*.md")])
        }

    def _commands(self) -> tuple[str, ...]:
        paths = [*self._markdown("commands"), *self._skills()]
        if not self.shares and not any(True for _ in self._values("commands")):
            paths += self.files.named([self._glob("commands/**/*.md")])
        return tuple(dict.fromkeys(paths))

    def _servers(self, name: str) -> Iterator[tuple[str, tuple[Server, Place]]]:
        places = [] if self.shares else [self._top(self._at(".mcp.json"), "mcpServers")]
        for at in self._values("mcpServers"):
            if not isinstance(at.data, str):
                places.append(at)
            elif at.data.endswith(".json"):
                path = within(self.root, at.data)
                inline = self._top(path, "mcpServers") if path else None
                if inline is None:
                    why = self._of_link(path or "")
                    self.files.note("LDO250", at, f"the plugin has no `{at.data}`{why}")
                places.append(inline)
            else:
                self.files.note("LDO154", at, f"the servers of `{at.data}` were not read")
        for place in filter(None, places):
            for server, value in table(place.data).items():
                if isinstance(value, dict):
                    at = Place(place.document, (*place.route, server), of_key=True)
                    yield (
                        scoped_server(name, server),
                        (mcp.server_of(value), at),
                    )

    def _hooks(self) -> Iterator[Place]:
        places = [] if self.shares else [self._top(self._at(_HOOKS), "hooks")]
        for at in self._values("hooks"):
            path = within(self.root, at.data) if isinstance(at.data, str) else None
            if path:
                places.append(self._top(path, "hooks"))
                if path == self._at(_HOOKS) and places[-1] and at.route[0] == "hooks":
                    # By open-gsd/gsd-core#3029 (2.1.220). Reports differ on whether its hooks run, so they count.
                    message = f"Claude Code loads `{_HOOKS}` by itself, and a plugin that names it too fails to load"
                    self.files.note("LDO151", at, message, line_out(at))
            elif isinstance(at.data, dict):
                places.append(Place(at.document, (*at.route, "hooks")) if "hooks" in at.data else at)
        seen = set()
        for place in filter(None, places):
            if (key := (place.document.source.path, place.route)) not in seen:
                seen.add(key)
                yield place

    def _top(self, path: str, key: str) -> Place | None:
        """The table at a key of a file, or the whole file if it has no such key."""
        document = self.files.json(path)
        if document is None:
            return None
        return Place(document, (key,) if key in document.data else ())
