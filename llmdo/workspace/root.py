"""The root of a workspace and the root of its tools, the names of its own files, and the environments inside it."""

from __future__ import annotations

import json
import os
import site
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base import cache
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.nearest import MANIFEST, manifest_in, nearest_workspace
from llmdo.base.source import Source
from llmdo.base.values import dataclass
from llmdo.policy.protection import folded, is_protected, is_secret
from llmdo.syntax import discovery
from llmdo.syntax.discovery import RefusedPath
from llmdo.syntax.globs import Glob, is_pattern
from llmdo.workspace import personal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.base.cache import Seen
    from llmdo.graph.keys import Reference

__all__ = ["LOCK", "MANIFEST", "MAX_LOCK", "WORKER_ENDINGS", "find_root", "is_workspace", "manifest_of"]

LOCK = "llmdo.lock"
MAX_LOCK = 8 * 1024 * 1024  # bytes: 10,000 workers take under 4 MB

WORKER_ENDINGS = (".worker", ".worker.md")


def find_root(start: Path) -> Path:
    """The nearest folder with a manifest, from `start` upwards.

    Raises:
        LlmdoError: No folder on the way has one.
    """
    if root := nearest_workspace(str(start.absolute())):
        return Path(root)
    raise LlmdoError(
        f"no `{MANIFEST}` in this folder or in any above it", hint="`llmdo init` starts a workspace here"
    )


def is_workspace(folder: Path) -> bool:
    """Whether `folder` has a manifest."""
    return manifest_in(str(folder)) is not None


def manifest_of(files: Iterable[str]) -> Source:
    """The manifest of a workspace that consists of `files`: workers, and Python files as toolset modules.

    It says nothing else, so the built-in rules hold.
    """
    workers = [path for path in files if path.endswith(WORKER_ENDINGS)]
    modules = [path for path in files if path.endswith(".py")]
    lists = "".join(
        f"{key} = [{', '.join(json.dumps(path) for path in paths)}]\n"
        for key, paths in (("workers", workers), ("toolset-modules", modules))
    )
    return Source(MANIFEST, f'schema = 1\n\n[workspace]\nname = "files"\n{lists}')


UP = ".."

_HINT = "`[workspace] root` names the folder that tools work on; it is relative to `llmdo.toml`"


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of one workspace."""

    workspace: Path
    """With `llmdo.toml` and all that is the workspace's own."""
    stated: Reference | None = None
    """The value of `[workspace] root`; None if tools work on the workspace."""

    @property
    def anchor(self) -> Path:
        """The folder above the root below which no link may lead to it."""
        if self.stated is None:
            return self.workspace
        ups = [name for name in self.stated.name.split("/") if name == UP]
        return Path(os.path.realpath("/".join([str(self.workspace), *ups])))

    @property
    def names(self) -> tuple[str, ...]:
        """The names from the anchor to the root."""
        return tuple(name for name in self.stated.name.split("/") if name != UP) if self.stated else ()

    @property
    def root(self) -> Path:
        """The folder of tools, attachments and the path map; it may not exist."""
        return self.anchor.joinpath(*self.names)

    @property
    def all(self) -> tuple[Path, ...]:
        """Both, or the only one."""
        return (self.workspace,) if self.stated is None else (self.root, self.workspace)

    @property
    def is_there(self) -> bool:
        """Whether tools can work in the root."""
        return self._refused() is None

    def require(self) -> None:
        """Checks that tools can and may work in the root.

        Raises:
            LlmdoError: It is missing, is reached through a link, governs this or another run, or is no project but a
                person's home or the whole file system.
        """
        if self.stated is not None and (refused := self._refused()):
            raise LlmdoError(f"`{self.stated.name}` {refused.reason}", hint=_HINT, at=self.stated.at.location)

    def _refused(self) -> RefusedPath | None:
        if self.stated is None:
            return None
        root, home = self.root, Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111  # never fails
        if refused := examined(self.workspace, self.stated.name):
            return refused
        if root == root.parent:
            return RefusedPath("LDO107", "is the whole file system")
        if root == Path(os.path.realpath(self.workspace)):
            return None
        if root == home or root in home.parents:
            return RefusedPath("LDO107", "is or holds the home folder, with all that is private in it")
        if root == Path(os.path.realpath(personal.path_of(os.environ).parent)):
            return RefusedPath("LDO107", f"holds your `{personal.NAME}`")
        return _governing(root.name)

    def governed(self, files: frozenset[str]) -> frozenset[str]:
        """The files that no tool may write unasked, as seen from the root; `files` of the workspace govern the run.

        A workspace in the root is protected as a whole: a folder, which ends in `/`.
        """
        if self.stated is None:
            return files
        root, own = self.root, Path(os.path.realpath(self.workspace))
        # As the least strict file system compares names: there `../TEAM` may be the folder `team`.
        above, below = folded(root.as_posix()), folded(own.as_posix())
        if above == below:
            return files
        if below[: len(above)] == above:
            return frozenset({"/".join((*own.parts[len(root.parts) :], ""))})
        if above[: len(below)] != below:
            return frozenset()
        within = above[len(below) :]
        return frozenset(filter(None, (_seen_from(within, path) for path in files)))


def _seen_from(within: tuple[str, ...], path: str) -> str | None:
    """A path or glob of the workspace relative to the folder `within`; None if it names nothing there."""
    parts = path.split("/")
    for number, name in enumerate(within):
        part = parts[number] if number < len(parts) else ""
        if part == "**":
            return "/".join(parts[number:])
        if not (Glob(part.casefold()).matches(name) if is_pattern(part) else folded(part) == (name,)):
            return None
    return "/".join(parts[len(within) :])


def examined(workspace: Path | str, stated: str, seen: Seen | None = None) -> RefusedPath | None:
    """Why the folder `stated`, relative to `workspace`, cannot be its root; None if it can.

    Examined folders are noted in `seen`. Facts of this machine only, such as the place of a home, do not count.
    """
    names = stated.split("/")
    if refused := _governing("/".join(name for name in names if name != UP)):
        return refused
    at = ""
    for name in names:
        above, at = at or ".", f"{at}/{name}" if at else name
        try:
            status = os.lstat(f"{workspace}/{at}")
        except FileNotFoundError:
            _note(workspace, above, seen)
            return RefusedPath("LDO113", "is not here")
        except OSError as error:
            _note(workspace, above, seen)
            return RefusedPath("LDO105", f"cannot be reached: {(error.strerror or 'error').lower()}")
        if seen is not None and name != UP:  # what lies above changes all the time, and matters to nobody
            seen[at] = cache.packed(status)
        if stat.S_ISLNK(status.st_mode):
            return RefusedPath(
                "LDO107", f"is, or leads through, the link `{name}`, which llmdo does not follow"
            )
        if not stat.S_ISDIR(status.st_mode):
            return RefusedPath("LDO103", "is not a folder")
    return None


def _governing(path: str) -> RefusedPath | None:
    """Why no tool works in a folder of that name, whose files are protected by it."""
    if is_protected(path) or is_secret(path):
        return RefusedPath("LDO103", f"leads to `{path}`, whose files govern runs or are secret")
    return None


def _note(workspace: Path | str, folder: str, seen: Seen | None) -> None:
    """Notes a folder in which something is missing."""
    if seen is not None:
        seen[folder] = cache.packed(os.lstat(f"{workspace}/{folder}"))


_PACKAGES = ("node_modules", "__pypackages__")


def interpreter_folders() -> frozenset[str]:
    """The real folders of this interpreter, of its installed packages, and of llmdo itself."""
    interpreter = (sys.prefix, sys.exec_prefix, sys.base_prefix)
    installed = (*site.getsitepackages(), site.getusersitepackages(), str(Path(__file__).parents[1]))
    # Where a system has no folders of users, as in a browser, Python knows none.
    return frozenset(os.path.realpath(folder) for folder in (*interpreter, *filter(None, installed)))


def environments_in(root: Path) -> frozenset[str]:
    """The environments in the workspace at `root`: those at its top, and the one that runs this.

    No finding depends on them, so these look-ups are not recorded.
    """
    listed = discovery.names(root, "")
    at_top = {
        name for name in listed if name in _PACKAGES or discovery.exists(root, f"{name}/pyvenv.cfg") is None
    }
    real = os.path.realpath(root).rstrip(os.sep) + os.sep
    own = {
        folder.removeprefix(real).replace(os.sep, "/")
        for folder in interpreter_folders()
        if folder.startswith(real)
    }
    return frozenset(at_top | own)
