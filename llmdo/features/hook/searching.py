"""The protected files in whose contents a search of a folder may look: those that are there, as far as clients go.

All clients leave `.git` out, follow no links and pass over what `.gitignore` says. A pattern of names in the call wins
over that: ripgrep looks into an ignored file that its pattern names.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MAX_ENTRIES = 100_000  # of one search: a second or so
MAX_PATTERNS = 100  # that the choices in one pattern stand for
_CHOICE = re.compile(r"\{([^{}]*)\}")
_GIT = ".git"
_IGNORES = (".gitignore", ".ignore", ".rgignore")


def holds_secrets(
    root: str, folder: str, names: Sequence[str], *, heeds_ignores: bool, most: int = MAX_ENTRIES
) -> bool:
    """Whether a search of `folder`, relative to `root`, may look into a file whose name usually means a secret.

    `names` are the patterns of names that the call gives; one that begins with `!` only takes files away. More than
    `most` files and folders may hold anything.
    """
    from llmdo.policy.protection import is_secret

    if folder and is_secret(folder):
        return True
    wanted = [name for name in names if not name.startswith("!")]
    ignored = _ignored(root, folder) if heeds_ignores and not wanted else None
    count = 0
    for above, folders, files in os.walk(os.path.join(root, folder)):  # noqa: PTH118
        inside = os.path.relpath(above, root)
        before = "" if inside == "." else f"{inside}/"
        count += len(folders) + len(files)
        if count > most:
            return True
        if ignored and before and _ignores_all(above, files):
            folders.clear()
            continue
        if ignored and before and _takes_back(above, files):
            ignored = None
        for name in files:
            path = f"{before}{name}"
            if not (is_secret(path) and _is_wanted(name, wanted)) or (ignored and ignored(path)):
                continue
            if not os.path.islink(f"{above}/{name}"):  # noqa: PTH114
                return True
        left = [name for name in folders if not (ignored and ignored(f"{before}{name}/"))]
        folders[:] = [name for name in left if name != _GIT or not heeds_ignores]
    return False


def _is_wanted(name: str, patterns: Iterable[str]) -> bool:
    """Whether one of these patterns may name a file; with none of them, each does."""
    alternatives = [each for pattern in patterns for each in _alternatives(pattern.rpartition("/")[2])]
    return not alternatives or any(
        set(each) & set("[](){}\\@+!") or fnmatchcase(name.lower(), each.lower()) for each in alternatives
    )


def _alternatives(pattern: str) -> list[str]:
    """The patterns that a pattern with choices such as `*.{py,env}` stands for."""
    waiting, plain = [pattern], list[str]()
    while waiting and len(waiting) + len(plain) < MAX_PATTERNS:
        pattern = waiting.pop()
        choice = _CHOICE.search(pattern)
        if choice is None:
            plain.append(pattern)
        else:
            start, end = choice.span()
            waiting += [f"{pattern[:start]}{each}{pattern[end:]}" for each in choice[1].split(",")]
    return [*plain, *("*" for _ in waiting[:1])]


def _ignored(root: str, folder: str) -> Callable[[str], bool] | None:
    """Whether the search passes over a path, a folder with a slash; None where that is not certain of any."""
    if not os.path.lexists(f"{root}/{_GIT}"):  # else ripgrep heeds no `.gitignore`
        return None
    from pathlib import Path

    from llmdo.syntax.discovery import git_ignored

    parts = folder.split("/") if folder else []
    for end in range(len(parts) + 1):
        above = "/".join(parts[:end])
        if _takes_back(f"{root}/{above}", _IGNORES[1:] if not above else _IGNORES):
            return None
    ignored, _ = git_ignored(Path(root), with_hidden=True)
    is_inside = any(ignored(f"{'/'.join(parts[:end])}/") for end in range(1, len(parts) + 1))
    return None if is_inside else ignored  # a folder that the call names is searched although it is ignored


def _takes_back(folder: str, files: Iterable[str]) -> bool:
    """Whether a file of ignored names there may name some that are not ignored after all."""
    return any("!" in _text(f"{folder}/{name}") for name in _IGNORES if name in files)


def _ignores_all(folder: str, files: Iterable[str]) -> bool:
    """Whether the folder ignores all in it, as those that tools fill do."""
    return _IGNORES[0] in files and _text(f"{folder}/{_IGNORES[0]}").split() == ["*"]


def _text(path: str) -> str:
    if not os.path.isfile(path):  # noqa: PTH113  # what is none, such as a pipe, might never end
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read(MAX_ENTRIES)
    except OSError:
        return ""
