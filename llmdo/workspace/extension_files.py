"""The files of an installed distribution that extends llmdo: those of its record, and all others in its packages."""

from __future__ import annotations

import os
import posixpath
from importlib.util import MAGIC_NUMBER, cache_from_source
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from importlib.metadata import Distribution

ANEW = "install it again"

_CACHE = "__pycache__"
_CODE = (".py", ".pyc", ".pyd", ".so")
_SCRIPTS = frozenset({"bin", "Scripts"})
"""Folders of scripts, in which an installer writes the path of its interpreter."""
_UNCHECKED = 1  # flags of a compiled file that is run whatever its source says


class DistributionFile(NamedTuple):
    """A file of a distribution."""

    name: str
    """Relative to the folder that it is installed in, with slashes."""
    path: str

    @property
    def decides(self) -> bool:
        """Whether the behaviour of the distribution depends on it.

        Files that Python, a builder or an installer writes differ between machines, and are left out unless Python
        could import them.
        """
        *folders, last = self.name.split("/")
        if _CACHE in folders:
            # `NAME.TAG.pyc` is that of a source, which counts; `NAME.pyc` is a module of its own.
            return last.endswith(_CODE) and not (last.endswith(".pyc") and last.count(".") > 1)
        if folders and (folders[0] in ("", "..") or folders[0].endswith(".dist-info")):
            return last.endswith(_CODE) and folders[-1] not in _SCRIPTS
        return True


def files_of(installed: Distribution) -> tuple[DistributionFile, ...]:
    """The files that the record of a distribution names, and all others in its packages, sorted.

    Raises:
        LlmdoError: It has no record, or a package has a link to a folder.
    """
    if not installed.read_text("RECORD"):
        raise LlmdoError(
            "it has no `RECORD` of its files", hint=f"{ANEW}, not in place: `pip install` without `-e`"
        )
    paths = {
        posixpath.normpath(file.as_posix()): str(installed.locate_file(file))
        for file in installed.files or ()
    }
    for folder in _packages(paths):
        paths |= _walked(folder, str(installed.locate_file(folder)))
    return tuple(sorted(DistributionFile(name, path) for name, path in paths.items()))


def digests(files: Iterable[DistributionFile]) -> list[list[str]]:
    """The name and the digest of each file that decides the behaviour of a distribution.

    Raises:
        LlmdoError: One is missing, or Python would run another file in its place.
    """
    return [[file.name, _digest(file)] for file in files if file.decides]


def _packages(names: Iterable[str]) -> Iterator[str]:
    """The outermost folders with an `__init__`, sorted."""
    folders = {posixpath.dirname(name) for name in names if posixpath.basename(name).startswith("__init__.")}
    for folder in sorted(folders):
        above = folder.split("/")
        is_inner = any("/".join(above[:length]) in folders for length in range(1, len(above)))
        if folder and above[0] not in ("", "..") and above[-1] != _CACHE and not is_inner:
            yield folder


def _walked(folder: str, path: str) -> dict[str, str]:
    """The path of each file in a folder, by its name."""
    paths: dict[str, str] = {}
    for at, folders, files in os.walk(path):
        within = posixpath.normpath(posixpath.join(folder, os.path.relpath(at, path).replace(os.sep, "/")))
        for name in folders:
            if os.path.islink(f"{at}/{name}"):  # noqa: PTH114
                raise LlmdoError(
                    f"it has a link to a folder: `{excerpt(f'{within}/{name}', 200)}`", hint=ANEW
                )
        paths |= {
            f"{within}/{os.fsencode(name).decode(errors='backslashreplace')}": f"{at}/{name}"
            for name in files
        }
    return paths


def _digest(file: DistributionFile) -> str:
    try:
        if file.name.endswith(".py") and _is_unchecked(cache_from_source(file.path)):
            raise LlmdoError(
                f"Python would run a file of `{_CACHE}` in place of `{excerpt(file.name, 200)}`, whatever that says",
                hint=ANEW,
            )
        if not os.path.isfile(file.path):  # noqa: PTH113
            raise FileNotFoundError(file.path)
        with open(file.path, "rb") as content:  # noqa: PTH123
            return digest.of_bytes(content.read())
    except (OSError, ValueError) as error:
        raise LlmdoError(f"it lacks its file `{excerpt(file.name, 200)}`", hint=ANEW) from error


def _is_unchecked(compiled: str) -> bool:
    """Whether Python runs a compiled file without a look at its source."""
    if not os.path.isfile(compiled):  # noqa: PTH113
        return False
    with open(compiled, "rb") as content:  # noqa: PTH123
        head = content.read(8)
    return head[:4] == MAGIC_NUMBER and int.from_bytes(head[4:], "little") == _UNCHECKED
