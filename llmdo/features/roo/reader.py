"""Roo Code: each mode is an agent, and any of them may change to every other one."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, finding, nearest
from llmdo.base.parts import items, table, text
from llmdo.base.values import dataclass, replace
from llmdo.features.roo import MODES, SERVERS, TOOLS
from llmdo.features.roo.table import BUILT_IN, CALLING, GROUPS, REMOVED, TABLE
from llmdo.foreign import reading, servers
from llmdo.foreign.events import ClientEvents, script_abilities
from llmdo.foreign.files import Files, folder_place, renaming
from llmdo.foreign.lines import Line
from llmdo.foreign.team import MAX_NAME, Agent, Team, capability_of
from llmdo.syntax.document import Document, Place
from llmdo.syntax.header import YamlBounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.base.source import Source
    from llmdo.base.values import Json
    from llmdo.foreign.team import Grant
    from llmdo.foreign.tree import Tree
    from llmdo.graph.described import Server
    from llmdo.syntax.document import Route

    Declared = Mapping[str, tuple[Server, Place]]

KEYS = frozenset({
    "customInstructions", "description", "groups", "name", "roleDefinition", "slug", "source", "whenToUse",
})  # fmt: skip
SERVER_KEYS = frozenset({
    "alwaysAllow", "args", "command", "cwd", "disabled", "disabledTools", "env", "headers", "timeout", "type", "url",
    "watchPaths",
})  # fmt: skip
BOUNDS = YamlBounds(1024 * 1024, 20_000)  # a file of a hundred modes with long instructions
_ITEM = re.compile(r"(?:---)?(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*-[ \t]")
"""The first item of a list, in a file that is one."""
_SLUG = re.compile(r"[a-zA-Z0-9-]+")
_LINES = {line.tool: line for line in TABLE}
_ASKS = "Roo Code, where a person has switched no approval on"
_CODE = "Roo Code, which asks nobody about a tool in code"
_TEXTS = frozenset({"customInstructions", "description", "whenToUse"})
_OPTIONS = ("fileRegex", "description")
"""The options of a group, each a text."""
_REFUSED = "so Roo Code loads no mode of this file"


def read(tree: Tree) -> Team:
    """The modes of a project of Roo Code, and those that every project has."""
    files = Files(tree, "Roo Code", has_strict_json=True)
    paths = [path for path in files.find((MODES, SERVERS)) if not path.endswith((".js", ".ts"))]
    modes = next((path for path in paths if not path.endswith(".json")), None)
    document = _modes(files, modes) if modes else None
    code = tuple(source for path in files.named(TOOLS) if (source := files.source(path)))
    reader = _ModeReader(files, _servers(files, [path for path in paths if path.endswith(".json")]), code)
    own = [*reader.own(document)] if document else []
    first = document or next((files.json(path) for path in files.paths if path.endswith(".json")), None)
    at = Place(first, ()) if first else folder_place(".roo") if code else None
    others = reader.built_in(at, {agent.name for agent in own}) if at else ()
    return Team(
        format="roo",
        agents=(*own, *others),
        files=files.paths,
        problems=tuple(files.problems),
        starts="allowed",
    )


def _modes(files: Files, path: str) -> Document | None:
    source = files.source(path)
    if source is None:
        return None
    if source.text.lstrip().startswith("{"):
        document = reading.json_with_comments(source)  # Roo Code reads YAML here, also between braces
        files.problems.extend(document.problems)
        return document
    document = reading.yaml(source, aliases=True, bounds=BOUNDS)
    if document.problems and _ITEM.match(source.text):
        message = "this is a list, and `customModes:` is missing above it, so no mode of it was read"
        hint = "write a line `customModes:` above it"
        files.problems.append(finding("LDO153", document.problems[0].at, message, hint=hint))
    else:
        files.problems.extend(document.problems)
    return document


def _servers(files: Files, paths: Iterable[str]) -> Declared:
    """The servers of the project that are not switched off."""
    declared: dict[str, tuple[Server, Place]] = {}
    for path in paths:
        if document := files.json(path):
            files.misspelt_keys(document, {"mcpServers"})
            for name, each in servers.servers_in(document, "mcpServers").items():
                files.misspelt_keys(document, SERVER_KEYS, "mcpServers", name)
                if table(document.data, "mcpServers", name).get("disabled") is not True:
                    declared[name] = each
    servers.judge(files, declared)
    return declared


@dataclass(frozen=True, slots=True)
class _ModeReader:
    """The reading of the modes of one project."""

    files: Files
    servers: Declared
    code: tuple[Source, ...]
    """The modules of tools in code."""

    def _in_code(self) -> Iterator[Grant]:
        """The tools in code, which Roo Code approves by itself once a person has switched them on."""
        for source in self.code:
            name = PurePosixPath(source.path).stem
            able = {capability_of(name), *map(str, script_abilities(source.path, source.text))}
            line = Line(excerpt(name, MAX_NAME), tuple(sorted(able)), "allowed", "open", "")
            yield line.grant(Place(Document(source, {}, dict), ()), _CODE)

    def _events(self) -> tuple[Grant, ...]:
        client = ClientEvents(self.files)
        return tuple(
            client.module(
                f"tool {PurePosixPath(source.path).stem}",
                source.path,
                Place(Document(source, {}, dict), ()),
                source.path,
            )
            for source in self.code
        )

    def own(self, document: Document) -> Iterator[Agent]:
        """The modes of a file. Roo Code refuses the whole file for one mistake, which is noted; all are read."""
        self.files.misspelt_keys(document, {"customModes"})
        names: set[str] = set()
        for number, mode in enumerate(items(document.data.get("customModes"))):
            route = ("customModes", number)
            if not isinstance(mode, dict):
                self._refused(Place(document, route), "this mode is not a table")
                continue
            slug = mode.get("slug")
            self._judge(document, route, mode)
            if isinstance(slug, str) and slug in names:
                self._refused(Place(document, (*route, "slug")), f"there are two modes `{excerpt(slug)}`")
            name = text(slug) or text(mode.get("name")) or f"mode {number + 1}"
            names.add(name)
            at = Place(document, (*route, "slug" if "slug" in mode else "name"), of_key=True)
            instructions = (text(mode.get("roleDefinition")), text(mode.get("customInstructions")))
            yield self._agent(
                name,
                at if at.data is not None else Place(document, route),
                Place(document, (*route, "groups")),
                mode,
                "\n\n".join(filter(None, instructions)),
            )

    def built_in(self, at: Place, own: set[str]) -> Iterator[Agent]:
        """The modes of Roo Code that no mode of the project replaces; without any, a person starts in `code`."""
        for slug, groups in BUILT_IN.items():
            if slug not in own:
                grants = [grant for group in groups for grant in self._of_group(group, at)]
                yield Agent(
                    name=slug,
                    at=at,
                    description="Built into Roo Code.",
                    grants=(*grants, *self._in_code(), _calling(at)),
                    events=self._events() if slug == "code" and not own else (),
                    everyone=at,
                    is_entry=slug == "code" and not own,
                )

    def _agent(self, name: str, at: Place, groups: Place, mode: Mapping[str, Json], prompt: str) -> Agent:
        named = ((_group(entry), number) for number, entry in enumerate(items(groups.data)))
        grants = [
            grant
            for group, number in {group: number for group, number in named if group in GROUPS}.items()
            for grant in self._of_group(str(group), Place(groups.document, (*groups.route, number)))
        ]
        return Agent(
            name=excerpt(name, MAX_NAME),
            at=at,
            path=at.document.source.path,
            prompt=prompt,
            header={
                key: value
                for key, value in mode.items()
                if key not in ("roleDefinition", "customInstructions")
            },
            description=text(mode.get("description")) or text(mode.get("whenToUse")) or None,
            grants=(*grants, *self._in_code(), _calling(at)),
            events=self._events(),
            everyone=at,
        )

    def _of_group(self, group: str, at: Place) -> Iterator[Grant]:
        for tool in GROUPS[group]:
            yield _LINES[tool].grant(at, _ASKS, toolset=group)
        for name, (server, declared) in self.servers.items() if group == "mcp" else ():
            allowed = Place(declared.document, (*declared.route, "alwaysAllow"))
            is_allowed = any(isinstance(tool, str) for tool in items(allowed.data))
            origin = declared.document.source.path if is_allowed else _ASKS
            grant = servers.grant(
                name, server, declared, "allowed" if is_allowed else "needs_approval", origin
            )
            yield replace(grant, rule_at=allowed if is_allowed else None)

    def _judge(self, document: Document, route: Route, mode: Mapping[str, Json]) -> None:
        """Notes what Roo Code refuses in a mode."""
        self.files.misspelt_keys(document, KEYS, *route)
        at = Place(document, route)
        slug = mode.get("slug")
        if not isinstance(slug, str) or not _SLUG.fullmatch(slug):
            place = Place(document, (*route, "slug")) if "slug" in mode else at
            self._refused(place, "a mode needs a `slug` of letters, digits and `-`")
        for key in ("name", "roleDefinition"):
            if not text(mode.get(key)):
                self._refused(at, f"a mode needs a text as its `{key}`")
        for key in sorted(_TEXTS & mode.keys()):
            if not isinstance(mode[key], str):
                self._refused(Place(document, (*route, key), of_key=True), f"`{key}` is no text")
        groups = mode.get("groups")
        if not isinstance(groups, list):
            self._refused(
                Place(document, (*route, "groups")) if "groups" in mode else at, "`groups` is no list"
            )
        seen: set[object] = set()
        for number, entry in enumerate(items(groups)):
            place, group = Place(document, (*route, "groups", number)), _group(entry)
            if group not in (*GROUPS, REMOVED):
                message = f"Roo Code has no group `{excerpt(str(group))}`, {_REFUSED}"
                near = renaming(place, str(group), nearest(str(group), GROUPS))
                hint = near or f"the groups are {', '.join(GROUPS)}"
                self.files.note("LDO250", place, message, hint)
            elif group == REMOVED:
                continue
            elif group in seen:
                self._refused(place, f"the group `{group}` is there twice")
            elif why := _misfit(entry):
                self._refused(place, why)
            seen.add(group)

    def _refused(self, at: Place, why: str) -> None:
        self.files.note("LDO151", at, f"{why}, {_REFUSED}")


def _group(entry: object) -> str | None:
    """The group of an entry: its name, or a list of it and its options."""
    name = next(iter(items(entry)), None) if isinstance(entry, list) else entry
    return name if isinstance(name, str) else None


def _misfit(entry: object) -> str | None:
    """What Roo Code refuses in an entry of a group that it has: a list is its name and a table of options, no more."""
    if not isinstance(entry, list):
        return None
    if len(entry) != 2 or not isinstance(entry[1], dict):
        return "a group in a list has one table of options behind its name, and nothing else"
    misfit = next((key for key in _OPTIONS if not isinstance(entry[1].get(key, ""), str)), None)
    return f"`{misfit}` of a group is no text" if misfit else None


def _calling(at: Place) -> Grant:
    return _LINES[CALLING].grant(at, _ASKS, toolset="modes")
