"""A command line as words. Nothing is interpreted: a line that needs more than splitting is refused."""

from __future__ import annotations

import re
import unicodedata

from llmdo.base.diagnostic import LlmdoError, shown
from llmdo.policy.shell.rules import is_program

MAX_LINE = 8192  # characters: longer is a file, not a command
MAX_WORDS = 1024
MAX_WORD = 65536  # bytes: half of what Linux takes as one argument

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})

_PIECE = re.compile(
    r"""
      (?P<gap>[ \t]+)
    | '(?P<single>[^']*)'
    | "(?P<double>(?:[^"\\$`]|\\.)*)"
    | \\(?P<escaped>.)
    | (?P<plain>\{\} | [^\s'"\\|&;<>()$`*?\[{}])
    """,
    re.VERBOSE,
)
"""The pieces of a line; anything else is shell syntax."""

_QUOTE = "put it in single quotes if the program is to see it"
_INSTEAD = {
    "|": "run one program and read its output; there are no pipes",
    "&": "make one call for each command",
    ";": "make one call for each command",
    "<": "name the file as an argument of the program",
    ">": "use the tool that writes files; nothing is redirected",
    "$": f"nothing is expanded: write the value itself, or {_QUOTE}",
    "`": f"nothing is expanded: write the value itself, or {_QUOTE}",
    "*": f"nothing is expanded: list the files first, or {_QUOTE}",
    "?": f"nothing is expanded: list the files first, or {_QUOTE}",
    "[": f"nothing is expanded: list the files first, or {_QUOTE}",
    "{": f"nothing is expanded: write every word, or {_QUOTE}",
    "}": f"nothing is expanded: write every word, or {_QUOTE}",
    "(": f"run one program; {_QUOTE}",
    ")": f"run one program; {_QUOTE}",
    "'": "close the quote, or give the command as a list of words",
    '"': "close the quote, or give the command as a list of words",
    "\\": "end the line with a word, or give the command as a list of words",
    "~": "write the path relative to the workspace",
    "#": f"leave the comment out, or {_QUOTE}",
}
"""The advice, by the character at which a line stops being words."""


class CommandRefused(LlmdoError):  # noqa: N818  # it says what happened to a command, as a decision does
    """A command that is no program with plain words, with advice."""

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}: {self.hint}"


def words(line: str) -> tuple[str, ...]:
    """The words of `line`, exactly those that a shell would pass on.

    Raises:
        CommandRefused: It is too long, or a shell would do more than split it into words.
    """
    if len(line) > MAX_LINE:
        raise CommandRefused(
            f"the command has more than {MAX_LINE:,} characters", hint="write a file instead"
        )
    for character in line:
        if character not in " \t" and unicodedata.category(character) in _INVISIBLE:
            hint = "make one call for each command" if character in "\r\n" else "leave it out"
            raise CommandRefused(f"the command has a `{shown(character) or ascii(character)}`", hint=hint)
    result: list[str] = []
    word: str | None = None
    at = 0
    while at < len(line):
        piece = _PIECE.match(line, at)
        if piece is None or piece.lastgroup is None:
            raise _syntax(line, at)
        kind, text = piece.lastgroup, piece[piece.lastgroup]
        if kind == "gap":
            if word is not None:
                result.append(word)
            word = None
        else:
            if kind == "plain" and _is_special(text, word):
                raise _syntax(line, at)
            word = (word or "") + (re.sub(r'\\(["\\$`])', r"\1", text) if kind == "double" else text)
        at = piece.end()
    return tuple(result if word is None else [*result, word])


def _is_special(text: str, word: str | None) -> bool:
    """Whether a shell would take a plain character otherwise here: a comment, or a home folder."""
    return (text == "#" and word is None) or (text == "~" and (word or "=")[-1] in "=:")


def _syntax(line: str, at: int) -> CommandRefused:
    character = line[at]
    problem = "is not closed" if character in "'\"" else "is shell syntax"
    if character == '"' and line.find('"', at + 1) > at:
        return CommandRefused('`"` holds a `$` or a backtick that a shell would expand', hint=_INSTEAD["$"])
    return CommandRefused(f"`{character}` {problem}", hint=_INSTEAD.get(character))


def program_of(command: tuple[str, ...]) -> str:
    """The program that `command` names.

    Raises:
        CommandRefused: There is none, it is not a bare name, or a word cannot be passed to a program.
    """
    if not command:
        raise CommandRefused("the command is empty", hint="name a program and its arguments")
    if len(command) > MAX_WORDS:
        raise CommandRefused(f"the command has more than {MAX_WORDS:,} words", hint="make several calls")
    for word in command:
        try:
            size = len(word.encode())
        except UnicodeEncodeError as error:
            raise CommandRefused("a word of the command is not valid Unicode") from error
        if "\0" in word or size > MAX_WORD:
            raise CommandRefused(
                "a word of the command has a NUL or is too long", hint="write a file instead"
            )
    if not is_program(command[0]):
        raise CommandRefused(
            f"`{shown(command[0][:80])}` is not the bare name of a program",
            hint="name it without a path, such as `git`, and without setting variables",
        )
    return command[0]
