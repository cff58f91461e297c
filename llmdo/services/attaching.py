"""What the command line says of files: its path maps, and what it hands to an entry."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from llmdo.runtime.attached import Attached


@dataclass(frozen=True, slots=True)
class PathMaps:
    """The path maps of one run."""

    inside: Mapping[str, str]
    """To files and folders of the workspace: they hold for all of the run."""
    outside: Mapping[str, Path]
    """To files elsewhere: they hold for what the entry is handed, and for nothing else."""

    def attached(self, names: Sequence[str], root: Path) -> tuple[Attached, ...]:
        """What an entry is handed that is given files by these names.

        Raises:
            LlmdoError: One lies outside of the workspace and has no path map, or such a map is for nothing.
        """
        if unused := next((alias for alias in self.outside if alias not in names), None):
            raise LlmdoError(
                f"`--path {unused}={self.outside[unused]}`: the file lies outside of the workspace, where only "
                "what is attached may",
                hint=f"add `--attach {unused}`",
            )
        if not names:
            return ()
        from llmdo.runtime.attached import Attached, in_workspace  # only for what does run

        return tuple(
            Attached(name=name, kind="outside", outside=self.outside[name])
            if name in self.outside
            else Attached(name=name if name in self.inside else in_workspace(_from_here(name, root), root))
            for name in names
        )


def path_maps(pairs: Iterable[tuple[str, str]], root: Path) -> PathMaps:
    """The path maps that these aliases and files are, each to something that is there.

    Raises:
        LlmdoError: There is no such file.
    """
    inside: dict[str, str] = {}
    outside: dict[str, Path] = {}
    for alias, file in pairs:
        path = Path(os.path.normpath(root.absolute() / file))
        if not path.exists():
            raise LlmdoError(
                f"`--path {alias}={file}`: there is no `{file}`", hint="its path is relative to the workspace"
            )
        if path.is_relative_to(root.absolute()):
            inside[alias] = file
        elif path.is_file():
            outside[alias] = path
        else:
            raise LlmdoError(f"`--path {alias}={file}` lies outside of the workspace, and is not a file")
    return PathMaps(inside, outside)


def _from_here(name: str, root: Path) -> str:
    """The path of a file of the workspace that is named from a folder below it, as a shell completes names."""
    cwd = Path.cwd()
    if cwd != root.absolute() and (cwd / name).is_file() and not (root / name).is_file():
        return str(cwd / name)
    return name
