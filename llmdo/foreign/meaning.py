"""The tool that an unknown name means: that of another client, or a misspelt one of the same kind."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import nearest
from llmdo.foreign.reading import misspelt

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

NO_MEANINGS: Mapping[str, str] = {}
"""What a client's tools do, where that is not known."""
_NAMES = {
    "command": (
        "bash", "command", "executecommand", "executeshell", "powershell", "runcommand", "runshellcommand",
        "runterminalcmd", "runterminalcommand", "shell", "terminal",
    ),
    "edit": (
        "applydiff", "applypatch", "edit", "editfile", "multiedit", "replace", "replaceinfile", "searchreplace",
        "strreplace", "strreplacebasededittool", "strreplaceeditor",
    ),
    "fetch": ("fetch", "fetchurl", "webfetch"),
    "find": ("fileglob", "find", "findfiles", "glob"),
    "grep": ("codebasesearch", "grep", "grepsearch", "searchcode", "searchfiles"),
    "list": ("listdir", "listdirectory", "listfiles", "ls"),
    "read": ("read", "readfile", "readfiles", "readmanyfiles", "view"),
    "search": ("googlewebsearch", "searchweb", "websearch"),
    "write": ("create", "createfile", "write", "writefile", "writetofile"),
}  # fmt: skip
"""The names of tools in clients, in small letters and without `_` and `-`, by what they do."""
_DOES = {name: does for does, names in _NAMES.items() for name in names}

_KINDS = {
    "bash": "command", "command": "command", "commands": "command", "create": "write", "edit": "write",
    "execute": "command", "fetch": "fetch", "find": "search", "glob": "search", "grep": "search", "list": "search",
    "ls": "search", "read": "read", "run": "command", "search": "search", "shell": "command", "terminal": "command",
    "view": "read", "web": "web", "write": "write",
}  # fmt: skip
"""Words that say what kind of tool a name is."""
_WORD = re.compile(r"(?i:web|search|fetch)|[A-Z]?[a-z]+|[A-Z]+")


def meant_tool(name: str, known: Iterable[str], own: Mapping[str, str]) -> str | None:
    """The tool that an unknown name means, None without any; `own` are a client's tools by what they do.

    A name of another client is matched by what its tool does, any other by its spelling, to no tool of another kind.
    """
    return _of_another_client(name, own) or nearest(name, _alike(name, known))


def surely_meant(name: str, known: Collection[str], own: Mapping[str, str]) -> str | None:
    """The tool that a name certainly means, None if it is known itself, or may be that of a server."""
    if name in known:
        return None
    return _of_another_client(name, own) or misspelt(name, _alike(name, known))


def _of_another_client(name: str, own: Mapping[str, str]) -> str | None:
    does = _DOES.get(re.sub("[_-]", "", name).casefold(), "")
    return own.get(does) or (own.get("find") if does == "list" else None)


def _alike(name: str, known: Iterable[str]) -> list[str]:
    """The known tools that are of no other kind than a name says."""
    kinds = _kinds(name)
    return [each for each in known if not _differ(kinds, _kinds(each))]


def _kinds(name: str) -> frozenset[str]:
    return frozenset(_KINDS[word] for each in _WORD.findall(name) if (word := each.casefold()) in _KINDS)


def _differ(kinds: frozenset[str], others: frozenset[str]) -> bool:
    """Whether each of two names says of a kind that the other does not."""
    return bool(kinds - others) and bool(others - kinds)
