"""The manifest of a workspace: `llmdo.toml`, or a team in one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import finding
from llmdo.base.nearest import MANIFEST, TEAM_FILES, is_team_file, manifest_in
from llmdo.base.source import Location
from llmdo.base.values import replace
from llmdo.formats.schema import judge
from llmdo.syntax import discovery, toml
from llmdo.workspace.workspace import ReadManifest, lost

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.workspace.source_files import SourceFiles

MAX_MANIFEST = 256 * 1024  # bytes: workers and modules are found by globs, so no team needs more


def read_manifest(files: SourceFiles, given: Source | None) -> ReadManifest:
    """The manifest of the workspace that `files` are of; `given` is read instead of it."""
    if given:
        return _read(given)
    name = manifest_in(str(files.root)) or MANIFEST
    limit = MAX_MANIFEST if name == MANIFEST else discovery.MAX_FILE  # which holds the prompts as well
    source, unread = files.source(name, limit=limit)
    stated = ReadManifest(document=toml.parse(source), problems=unread) if unread else _read(source)
    return replace(stated, problems=(*stated.problems, *_unread_teams(files, name)))


def _read(source: Source) -> ReadManifest:
    if source.path != MANIFEST:
        from llmdo.workspace import team_file  # slow to load, and most manifests are no such file

        return team_file.read(source)
    document = toml.parse(source)
    if document.problems:
        return ReadManifest(document=document, problems=document.problems)
    judged = judge(document, "manifest")
    is_pruned = bool(judged.data is not None and judged.problems)
    return ReadManifest(
        document=judged.document,
        manifest=judged.data,
        problems=judged.problems,
        lacks=frozenset(lost(document.data, judged.data or {})) if is_pruned else frozenset(),
    )


def _unread_teams(files: SourceFiles, manifest: str) -> Iterator[Diagnostic]:
    """A finding for each team in one file that lies beside the manifest."""
    for name in TEAM_FILES:
        if name != manifest and is_team_file(f"{files.root}/{name}"):
            discovery.exists(files.root, name, files.seen)
            message = f"`{name}` is not read, because `{manifest}` is the manifest of this folder"
            hint = "move it to a folder of its own, or delete one of them"
            yield finding("LDO116", Location(name), message, hint=hint)
