"""The commands of a shell script, as far as they can be told from its text."""

from __future__ import annotations

import re
from bisect import bisect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_LENGTH = 100_000  # characters: more is no script that somebody wrote into a workflow
MAX_NESTING = 20
EXPRESSION = "${{}}"
"""The replacement of `${{ }}` in a command."""

_EXPRESSION = re.compile(r"\$\{\{.*?\}\}", re.DOTALL)
_HEREDOC = re.compile(r"<<-?[ \t]*['\"]?([A-Za-z_]\w*)['\"]?")
_KEYWORDS = frozenset(
    {"!", "{", "command", "do", "elif", "else", "env", "eval", "exec", "if", "nohup", "then", "time", "until", "while"}
)  # fmt: skip
_LAUNCHERS = frozenset({"bunx", "npx", "pnpx", "sudo", "timeout", "uvx", "xargs"})
_SHELLS = frozenset({"bash", "sh", "zsh"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)
_HARNESS = re.compile(r"_(?:driver|harness)\.c?js$")
"""A script of gh-aw that runs the program after it."""
_TIME = re.compile(r"[\d.]+[smhd]?")


def commands(script: str, depth: int = 0) -> Iterator[tuple[str, ...]]:
    """The commands, each from its program on: prefixes such as `timeout 600` are left out."""
    text = _without_documents(_EXPRESSION.sub(EXPRESSION, script[:MAX_LENGTH]))
    scanner = _ScriptScanner(text.replace("\\\n", " "))
    scanner.script()
    for words in scanner.commands:
        yield from _from_program(words, depth)


def _without_documents(script: str) -> str:
    """The script without the text of here-documents, which is no command."""
    return "\n".join(_HEREDOC.sub(" ", line) for line, _ in lines_with_documents(script))


def lines_with_documents(script: str) -> Iterator[tuple[str, str | None]]:
    """Each line of a script, with the text of the here-document that it opens; None without one."""
    lines = script.split("\n")
    ends: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        ends.setdefault(line.strip(), []).append(number)
    number = 0
    while number < len(lines):
        opened = _HEREDOC.search(lines[number])
        after = ends.get(opened[1], []) if opened else []
        place = bisect(after, number)
        end = after[place] if place < len(after) else number
        yield lines[number], "\n".join(lines[number + 1 : end]) if end > number else None
        number = end + 1


def _from_program(words: Sequence[str], depth: int) -> Iterator[tuple[str, ...]]:
    start = 0
    while start < len(words) and (words[start] in _KEYWORDS or _ASSIGNMENT.fullmatch(words[start])):
        start += 1
    words = words[start:]
    if not words or depth > MAX_NESTING:
        return
    program = words[0].rpartition("/")[2]
    if program in _SHELLS and "-c" in words[:-1]:
        yield from commands(words[words.index("-c") + 1], depth + 1)
    elif program in _LAUNCHERS:
        rest = words[1:]
        while rest and (rest[0].startswith("-") or _TIME.fullmatch(rest[0])):
            rest = rest[1:]
        yield from _from_program(rest, depth + 1)
    elif words[1:2] and _HARNESS.search(words[1]):
        yield from _from_program(words[2:], depth + 1)
    else:
        yield tuple(words)
        if "--" in words[1:-1]:  # what runs another program
            yield from _from_program(words[words.index("--", 1) + 1 :], depth + 1)


class _ScriptScanner:
    """Splits a script into the words of its commands; those of `$( )` are commands of their own."""

    def __init__(self, text: str) -> None:
        self.commands: list[list[str]] = []
        self._text = text
        self._at = 0

    def script(self, end: str = "", depth: int = 0) -> None:
        """Reads up to `end`, and over it."""
        words: list[str] = []
        word: list[str] | None = None
        skips = False
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == end:
                break
            if character in " \t\r\n;|&<>`" or (character == "#" and word is None):
                if word is not None:
                    if not skips:
                        words.append("".join(word))
                    word, skips = None, False
                skips = self._between(character, words) or (skips and character in " \t\r")
                if character in "\n;|&`":
                    words = []
                continue
            word = [] if word is None else word
            word.append(self._piece(character, depth))
        if word is not None and not skips:
            words.append("".join(word))
        self._at += 1
        if words:
            self.commands.append(words)

    def _between(self, character: str, words: list[str]) -> bool:
        """Reads the text between words; whether the next word is the file of a redirection."""
        if character == "#":
            line_end = self._text.find("\n", self._at)
            self._at = len(self._text) if line_end < 0 else line_end
            return False
        self._at += 1
        if character in "<>":
            while self._text[self._at : self._at + 1] in ("<", ">", "&") and self._at < len(self._text):
                self._at += 1
            if words and words[-1] in ("1", "2"):
                words.pop()
            return True
        if character in "\n;|&`" and words:
            self.commands.append([*words])
        return False

    def _piece(self, character: str, depth: int) -> str:
        """A piece of a word, without its quotes."""
        text, at = self._text, self._at
        if character == "'" and (closing := text.find("'", at + 1)) > 0:
            self._at = closing + 1
            return text[at + 1 : closing]
        if character == '"':
            return self._quoted(depth)
        if character == "\\":
            self._at += 2
            return text[at + 1 : at + 2].strip("\n")
        if depth < MAX_NESTING and (character == "(" or text.startswith("$(", at)):
            self._at += 1 if character == "(" else 2
            self.script(")", depth + 1)
            return "" if character == "(" else EXPRESSION
        self._at += 1
        return character

    def _quoted(self, depth: int) -> str:
        pieces: list[str] = []
        self._at += 1
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == '"':
                self._at += 1
                break
            if character == "\\" or (depth < MAX_NESTING and self._text.startswith("$(", self._at)):
                pieces.append(self._piece(character, depth))
            else:
                pieces.append(character)
                self._at += 1
        return "".join(pieces)
