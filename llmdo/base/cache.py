"""A check's memory: whether any of its inputs changed since.

`llmdo check` runs on every keystroke, mostly without changes. So a check stores its answer with its inputs: every file
with its size, times and place on the disk, and every folder, whose times show additions and removals. While they, llmdo
and the question are the same, so is the answer.

The memory is in the person's own cache folder, never in the workspace: a committed file must not silence a check. It
may be deleted at any time, and an odd one counts as none. This module is loaded before all others and imports nothing
that has to be found first.
"""

from __future__ import annotations

import marshal
import os
import sys
import time
from zlib import crc32

from llmdo.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    Facts = tuple[int, ...]
    Seen = dict[str, bytes]
    """The inputs: path to packed facts. For a missing one, the folder in which it would be."""
    Meanings = tuple[Mapping[str, Any], tuple[str, ...]]
    """Path to the meaning of a file for a check, and the common parameters of these meanings."""
    Answer = tuple[int, str, Any]
    """An exit code, the output, and the findings as plain values; None for findings that cannot be plain."""
    MeaningNow = Callable[[str, Any, tuple[str, ...]], Any]
    """From the absolute path of a file, its former meaning and the parameters to its meaning now, if nearly the same;
    else None.
    """
    AnswerNow = Callable[[str, "CheckQuestion", Answer, Mapping[str, tuple[Any, Any]]], Answer | None]
    """From the workspace, the question, its answer, and each edited file's meanings before and now to the answer now;
    None if a check is needed.
    """
    Edited = list[tuple[str, Facts, Facts]]
    """Paths with their facts before and now."""

VERSION = 6
MAX_ANSWER = (
    4 * 1024 * 1024
)  # characters: nobody reads as much, and keeping it would cost as much as making it
MOST_EDITED = 20  # files and folders that are looked into: of more than that a check is made
_CHECKSUM = 4  # bytes
_UNSET = ("", "0", "false")
_FINE_TICK = 100_000_000  # ns: no clock of a file system that counts nanoseconds is coarser
_COARSE_TICK = 2_000_000_000  # ns: where times have whole seconds, two of them may be one tick


def facts(status: os.stat_result) -> Facts:
    """All facts that show a change of a file or folder: everything but its access time."""
    return (*status[:7], status.st_mtime_ns, status.st_ctime_ns)


def packed(status: os.stat_result) -> bytes:
    """The same as bytes: nine numbers for each of many files would be as large as their headers."""
    return marshal.dumps(facts(status))


def mode_of(known: bytes) -> int:
    """The mode among packed facts."""
    mode: int = marshal.loads(known)[0]  # noqa: S302  # what this process packed
    return mode


def is_young(known: bytes, now: int) -> bool:
    """Whether the last change in these packed facts is so close to `now` that they may miss another one."""
    return is_recent(marshal.loads(known), now)  # noqa: S302  # what this process packed


def is_off(environ: Mapping[str, str]) -> bool:
    """Whether the environment turns the memory off."""
    return environ.get("LLMDO_NO_CACHE", "").lower() not in _UNSET


class CheckQuestion:
    """One way to ask for a check: with the sources it decides the whole output."""

    __slots__ = ("colour", "form", "locked", "strict")

    def __init__(self, *, locked: bool, strict: bool, form: str, colour: bool) -> None:
        self.locked = locked
        self.strict = strict
        self.form = form
        self.colour = colour

    @property
    def name(self) -> str:
        """The key of its answer in the memory."""
        flags = {"locked": self.locked, "strict": self.strict, "colour": self.colour}
        return " ".join([self.form, *(name for name, is_set in flags.items() if is_set)])


def answer(
    root: str,
    question: CheckQuestion,
    environ: Mapping[str, str],
    meaning_now: MeaningNow,
    answer_now: AnswerNow,
) -> tuple[int, str] | None:
    """The exit code and output of a check, by the last one; None if a check is needed.

    If few files were edited, `meaning_now` gives their meanings, and `answer_now` the answer that follows.
    """
    since, key = time.time_ns(), question.name
    try:
        path = _file(root, environ)
        head, answers, code, seen, of_files = read_own(path)
        if head != _head(root) or key not in answers or _edited(code, ""):
            return None
        before = answers[key]
        if edited := _edited(seen, f"{root}/"):
            meanings, listings = marshal.loads(of_files)  # noqa: S302  # our own, as all that `read_own` reads
            now = _meanings_now(root, edited, meanings, listings, meaning_now)
            if now is None:
                return None
            changed = {
                name: (meanings[0][name], now[0][name]) for name, _, _ in edited if name in meanings[0]
            }
            after = answer_now(root, question, before, changed)
            facts_now = {**dict(seen), **{name: state for name, _, state in edited}}
            # What was written to since may have been shown at a line that it has no more.
            if after is None or _edited(facts_now.items(), f"{root}/"):
                return None
            if not any(is_recent(state, since) for _, _, state in edited):
                answers = answers if after is before else {key: after}
                of_files = _packed_meanings(now, listings)
                write_own(path, marshal.dumps((head, answers, code, tuple(facts_now.items()), of_files)))
            before = after
        exit_code, text, _ = before
    except MISSES:
        return None
    return (exit_code, text) if isinstance(exit_code, int) and isinstance(text, str) else None


def _packed_meanings(meanings: Meanings, listings: Mapping[str, str]) -> bytes:
    """The meanings of files, which stay packed until one was edited."""
    both: Any = (meanings, listings)
    return marshal.dumps(both)


def _meanings_now(
    root: str, edited: Edited, meanings: Meanings, listings: Mapping[str, str], meaning_now: MeaningNow
) -> Meanings | None:
    """The meanings of the files, if all edited ones mean nearly the same as before; else None."""
    if len(edited) > MOST_EDITED:
        return None
    files, topics = meanings
    now = dict(files)
    for name, before, state in edited:
        if name in listings:  # an editor may put a new file in the place of the one before
            is_same = _owner(before) == _owner(state) and listing(f"{root}/{name}") == listings[name]
            meaning = None
        elif name in files and _owner(before) == _owner(state):
            meaning = now[name] = meaning_now(f"{root}/{name}", files[name], topics)
            is_same = meaning is not None
        else:
            is_same = False
        if not is_same:
            return None
    return now, topics


def listing(folder: str) -> str:
    """The names in a folder, each with its kind.

    Raises:
        OSError: it cannot be listed.
    """
    with os.scandir(folder) as entries:
        kinds = [(each.name, each.is_symlink(), each.is_dir(), each.is_file()) for each in entries]
    return repr(sorted(kinds))


def _owner(state: Facts) -> Facts:
    """The facts that stay when somebody edits a file: mode, owner and group."""
    return (state[0], *state[4:6])


def keep(
    root: str,
    question: CheckQuestion,
    answer: Answer,
    fingerprint: Fingerprint,
    code: Iterable[str],
    environ: Mapping[str, str],
    meanings: Meanings,
) -> None:
    """Stores the answer of a check, and the meanings of the files.

    The answer depends on its inputs, and on `code`: the files of the program. Nothing is stored if one of them changed
    so shortly before that its times may miss another change, or if the folder is not the person's own.
    """
    if len(answer[1]) > MAX_ANSWER:
        return
    try:
        ourselves = {path: facts(os.lstat(path)) for path in sorted(set(code))}
        seen = tuple((path, marshal.loads(content)) for path, content in fingerprint.seen.items())  # noqa: S302  # as above
        if any(is_recent(state, fingerprint.since) for _, state in (*ourselves.items(), *seen)):
            return
        folder, path = _folder(root, environ), _file(root, environ)
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        if not _is_own(os.lstat(folder)):
            return
        answers, before = _answers(path, _head(root), seen)
        code_seen = tuple({**before, **ourselves}.items())
        folders = {name.rpartition("/")[0] or "." for name in meanings[0]} & fingerprint.seen.keys()
        listings = {name: listing(f"{root}/{name}") for name in folders}
        of_files = _packed_meanings(meanings, listings)
        known: Any = (_head(root), {**answers, question.name: answer}, code_seen, seen, of_files)
        write_own(path, marshal.dumps(known))
    except OSError:
        return  # a memory is a convenience: without one the next check takes longer


class Fingerprint:
    """The inputs of a check, and its start."""

    __slots__ = ("seen", "since")

    def __init__(self) -> None:
        self.since = time.time_ns()
        self.seen: Seen = {}

    def holds(self, root: str, paths: Iterable[str] | None = None) -> bool:
        """Whether all inputs below `root`, or those in `paths`, are unchanged."""
        try:
            return all(
                facts(os.lstat(f"{root}/{path}")) == marshal.loads(self.seen[path])  # noqa: S302  # what this process packed
                for path in (self.seen if paths is None else self.seen.keys() & {*paths})
            )
        except OSError:
            return False


def read_own(path: str) -> tuple[Any, ...]:
    """The values in a file of the person's own.

    Raises:
        OSError: there is no such file, or somebody else could have written it.
        ValueError: it is damaged.
    """
    with open(path, "rb") as file:  # noqa: PTH123  # pathlib costs as much as all of this
        if not _is_own(os.fstat(file.fileno())):
            raise PermissionError(path)
        content = file.read()
    if content[-_CHECKSUM:] != _checksum(content[:-_CHECKSUM]):
        raise ValueError(path)  # else a disk that fails could turn findings into none
    known: tuple[Any, ...] = marshal.loads(content)  # noqa: S302  # our own file, which nobody else can write to
    return known


MISSES = (OSError, ValueError, EOFError, TypeError, KeyError, IndexError, MemoryError)
"""The errors from reading a damaged file, or one from another time."""


def _edited(before: Iterable[tuple[str, Facts]], base: str) -> Edited:
    """The changed paths, each with its facts before and now; of many, the first."""
    lstat = os.lstat
    edited: Edited = []
    for path, was in before:
        status = lstat(base + path)
        if (*status[:7], status.st_mtime_ns, status.st_ctime_ns) != was:
            edited.append((path, was, facts(status)))
            if len(edited) > MOST_EDITED:
                break
    return edited


def _answers(path: str, head: object, seen: object) -> tuple[dict[str, Answer], dict[str, Facts]]:
    """The answers to other questions with the same fingerprint, and the code that gave them."""
    try:
        known = read_own(path)
        if known[0] == head and known[3] == seen and not _edited(known[2], ""):
            return dict(known[1]), dict(known[2])
    except MISSES:
        pass
    return {}, {}


def write_own(path: str, content: bytes) -> None:
    """Replaces a file of the person's own, with a checksum.

    Raises:
        OSError: It cannot be written.
    """
    temporary = f"{path}.{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.write(_checksum(content))
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        os.unlink(temporary)  # noqa: PTH108
        raise


def _checksum(content: bytes) -> bytes:
    return crc32(content).to_bytes(_CHECKSUM, "big")


def _head(root: str) -> tuple[object, ...]:
    return (VERSION, __version__, sys.version, root)


def is_recent(state: Facts, since: int) -> bool:
    """Whether the last change in these facts is so close to `since` that they may miss another one."""
    # The last is when the file changed in any way, which nobody can set; elsewhere it is when it was made.
    changed = state[-1] if os.name == "posix" else state[-2]
    tick = _COARSE_TICK if changed % 1_000_000_000 == 0 else _FINE_TICK
    return changed > since - tick


def _is_own(status: os.stat_result) -> bool:
    """Whether only this person can write to a file or folder."""
    if not hasattr(os, "geteuid"):
        return True  # where there are no such rights, the folder is inside the person's own profile
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _file(root: str, environ: Mapping[str, str]) -> str:
    return f"{_folder(root, environ)}/{number_of(root)}"


def number_of(root: str) -> str:
    """A short name for the files about a folder, in which another folder may only take its place."""
    return f"{int.from_bytes(root.encode('utf-8', 'surrogateescape'), 'big') % (2**89 - 1):x}"


def folder_of_person(environ: Mapping[str, str]) -> str:
    """The person's folder for things that can be made again.

    Raises:
        OSError: the person has no such folder.
    """
    home = environ.get("HOME") or environ.get("USERPROFILE") or ""
    above = environ.get("XDG_CACHE_HOME", "")
    if sys.platform == "win32":
        above = environ.get("LOCALAPPDATA", "")
    elif not above.startswith("/"):
        above = f"{home}/Library/Caches" if sys.platform == "darwin" else f"{home}/.cache"
    if not os.path.isabs(above):  # noqa: PTH117
        raise FileNotFoundError(above)
    return f"{above}/llmdo"


def _folder(root: str, environ: Mapping[str, str]) -> str:
    """The folder of all memories.

    Raises:
        OSError: the person has none, or it would be inside the workspace.
    """
    folder = f"{folder_of_person(environ)}/check"
    inside = os.path.join(os.path.realpath(root), "")  # noqa: PTH118
    if os.path.realpath(folder).startswith(inside):
        raise FileNotFoundError(folder)
    return folder
