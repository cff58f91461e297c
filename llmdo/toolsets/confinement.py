"""Files of one folder, of the workspace or of its tools' root, read, listed and written without leaving it.

A path is walked from an open descriptor of that folder without following any link, so the judged path is the opened
file, whatever another program renames meanwhile.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Literal, Self

from llmdo.policy.authority import scope_contains, scopes_meet
from llmdo.syntax.globs import Glob, escape
from llmdo.toolsets.folders import open_folder
from llmdo.toolsets.paths import MAX_DEPTH, WORKSPACE, PathRefused, file_parts, folder_parts, normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from llmdo.syntax.globs import State
    from llmdo.toolsets.folders import EntryKind, Folder
    from llmdo.workspace.root import Folders

MAX_LISTED = 10_000  # files: more is no answer to anybody
MAX_VISITED = 100_000  # entries: a folder of downloaded packages has some ten thousand


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The result of a listing."""

    paths: tuple[str, ...]
    """Relative to the workspace, sorted."""
    skipped: int = 0
    """Links, devices, folders that cannot be opened, and names that no path may have."""
    closed: tuple[str, ...] = ()
    """Folders that the pattern leads into but that were not entered, sorted."""
    cut: bool = False
    """Whether there may be more: a limit ended the search."""


class _Writes:
    """The files written through one root during a run."""

    def __init__(self) -> None:
        self.digests: dict[str, str] = {}
        """Path to SHA-256."""


@dataclass(frozen=True, slots=True)
class Root:
    """An open folder: the only way to the files in it."""

    folder: Folder
    _writes: _Writes = field(default_factory=_Writes, compare=False, repr=False)
    _editing: Lock = field(default_factory=Lock, compare=False, repr=False)

    @classmethod
    def open(cls, path: Path) -> Root:
        """The folder at `path`, opened once; a link at `path` itself is followed, since its name comes from us.

        Raises:
            OSError: There is no such folder.
        """
        return cls(open_folder(path))

    @classmethod
    def of(cls, folders: Folders) -> Root:
        """The root of a workspace, reached without following a link below the workspace or the folders above it.

        Raises:
            LlmdoError: No tool can, or may, work in it.
        """
        folders.require()
        with closing(open_folder(folders.anchor)) as anchor, _refusing("/".join(folders.names)):
            return cls(anchor.folder(folders.names))

    def close(self) -> None:
        """Ends every use of it."""
        self.folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def kind(self, path: str) -> Literal["file", "folder", "missing", "other"]:
        """The kind of the entry at `path`, not the workspace itself; `other` is all that is refused, such as links."""
        parts = file_parts(path)
        try:
            self.folder.folder(parts).close()
        except FileNotFoundError:
            return "missing"
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return "missing"
        else:
            return "folder"
        try:
            os.close(self.open_file(path))
        except PathRefused:
            return "other"
        return "file"

    def has_written(self, path: str) -> bool:
        """Whether the file at `path` still has exactly the content written through this root."""
        try:
            return path in self._writes.digests and self.digest(path) == self._writes.digests[path]
        except PathRefused:
            return False

    def is_executable(self, path: str) -> bool:
        """Whether `path` is a file with a permission to execute it."""
        try:
            descriptor = self.open_file(path)
        except PathRefused:
            return False
        try:
            return bool(os.fstat(descriptor).st_mode & 0o111)
        finally:
            os.close(descriptor)

    def open_file(self, path: str) -> int:
        """A descriptor of the regular file at `path`, open for reading; the caller closes it.

        Raises:
            PathRefused: There is none, or it is a link, a hard link, a folder or a device.
        """
        parts = file_parts(path)
        with _refusing(path):
            descriptor = self.folder.file(parts, os.O_RDONLY)
        try:
            _require_regular(path, os.fstat(descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def read(self, path: str, limit: int) -> bytes:
        """The content of the file at `path`.

        Raises:
            PathRefused: As `open_file`, or it has more than `limit` bytes.
        """
        with _refusing(path), os.fdopen(self.open_file(path), "rb") as file:
            if os.fstat(file.fileno()).st_size <= limit and len(content := file.read(limit + 1)) <= limit:
                return content
        raise PathRefused(path, f"is larger than {limit:,} bytes", hint="use a smaller file")

    def digest(self, path: str) -> str:
        """The SHA-256 of the file at `path`, of any size.

        Raises:
            PathRefused: As `open_file`.
        """
        with _refusing(path), os.fdopen(self.open_file(path), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def write_atomic(self, path: str, content: bytes) -> Literal["created", "replaced"]:
        """Makes `content` the file at `path`, all of it or nothing; missing folders are made.

        Raises:
            PathRefused: It cannot be written, or is a link, a hard link, a folder or a device.
        """
        *above, name = file_parts(path)
        with _refusing(path), closing(self._made(above)) as folder:
            try:
                mode = _require_regular(path, folder.stat(name))
            except FileNotFoundError:
                mode = None
            _replace(folder, name, content, mode)
        self._writes.digests[path] = hashlib.sha256(content).hexdigest()
        return "created" if mode is None else "replaced"

    def edit(self, path: str, change: Callable[[bytes], bytes], limit: int) -> bytes:
        """Applies `change` to the content of the file at `path`, and returns the new content.

        Edits of one workspace wait for each other, so that none undoes another.

        Raises:
            PathRefused: As `read` and `write_atomic`; whatever `change` raises leaves the file unchanged.
        """
        with self._editing:
            content = change(self.read(path, limit))
            self.write_atomic(path, content)
        return content

    def list_files(
        self,
        folder: str = ".",
        pattern: str = "**/*",
        *,
        limit: int = MAX_LISTED,
        most_visited: int = MAX_VISITED,
        within: Sequence[str] = ("**",),
        is_closed: Callable[[str], bool] = lambda _: False,
    ) -> Listing:
        """The regular files below `folder` that lie in a scope of `within` and match `pattern`.

        The pattern is relative to the folder. Links, and folders that `is_closed`, are not entered. A hidden name
        matches only a part of the pattern that begins with a dot.

        Raises:
            PathRefused: There is no such folder, or the pattern is invalid.
        """
        top = folder_parts(folder)
        wanted = _glob(pattern)
        with _refusing(folder), closing(self.folder.folder(top)):
            search = _FolderWalk(self.folder, limit, most_visited, tuple(within), is_closed)
            return search.run(top, wanted)

    def _made(self, parts: Sequence[str]) -> Folder:
        """The folder at `parts`, made step by step: each is opened before anything is made in it."""
        at = self.folder.folder(())
        for name in parts:
            with closing(at):
                at.make(name)
                below = at.folder((name,))
            at = below
        return at


def _glob(pattern: str) -> Glob:
    """The glob for a model's pattern, in which only `*`, `?` and `**` are wildcards.

    Raises:
        PathRefused: A path of this form would be refused.
    """
    normal = normalise(pattern)
    if normal == WORKSPACE:
        raise PathRefused(
            pattern, "is not a pattern", hint="`*` stands for every file, `**/*` for those below as well"
        )
    return Glob(escape(normal))


class _FolderWalk:
    """One walk over the folders of a listing, with its results and counts."""

    def __init__(
        self,
        root: Folder,
        limit: int,
        most_visited: int,
        within: tuple[str, ...],
        is_closed: Callable[[str], bool],
    ) -> None:
        self.root = root
        self.limit = limit
        self.most_visited = most_visited
        self.within = within
        self.is_closed = is_closed
        self.closed: list[str] = []
        self.paths: list[str] = []
        self.skipped = 0
        self.visited = 0
        self.cut = False

    def run(self, top: tuple[str, ...], glob: Glob) -> Listing:
        waiting = [(top, glob.before)]
        while waiting and len(self.paths) <= self.limit and self.visited <= self.most_visited:
            parts, state = waiting.pop()
            below: list[tuple[tuple[str, ...], State]] = []
            for name, kind in self._entries(parts):
                reached = glob.step(state, name)
                path = "/".join((*parts, name))
                if kind == "file":
                    if glob.is_match(reached) and any(scope_contains(scope, path) for scope in self.within):
                        self._take(path)
                elif reached and any(scopes_meet(scope, f"{path}/**") for scope in self.within):
                    if kind != "folder":
                        self.skipped += 1
                    elif self.is_closed(path):
                        self.closed.append(path)
                    else:
                        below.append(((*parts, name), reached))
            waiting.extend(reversed(below))
        is_over = len(self.paths) > self.limit or self.visited > self.most_visited
        self.cut = self.cut or bool(waiting) or is_over
        return Listing(
            paths=tuple(sorted(self.paths[: self.limit])),
            skipped=self.skipped,
            closed=tuple(sorted(self.closed)),
            cut=self.cut,
        )

    def _entries(self, parts: tuple[str, ...]) -> list[tuple[str, EntryKind]]:
        if len(parts) >= MAX_DEPTH:
            self.cut = True
            return []
        try:
            with closing(self.root.folder(parts)) as folder:
                entries = sorted(islice(folder.entries(), self.most_visited - self.visited + 1))
        except OSError:
            self.skipped += 1
            return []
        self.visited += len(entries)
        return entries

    def _take(self, path: str) -> None:
        if _is_usable(path):
            self.paths.append(path)
        else:
            self.skipped += 1


def _is_usable(path: str) -> bool:
    try:
        return normalise(path) == path
    except PathRefused:
        return False


def _replace(folder: Folder, name: str, content: bytes, mode: int | None) -> None:
    temporary = f".llmdo-{secrets.token_hex(8)}.tmp"
    try:
        descriptor = folder.file((temporary,), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        folder.rename(temporary, name)
    except BaseException:  # Ctrl-C as well must leave nothing behind
        with suppress(OSError):
            folder.remove(temporary)
        raise


def _require_regular(path: str, status: os.stat_result) -> int:
    """The permissions of a plain regular file."""
    if stat.S_ISLNK(status.st_mode):
        raise PathRefused(path, "is a link", hint="give the path of the file itself")
    if stat.S_ISDIR(status.st_mode):
        raise PathRefused(path, "is a folder", hint="give the path of a file")
    if not stat.S_ISREG(status.st_mode):
        raise PathRefused(path, "is not a regular file", hint="give the path of another file")
    if status.st_nlink > 1:
        raise PathRefused(path, "is a hard link, perhaps to a file elsewhere", hint="copy the file instead")
    return stat.S_IMODE(status.st_mode) & 0o777


@contextmanager
def _refusing(path: str) -> Iterator[None]:
    """Turns a system error into a refusal of `path`."""
    try:
        yield
    except OSError as error:
        reason, hint = _REASONS.get(error.errno or 0, (None, None))
        problem = reason or f"cannot be used: {os.strerror(error.errno or 0).lower()}"
        raise PathRefused(path, problem, hint=hint) from error


_THROUGH_A_LINK = (
    "is a link, or leads through a link or a file",
    "llmdo follows no link; give the path of the file itself",
)
_REASONS = {
    errno.ENOENT: ("does not exist", "list the folder to see what is there"),
    errno.ELOOP: _THROUGH_A_LINK,
    errno.ENOTDIR: _THROUGH_A_LINK,
    errno.EXDEV: _THROUGH_A_LINK,
    errno.EISDIR: ("is a folder", "give the path of a file"),
    errno.ENXIO: ("is not a regular file", "give the path of another file"),
    errno.EACCES: ("may not be used by this user", None),
    errno.ENAMETOOLONG: ("has a part that is too long", "give a shorter path"),
    errno.ENOSPC: ("cannot be written: the disk is full", None),
    errno.EFBIG: ("cannot be written: it is too large", None),
}
