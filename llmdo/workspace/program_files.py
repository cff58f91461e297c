"""The workspace files that starting a program executes: digests, and places in which another file would be found.

Nothing outside of the workspace is read: a link counts as its target, and one that leads out is a problem.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from typing import TYPE_CHECKING

from llmdo.base import digest
from llmdo.base.values import dataclass, field
from llmdo.graph import launchers
from llmdo.policy.protection import is_code
from llmdo.syntax import discovery
from llmdo.syntax.imports import import_candidates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.workspace.source_files import SourceFiles

MAX_PROGRAM = 256 * 1024 * 1024  # bytes of one program, or of a folder: each check reads all of it
MAX_FILES = 5_000  # of code in a folder that may hold the program
MAX_ENTRIES = 50_000  # of such a folder
MAX_MODULES = 5_000  # that a program imports from the workspace

_SKIPPED = frozenset(
    {
        "node_modules", "venv", ".venv", "site-packages", "dist-packages", "__pycache__", "__pypackages__", ".tox",
        ".nox", ".direnv", ".yarn", ".bundle", ".git", ".llmdo", "target", "_build",
    }
)  # fmt: skip
"""Folders of environments, protected as such and too large to be read each time, and of build results."""
_PYTHON = (".py", ".pyw")
_BINARIES = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_SUFFIXES = (
    ".js",
    ".mjs",
    ".cjs",
    ".ts",
    ".mts",
    ".py",
    ".sh",
    ".rb",
    "/index.js",
    "/index.ts",
    "/__main__.py",
)
_ROOT = re.compile(r"^\$\{LLMDO_ROOT(?::-[^}]*)?\}/?")
_HERE = re.compile(r"^\$\{PWD(?::-[^}]*)?\}/?")
_DEFAULT = re.compile(r"\$\{[A-Za-z_]\w*:-([^}]*)\}")


@dataclass(slots=True)
class ProgramFiles:
    """The findings so far from the words of one server."""

    files: SourceFiles
    tools: str
    """The folder of the workspace that tools work on; empty for the workspace itself."""
    digests: dict[str, str] = field(default_factory=dict)
    governing: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    def paths(self, text: str, cwd: str) -> Iterator[str]:
        """The paths of the workspace that a text may mean: from the folder `cwd`, or from the workspace."""
        text = text.removeprefix("file://")
        if not text or text.startswith("-") or "\0" in text or "://" in text:
            return
        bases = [cwd, ""]
        if _ROOT.match(text):
            text, bases = _ROOT.sub("", text) or ".", [self.tools]
        text = _DEFAULT.sub(r"\1", _HERE.sub("", text)) or "."
        for base in dict.fromkeys(bases):
            if text.startswith("/") or ".." in text.split(
                "/"
            ):  # what `..` is behind a link, only the system knows
                path = self._within(self.files.root / base / text)
            else:
                path = posixpath.normpath(joined(base, text))
            if path is not None:
                yield "" if path == "." else path

    def named_folders(self, words: Iterable[str], cwd: str) -> Iterator[str]:
        """The folders that words name, themselves or by a file without its ending."""
        for path in (path for word in words for path in self.paths(word, cwd)):
            if self.kind(path) == "folder":
                yield path
            for suffix in _SUFFIXES:
                if self.kind(f"{path}{suffix}") == "file":
                    yield posixpath.dirname(f"{path}{suffix}")

    def program(self, path: str, bases: Iterable[str], *, always: bool = False) -> bool:
        """Whether `path` is an executed file of the workspace; `always` skips the check of its kind.

        For a Python file, its imports are searched in the folders `bases`.
        """
        if self.kind(path) != "file":
            if always:
                self.governing.add(path)
            return False
        if not (always or is_code(path) or self._is_executable(path)):
            return False
        self.governing.add(path)
        target = self.target(path)
        if target is None:
            return True  # a program of this machine
        if target.endswith(_PYTHON):
            self.closure([path], {*bases, posixpath.dirname(path), posixpath.dirname(target)})
            return True
        content = self.content(target)
        if content is not None and not content.startswith(_BINARIES):
            self.folder(posixpath.dirname(target))
            self.settings_above(posixpath.dirname(target))
        return True

    def settings(self, folder: str, names: Iterable[str]) -> None:
        """Adds files of these names in a folder, each by itself."""
        for path in (joined(folder, name) for name in names):
            self.governing.add(path)
            target = self.target(path)
            if target is not None and self.kind(path) == "file":
                self.content(target)

    def settings_above(self, folder: str) -> None:
        """Adds the files that interpreters look for in the folders around a program."""
        while folder:
            folder = posixpath.dirname(folder)
            self.settings(folder, launchers.AROUND)

    def closure(self, starts: Iterable[str], bases: Iterable[str]) -> None:
        """Adds Python files with all that they import from the workspace, searched in the folders `bases`."""
        waiting, bases = list(starts), {*bases}
        for base in bases if waiting else ():
            self.shadows(base)
        known = set(waiting)
        while waiting and len(known) <= MAX_MODULES:
            path = waiting.pop()
            target = self.target(path)
            if target is None or self.content(target) is None or not path.endswith(_PYTHON):
                continue
            outline = self.files.module(target)[0].outline
            for base in bases:
                if base and not path.startswith(f"{base}/"):
                    continue
                within = path[len(base) + 1 :] if base else path
                for candidate in (joined(base, each) for each in import_candidates(within, outline)):
                    self.governing.add(candidate)
                    if candidate not in known and self.kind(candidate) == "file":
                        known.add(candidate)
                        waiting.append(candidate)
        if len(known) > MAX_MODULES:
            self.problems.append(f"it imports more than {MAX_MODULES:,} files of the workspace")

    def shadows(self, folder: str) -> None:
        """Adds every file in `folder` that may be imported before installed modules, also by these."""
        for name in ("*.py", "*/__init__.py", "*.so", "*.pyd", "*.pyc"):
            self.governing.add(joined(folder, name))

    def folder(self, folder: str) -> None:
        """Adds the code in a folder: files of an executable kind or with a permission to execute, or behind links."""
        key = f"{folder or '.'}/"
        real = self.target(folder) if folder else ""
        if key in self.digests:
            return
        if real is None:
            self.problems.append(f"`{key}` leads out of the workspace")
            return
        listed: dict[str, str] = {}
        size = 0
        for path in self._code_in(key, real):
            file, target = self.files.root / path, self.target(path)
            content = (self.content(target, is_listed=False) if target else None) or b""
            listed[path] = f"{file.readlink() if file.is_symlink() else ''} {digest.of_bytes(content)}"
            size += len(content)
            if len(listed) > MAX_FILES or size > MAX_PROGRAM:
                most = f"{MAX_FILES:,} files, or {MAX_PROGRAM // 1024**2} MiB,"
                self.problems.append(f"`{key}` holds more than {most} of what it may execute")
                break
        self.digests[key] = digest.of_data(listed)
        self.governing.update({folder, real})
        if not real:
            self.governing.update(listed)
            self.governing.update(f"**/*{suffix}" for suffix in _SUFFIXES if "/" not in suffix)

    def kind(self, path: str) -> str:
        """`file` or `folder`, links followed; empty if nothing is there."""
        if path:
            discovery.exists(self.files.root, path, self.files.seen)  # which notes what was looked at
        try:
            mode = (self.files.root / path).stat().st_mode
        except (OSError, ValueError):
            return ""
        return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else ""

    def target(self, path: str) -> str | None:
        """The file or folder at `path` with links resolved; None if that is not in the workspace."""
        target = self._within(self.files.root / path)
        if target is not None and target != path:
            self.governing.add(target)
        return target

    def content(self, path: str, *, is_listed: bool = True) -> bytes | None:
        """The content of a file, whose digest is noted unless its folder covers it."""
        content = discovery.read(self.files.root, path, limit=MAX_PROGRAM, seen=self.files.seen)
        if isinstance(content, discovery.RefusedPath):
            if content.code != "LDO106":
                self.problems.append(f"`{path}` {content.reason}")
            return None
        if is_listed:
            self.digests[path] = digest.of_bytes(content)
        return content

    def _within(self, path: os.PathLike[str]) -> str | None:
        """The real path below the workspace; None if it is outside, or invalid."""
        try:
            real, root = os.path.realpath(path), os.path.realpath(self.files.root)
        except (OSError, ValueError):
            return None
        if real != root and not real.startswith(f"{root.rstrip(os.sep)}{os.sep}"):
            return None
        return "" if real == root else os.path.relpath(real, root).replace(os.sep, "/")

    def _is_executable(self, path: str) -> bool:
        try:
            return bool((self.files.root / path).stat().st_mode & 0o111)
        except OSError:
            return False

    def _code_in(self, key: str, folder: str) -> Iterator[str]:
        """The files in a folder that may be executed; a folder behind a link counts at its real place."""
        waiting, entered, count = [folder], set[str](), 0
        while waiting:
            above = waiting.pop()
            if above in entered:
                continue
            entered.add(above)
            for name in discovery.names(self.files.root, above, self.files.seen):
                count += 1
                if count > MAX_ENTRIES:
                    self.problems.append(f"`{key}` holds more than {MAX_ENTRIES:,} files and folders")
                    return
                path = joined(above, name)
                mode = self._mode(path)
                if stat.S_ISLNK(mode):
                    target = self.target(path)
                    if target and self.kind(target) == "folder" and name not in _SKIPPED:
                        waiting.append(target)
                    else:
                        yield path  # a program by a name of its own
                elif stat.S_ISDIR(mode):
                    is_hidden = name.startswith(".") and not is_code(name)
                    if name not in _SKIPPED and not is_hidden and not self._mode(f"{path}/pyvenv.cfg"):
                        waiting.append(path)
                elif stat.S_ISREG(mode) and (mode & 0o111 or is_code(path)):
                    yield path

    def _mode(self, path: str) -> int:
        """The mode of the entry at `path` itself; 0 if there is none."""
        try:
            return (self.files.root / path).lstat().st_mode
        except (OSError, ValueError):
            return 0


def is_environment(folder: str) -> bool:
    """Whether a folder has the name of an environment."""
    return any(name in _SKIPPED for name in folder.split("/"))


def joined(folder: str, name: str) -> str:
    """A path below a folder, which may be the workspace itself."""
    return f"{folder}/{name}" if folder else name
