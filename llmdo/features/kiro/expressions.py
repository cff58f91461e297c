"""The commands of a pattern of Kiro: a regular expression in `allowedCommands`, a glob in `permissions`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.foreign.commands import commands, gone_on
from llmdo.foreign.permissions import CONNECTS, part
from llmdo.policy.shell.programs import LAUNCHERS
from llmdo.policy.shell.rules import UNLISTED

if TYPE_CHECKING:
    from llmdo.policy.authority import Capability

_REGULAR = re.compile(r"[*+?\[\](){}|\\^$]")
_ALTERNATIVES = re.compile(r"\((?:\?:)?(?P<texts>[^()]*)\)(?P<none>\?)?(?![*+{])")
_SIGNS = re.compile(
    r"(?P<ends>^\^|\$$)|(?P<blank>\\s(?:[*+]\??)?)|(?P<kept>\\\w)|(?P<any>\.[*+]\??)"
    r"|(?P<letter>[\w /:=@,-])(?:[*+?]|\{\d*,?\d*\})\??|\\(?P<sign>[^\w\s])"
)
"""The signs of a regular expression that a glob writes otherwise or not at all: `log*` is `log` and more of its `g`."""
_MANY_GLOBS = 100  # for one expression
_LONGEST_EXPRESSION = 1000  # of which the alternatives are told apart


class CommandExpression(str):
    """A regular expression that is about the whole of a command, as `allowedCommands` has it."""

    __slots__ = ()

    @property
    def globs(self) -> list[str]:
        """The globs for its alternatives; `*` where it is about commands that none tells."""
        waiting = [str(self) if len(self) <= _LONGEST_EXPRESSION else "*"]
        globs: list[str] = []
        while waiting:
            text = waiting.pop()
            group = _ALTERNATIVES.search(text)
            if group is None or len(waiting) + len(globs) > _MANY_GLOBS:
                globs.append(_as_glob(text))
            else:
                texts = [*group["texts"].split("|"), *([""] if group["none"] else [])]
                waiting += (f"{text[: group.start()]}{each}{text[group.end() :]}" for each in texts)
        return globs


def _as_glob(expression: str) -> str:
    glob = _SIGNS.sub(_sign, expression)
    return "*" if "|" in glob else glob  # outside a group, each end holds for one of the alternatives


def _sign(match: re.Match[str]) -> str:
    written = {"ends": "", "blank": " ", "any": "*"}
    name = match.lastgroup or ""
    return written.get(name, match[name])


def _of_glob(glob: str) -> Capability:
    """The capability of the commands of a glob; a name before its `*` is that of no other program that runs code."""
    words = glob.split()
    number = next((number for number, word in enumerate(words) if _REGULAR.search(word)), None)
    if number is None:
        return commands(glob)
    stem = _REGULAR.split(words[number])[0]
    if not number and (words[0] != f"{stem}*" or any(name.startswith(stem) for name in LAUNCHERS)):
        return UNLISTED
    each = gone_on(" ".join([*words[:number], f"{stem}*"])) if number else [f"{stem} *"]
    reached = [commands(pattern) for pattern in each]
    return UNLISTED if UNLISTED in reached else reached[0]


def globs_of(pattern: str) -> list[str]:
    """The globs of the commands that a pattern is about."""
    return pattern.globs if isinstance(pattern, CommandExpression) else [pattern]


ANOTHER = "; id"
"""Words behind a command by which a shell runs another."""
_ANYTHING = re.compile(r"\*|\\S[*+]")
"""Signs of a glob for an expression that are about these words as well."""


def goes_on(pattern: str) -> bool:
    """Whether a regular expression is also about lines that run another command behind the one that it names.

    It is held against the whole line, `;` and all: `requires_acceptance` in the source of Amazon Q's command line, from
    which that of Kiro comes.
    """
    return isinstance(pattern, CommandExpression) and any(map(_ANYTHING.search, pattern.globs))


def part_of(capability: Capability, pattern: str) -> Capability:
    """The part for a pattern: of commands a regular expression or a glob, of addresses none that confines."""
    if capability == UNLISTED and goes_on(pattern):
        return UNLISTED
    if capability == UNLISTED:
        each = [_of_glob(glob) for glob in globs_of(pattern)]
        return UNLISTED if UNLISTED in each else each[0]
    return capability if capability == CONNECTS else part(capability, pattern)
