"""A `.gitignore` in its usual form, matched without a library: names, names of folders, and endings.

Everything matched here means exactly the same to git; a file with anything else in it is left to `pathspec`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_LINE = re.compile(
    r"(?:#.*)?|(?P<top>/?)(?P<name>(?!\.+/?$)[A-Za-z0-9_.-]+)(?P<folder>/?)|\*(?P<ending>\.[A-Za-z0-9_.-]+)"
)


def plain(lines: Iterable[str]) -> Callable[[str], bool] | None:
    """Whether git would ignore a path, a folder with a trailing slash; None if only a library can tell."""
    named: dict[tuple[bool, bool], set[str]] = {
        (top, folder): set() for top in (False, True) for folder in (False, True)
    }
    endings = []
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            return None
        if match["ending"]:
            endings.append(match["ending"])
        elif match["name"]:
            named[bool(match["top"]), bool(match["folder"])].add(match["name"])
    anywhere, last = tuple(endings), frozenset(named[False, False])
    above = last | named[False, True]
    at_top, folders_at_top = frozenset(named[True, False]), frozenset(named[True, True])

    def ignored(path: str) -> bool:
        *folders, name = path.split("/")
        if name in last or (anywhere and name.endswith(anywhere)):
            return True
        if not folders:
            return name in at_top
        return (
            folders[0] in at_top
            or folders[0] in folders_at_top
            or any(folder in above or (anywhere and folder.endswith(anywhere)) for folder in folders)
        )

    return ignored
