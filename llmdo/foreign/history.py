"""The files of a foreign project as a git revision has them, without a checkout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, finding
from llmdo.base.source import Location, Source
from llmdo.base.values import dataclass, field
from llmdo.foreign.links import MAX_LINK
from llmdo.foreign.tree import is_like, unprintable, unread
from llmdo.syntax import commits, discovery
from llmdo.syntax.globs import Glob

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign.tree import Read

_REPOSITORY = discovery.RefusedPath("LDO107", "is a repository of its own")


@dataclass(slots=True)
class Commit:
    """A folder as a git revision has it, read from git's objects alone."""

    root: Path
    files: dict[str, commits.Blob]
    """The blobs below the folder at that revision, by path."""
    only: str | None = None
    contents: dict[str, bytes] = field(default_factory=dict)
    """The contents read so far, by object."""
    _folders: frozenset[str] | None = None
    """Every folder with a file; None before anybody asks."""

    @classmethod
    def of(cls, root: Path, name: str, only: str | None = None) -> Commit:
        """The folder `root` at the revision `name`.

        Raises:
            LlmdoError: there is no such revision, or it holds too many files.
        """
        files = commits.with_submodules(root, commits.files(root, name))
        if len(files) > discovery.MAX_ENTRIES:
            raise LlmdoError(f"`{name}` holds more than {discovery.MAX_ENTRIES:,} files")
        return cls(root, files, only)

    def find(self, patterns: Iterable[str]) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
        """The paths that the globs name; hidden folders count if a glob names them."""
        patterns = tuple(patterns)
        if self.only is not None:
            is_chosen = self.only in self.files and is_like(self.only, patterns)
            return ((self.only,) if is_chosen else ()), ()
        globs = [Glob(pattern) for pattern in patterns]
        named = [path for path in sorted(self.files) if _is_named(path, globs)]
        refused = {path: why for path in named if (why := self._refused(path))}
        refused |= {path: discovery.NOT_A_FILE for path in patterns if self._is_folder(path)}
        readable = tuple(path for path in named if path not in refused)
        # One question to git for all of them.
        blobs = (self.files[path] for path in readable)
        small = [blob for blob in blobs if blob.size is not None and blob.size <= discovery.MAX_FILE]
        self._load(small)
        for path, blob in self.files.items():
            if blob.is_repository and any(glob.text.startswith((f"{path}/", "**")) for glob in globs):
                refused[path] = _REPOSITORY
        return readable, tuple(unread(path, why) for path, why in sorted(refused.items()))

    def _load(self, blobs: Iterable[commits.Blob]) -> None:
        """Reads blobs, with one question to git for each repository that has some."""
        by_repository: dict[str, list[str]] = {}
        for blob in blobs:
            by_repository.setdefault(blob.within, []).append(blob.name)
        for folder, names in by_repository.items():
            self.contents.update(commits.contents(self.root / folder, names))

    def _refused(self, path: str) -> discovery.RefusedPath | None:
        """The reason why a path cannot be read, or None."""
        return (
            unprintable(path) if self.files[path].is_regular else discovery.RefusedPath("LDO107", "is a link")
        )

    def _is_folder(self, path: str) -> bool:
        if self._folders is None:
            parts = (path.split("/")[:-1] for path in self.files)
            ends = ((each, end) for each in parts for end in range(1, len(each) + 1))
            self._folders = frozenset("/".join(each[:end]) for each, end in ends)
        return path in self._folders

    def link_at(self, path: str) -> str | None:
        """The text of the link at `path`; None for what is none."""
        blob = self.files.get(path)
        if blob is None or blob.is_regular or blob.is_repository or not (0 < (blob.size or 0) < MAX_LINK):
            return None
        self._load([blob])
        return self.contents[blob.name].decode("utf-8", "replace")

    def read(self, path: str) -> Read | None:
        """The file at `path`."""
        blob = self.files.get(path)
        if blob is None:
            refused = discovery.NOT_A_FILE
            return (Source(path, ""), (unread(path, refused),)) if self._is_folder(path) else None
        if blob.size is None:
            message = f"`{path}` is not in this clone, so it was not read"
            return Source(path, ""), (finding("LDO153", Location(path), message, hint=commits.WHOLE),)
        if blob.size > discovery.MAX_FILE:
            refused = discovery.RefusedPath("LDO105", f"is larger than {discovery.MAX_FILE // 1024:,} KiB")
            return Source(path, ""), (unread(path, refused),)
        if blob.name not in self.contents:
            self._load([blob])
        return discovery.decode(path, self.contents[blob.name])


def _is_named(path: str, globs: Iterable[Glob]) -> bool:
    return any(path == glob.text or glob.names(path) for glob in globs)
