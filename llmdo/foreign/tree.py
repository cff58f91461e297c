"""The files of a foreign project, read within the limits that hold for our own."""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Protocol

from llmdo.base.diagnostic import finding
from llmdo.base.source import Location, Source
from llmdo.base.values import dataclass, field
from llmdo.syntax import discovery
from llmdo.syntax.globs import Glob, is_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from llmdo.base.cache import Seen
    from llmdo.base.diagnostic import Diagnostic

    Read = tuple[Source, tuple[Diagnostic, ...]]


MAX_FILES = 10_000  # of one project: more is a glob that swallowed something else

_ANY_FOLDER = "folder"  # in place of a tool's, of which a line may be
_UNPRINTABLE = re.compile("[\\\\\\x00-\\x1f\\x7f\\ud800-\\udfff]")
_UNPRINTABLE_NAME = discovery.RefusedPath(
    "LDO154", "has a name with a control character or `\\`, or that is not UTF-8"
)


class Tree(Protocol):
    """The files open to a reader."""

    @property
    def only(self) -> str | None:
        """The one file that counts; None for all."""

    def find(self, patterns: Iterable[str]) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
        """The paths that the globs name, sorted, and problems with those that cannot be read."""

    def read(self, path: str) -> Read | None:
        """The file at `path`, empty if there is a problem; None if there is no such file."""


_LICENCES = tuple(
    f"{name}{ending}"
    for name in ("LICENSE", "LICENCE", "License", "COPYING", "LICENSE-MIT", "LICENSE-APACHE", "UNLICENSE")
    for ending in ("", ".md", ".txt", ".TXT", ".rst")
)
"""The usual names, which may be links to other files."""
_LIKE_LICENCES = ("*[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*", "[Cc][Oo][Pp][Yy][Ii][Nn][Gg]*")
_KIND = r"(?:A?GPL|APACHE|BOOST|BSD|CC0|CC-BY(?:-SA)?|CODE|EPL|ISC|LESSER|LGPL|MIT|MPL|ZERO)(?:[-_.]?v?[0-9][0-9.]*)?"
_LICENCE = re.compile(
    rf"(?:{_KIND}[-_.])?(?:(?:UN)?LICEN[CS]E|COPYING)(?:[-_.]{_KIND})?(?:\.(?:adoc|markdown|md|rst|txt))?",
    re.IGNORECASE,
)
"""The name of the licence of a whole project, perhaps with its kind: one of a font or of others is none."""
_OPEN = re.compile(
    r"Permission is hereby granted, free|Apache License|GNU (?:Affero |Lesser )?General Public|Mozilla Public License"
    r"|Redistribution and use in source|Eclipse Public License|Permission to use, copy, modify|CC0 |public domain"
    r"|Boost Software License|Attribution(?:-ShareAlike)? [34]\.0 (?:International|Unported)\b",
    re.IGNORECASE,
)
"""A sentence of a licence by which anybody may read the project."""
_CLOSED = re.compile(
    r"\b(?:proprietary (?:and|&) confidential|confidential (?:and|&) proprietary|proprietary licen[cs]e)\b"
    r"|\b(?:code|program|project|repository|software) is (?:strictly )?(?:proprietary|confidential)\b"
    r"|\bunauthori[sz]ed (?:copying|distribution|reproduction)\b",
    re.IGNORECASE,
)
"""Words of a licence by which nobody else may, which no open one has: they count before the text of one."""


def is_published(tree: Tree) -> bool:
    """Whether a project has an open licence, so that its files are no secret."""
    named = filter(_LICENCE.fullmatch, tree.find(_LIKE_LICENCES)[0])
    texts = [
        " ".join(content[0].text[:20_000].split())
        for name in dict.fromkeys((*_LICENCES, *named))
        if (content := tree.read(name))
    ]
    return any(map(_OPEN.search, texts)) and not any(map(_CLOSED.search, texts))


def project_of(file: Path, patterns: Iterable[str]) -> Path | None:
    """The nearest folder for which one of the globs names `file`, of earlier globs before later ones."""
    for glob in map(Glob, patterns):
        for folder in file.parents:
            if glob.matches(file.relative_to(folder).as_posix()):
                return folder
    return None


def is_like(path: str, patterns: Iterable[str]) -> bool:
    """Whether a file has the suffix of one of the globs."""
    suffix = PurePosixPath(path).suffix
    return any(PurePosixPath(pattern).suffix == suffix for pattern in patterns)


def few(
    paths: tuple[str, ...], problems: tuple[Diagnostic, ...]
) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """The paths up to `MAX_FILES`; more are a problem."""
    if len(paths) <= MAX_FILES:
        return paths, problems
    message = f"there are more files than the {MAX_FILES:,} that are read"
    return paths[:MAX_FILES], (*problems, finding("LDO105", Location(paths[MAX_FILES]), message))


@dataclass(frozen=True, slots=True)
class OthersTree:
    """A tree without the workers of llmdo, whose files end as those of llm-do."""

    tree: Tree
    folders: tuple[str, ...]
    """Those with an `llmdo.toml`; empty for the folder of the tree."""

    @property
    def only(self) -> str | None:
        """The one file that counts; None for all."""
        return self.tree.only

    def find(self, patterns: Iterable[str]) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
        """The paths that the globs name, sorted, and problems with those that cannot be read."""
        paths, problems = self.tree.find(patterns)
        return tuple(path for path in paths if not self._is_worker(path)), problems

    def read(self, path: str) -> Read | None:
        """The file at `path`, empty if there is a problem; None if there is no such file."""
        return self.tree.read(path)

    def _is_worker(self, path: str) -> bool:
        return path.endswith(".worker") and any(
            not folder or path.startswith(f"{folder}/") for folder in self.folders
        )


@dataclass(slots=True)
class DiskTree:
    """A folder on disk, or one file of it; several readers share one search."""

    root: Path
    only: str | None = None
    """The one file that counts; None for all."""
    seen: Seen | None = None
    """Collects what was looked at."""
    takes_ignored: bool = False
    """Whether files that git ignores count."""
    _matches: dict[str, discovery.GlobMatches] = field(default_factory=dict)
    """The matches found so far, by glob."""
    _walked: set[str] = field(default_factory=set)
    _ignoring: discovery.Ignoring | None = None

    def find(self, patterns: Iterable[str]) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
        """The paths that the globs name, without links and files that git ignores.

        Files in the hidden folder of a tool count although git ignores them: so they do for that tool.
        """
        patterns = tuple(patterns)
        if self.only is not None:
            return ((self.only,) if is_like(self.only, patterns) else ()), ()
        if self._ignoring is None:
            self._ignoring = discovery.git_ignored(self.root, self.seen)
        ignored, problems = self._ignoring
        globs = list(filter(is_pattern, patterns))
        new = [each for each in globs if each not in self._matches]
        for of_tools in (True, False):
            look = [each for each in new if each.startswith(".") is of_tools]
            heeded = _nothing_ignored if of_tools or self.takes_ignored else _but_of_tools(ignored)
            self._matches.update(
                discovery.find(self.root, look, heeded, self.seen, with_hidden=True, refused_name=unprintable)
            )
        paths = {path for glob in globs for path in self._matches[glob].paths}
        self._walked |= paths
        refused = {
            path: why
            for glob in globs
            for path, why in self._matches[glob].refused
            if not self._is_missing(path, why)
        }
        # A file that is named in full counts although it is hidden or ignored: so it does for its own tool.
        for path in (each for each in patterns if not is_pattern(each)):
            if (why := discovery.exists(self.root, path, self.seen)) is None:
                paths.add(path)
            elif not self._is_missing(path, why):
                refused[path] = why
        return (
            tuple(sorted(paths)),
            (*map(skipped, problems), *(unread(path, refused[path]) for path in sorted(refused))),
        )

    def link_at(self, path: str) -> str | None:
        """The text of the link at `path`; None for what is none."""
        if self.seen is not None:
            discovery.exists(self.root, path, self.seen)
        try:
            return str((self.root / path).readlink())
        except (OSError, ValueError):
            return None

    def read(self, path: str) -> Read | None:
        """The file at `path`."""
        is_walked = self.seen is None and path in self._walked
        content = discovery.read(self.root, path, seen=self.seen, is_walked=is_walked)
        if not isinstance(content, discovery.RefusedPath):
            return discovery.decode(path, content)
        if self._is_missing(path, content):
            return None
        return Source(path, ""), (finding(content.code, Location(path), f"`{path}` {content.reason}"),)

    def _is_missing(self, path: str, why: discovery.RefusedPath) -> bool:
        """Whether there is no such file, also not behind a link on the way to it."""
        return why.code == "LDO106" or (why.code == "LDO107" and not os.path.lexists(self.root / path))


def _nothing_ignored(_path: str) -> bool:
    return False


def _but_of_tools(ignored: Callable[[str], bool]) -> Callable[[str], bool]:
    """The question whether git ignores a path, without the lines about a tool's hidden folder that it is in.

    Left are those about the folder around that, and about any folder of a name, such as `node_modules`. All count for a
    path with two hidden folders, as in a worktree below `.claude`.
    """

    def is_ignored(path: str) -> bool:
        before, dot, rest = f"/{path}".partition("/.")
        inner = rest.partition("/")[2]
        if not dot or "/." in rest:
            return ignored(path)
        if before and ignored(f"{before[1:]}/"):
            return True
        return bool(inner) and ignored(path) and ignored(f"{_ANY_FOLDER}/{inner}")

    return is_ignored


def unprintable(path: str) -> discovery.RefusedPath | None:
    """The reason why a path is not read for its name; None if it is.

    No rule of ours has to say it, so that it may hold `[` and other signs of globs.
    """
    return _UNPRINTABLE_NAME if _UNPRINTABLE.search(path) else None


def unread(path: str, refused: discovery.RefusedPath) -> Diagnostic:
    """The problem with a file that cannot be read; one with a link is none of the project's."""
    if refused.code in ("LDO107", _UNPRINTABLE_NAME.code):
        return finding("LDO154", Location(path), f"`{path}` {refused.reason}, so it was not read")
    return finding(refused.code, Location(path), f"`{path}` {refused.reason}")


def undecoded(problems: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The problems with a file for a character that makes it no text, where a reader would only have looked into it."""
    for each in problems:
        if each.at.span:
            yield finding("LDO154", each.at, f"{each.message}, so it was not read", hint=each.hint)


def skipped(problem: Diagnostic) -> Diagnostic:
    """A problem with a list of files left out: another tool's project does not owe us a better one."""
    return finding("LDO154", problem.at, f"`{problem.at.path}` was not applied in full: {problem.message}")
