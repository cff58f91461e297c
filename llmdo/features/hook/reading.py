"""Commands that only read, as agents spell them, in the spelling of the shell rules that vouch for them."""

from __future__ import annotations

from llmdo.policy.shell.programs import SHOWS_NAMES
from llmdo.policy.shell.rules import EVERYWHERE, EXEC_READ, ShellRule, Vouching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from llmdo.policy.authority import Capability

_PRINTS = r"(?:(?:\d{1,9},)?(?:\d{1,9}|\$)p(?:;|$))+"
"""A script of `sed -n` that prints lines by their numbers."""
_LETTERS = {"grep": frozenset("EFHILPchilnorsvwx"), "rg": frozenset("FSUcilnosvwx")}
"""The options of a search that take no value, and may be written as one word; in `rg`, `-r` takes one."""
_NAMES = ("--include", "-g", "--glob")
"""The options of a search that name the files in whose contents it looks."""
_HEEDLESS = ("--hidden", "--no-ignore", "-.", "-u", "--unrestricted")
"""The beginnings of the options by which `rg` looks into hidden and ignored files as well."""
_TAKING = frozenset({"-A", "-B", "-C", "-T", "-e", "-g", "-m", "-t"})


def reads_of(
    command: Sequence[str], rules: Iterable[str], scope_of: Callable[[str], str | None]
) -> frozenset[Capability] | None:
    """The reads of a command, under rules of its program; None if none vouches for it as only reading.

    A search reads the folders that it names, and everything where it names none.
    """
    named: set[str | None] = set()

    def noted(word: str) -> str | None:
        scope = scope_of(word)
        named.add(scope)
        return scope

    vouching = Vouching((tuple(map(ShellRule.parse, rules)),))
    raised = vouching.raised(_respelt(tuple(command)), noted, isolated=True)
    if EXEC_READ not in raised:
        return None
    is_everywhere = not named or EVERYWHERE in named
    return frozenset(each for each in raised - {EXEC_READ} if is_everywhere or each.scope != EVERYWHERE)


def looked_for(command: Sequence[str]) -> tuple[tuple[str, ...], bool] | None:
    """The patterns of names of the files in whose contents a command looks, and whether it passes over ignored ones.

    None if it looks into none of a folder that it names.
    """
    program, *words = command
    if program in SHOWS_NAMES:
        return None
    names: list[str] = []
    for word, after in zip(words, [*words[1:], ""], strict=True):
        option, equals, value = word.partition("=")
        if option in _NAMES:
            names.append(value if equals else after)
        elif word.startswith("-g") and program == "rg":
            names.append(word[2:])
    return tuple(names), program == "rg" and not any(word.startswith(_HEEDLESS) for word in words)


def _respelt(command: tuple[str, ...]) -> tuple[str, ...]:
    program, *rest = command
    if program in _LETTERS:
        return _search(program, rest) or command
    return (_print(rest) or command) if program == "sed" else command


def _print(rest: Sequence[str]) -> tuple[str, ...] | None:
    """`sed` that prints lines, as `cat`; None if it may do more. Options may stand behind the files as well."""
    import re  # which other commands do without

    if rest[:1] != ["-n"]:
        return None
    script, *files = rest[2 if rest[1:2] == ["-e"] else 1 :] or [""]
    if not re.fullmatch(_PRINTS, script) or any(file.startswith("-") for file in files):
        return None
    return ("cat", *files)


def _search(program: str, rest: Sequence[str]) -> tuple[str, ...] | None:
    """A search with each option apart, and its pattern as one; None if it has no pattern."""
    words, others, options = iter(rest), list[str](), list[str]()
    is_recursive, is_open = False, True
    for word in words:
        letters = set(word[1:])
        if word == "--":
            break
        if word in _TAKING:
            options += [word, next(words, "")]
        elif word.startswith("-") and letters and letters <= _LETTERS[program]:
            is_recursive |= "r" in letters
            options += [f"-{letter}" for letter in word[1:] if letter not in "rI"]  # -I reads less
        else:
            (options if word.startswith("-") else others).append(word)
        is_open &= not (word.startswith(("-e", "--regexp=")) or (program == "rg" and word == "--files"))
    behind = list(words)
    if is_open and not others + behind:
        return None
    if is_open:
        options += ["-e", (others or behind).pop(0)]
    return (program, *(["-r"] if is_recursive else []), *options, *others, "--", *behind)
