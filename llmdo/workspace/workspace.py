"""The result of reading the files of a workspace, before any name is resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo.base import parts
from llmdo.base.values import dataclass, field
from llmdo.policy.authority import Capability
from llmdo.workspace.modules import importable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.base.values import Json
    from llmdo.foreign.adopting import Adoption
    from llmdo.graph.settings import SharedPolicy
    from llmdo.syntax.document import Document
    from llmdo.workspace.installed import InstalledExtension
    from llmdo.workspace.modules import Module
    from llmdo.workspace.references import ClassPath
    from llmdo.workspace.script import ModelScript
    from llmdo.workspace.worker_file import WorkerFile


Lack = Literal["names", "aliases", "contents"]
"""Workers or toolsets; aliases of models; any other content of files, such as an edge or a rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """The unknown parts of a workspace until some files are fixed. Each of these files has an error."""

    files: frozenset[str] = frozenset()
    """Files of which nothing could be used."""
    names: bool = False
    """Whether the graph may lack workers and toolsets."""
    aliases: bool = False
    """Whether it may lack aliases of models."""
    extensions: bool = False
    """Whether it may lack capabilities and checks of extensions."""
    contents: bool = False
    """Whether it may lack any other content of sources: an entry, an edge, a rule."""
    toolsets: frozenset[str] = frozenset()
    """The toolsets of the graph whose tools are unknown."""

    @property
    def any(self) -> bool:
        """Whether anything at all is unknown."""
        return bool(self.files or self.toolsets or self.contents)

    def may_hide(self, capability: str) -> bool:
        """Whether an unknown tool may declare this capability of the project's own, or an extension may bring it."""
        family, _, rest = capability.partition(".")
        if self.extensions and Capability(capability).is_of_extension:
            return True
        return family == "x" and (self.names or rest.partition(".")[0] in self.toolsets)


def lost(stated: Mapping[str, Json], used: Mapping[str, Json]) -> Iterator[Lack]:
    """The unknown parts after faulty parts of a manifest were left out; an unknown key may be a misspelt one."""
    yield "contents"
    tables = ("toolsets", "workers", "workspace")
    lists = (("workspace", "workers"), ("workspace", "toolset-modules"))
    if (
        stated.keys() != used.keys()
        or any(_keys(stated, table) != _keys(used, table) for table in tables)
        or any(
            parts.table(stated, table).get(key) != parts.table(used, table).get(key) for table, key in lists
        )
    ):
        yield "names"
    if stated.keys() != used.keys() or _keys(stated, "models") != _keys(used, "models"):
        yield "aliases"


def _keys(manifest: Mapping[str, Json], table: str) -> object:
    value = manifest.get(table, {})
    return value.keys() if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadManifest:
    """A manifest as far as it can be used."""

    document: Document
    """With the routes of `llmdo.toml`, whatever file it is of."""
    manifest: Mapping[str, Json] | None = None
    """The valid part, a `formats.documents.ManifestFile`; None if it is unusable."""
    problems: tuple[Diagnostic, ...] = ()
    lacks: frozenset[Lack] = frozenset()
    workers: tuple[WorkerFile, ...] = ()
    """Those that stand in the same file."""


@dataclass(frozen=True, slots=True)
class ServerPrograms:
    """The files of a workspace that starting one server executes."""

    digests: Mapping[str, str] = field(default_factory=dict)
    """Each file to its digest; a folder, which ends in `/`, to that of the code in it."""
    governing: frozenset[str] = frozenset()
    """Paths and globs at which another file would be executed as well."""
    problems: tuple[str, ...] = ()
    """Why a digest is not known, a sentence each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """The content of all files of a workspace, with all places, not resolved yet."""

    root: Path
    document: Document
    """`llmdo.toml` as parsed."""
    manifest: Mapping[str, Json] | None
    """The valid part of it, a `formats.documents.ManifestFile`; None if it is unusable."""
    workers: tuple[WorkerFile, ...]
    """Those of worker files, sorted by path, then those of Python modules, then adopted agents."""
    toolset_modules: tuple[str, ...]
    """The Python files whose toolsets belong to this workspace, sorted."""
    modules: Mapping[str, Module]
    """Path to module: every Python file that is named anywhere, and those of the workspace that it imports."""
    class_paths: tuple[ClassPath, ...] = ()
    """The lines of headers that name a toolset by the path of its class, in the order of the workers."""
    policies: tuple[SharedPolicy, ...] = ()
    """Those that the manifest extends, as far as they can be read, sorted by name."""
    extensions: tuple[InstalledExtension, ...] = ()
    """The usable ones that the manifest names, in its order."""
    asks_packages: bool = False
    """Whether its policies depend on installed packages."""
    recordings: Mapping[str, str] = field(default_factory=dict)
    """Path to the digest of each recording and each script in the place of a model."""
    scripts: tuple[ModelScript, ...] = ()
    """Those that the files name, as far as they can be read."""
    programs: Mapping[str, ServerPrograms] = field(default_factory=dict)
    """The files of the workspace that each MCP server started here executes, by the names of toolsets."""
    judges: Mapping[str, Module] = field(default_factory=dict)
    """The Python files that judge cases of evaluations, and those that they import."""
    places: frozenset[str] = frozenset()
    """Paths and globs at which a file would decide what a run does, whatever imports what."""
    adoption: Adoption | None = None
    """The projects of other tools that the manifest names."""
    has_lock: bool
    """Whether it can have a lock; one made of a few files alone cannot."""
    lock: Source | None
    """`llmdo.lock`, until it was compared with the rest; None if there is none."""
    problems: tuple[Diagnostic, ...]
    unread: frozenset[str] = frozenset()
    """Paths of the files of which nothing could be used."""
    lacks: frozenset[Lack] = frozenset()
    """The possible further content of files that could not be used entirely."""

    @property
    def documents(self) -> tuple[Document, ...]:
        """The manifest and the header of each worker."""
        return (self.document, *(worker.document for worker in self.workers))

    @property
    def governing(self) -> frozenset[str]:
        """Paths at which a file would decide a run's behaviour: by an import, by a server's start, or by its place."""
        imported = importable({**self.modules, **self.judges})
        return self.places.union(imported, *(each.governing for each in self.programs.values()))

    def programs_of(self, toolset: str) -> Mapping[str, str]:
        """The files and folders that the MCP server of that name executes, to their digests."""
        return self.programs[toolset].digests if toolset in self.programs else {}

    def table(self, *route: str) -> Mapping[str, Json]:
        """The table at `route` of the manifest; empty if it has none."""
        return parts.table(self.manifest, *route)

    def tables(self, *route: str) -> Mapping[str, Mapping[str, Json]]:
        """The tables in the table at `route` of the manifest, by their names."""
        return parts.tables(self.manifest, *route)
