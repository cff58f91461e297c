"""Scripts of a project that are hooks: whether one refuses a call, surely refuses none, or is not known to."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.foreign import scripts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

_REFUSES = re.compile(
    r"""["'](?:ask|block|deny)["']|\bexit\s*\(?\s*2\b|exitCode\s*=\s*2\b|permissionDecision"""
)
"""A refusal as some client takes it, or the question that stands in its place."""
_MAY_REFUSE = re.compile(
    r"""\bask\b|block|decision|den(?:ied|ies|y)|forbid|prevent|refus|reject|\bcontinue["']?\s*:""",
    re.IGNORECASE,
)
"""A word for a refusal, in whatever form."""
_OTHER_END = re.compile(
    r"\bexit\b(?!\s*(?:\(\s*0?\s*\)|0\b))|SystemExit|exitCode|_exit\b|\babort\b|\bkill\b|\braise\b|\bthrow\b"
)
"""An end that may be another one than 0."""
_ANSWERS = re.compile(r"""decision|hookSpecificOutput|\bcontinue["']?\s*:""", re.IGNORECASE)
"""A word for a refusal, where only that of an answer or 2 as the end is one."""
_END_UNREAD = re.compile(
    r"\bexit\b(?!\s*(?:\(\s*[01]?\s*\)|[01]\b))|SystemExit(?!\s*\(\s*[01]?\s*\))|exitCode(?!\s*=\s*[01]\b)|_exit\b"
)
"""An end that may be 2."""
_PLACED = r"(?:[A-Za-z]:)?[/\\]"
_ABSOLUTE = re.compile(
    rf"""(?<![^\s=])(?:"(?P<double>{_PLACED}[^"$`\n]+)"|'(?P<single>{_PLACED}[^'\n]+)'|(?P<bare>{_PLACED}[^\s"'`;|&<>()$]+))"""
)
_IN_A_FOLDER = re.compile(
    r"(?:[A-Za-z]:)?/(?!(?:Library|Program Files|bin|etc|lib|nix|opt|proc|sbin|snap|usr)(?:/|\Z))"
    r"(?!(?:Users|home)(?:/[^/]*)?\Z|root\Z)[^/]"
)
"""The beginning of a path, up to a folder in which somebody may have a project."""
_RUN = re.compile(
    r"""["'\s]*(?:(?:/usr/bin/env\s+)?(?:bash|bun|node|python3?|sh|zsh)\s+)?["']?(?P<path>[^\s;|&<>()`]+)(?:\s+[\w./:=-]+)*["'\s]*"""
)
"""A command that runs a script, and nothing else."""
_OF_NODE = r"""["'](?:node:)?(?:crypto|fs|fs/promises|os|path|readline|url|util)["']"""
_UNREAD_NODE = re.compile(
    rf"\brequire\b(?!\s*\(\s*{_OF_NODE}\s*\))|\bfrom\b(?!\s*{_OF_NODE})|\bimport\s*[\"'(]|\beval\b|\bFunction\b"
    r"|child_process|\bspawn|\bprocess\s*\[|\bBun\b|\bDeno\b"
)
"""Code of Node.js that runs other code, of which nothing is known here."""
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+(?P<module>[\w.]+)|import[ \t]+(?P<names>[^#\n]+))", re.MULTILINE)
_OF_PYTHON = frozenset({
    "__future__", "collections", "datetime", "hashlib", "json", "os", "pathlib", "re", "sys", "time", "typing",
})  # fmt: skip
_UNREAD_PYTHON = re.compile(r"\b(?:__import__|eval|exec|system|popen|spawn\w*|exec[lv]\w*|getattr)\b")
_UNREAD_SHELL = re.compile(
    r"\b(?:eval|exec|source|trap)\b|^[ \t]*\.[ \t]|\bset[ \t]+-\w*e|\$\{?[@*]|\bpipefail\b", re.MULTILINE
)
_LAST = re.compile(r"^exit[ \t]+0\Z", re.MULTILINE)


def absolute_paths(command: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The absolute paths in a command, each with its ends that may be paths in the project, longest first."""
    for match in _ABSOLUTE.finditer(command):
        parts = re.split(r"[/\\]+", str(match[match.lastgroup or 0]))
        ends = range(2, len(parts) - 1)
        yield match[0], tuple("/".join(parts[at:]) for at in ends if _IN_A_FOLDER.match("/".join(parts[:at])))


def refuses(
    command: str, own: Mapping[str, str], harmless: Collection[str], *, by_two: bool = False
) -> bool | None:
    """Whether a hook with these scripts of the project refuses calls; None if that is not known.

    `harmless` are the programs in a script of a shell that answer nothing of their own. `by_two`: only 2 as the end, or
    a decision in an answer, is a refusal to its client.
    """
    if any(map(_REFUSES.search, (command, *own.values()))):
        return True
    run = _RUN.fullmatch(command.replace('"', ""))
    if run is None or len(own) != 1:
        return None
    ((path, script),) = own.items()
    if PurePosixPath(run["path"]).name != PurePosixPath(path).name:
        return None
    word, end = (_ANSWERS, _END_UNREAD) if by_two else (_MAY_REFUSE, _OTHER_END)
    is_quiet = not word.search(script) and not end.search(script) and _is_read(path, script, harmless)
    return False if is_quiet else None


def _is_read(path: str, script: str, harmless: Collection[str]) -> bool:
    """Whether a script runs nothing but its own text, and ends with 0 unless it fails."""
    ending = PurePosixPath(path).suffix
    if ending in (".cjs", ".js", ".mjs", ".ts"):
        return not _UNREAD_NODE.search(script)
    if ending == ".py":
        return not _UNREAD_PYTHON.search(script) and _modules(script) <= _OF_PYTHON
    if ending in (".bash", ".sh", ".zsh"):
        programs = {program for program, *_ in scripts.commands(script)}
        return (
            not _UNREAD_SHELL.search(script)
            and bool(_LAST.search(script.rstrip()))
            and programs <= {*harmless}
        )
    return False


def _modules(script: str) -> set[str]:
    """The modules that a script in Python imports."""
    names: set[str] = set()
    for each in _IMPORT.finditer(script):
        listed = [each["module"]] if each["module"] else each["names"].split(",")
        names |= {name.split()[0].partition(".")[0] for name in listed if name.split()}
    return names
