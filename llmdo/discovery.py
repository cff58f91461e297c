"""Which files of a workspace a list of globs names, and how a file of it is read.

Everything stays inside the workspace: no link is followed, only regular files are opened, and sizes are
bounded before anything is read.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmdo.diagnostic import finding
from llmdo.source import Location, Source, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from llmdo.diagnostic import Diagnostic

MAX_FILE = 1024 * 1024  # bytes: a prompt or a manifest beyond it is a mistake
MAX_DEEP = 2  # `**` in one glob: matching takes a power of it
MAX_ENTRIES = 200_000  # of one walk: more is a glob that swallowed a data folder

_WILDCARD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a path of the workspace could not be read."""

    code: str
    reason: str
    """To follow the path's name in a sentence."""


def read(root: Path, path: str, *, limit: int = MAX_FILE) -> bytes | Refused:
    """The bytes of the regular file at `path`, a POSIX path below `root`, reached through no link."""
    refused = _examine(root, path)
    if isinstance(refused, Refused):
        return refused
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(root / path, flags | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return Refused("LDO105", "is not a regular file")
            content = file.read(limit + 1)
    except OSError as error:
        return Refused("LDO105", f"cannot be read: {(error.strerror or 'error').lower()}")
    if len(content) > limit:
        return Refused("LDO105", f"is larger than {limit // 1024:,} KiB")
    return content


def exists(root: Path, path: str) -> Refused | None:
    """None where a file or folder of the workspace stands at `path`, reached through no link."""
    found = _examine(root, path.rstrip("/"))
    return found if isinstance(found, Refused) else None


def _examine(root: Path, path: str) -> os.stat_result | Refused:
    """What stands at `path`; every folder on the way is looked at, so that a link anywhere is refused."""
    names = path.split("/")
    at = root
    for number, name in enumerate(names, 1):
        if name in ("", ".", "..") or "\\" in name or "\0" in name:
            return Refused("LDO107", "is not a path inside the workspace")
        at = at / name
        try:
            found = os.lstat(at)
        except FileNotFoundError:
            return Refused("LDO106", "does not exist")
        except (OSError, ValueError):
            return Refused("LDO106", "cannot be reached")
        if stat.S_ISLNK(found.st_mode):
            link = "is a link" if number == len(names) else f"is reached through the link `{at.name}`"
            return Refused("LDO107", f"{link}, which llmdo does not follow")
    return found


def read_source(root: Path, path: str, *, limit: int = MAX_FILE) -> tuple[Source, tuple[Diagnostic, ...]]:
    """The text at `path`: UTF-8 with or without byte-order mark, any line ends; empty beside its problem."""
    content = read(root, path, limit=limit)
    if isinstance(content, Refused):
        return Source(path, ""), (finding(content.code, Location(path), f"`{path}` {content.reason}"),)
    return decode(path, content)


def decode(path: str, content: bytes) -> tuple[Source, tuple[Diagnostic, ...]]:
    """`content` as a source; where it is not UTF-8 text, an empty one beside the problem."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8-sig")
        at = Source(path, before).span_between(len(before), len(before))
        span = Span(at.line, at.column, at.line, at.column + 1)
        return Source(path, ""), (
            finding("LDO105", Location(path, span), f"`{path}` is not UTF-8 text", hint="save it as UTF-8"),
        )
    if "\0" in text:
        return Source(path, ""), (finding("LDO105", Location(path), f"`{path}` is binary, not text"),)
    return Source(path, text.replace("\r\n", "\n")), ()


def is_pattern(text: str) -> bool:
    """Whether `text` is a glob rather than the path of one file."""
    return _WILDCARD.search(text) is not None


def find(root: Path, pattern: str, ignored: Callable[[str], bool]) -> list[str]:
    """The files below `root` that the glob `pattern` names, as sorted POSIX paths.

    `*` and `?` stay within one folder, `**` is any number of folders. Hidden files, files for which
    `ignored` holds, and links are left out; a folder that is one of these is not entered.
    """
    wanted = re.compile(translate(pattern))
    literal = pattern.split("/")
    fixed = 0
    while fixed < len(literal) - 1 and not is_pattern(literal[fixed]):
        fixed += 1
    deep = "**" in literal[fixed:]
    depth = None if deep else len(literal)
    start = "/".join(literal[:fixed])
    if start and exists(root, start):
        return []
    return sorted(path for path in _walk(root, start, depth, ignored) if wanted.fullmatch(path))


def _walk(root: Path, start: str, depth: int | None, ignored: Callable[[str], bool]) -> Iterator[str]:
    folders = [start]
    seen = 0
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(root / folder if folder else root))
        except OSError:
            continue
        seen += len(entries)
        if seen > MAX_ENTRIES:
            return
        for entry in entries:
            if entry.name.startswith("."):
                continue
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                level = path.count("/") + 1
                if (depth is None or level < depth) and not ignored(path + "/"):
                    folders.append(path)
            elif entry.is_file(follow_symlinks=False) and not ignored(path):
                yield path


def translate(pattern: str) -> str:
    """The regular expression of a glob over POSIX paths."""
    parts: list[str] = []
    segments = pattern.split("/")
    for number, segment in enumerate(segments):
        last = number == len(segments) - 1
        if segment == "**":
            parts.append(".*" if last else "(?:[^/]+/)*")
            continue
        parts.append(_segment(segment) + ("" if last else "/"))
    return "".join(parts)


def _segment(segment: str) -> str:
    """One folder or file name; each `*` matches as little as it can and never again, so that no name is slow."""
    first, *rest = re.split(r"\*+", segment)
    out = [_fixed(first)]
    out.extend(f"(?>[^/]*?{_fixed(piece)})" for piece in rest[:-1])
    if rest:
        out.append("[^/]*" + _fixed(rest[-1]))
    return "".join(out)


def _fixed(text: str) -> str:
    out = []
    for piece in re.split(r"(\?|\[[^\]/]+\])", text):
        if piece == "?":
            out.append("[^/]")
        elif piece.startswith("[") and piece.endswith("]") and len(piece) > 2:
            out.append("[" + re.sub(r"([\\\[&~|])", r"\\\1", piece[1:-1]).replace("!", "^", 1) + "]")
        else:
            out.append(re.escape(piece))
    return "".join(out)


def git_ignored(root: Path) -> Callable[[str], bool]:
    """Whether git would ignore a path below `root`, by the `.gitignore` files inside the workspace.

    Folders are given with a trailing slash. Only the root's file is read; git's own configuration and the
    files above the workspace are outside of it.
    """
    content = read(root, ".gitignore")
    if isinstance(content, Refused):
        return lambda _path: False
    lines = content.decode("utf-8", errors="replace").splitlines()
    visible = [line for line in lines if line.strip() and not line.startswith(("#", "."))]
    if not visible:
        return lambda _path: False
    from pathspec import GitIgnoreSpec  # only where a pattern may match a file that is not hidden

    return GitIgnoreSpec.from_lines(lines).match_file
