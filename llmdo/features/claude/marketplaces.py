"""Marketplaces of plugins: which of theirs are in the project, and in which folder."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import items, table, text
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.foreign.files import Files
    from llmdo.syntax.document import Document

MANIFEST = ".claude-plugin/plugin.json"
MARKETPLACE = ".claude-plugin/marketplace.json"
_SOURCES = ("git-subdir", "github", "npm", "url")
"""The sources that are tables, by https://code.claude.com/docs/en/plugin-marketplaces."""
_MANY = 5  # names of plugins in one sentence


def entries_of(files: Files, marketplace: Place, base: str) -> Iterator[tuple[str, Place]]:
    """The plugins of a marketplace that are in the project, each with its folder."""
    document = marketplace.document
    prefix = text(table(document.data, "metadata").get("pluginRoot"))
    elsewhere: list[str] = []
    if _refuses(files, document):
        return
    for number, entry in enumerate(items(document.data.get("plugins"))):
        place = Place(document, ("plugins", number))
        source = table(entry).get("source")
        if not isinstance(source, str):
            if _is_itself(files, base, table(entry)):
                _judge_source(files, Place(document, ("plugins", number, "source")))
                yield base, place
                continue
            elsewhere.append(text(table(entry).get("name")) or "?")
            continue
        bare = prefix and "/" not in source and not source.startswith(".")
        root = within(base, f"{prefix}/{source}" if bare else source)
        if root is None:
            message = f"`{source}` leads out of the project, so Claude Code loads no plugin from there"
            files.note("LDO250", Place(document, ("plugins", number, "source")), message)
        else:
            yield root, place
    if elsewhere:
        names = ", ".join(f"`{name}`" for name in elsewhere[:_MANY])
        more = f" and {len(elsewhere) - _MANY:,} more" if len(elsewhere) > _MANY else ""
        at = Place(document, ("plugins",), of_key=True)
        message = f"plugins that come from elsewhere were not read: {names}{more}"
        files.note("LDO154", at, message)


def _judge_source(files: Files, at: Place) -> None:
    """Notes the source of a plugin if it is of a kind that Claude Code does not know."""
    kind = text(table(at.data).get("source"))
    if kind not in ("", *_SOURCES):
        message = f"Claude Code knows no source `{excerpt(kind)}`, so it installs no plugin from it"
        files.note("LDO151", at, message, 'write `"source": "./"` for the folder of the marketplace itself')


def _is_itself(files: Files, base: str, entry: Mapping[str, object]) -> bool:
    """Whether a plugin that a marketplace fetches is that of its own folder, by the name and the repository."""
    document = files.json(f"{base}/{MANIFEST}".removeprefix("/"))
    if document is None or document.data.get("name") != entry.get("name"):
        return False
    source = table(entry.get("source"))
    if text(source.get("source")) not in ("", *_SOURCES) and not source.keys() & {"package", "repo", "url"}:
        return True  # it names no other place, so this one was meant
    its = text(source.get("url")).removesuffix(".git") or f"https://github.com/{text(source.get('repo'))}"
    return text(document.data.get("repository")).removesuffix(".git") == its


def _refuses(files: Files, document: Document) -> bool:
    """Whether Claude Code refuses a marketplace: a `source` that is a text is the path of a folder. It is noted."""
    sources = [
        Place(document, ("plugins", number, "source"))
        for number, entry in enumerate(items(document.data.get("plugins")))
        if ":" in text(table(entry).get("source"))
    ]
    if not sources:
        return False
    number = f" and {len(sources) - 1:,} more are no paths" if len(sources) > 1 else " is no path"
    message = f"`{text(sources[0].data)}`{number}, so Claude Code refuses this marketplace"
    hint = 'write `"./FOLDER"`, or `{"source": "github", "repo": "OWNER/NAME"}`'
    files.note("LDO151", sources[0], message, hint)
    return True


def within(base: str, path: str) -> str | None:
    """A path relative to a folder, as one of the project; None if it is outside."""
    if path.startswith(("/", "~")) or "\\" in path:
        return None
    whole = posixpath.normpath(posixpath.join(base or ".", path))
    return None if whole.startswith("..") else whole.removeprefix(".") if whole == "." else whole
