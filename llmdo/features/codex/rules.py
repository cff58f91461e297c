"""The rules of Codex, by which commands may leave the sandbox: one that names no decision allows."""

from __future__ import annotations

import ast
import json
import re
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, finding
from llmdo.base.source import Span
from llmdo.base.values import dataclass
from llmdo.foreign.commands import besides, commands
from llmdo.policy.shell.programs import ENDS_OPTIONS, RUNNERS
from llmdo.policy.shell.rules import EXEC, UNLISTED
from llmdo.syntax.document import Document, Place
from llmdo.syntax.tree import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmdo.base.source import Source
    from llmdo.base.values import Json
    from llmdo.foreign.files import Files
    from llmdo.policy.authority import Capability
    from llmdo.syntax.document import Route

MAX_COMMANDS = 200  # of one rule, whose alternatives multiply; of more any may be allowed
MAX_HINT = 500  # letters in which a hint spells rules out
_RULE = "prefix_rule"
_ALLOW = "allow"
_OF_SEVERAL = re.compile(r"[\w.-]+\s")
"""The beginning of a text of several words, which no command has as its first one."""
_WITH_SUBCOMMANDS = frozenset({
    "apt", "apt-get", "aws", "az", "brew", "cargo", "docker", "gcloud", "gh", "git", "glab", "go", "helm", "kubectl",
    "npm", "pip", "pip3", "pnpm", "podman", "poetry", "terraform", "uv",
})  # fmt: skip
"""Programs whose next word is the name of one of their commands, in which no blank is."""
_SUBCOMMANDS = ENDS_OPTIONS | {"kill", "pip", "pip3"}
"""Programs whose names are also those of such commands."""
_PROGRAMS = _WITH_SUBCOMMANDS | _SUBCOMMANDS | {
    "curl", "dd", "doas", "fdisk", "halt", "killall", "mkfs", "mkswap", "npx", "parted", "passwd", "pkill", "poweroff",
    "reboot", "rsync", "scp", "service", "shred", "shutdown", "sudo", "systemctl", "umount", "useradd", "userdel",
    "wget", "wipefs", "yarn",
}  # fmt: skip
"""Programs by whose names the words of a rule are commands of their own."""
_STARTING = RUNNERS - {"doas", "sudo"}
"""Programs whose words may be a command in quotes."""


@dataclass(frozen=True, slots=True)
class AllowedCommands:
    """The commands that a rule allows."""

    capabilities: tuple[Capability, ...]
    at: Place
    beginnings: tuple[str, ...]
    """Their first words, where none of these has a blank in it."""
    text: str
    """The same in one line: the words, with the alternatives for each."""


def allowed_commands(files: Files, source: Source) -> Iterator[AllowedCommands]:
    """The commands that the rules in a file allow; a file that cannot be read as rules is noted."""
    calls = _calls(source)
    if calls is None:
        message = f"`{source.path}` is not written as rules of Codex are, so what it allows is not known"
        files.problems.append(finding("LDO153", source.location(), message))
        return
    spans: dict[Route, tuple[Span, Span]] = {
        ("rules", number): (_span(call), _span(call)) for number, call in enumerate(calls)
    }
    written = [_arguments(call) for call in calls]
    data: Json = [dict.fromkeys(each) for each in written]
    document = Document(source, {"rules": data}, lambda: spans)
    for number, arguments in enumerate(written):
        at = Place(document, ("rules", number))
        decision, words = arguments.get("decision"), _words(arguments.get("pattern"))
        if words and not _may_begin(files, at, words, decision):
            continue
        if isinstance(decision, ast.Constant) and decision.value != _ALLOW:
            continue  # what asks or forbids lets nothing more happen
        patterns = [" ".join(each) for each in islice(product(*words), MAX_COMMANDS)] if words else [""]
        raised = {commands(pattern, is_prefix=True) for pattern in patterns}
        raised.update(each for pattern in patterns for each in besides(pattern, is_prefix=True))
        if UNLISTED in raised or not words or prod(map(len, words)) > MAX_COMMANDS:
            raised = {UNLISTED, *(raised - {EXEC})}
        beginnings = tuple(each for each in patterns if len(each.split()) == len(words) > 0)
        shown = excerpt(" ".join("|".join(each) for each in words) or "...")
        yield AllowedCommands(tuple(sorted(raised, key=str)), at, beginnings, shown)


def _may_begin(files: Files, at: Place, words: list[list[str]], decision: ast.expr | None) -> bool:
    """Whether a command may begin with a word of a rule; each that none begins with is taken out, and noted."""
    number, several = _with_blanks(words)
    if several:
        shown = f"`{excerpt(several[0])}`{f' and {len(several) - 1} more' if several[1:] else ''}"
        message = f"Codex compares a single word of a command with {shown}: only one in quotes has a blank"
        if number == 0:
            like = "them" if several[1:] else "it"
            message = f"Codex compares the first word of a command with {shown}: none is like {like}"
        hint = _by_word(words, number, several, keeps_all=_allows(decision))
        if decision is None:
            hint += ', with `decision = "prompt"`: without one it allows'
        files.note("LDO151", at, message, hint)
    words[0] = [each for each in words[0] if number or each not in several]
    return bool(words[0])


def _allows(decision: ast.expr | None) -> bool:
    """Whether a rule says itself that it allows."""
    return isinstance(decision, ast.Constant) and decision.value == _ALLOW


def _with_blanks(words: Sequence[Sequence[str]]) -> tuple[int, list[str]]:
    """The number of the first word that is surely several, and which alternatives for it are; none without one."""
    first, *rest = words
    if idle := [each for each in first if _OF_SEVERAL.match(each)]:
        return 0, idle
    if rest and _WITH_SUBCOMMANDS.issuperset(first):
        return 1, [each for each in rest[0] if _OF_SEVERAL.match(each) and not each.startswith("-")]
    return next(
        (
            (number, [*each])
            for number, each in enumerate(words)
            if _is_of_several(each) and _are_commands(words)
        ),
        (0, []),
    )


def _is_of_several(alternatives: Sequence[str]) -> bool:
    return any(map(_OF_SEVERAL.match, alternatives))


def _are_commands(words: Sequence[Sequence[str]]) -> bool:
    """Whether the words of a rule are commands of their own, at least one of them of several words."""
    if any(len(each) > 1 for each in words):
        return False
    texts = [each for (each,) in words]
    first, *others = (each.partition(" ")[0] for each in texts)
    if first in _STARTING or (texts[0] == first and first not in _PROGRAMS - {"doas", "sudo"}):
        return False
    known = _PROGRAMS - _SUBCOMMANDS if first in _WITH_SUBCOMMANDS else _PROGRAMS
    return bool(others) and _is_of_several(texts) and all(each == first or each in known for each in others)


def _by_word(words: Sequence[Sequence[str]], number: int, several: Sequence[str], *, keeps_all: bool) -> str:
    """The change by which each word of a rule is one; `several` are those at `number` that are not."""
    patterns: list[list[str | list[str]]]
    if _are_commands(words):
        patterns = [_split(each, keeps_all=keeps_all) for (each,) in words]
    else:
        parts: list[str | list[str]] = [each[0] if len(each) == 1 else [*each] for each in words]
        above = [*parts[:number]]
        below = [
            part
            for each in parts[number + 1 :]
            for part in (each.split() if isinstance(each, str) and _OF_SEVERAL.match(each) else [each])
        ]
        patterns = [[*above, *each.split(), *below] for each in several]
    texts = [f"`{text}`" for text in dict.fromkeys(map(json.dumps, patterns))]
    listed = ", ".join(texts)
    if len(listed) > MAX_HINT or "`" in "".join(several):
        return "write a rule for each of the commands"
    if not _are_commands(words) and len(words[number]) == 1:
        return f"write `pattern = {texts[0][1:]}"
    if _are_commands(words) or len(several) == len(words[number]):
        return f"write a rule for each, {listed}"
    return f"give {'each' if texts[1:] else 'it'} a rule of its own, {listed}"


def _split(command: str, *, keeps_all: bool) -> list[str | list[str]]:
    """The words of a command; without what only begins one, as `if=` does, unless that would allow more."""
    first, *rest = command.split()
    return [first, *(each for each in rest if keeps_all or not each.endswith("="))]


def _calls(source: Source) -> list[ast.Call] | None:
    """The rules of a file, which is Starlark, whose calls are those of Python; None if it is not."""
    try:
        tree = parse(source.text)
    except (MemoryError, RecursionError, SyntaxError, ValueError):
        return None if re.search(rf"\b{_RULE}\b", source.text) else []
    return [
        node.value
        for node in tree.body
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == _RULE
    ]


def _arguments(call: ast.Call) -> dict[str, ast.expr]:
    """The arguments of a rule by their names, of which the first two may lack theirs."""
    unnamed = dict(zip(("pattern", "decision"), call.args, strict=False))
    return unnamed | {each.arg: each.value for each in call.keywords if each.arg}


def _words(pattern: ast.expr | None) -> list[list[str]]:
    """The alternatives for each word of a pattern; none if it is not written out."""
    words = []
    for each in pattern.elts if isinstance(pattern, ast.List | ast.Tuple) else ():
        parts = each.elts if isinstance(each, ast.List | ast.Tuple) else [each]
        texts = [
            part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        if len(texts) != len(parts) or not texts:
            return []
        words.append(texts)
    return words


def _span(call: ast.Call) -> Span:
    line = call.lineno
    return Span(line, call.col_offset + 1, line, call.col_offset + 1 + len(_RULE))
