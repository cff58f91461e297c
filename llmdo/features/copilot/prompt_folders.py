"""The folders in which VS Code looks for prompts: one by default, and those that its settings name."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import finding
from llmdo.base.parts import table
from llmdo.base.source import Location
from llmdo.features.copilot import PROMPT
from llmdo.features.copilot.editor_settings import SETTINGS_OF_EDITOR
from llmdo.foreign.files import json_at
from llmdo.syntax.discovery import leaves
from llmdo.syntax.globs import escape

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign.tree import Tree

PROMPTS = ".github/prompts"
LOCATIONS = "chat.promptFilesLocations"
"""The setting with a table of folders, files and patterns, each with whether it counts."""
_GLOB = re.compile(r"[*?{}\[\]]")


def patterns_of(tree: Tree) -> Iterator[str]:
    """The globs of the prompts that settings of the project name besides; of a pattern all below its first folders."""
    workspaces = tree.find(["*.code-workspace"])[0]
    documents = [
        *((json_at(tree, path), True) for path in workspaces), (json_at(tree, SETTINGS_OF_EDITOR), False)
    ]  # fmt: skip
    for document, is_workspace in documents:
        data = document.data if document else {}
        settings = table(data, "settings") if is_workspace else data
        for location, counts in table(settings, LOCATIONS).items():
            if counts is True:
                yield from _globs_of(location)


def _globs_of(location: str) -> Iterator[str]:
    parts = posixpath.normpath(location).split("/")
    plain = [*parts]
    while any(map(_GLOB.search, plain)):
        plain.pop()
    folder = "/".join(plain)
    if location.startswith("~") or leaves(folder):
        return
    above = "" if folder in ("", ".") else f"{escape(folder)}/"
    if plain != parts:
        yield f"{above}**/*{PROMPT}"
        return
    yield f"{above}*{PROMPT}"
    if folder.endswith(PROMPT):
        yield escape(folder)


def too_deep(paths: Collection[str]) -> Diagnostic | None:
    """The finding about those of some files that lie in folders below the one for prompts, in which VS Code looks."""
    deep = sorted(path for path in paths if path.startswith(f"{PROMPTS}/"))
    if not deep:
        return None
    more = f" ({len(deep)} such files)" if len(deep) > 1 else ""
    message = f"this prompt is in a folder below `{PROMPTS}`, so VS Code does not load it{more}"
    hint = f"move it to `{PROMPTS}`, or name its folder in `{LOCATIONS}` (`{SETTINGS_OF_EDITOR}`)"
    return finding("LDO152", Location(deep[0]), message, hint=hint)
