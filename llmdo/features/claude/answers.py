"""The answers of hooks: whether the text of a program has one that Claude Code takes for `allow`."""

from __future__ import annotations

import posixpath
import re
import sys
from typing import TYPE_CHECKING

from llmdo.foreign.events import says_allow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.foreign.files import Files

_NO_ANSWER = re.compile(r"""(?:\\?["']|\b)decision(?:\\?["'])?\s*:\s*\\?["']allow\\?["']""")
"""An answer of other clients: as a `decision` Claude Code takes `approve` and `block` alone."""
_HANDED_ON = re.compile(r"""(?:permissionDecision|behavior)\\?["']?\s*[:=]\s*(?!\s|\\?["'])""")
"""A key of its own answers whose value is not in quotes there, and may be that of such a text."""

_KEY_OF_AN_ANSWER = re.compile(r"permissionDecision|behavior|decision\\?[\"']|\\?[\"']decision")
"""A key by which Claude Code is answered (https://code.claude.com/docs/en/hooks)."""
_IMPORT = re.compile(r"(?:^|[;:])[ \t]*(?:from|import)[ \t]+([\w.][\w., ]*)", re.MULTILINE)
"""An import of Python: of the library that comes with it, or of files beside the program."""
_STARTS = re.compile(r"\b(?:__import__|exec|http|importlib|popen|runpy|socket|subprocess|system|urllib)\b")
"""Names by which a program in Python starts or loads another, or asks a server."""

_OF_NODE = (".cjs", ".js", ".mjs", ".ts")
"""The ends of programs in JavaScript and TypeScript."""
_ANSWERS_IN_NODE = re.compile(
    r"permissionDecision|\bbehavior\b|\bapprove\b|\bdecision\s*[,}]|\bdecision\b[\"'`]?\s*(?::|=(?![=>]))(?![^,;}\n]*[\"'])"
)
"""A key of an answer that may be `allow`, the word that a `decision` needs for it, or one that is not spelt there."""
_LOADED_IN_NODE = re.compile(r"\b(?:from|import|require)\b\s*\(?\s*[\"']([^\"'\n]+)[\"']")
"""A module that a program loads."""
_UNREAD_IN_NODE = re.compile(
    r"\brequire\b(?!\s*\(\s*[\"'][^\"'\n]+[\"']\s*\))|\bimport\s*\((?!\s*[\"'][^\"'\n]+[\"']\s*\))"
    r"|\b(?:from|import)\s*/[*/]|\beval\b|\bFunction\b|\bWorker\b|\bspawn|\bprocess\s*\[|\bglobalThis\b"
    r"|\b(?:binding|getBuiltinModule|mainModule|fetch|WebSocket|XMLHttpRequest)\b|\bDeno\b"
    r"|\bBun\b(?!\.(?:argv|env|file|stderr|stdin|stdout|write)\b)"
)
"""Code that starts or loads other code, or asks a server, of which nothing is known here."""
_LIBRARY_OF_NODE = frozenset({
    "assert", "buffer", "console", "crypto", "events", "fs", "fs/promises", "os", "path", "path/posix", "path/win32",
    "perf_hooks", "process", "querystring", "readline", "stream", "string_decoder", "timers", "timers/promises", "tty",
    "url", "util", "zlib",
})  # fmt: skip
"""The modules that come with Node.js, start or load no other program, and bring no answer of a server."""
_ENDS_OF_MODULES = ("", *_OF_NODE, ".json", *(f"/index{end}" for end in _OF_NODE))
_MOST_MODULES = 50


def says_allow_to_claude(files: Files, script: str, path: str) -> bool:
    """Whether a program, or a command without a path, has an answer that Claude Code takes for `allow`."""
    if path.endswith(_OF_NODE) and _allows_nothing(files, path, script):
        return False
    if _is_alone(script) and not _KEY_OF_AN_ANSWER.search(script):
        return False
    return says_allow(script if _HANDED_ON.search(script) else _NO_ANSWER.sub("", script))


def _is_alone(script: str) -> bool:
    """Whether a program is in Python and starts and loads none that answers for it, but what comes with Python."""
    modules = [
        name.split()[0].partition(".")[0]
        for match in _IMPORT.finditer(script)
        for name in match[1].split(",")
        if name.strip()
    ]
    return bool(modules) and sys.stdlib_module_names.issuperset(modules) and not _STARTS.search(script)


def _allows_nothing(files: Files, path: str, script: str) -> bool:
    """Whether neither a program in JavaScript or TypeScript nor what it loads of the project can answer `allow`."""
    texts = {path: script}
    waiting = [path]
    while waiting:
        at = waiting.pop()
        if _ANSWERS_IN_NODE.search(texts[at]) or _UNREAD_IN_NODE.search(texts[at]):
            return False
        for name in _LOADED_IN_NODE.findall(texts[at]):
            if name.removeprefix("node:") in _LIBRARY_OF_NODE:
                continue
            modules = dict(_modules(files, at, name))
            if not modules or len(texts) > _MOST_MODULES:
                return False
            waiting += modules.keys() - texts.keys()
            texts.update(modules)
    return True


def _modules(files: Files, path: str, name: str) -> Iterator[tuple[str, str]]:
    """The files of the project, each with its text, that a program may load by a name; none if it is a package."""
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    if not name.startswith(("./", "../")) or whole.startswith(".."):
        return
    stem, end = posixpath.splitext(whole)
    for each in dict.fromkeys(
        (*(f"{whole}{end}" for end in _ENDS_OF_MODULES), f"{stem}{end.replace('js', 'ts')}")
    ):
        if source := files.looked_into(each):
            yield each, source.text
