"""Cursor's plugins in a project: the parts that `plugin.json` names, or by default those in their folders.

By https://cursor.com/docs/reference/plugins: a key of the manifest stands in place of the default.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import text
from llmdo.base.values import dataclass
from llmdo.features.cursor import PLUGINS
from llmdo.foreign.servers import server_of
from llmdo.foreign.team import MAX_NAME
from llmdo.syntax import globs
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.foreign.files import Files
    from llmdo.graph.described import Server

_MANIFEST = "/.cursor-plugin/plugin.json"
_AGENTS = "agents"
_HOOKS = "hooks/hooks.json"
_SERVERS = ("mcp.json", ".mcp.json")
_ENDINGS = ("md", "mdc", "markdown")
_OF_GLOBS = frozenset("*?[{")


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorPlugin:
    """A plugin whose files are in the project: a person, or a team, installs it."""

    name: str
    root: str
    """Its folder; empty for the project's own."""
    at: Place
    agents: Mapping[str, str]
    """The files of its agents, each with the folder that is named."""
    servers: Mapping[str, tuple[Server, Place]]
    hooks: tuple[Place, ...]
    """The tables of hooks."""


def plugins_in(files: Files) -> tuple[CursorPlugin, ...]:
    """The plugins of a project, in the order of their folders, each by a name of its own."""
    plugins: list[CursorPlugin] = []
    for path in files.named(PLUGINS):
        root = f"/{path}".removesuffix(_MANIFEST).removeprefix("/")
        if document := files.json(path):
            names = {each.name for each in plugins}
            plugins.append(_CursorPluginReader(files, root, Place(document, ())).plugin(names))
    return tuple(plugins)


@dataclass(frozen=True, slots=True)
class _CursorPluginReader:
    """The reading of one plugin."""

    files: Files
    root: str
    manifest: Place

    def plugin(self, names: set[str]) -> CursorPlugin:
        """The plugin with all its parts; of several with one of the `names`, with its folder."""
        name = text(self._key("name").data).strip() or posixpath.basename(self.root) or "plugin"
        name = excerpt(name, MAX_NAME)
        return CursorPlugin(
            name=f"{name} in {self.root}" if name in names else name,
            root=self.root,
            at=Place(self.manifest.document, ("name",), of_key=True),
            agents=dict(self._agents()),
            servers=dict(self._servers()),
            hooks=tuple(self._hooks()),
        )

    def _key(self, key: str) -> Place:
        return Place(self.manifest.document, (key,))

    def _values(self, key: str) -> Iterator[Place]:
        """The values at a key, one by one if it is a list."""
        at = self._key(key)
        if isinstance(at.data, list):
            yield from (Place(at.document, (key, number)) for number in range(len(at.data)))
        elif at.data is not None:
            yield at

    def _within(self, path: str) -> str | None:
        """A path from the folder of the plugin, as one of the project; None if it leads out of it."""
        whole = posixpath.normpath(posixpath.join(self.root or ".", path))
        is_inside = not self.root or f"{whole}/".startswith(f"{self.root}/")
        if path.startswith(("/", "~")) or whole.startswith("..") or not is_inside:
            return None
        return whole

    def _named(self, key: str) -> Iterator[tuple[Place, str]]:
        """The paths at a key, as paths of the project."""
        for at in self._values(key):
            path = text(at.data)
            whole = self._within(path) if path else None
            if path and whole is None:
                self.files.note(
                    "LDO250", at, f"`{excerpt(path)}` leads out of the plugin, so it is not loaded"
                )
            elif whole:
                yield at, whole

    def _agents(self) -> Iterator[tuple[str, str]]:
        if self.files.tree.only:
            return
        if self._key(_AGENTS).data is None:
            folder = posixpath.normpath(posixpath.join(self.root or ".", _AGENTS))
            yield from self._in_folder(folder)
            return
        for at, path in self._named(_AGENTS):
            is_glob = not _OF_GLOBS.isdisjoint(path)
            named = self.files.named([path]) if is_glob else ()
            agents = [(each, posixpath.dirname(each)) for each in named if each.endswith(_ENDINGS)]
            if not is_glob and path.endswith(tuple(f".{each}" for each in _ENDINGS)):
                agents = [(path, posixpath.dirname(path))] if self.files.source(path) else []
            elif not is_glob:
                agents = [*self._in_folder(path)]
            if not agents:
                self.files.note("LDO250", at, f"the plugin has no agents in `{excerpt(text(at.data))}`")
            yield from agents

    def _in_folder(self, folder: str) -> Iterator[tuple[str, str]]:
        start = "" if folder == "." else f"{globs.escape(folder)}/"
        for path in self.files.named([f"{start}**/*.{ending}" for ending in _ENDINGS]):
            yield path, folder

    def _file(self, path: str, key: str) -> Place | None:
        """The table at a key of a file, or the whole file without one; None if it is not there."""
        document = None if self.files.tree.only else self.files.json(path)
        return Place(document, (key,) if key in document.data else ()) if document else None

    def _tables(self, key: str, table: str, defaults: tuple[str, ...]) -> Iterator[Place]:
        """The tables at a key of the manifest, and in files that it names; without the key, in the `defaults`."""
        if self._key(key).data is None:
            paths = (posixpath.normpath(posixpath.join(self.root or ".", each)) for each in defaults)
            yield from filter(None, (self._file(path, table) for path in paths))
            return
        for at in self._values(key):
            if isinstance(at.data, dict):
                yield Place(at.document, (*at.route, table)) if table in at.data else at
        for at, path in self._named(key):
            place = self._file(path, table)
            if place is None and not self.files.tree.only:
                self.files.note("LDO250", at, f"the plugin has no `{excerpt(text(at.data))}`")
            elif place:
                yield place

    def _hooks(self) -> Iterator[Place]:
        yield from self._tables("hooks", "hooks", (_HOOKS,))

    def _servers(self) -> Iterator[tuple[str, tuple[Server, Place]]]:
        for place in self._tables("mcpServers", "mcpServers", _SERVERS):
            for name, value in place.data.items() if isinstance(place.data, dict) else ():
                if isinstance(value, dict):
                    at = Place(place.document, (*place.route, name), of_key=True)
                    yield name, (server_of(value), at)
