"""Hooks that answer in place of a person: those before a tool, and those in place of a question."""

from __future__ import annotations

import posixpath
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.base.parts import items, table, text, texts
from llmdo.base.values import dataclass
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.foreign.files import Files

ASKED = "PermissionRequest"
"""The event of a question, also of one by a rule."""
EVENTS = ("PreToolUse", ASKED)
"""The events whose hooks may answer `allow`."""

MANY = 100  # words of one command: nobody names more scripts in it

_ALLOWS = re.compile(r"""\\?["'](?:allow|approve)\\?["']|(?:permissionDecision|behavior)\W{1,8}allow""")
_PLAIN = re.compile(r"[\w\s,|-]*")
_SIMPLE = re.compile(r"\^?(?:[\w-]|\.\*)*\$?(?:\|\^?(?:[\w-]|\.\*)*\$?)*")
"""Regular expressions that are names with any part left out."""
_WORD = re.compile(r"[^\s\"'`;|&<>()]+")
_SCRIPT = re.compile(r".*\.(?:bash|cjs|js|mjs|ps1|py|rb|sh|ts|zsh)")
_VARIABLE = re.compile(r"\$\{?CLAUDE_(?P<which>PROJECT_DIR|PLUGIN_ROOT)\}?/?")
_HARMLESS = frozenset(
    {
        "[", "[[", ":", "afplay", "awk", "cat", "cd", "cut", "date", "do", "done", "echo", "elif", "else", "esac",
        "exit", "false", "fi", "for", "grep", "head", "if", "jq", "mkdir", "notify-send", "osascript", "printf", "read",
        "say", "sed", "sleep", "sort", "tail", "tee", "test", "then", "touch", "tr", "true", "while",
    }
)  # fmt: skip
"""Programs that answer nothing of their own."""
_STEP = re.compile(r"[;|&\n]+|\$\(")


@dataclass(frozen=True, slots=True)
class ClaudeHook:
    """A hook that may answer `allow`."""

    event: str
    matcher: str
    at: Place
    is_certain: bool
    """Whether its text says so; else its answer is unknown."""

    def names(self, tool: str) -> bool:
        """Whether it is asked about a tool, or about a tool of this server."""
        if self.matcher in ("", "*"):
            return True
        if _PLAIN.fullmatch(self.matcher):
            listed = [name.strip() for name in re.split(r"[|,]", self.matcher)]
            return tool in listed or (
                _is_server(tool) and any(each.startswith(f"{tool}__") for each in listed)
            )
        if not _SIMPLE.fullmatch(self.matcher):
            return True  # an expression of somebody else is not run, as it may take for ever
        return any(_fits(each, tool) for each in self.matcher.split("|"))


def _is_server(tool: str) -> bool:
    return tool.startswith("mcp__") and tool.count("__") == 1


def _fits(expression: str, tool: str) -> bool:
    """Whether an expression that only leaves parts out is found in a tool's name, or in one of this server's."""
    glob = expression.strip("^$").replace(".*", "*")
    start = glob.partition("*")[0]
    if _is_server(tool) and (start.startswith(f"{tool}__") or f"{tool}__".startswith(start or "-")):
        return True
    before, after = ("" if expression.startswith("^") else "*"), ("" if expression.endswith("$") else "*")
    return fnmatchcase(tool, before + glob + after)


def hooks_in(files: Files, tables: Iterable[Place], root: str) -> Iterator[ClaudeHook]:
    """The hooks of these tables that may answer `allow`; `root` is the folder of their plugin."""
    for place in tables:
        for event in EVENTS:
            for number, group in enumerate(items(table(place.data).get(event))):
                for index, handler in enumerate(items(table(group).get("hooks"))):
                    at = Place(place.document, (*place.route, event, number, "hooks", index))
                    certain = _allows(files, event, table(handler), root)
                    if certain is not None:
                        yield ClaudeHook(event, text(table(group).get("matcher")), at, certain)


def judge_hooks(files: Files, hooks: Iterable[ClaudeHook]) -> None:
    """Notes hooks that answer, or may answer, in place of a person."""
    for hook in hooks:
        if hook.is_certain:
            files.note("LDO554", hook.at, "this hook may answer `allow` in place of a person")
        else:
            message = "what this hook answers is not known, so it was read as one that may answer `allow`"
            files.note("LDO150", hook.at, message)


def _allows(files: Files, event: str, handler: Mapping[str, object], root: str) -> bool | None:
    """Whether a handler says that it allows; False if that is unknown, None if it does not."""
    kind = handler.get("type", "command")
    if handler.get("async") is True or (event == "PreToolUse" and kind in ("agent", "prompt")):
        return None  # nobody waits for its answer, or it can only forbid
    if kind != "command":
        return False
    command = "\n".join([text(handler.get("command")), *texts(handler.get("args"))])
    scripts = list(_scripts(files, command, root))
    if any(_ALLOWS.search(each) for each in (command, *scripts)):
        return True
    return None if scripts or _is_harmless(command) else False


def _scripts(files: Files, command: str, root: str) -> Iterator[str]:
    """The texts of the project's own scripts that a command names."""
    prefix = f"{root}/" if root else ""
    plain = _VARIABLE.sub(
        lambda variable: prefix if variable["which"] == "PLUGIN_ROOT" else "", command.replace('"', "")
    )
    for word in list(dict.fromkeys(_WORD.findall(plain)))[:MANY]:
        path = posixpath.normpath(word)
        if _SCRIPT.fullmatch(word) and not path.startswith(("/", "..", "~", "$")):
            read = files.tree.read(path)  # what of a command is no script is not noted as missing
            if read and not read[1] and (script := files.source(path)):
                yield script.text


def _is_harmless(command: str) -> bool:
    steps = (_WORD.findall(step) for step in _STEP.split(command))
    programs = (next((word for word in words if "=" not in word), ":") for words in steps)
    return all(program in _HARMLESS or program.isdigit() for program in programs)
