"""A plugin as if it were installed: its files in a folder of the project's, and settings that enable it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, did_you_mean, shown
from llmdo.base.parts import items, table, text
from llmdo.base.values import replace
from llmdo.features.claude import IN_PLUGINS, SETTINGS
from llmdo.features.claude.homes import MANAGED_SETTINGS, USER_SETTINGS
from llmdo.features.claude.marketplaces import MANIFEST, MARKETPLACE, entries_of
from llmdo.features.claude.plugins import plugins_in
from llmdo.foreign.files import Files
from llmdo.foreign.overlay import Overlay
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Document

_PARTS = (
    "agents/**/*.md", "commands/**/*.md", "skills/SKILL.md", "skills/*/SKILL.md", "hooks/hooks.json", ".mcp.json",
)  # fmt: skip
"""Files of a plugin, which needs no manifest."""
_OWN = (".claude/agents/**/*.md", ".claude/commands/**/*.md", ".claude/skills/*/SKILL.md", *SETTINGS)
"""Files of a project: a folder with one of them and without a manifest is no plugin."""
_MANY = 10  # names of plugins in a hint


def installed(base: Tree, added: Tree, name: str, entry: str | None) -> Overlay | None:
    """The project `base` with the plugin in `added`, a folder called `name`; None if that is no plugin.

    With an `entry`, `added` is a marketplace, and the plugin is the one that it lists by this name.

    Raises:
        LlmdoError: The marketplace has no such plugin here, or Claude Code would not load it.
    """
    is_market = added.read(MARKETPLACE) is not None
    is_plugin = added.read(MANIFEST) is not None
    folder = _free(base, re.sub(r"[^A-Za-z0-9_-]", "-", name) or "plugin")
    if entry is not None:
        if not is_market:
            return None
        overlay, root = _of_market(Overlay(base, added, folder), entry)
    elif is_plugin or (not is_market and added.find(_PARTS)[0] and not added.find(_OWN)[0]):
        named = {} if is_plugin else {f"{folder}/{MANIFEST}": json.dumps({"name": name})}
        overlay = Overlay(base, added, folder, named, is_added=_is_of(""))
        root = folder
    elif is_market:
        known = sorted(_names(_market(added)))
        raise LlmdoError(
            f"`{name}` is a marketplace of Claude Code",
            hint=f"name one of its plugins: FOLDER:NAME{_some(known)}",
        )
    else:
        return None
    return _enabled(overlay, root)


def _free(base: Tree, name: str) -> str:
    """A folder for a plugin that has no files yet."""
    folder, number = f"{IN_PLUGINS}{name}", 1
    while any(base.find([f"{folder}/{each}" for each in (MANIFEST, MARKETPLACE, *_PARTS)])):
        number += 1
        folder = f"{IN_PLUGINS}{name}-{number}"
    return folder


def _files(tree: Tree) -> Files:
    return Files(tree, "Claude Code", has_strict_json=True)


def _market(tree: Tree) -> Document:
    document = _files(tree).json(MARKETPLACE)
    if document is None:
        raise LlmdoError(f"`{MARKETPLACE}` cannot be read")
    return document


def _names(market: Document) -> list[str]:
    return list(filter(None, (text(table(each).get("name")) for each in items(market.data.get("plugins")))))


def _some(names: list[str]) -> str:
    return f", of {', '.join(names[:_MANY])}{' and others' if names[_MANY:] else ''}" if names else ""


def _of_market(overlay: Overlay, entry: str) -> tuple[Overlay, str]:
    """The files of one plugin of a marketplace, with the list of that alone; and its folder in the project."""
    market = _market(overlay.added)
    listed = entries_of(_files(overlay.added), Place(market, ()), "")
    roots = [(root, place) for root, place in listed if text(table(place.data).get("name")) == entry]
    if not roots:
        known = _names(market)
        if entry in known:
            message = f"the marketplace has no files of `{entry}`: its plugin comes from elsewhere"
            raise LlmdoError(message, hint="fetch it, and name its folder")
        hint = did_you_mean(entry, known) or f"it has{_some(sorted(known)).removeprefix(', of') or ' none'}"
        raise LlmdoError(f"the marketplace has no plugin `{entry}`", hint=hint)
    root, place = roots[0]
    alone = {f"{overlay.folder}/{MARKETPLACE}": _with_one(market, place.route[-1])}
    whole = f"{overlay.folder}/{root}" if root else overlay.folder
    return replace(overlay, texts=alone, is_added=_is_of(root)), whole


def _with_one(market: Document, number: object) -> str:
    """The text of a marketplace in which the other plugins are blank, so that the lines of this one stay."""
    lines = market.source.text.split("\n")
    for other, entry in enumerate(items(market.data.get("plugins"))):
        span = market.value("plugins", other).span
        if other == number or not isinstance(entry, dict) or span is None:
            continue
        for line in range(span.line, span.end_line + 1):
            whole = lines[line - 1]
            start = span.column - 1 if line == span.line else 0
            end = span.end_column - 1 if line == span.end_line else len(whole)
            lines[line - 1] = whole[:start] + " " * (end - start) + whole[end:]
        first = lines[span.line - 1]
        lines[span.line - 1] = f"{first[: span.column - 1]}{{{first[span.column :]}"
        last = lines[span.end_line - 1]
        lines[span.end_line - 1] = f"{last[: span.end_column - 2]}}}{last[span.end_column - 1 :]}"
    return "\n".join(lines)


def _is_of(root: str) -> Callable[[str], bool]:
    """Whether a file belongs to the plugin in the folder `root`: other plugins in it are not installed with it."""
    own = f"{root}/" if root else ""

    def belongs(path: str) -> bool:
        is_other = "/.claude-plugin/" in f"/{path}" and path != f"{own}{MANIFEST}"
        return path.startswith(own) and not is_other

    return belongs


def _enabled(overlay: Overlay, root: str) -> Overlay:
    """The same with settings that enable the plugin whose files are in `root`."""
    names = [plugin.name for plugin in plugins_in(_files(overlay)) if plugin.root == root]
    if not names:
        raise LlmdoError("Claude Code would load no plugin from there: its manifest cannot be read")
    if "@" in names[0]:
        raise LlmdoError(f"Claude Code takes no plugin with the name `{shown(names[0])}`")
    # Settings beside which the person's own would not count any more are left as they are.
    places = (
        [MANAGED_SETTINGS]
        if overlay.base.read(USER_SETTINGS)
        else [SETTINGS[1], SETTINGS[0], MANAGED_SETTINGS]
    )
    free = next((path for path in places if overlay.base.read(path) is None), None)
    if free is None:
        raise LlmdoError(f"`{places[-1]}` is here, so llmdo cannot say what another plugin adds to it")
    settings = json.dumps({"enabledPlugins": {f"{names[0]}@installed": True}})
    return replace(overlay, texts={**overlay.texts, free: settings})
