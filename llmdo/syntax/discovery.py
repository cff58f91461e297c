"""The files of a workspace that a list of globs names, and the reading of them.

Everything stays inside the workspace: no link is followed, only regular files are opened, and sizes are bounded before
anything is read.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
import warnings
from typing import TYPE_CHECKING

from llmdo.base import cache
from llmdo.base.diagnostic import Related, finding
from llmdo.base.source import Location, Source, Span
from llmdo.base.values import dataclass
from llmdo.syntax.globs import Glob, is_pattern, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from pathspec import GitIgnoreSpec

    from llmdo.base.cache import Seen
    from llmdo.base.diagnostic import Diagnostic

    Findings = tuple[Diagnostic, ...]
    Ignoring = tuple[Callable[[str], bool], tuple[Diagnostic, ...]]
    """Whether a path is left out, and the problems of the files that say so."""

MAX_FILE = 1024 * 1024  # bytes: a prompt or a manifest beyond it is a mistake
MAX_DEEP = 2  # `**` in one glob: matching takes a power of it
MAX_ENTRIES = 200_000  # of one walk: more is a glob that swallowed a data folder
MAX_GLOBS = 100  # in one list: every file is compared with each
MAX_IGNORE = 64 * 1024  # bytes of a `.gitignore`
MAX_IGNORE_LINES = 1_000
_FOLDERS = re.compile(r"(^!?|/)\*\*/[ \t\r]*$")
"""The end of a pattern of folders at any depth, which `pathspec` takes for all files as well."""
_REPORTS = "report.[0-9]*.[0-9]*.[0-9]*.[0-9]*.json"
"""A line of the usual `.gitignore` for Node, about files that Node writes: it decides about none that is read."""
MAX_STARS = 3  # in one name of a `.gitignore`: matching takes a power of them

GITIGNORE = ".gitignore"


@dataclass(frozen=True, slots=True)
class RefusedPath:
    """The reason why a path of the workspace could not be read."""

    code: str
    reason: str
    """To follow the path's name in a sentence."""


_READING = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)

_PLAIN = bytes([ord("\n"), *range(ord(" "), 0x7F)])
NOT_A_FILE = RefusedPath("LDO105", "is not a regular file")
_UNFIT = re.compile("^~|[*?\\[\\]\\\\:\\x00-\\x1f\\x7f\\ud800-\\udfff]")
_UNFIT_NAME = RefusedPath(
    "LDO105",
    "has a name that no rule and no lock can say: a control character, one of `*?[]:~`, or not UTF-8",
)


def read(
    root: Path, path: str, *, limit: int = MAX_FILE, seen: Seen | None = None, is_walked: bool = False
) -> bytes | RefusedPath:
    """The bytes of the regular file at `path`, a POSIX path below `root`, reached through no link.

    All functions of this module note in `seen` each path that they look at. `is_walked` says that a walk has just come
    by the path, so that its folders are no links.
    """
    refused = None if is_walked else _examine(root, path, seen)
    if isinstance(refused, RefusedPath):
        return refused
    try:
        descriptor = os.open(f"{root}/{path}", _READING)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return NOT_A_FILE
            content = os.read(descriptor, min(status.st_size, limit) + 1)
            # Most files come at once; one that grows meanwhile, or is longer than it says, needs more looks.
            while len(content) != status.st_size and len(content) <= limit:
                more = os.read(descriptor, limit + 1 - len(content))
                if not more:
                    break
                content += more
        finally:
            os.close(descriptor)
    except OSError as error:
        return RefusedPath("LDO105", f"cannot be read: {(error.strerror or 'error').lower()}")
    if len(content) > limit:
        return _too_large(limit)
    return content


def _too_large(limit: int) -> RefusedPath:
    return RefusedPath("LDO105", f"is larger than {limit // 1024:,} KiB")


def exists(root: Path, path: str, seen: Seen | None = None) -> RefusedPath | None:
    """None if a file or folder of the workspace exists at `path`, reached through no link."""
    examined = _examine(root, path.rstrip("/"), seen)
    return examined if isinstance(examined, RefusedPath) else None


def walked_facts(root: Path, path: str, seen: Seen) -> bytes | None:
    """The packed facts of the regular file at `path`, by which a walk has just come; None if it is gone."""
    if (known := seen.get(path)) is None:
        try:
            status = os.lstat(f"{root}/{path}")
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        known = seen[path] = cache.packed(status)
    return known


def _examine(root: Path, path: str, seen: Seen | None) -> os.stat_result | RefusedPath:
    """The facts of `path`; every folder on the way is looked at, so that a link anywhere is refused."""
    names = path.split("/")
    at = base = str(root)
    if seen is not None and "." not in seen:
        _note(seen, base, "")
    for number, name in enumerate(names, 1):
        if name in ("", ".", "..") or "\\" in name or "\0" in name:
            return RefusedPath("LDO107", "is not a path inside the workspace")
        at = f"{at}/{name}"
        if seen is not None and number < len(names) and _is_folder(seen.get(at[len(base) + 1 :])):
            continue  # it was looked at before
        try:
            status = os.lstat(at)
        except FileNotFoundError:
            return RefusedPath("LDO106", "does not exist")
        except (OSError, ValueError):
            return RefusedPath("LDO106", "cannot be reached")
        if seen is not None:
            seen.setdefault(path if number == len(names) else at[len(base) + 1 :], cache.packed(status))
        if stat.S_ISLNK(status.st_mode):
            link = "is a link" if number == len(names) else f"is reached through the link `{name}`"
            return RefusedPath("LDO107", f"{link}, which llmdo does not follow")
    return status


def _is_folder(known: bytes | None) -> bool:
    return known is not None and stat.S_ISDIR(cache.mode_of(known))


def _note(seen: Seen, base: str, folder: str) -> None:
    """Notes a folder because its content matters: the presence of something in it, or the absence."""
    if (path := folder or ".") not in seen:
        seen[path] = cache.packed(os.lstat(f"{base}/{path}"))


def read_source(
    root: Path, path: str, *, limit: int = MAX_FILE, seen: Seen | None = None
) -> tuple[Source, Findings]:
    """The text at `path`: UTF-8 with or without byte-order mark, any line ends; empty if there is a problem."""
    return _decoded(path, read(root, path, limit=limit, seen=seen))


def stand_in(
    root: Path, path: str, text: str, *, limit: int = MAX_FILE, seen: Seen | None = None
) -> tuple[Source, Findings]:
    """`text` in the place of the file at `path`, which is looked at, and refused, as if it were read."""
    content = text.encode("utf-8", "surrogatepass")
    refused = exists(root, path, seen) or (_too_large(limit) if len(content) > limit else None)
    return _decoded(path, refused or content)


def _decoded(path: str, content: bytes | RefusedPath) -> tuple[Source, Findings]:
    if isinstance(content, RefusedPath):
        return Source(path, ""), (finding(content.code, Location(path), f"`{path}` {content.reason}"),)
    return decode(path, content)


def _undecoded(path: str, before: str, message: str, hint: str) -> tuple[Source, Findings]:
    """An empty source, and the problem with the character after `before`."""
    at = Source(path, before).span_between(len(before), len(before))
    span = Span(at.line, at.column, at.line, at.column + 1)
    return Source(path, ""), (finding("LDO105", Location(path, span), message, hint=hint),)


def decode(path: str, content: bytes) -> tuple[Source, Findings]:
    """`content` as a source; an empty one and the problem if it is not UTF-8 text."""
    if not content.translate(None, _PLAIN):
        return Source(path, content.decode("ascii"), is_plain=True), ()
    try:
        text = content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        message, hint = f"`{path}` is not UTF-8 text", "save it as UTF-8"
        return _undecoded(path, content[: error.start].decode("utf-8-sig"), message, hint)
    if "\0" in text:
        before = text.partition("\0")[0]
        return _undecoded(path, before, f"`{path}` is binary, not text", "take the NUL character out")
    if "\r" not in text:
        return Source(path, text), ()
    ends = (number for number, line in enumerate(text.split("\n"), start=1) if line.endswith("\r"))
    return Source(path, text.replace("\r\n", "\n"), returns=frozenset(ends)), ()


def is_useful(pattern: str) -> bool:
    """Whether `pattern` is a glob that can be looked for."""
    return is_pattern(pattern) and not leaves(pattern) and pattern.split("/").count("**") <= MAX_DEEP


def leaves(pattern: str) -> bool:
    """Whether a glob, or the path of a file, leads out of the workspace."""
    return pattern.startswith(("/", "~")) or "\\" in pattern or ".." in pattern.split("/") or "\0" in pattern


@dataclass(slots=True)
class GlobMatches:
    """The matches of a glob."""

    paths: list[str]
    """The files, as sorted POSIX paths."""
    refused: list[tuple[str, RefusedPath]]
    """Matches that llmdo does not read, such as links; and folders that could not be looked into."""


def unfit(path: str) -> RefusedPath | None:
    """The reason why a file with this name cannot be part of a workspace; None if it can."""
    return _UNFIT_NAME if _UNFIT.search(path) else None


def find(
    root: Path,
    patterns: Iterable[str],
    ignored: Callable[[str], bool],
    seen: Seen | None = None,
    *,
    with_hidden: bool = False,
    refused_name: Callable[[str], RefusedPath | None] = unfit,
) -> dict[str, GlobMatches]:
    """The matches below `root` of each of the globs `patterns`.

    `*` and `?` stay within one folder, `**` is any number of folders. Left out are hidden files and files for which
    `ignored` holds; such a folder, or a link, is not entered. With `with_hidden`, a hidden file counts if a part of a
    glob names it. `refused_name` says why a path cannot be read for its name.
    """
    by_pattern = {pattern: GlobMatches([], []) for pattern in patterns}
    groups: dict[str, list[Glob]] = {}
    for glob in map(Glob, by_pattern):
        groups.setdefault(glob.start, []).append(glob)
    for start, together in groups.items():
        if start and (refused := exists(root, start, seen)):
            if refused.code != "LDO106":
                by_pattern[together[0].text].refused.append((start, refused))
            continue
        wanted = _by_suffix(together)
        endings = tuple({glob.ending for glob in together})
        hidden = frozenset[str]().union(*(glob.hidden for glob in together if with_hidden))
        for path, refused in _walk(root, start, _deepest(together), endings, hidden, ignored, seen):
            if path.endswith("/"):
                refused_folder = (path.rstrip("/") or ".", refused or _UNFIT_NAME)
                by_pattern[together[0].text].refused.append(refused_folder)
                continue
            matching = [
                by_pattern[glob.text]
                for glob, ending, core in wanted.get(_suffix(path), wanted[""])
                if core in path and path.endswith(ending) and (glob.names if hidden else glob.matches)(path)
            ]
            if not matching or ignored(path):
                continue
            refused = refused or refused_name(path)
            for matches in matching:
                if refused:
                    matches.refused.append((path, refused))
                else:
                    matches.paths.append(path)
    for matches in by_pattern.values():
        matches.paths.sort()
        matches.refused.sort(key=lambda pair: pair[0])
    return by_pattern


def _by_suffix(globs: Iterable[Glob]) -> dict[str, list[tuple[Glob, str, str]]]:
    """The globs by the file suffix that they may match, each with ending and core; at the empty one for all others."""
    known = [(glob, glob.ending, glob.core) for glob in globs]
    suffixes = {"", *(_suffix(ending) for _, ending, _ in known)}
    return {suffix: [each for each in known if _suffix(each[1]) in ("", suffix)] for suffix in suffixes}


def _suffix(name: str) -> str:
    return name[dot:] if (dot := name.rfind(".")) >= 0 else ""


def names(root: Path, folder: str, seen: Seen | None = None) -> list[str]:
    """The names in a folder that exists, sorted; none if it cannot be listed."""
    try:
        if seen is not None:
            _note(seen, str(root), folder)
        return sorted(os.listdir(root / folder))  # noqa: PTH208  # the names alone, and many
    except OSError:
        return []


def case_collisions(paths: Iterable[str]) -> Iterator[Diagnostic]:
    """Findings about files that some file systems cannot tell apart."""
    first: dict[str, str] = {}
    for path in sorted(set(paths)):
        folded = unicodedata.normalize("NFC", path).casefold()
        if (other := first.setdefault(folded, path)) != path:
            yield finding(
                "LDO108",
                Location(path),
                f"`{path}` and `{other}` are equal but for case, so some systems cannot hold both",
                related=[Related(Location(other), "the other file")],
            )


def _deepest(globs: Iterable[Glob]) -> int | None:
    """The number of names in the longest path that one of the globs matches; None if unlimited."""
    levels = [glob.levels for glob in globs]
    return None if None in levels else max(level for level in levels if level is not None)


def _levels(path: str) -> int:
    return path.count("/") + 1


def _walk(
    root: Path,
    start: str,
    depth: int | None,
    endings: tuple[str, ...],
    hidden: frozenset[str],
    ignored: Callable[[str], bool],
    seen: Seen | None,
) -> Iterator[tuple[str, RefusedPath | None]]:
    """Every file with one of the endings, with the reason if it cannot be read; folders that cannot be listed, too.

    These end in a slash. Of hidden names, only those in `hidden` are looked at, which may be patterns.
    """
    folders = [start]
    alike = [Glob(name) for name in hidden if is_pattern(name)]
    count = 0
    while folders:
        folder = folders.pop()
        try:
            if seen is not None:
                _note(seen, str(root), folder)
            with os.scandir(f"{root}/{folder}" if folder else root) as entries:
                for entry in entries:
                    count += 1
                    if count > MAX_ENTRIES:
                        yield (
                            f"{start}/",
                            RefusedPath("LDO105", f"has more than {MAX_ENTRIES:,} files and folders"),
                        )
                        return
                    name = entry.name
                    if (
                        name[0] == "."
                        and name not in hidden
                        and not any(each.matches(name) for each in alike)
                    ):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        path = f"{folder}/{name}" if folder else name
                        if (depth is None or _levels(path) < depth) and not ignored(path + "/"):
                            folders.append(path)
                    elif name.endswith(endings):  # few: what follows costs several times as much
                        yield f"{folder}/{name}" if folder else name, _refusal(entry)
        except (FileNotFoundError, NotADirectoryError):
            continue  # it was removed meanwhile, or a file has the name of a folder that a client looks for
        except OSError as error:
            yield (
                f"{folder}/",
                RefusedPath("LDO105", f"cannot be read: {(error.strerror or 'error').lower()}"),
            )


def _refusal(entry: os.DirEntry[str]) -> RefusedPath | None:
    if entry.is_symlink():
        return RefusedPath("LDO107", "is a link, which llmdo does not follow")
    return None if entry.is_file(follow_symlinks=False) else NOT_A_FILE


def git_ignored(root: Path, seen: Seen | None = None, *, with_hidden: bool = False) -> Ignoring:
    """Whether git would ignore a path below `root`, by the `.gitignore` files inside the workspace; and problems.

    Folders have a trailing slash. Lines about hidden files alone count only `with_hidden`. Only the root's file is
    read, not git's own configuration or files above the workspace. A line that could make matching slow is ignored.
    """
    if (refused := exists(root, GITIGNORE, seen)) and refused.code == "LDO106":
        return _nothing, ()
    source, problems = read_source(root, GITIGNORE, limit=MAX_IGNORE, seen=seen)
    lines = source.text.split("\n")
    left_out = ("#",) if with_hidden else ("#", ".")
    visible = [line for line in lines if line.strip() and not line.startswith(left_out)]
    if not visible:
        return _nothing, problems
    slow = [number for number, line in enumerate(lines, 1) if number > MAX_IGNORE_LINES or _is_slow(line)]
    if named := [number for number in slow if lines[number - 1].rstrip("\r") != _REPORTS]:
        at = Location(GITIGNORE, Span(named[0], 1, named[0], len(lines[named[0] - 1]) + 1))
        message = (
            f"lines after the first {MAX_IGNORE_LINES:,}, and those with more than {MAX_STARS} `*` in one name, "
            "are ignored"
        )
        problems = (*problems, finding("LDO105", at, message))
    if slow:
        heeded = {*range(1, len(lines) + 1)} - {*slow}
        lines = [line for number, line in enumerate(lines, 1) if number in heeded]
    return _matcher(lines), problems


def ignored_by(lines: Sequence[str]) -> Callable[[str], bool]:
    """Whether git would ignore a path by these lines of a `.gitignore`, without those that are slow to match."""
    quick = (each for each in lines[:MAX_IGNORE_LINES] if not _is_slow(each))
    return _matcher([*quick])


def _is_slow(line: str) -> bool:
    return not line.startswith("#") and any(part.count("*") > MAX_STARS for part in line.split("/"))


def _matcher(lines: Sequence[str]) -> Callable[[str], bool]:
    if matches := plain(lines):
        return matches
    return _spec_of([_FOLDERS.sub(r"\1**/*/", line) for line in lines]).match_file


def _spec_of(lines: Sequence[str]) -> GitIgnoreSpec:
    """The patterns of lines, without a line that matches nothing in git, such as one that ends in a backslash."""
    from pathspec import GitIgnoreSpec  # only where a pattern may match a file that is not hidden

    try:
        with warnings.catch_warnings(action="ignore", category=FutureWarning):  # of `[[`, which git allows
            return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        middle = len(lines) // 2
    return _spec_of(lines[:middle]) + _spec_of(lines[middle:]) if middle else GitIgnoreSpec.from_lines(())


def _nothing(_path: str) -> bool:
    return False
