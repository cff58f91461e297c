"""The YAML of a header as VS Code takes it: its own parser refuses nothing, and stops where no key can follow.

Read in its sources, `src/vs/base/common/yaml.ts`: what stands below that place does not count, while a line that is
indented too far does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANKS = re.compile(r"[ \t]*")
_REST = re.compile(r"[^\n]*")
_BLOCK = re.compile(r"[|>][-+0-9]{0,2}[ \t]*(?:#[^\n]*)?(?=\n|\Z)")
_QUOTED = re.compile(r"'(?:[^']|'')*'?|\"(?:\\.|[^\"\\])*\"?", re.DOTALL)
_END_OF_DOCUMENT = re.compile(r"(?:\.\.\.|---)(?=\s|\Z)")
_PLAIN = {
    False: re.compile(r"(?:(?!:(?:\s|\Z))(?!(?<=[ \t])#)[^\n])+"),
    True: re.compile(r"(?:(?!:(?:[\s,}\]]|\Z))(?!(?<=[ \t])#)[^\n,{}\[\]])+"),
}
"""A text without quotes, by whether it stands in brackets."""
_SKIPPED = frozenset({"newline", "comment"})
_STARTS = ("", "newline", "indent")
"""What stands before the first token of a line with content."""
_ENDS = {"[": "]", "{": "}"}


class _Token(NamedTuple):
    kind: str
    """Its sign, or `text`, `quoted`, `indent`, `newline`, `comment`, `mark`, `end`."""
    start: int
    column: int
    """The number of signs before it in its line; of an `indent` what it has."""


def stop(header: str) -> int | None:
    """The offset at which VS Code stops reading the keys of a header; None if it reads all of it.

    None as well where brackets or quotes never close, as it takes all the rest for their text, and where lists nest
    too deep to follow.
    """
    parser = _Parser([*_tokens(header)])
    parser.skip()
    if parser.kind == "end":
        return None
    start = parser.tokens[parser.at].start
    is_keys = parser.is_key()
    try:
        parser.value(-1)
    except RecursionError:
        return None
    parser.skip()
    if parser.is_open or (is_keys and parser.kind == "end"):
        return None
    return parser.tokens[parser.at].start if is_keys else start


def _tokens(text: str) -> Iterator[_Token]:
    at, depth, before = 0, 0, ""
    owner = 0  # the column of the key or the dash to which a block of text belongs
    line = 0
    while at < len(text):
        column = at - line
        if column == 0 and (blanks := _BLANKS.match(text, at)) and blanks[0]:
            yield _Token("indent", at, len(blanks[0]))
            at, before = blanks.end(), "indent"
            continue
        if column == 0 and (mark := _END_OF_DOCUMENT.match(text, at)):
            yield _Token("mark", at, 0)
            at = mark.end()
            continue
        kind, end, depth = _next(text, at, depth, before)
        if kind == "block":
            end = _end_of_block(text, end, owner)
            kind = "quoted"
        if kind in ("text", "quoted", "-"):
            owner = column if kind == "-" or before in (*_STARTS, "-") else owner
        if kind:
            yield _Token(kind, at, column)
            before = kind
        if (last := text.rfind("\n", at, end)) >= 0:
            line = last + 1
        at = end
    yield _Token("end", at, 0)


def _next(text: str, at: int, depth: int, before: str) -> tuple[str, int, int]:
    """The kind of a token, the offset of its end, and the depth of brackets behind it; no kind for what is skipped."""
    sign, after = text[at], text[at + 1 : at + 2]
    ends = after in ("", " ", "\t", "\n")
    if sign == "\n":
        return "newline", at + 1, depth
    if sign in " \t":
        return "", at + 1, depth
    if sign == "#" or (sign == "%" and before in _STARTS):
        rest = _REST.match(text, at)
        return "comment" if sign == "#" else "", rest.end() if rest else at + 1, depth
    if sign in _ENDS:
        return sign, at + 1, depth + 1
    if depth and sign in "]},":
        return sign, at + 1, depth - (sign != ",")
    if sign == "-" and ends:
        return sign, at + 1, depth
    if sign == ":" and (ends or (depth and (after in ",}]" or before in ("quoted", "]", "}")))):
        return sign, at + 1, depth
    if sign in "'\"" and (quoted := _QUOTED.match(text, at)):
        is_closed = len(quoted[0]) > 1 and quoted[0].endswith(sign)
        return "quoted" if is_closed else "open", quoted.end(), depth
    if sign in "|>" and not depth and (block := _BLOCK.match(text, at)):
        return "block", block.end(), depth
    plain = _PLAIN[bool(depth)].match(text, at)
    return "text", plain.end() if plain else at + 1, depth


def _end_of_block(text: str, at: int, owner: int) -> int:
    """The offset behind the lines that are blank, or indented deeper than their key."""
    while at < len(text):
        end = text.find("\n", at + 1)
        line = text[at + 1 : end if end >= 0 else len(text)]
        if line.strip() and len(line) - len(line.lstrip(" ")) <= owner:
            return at
        at = end if end >= 0 else len(text)
    return at


class _Parser:
    """The walk over the tokens of a header, which keeps nothing but the place."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.is_open = any(each.kind == "open" for each in tokens)

    @property
    def kind(self) -> str:
        return self.tokens[self.at].kind

    def _kind(self, ahead: int) -> str:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)].kind

    def _indent(self) -> int:
        return self.tokens[self.at].column if self.kind == "indent" else 0

    def skip(self) -> None:
        """Moves to the next token with content, and its indent."""
        while self.kind in _SKIPPED or (self.kind == "indent" and self._kind(1) in (*_SKIPPED, "end")):
            self.at += 1

    def is_key(self) -> bool:
        """Whether a key follows."""
        ahead = int(self.kind == "indent")
        return self._kind(ahead) in ("text", "quoted") and self._kind(ahead + 1) == ":"

    def value(self, parent: int) -> None:
        """Moves behind a value that is indented deeper than `parent`."""
        self.skip()
        ahead = int(self.kind == "indent")
        first = self._kind(ahead)
        if first in _ENDS:
            self.at += ahead
            self._brackets()
        elif first == "-":
            self._list(self._indent())
        elif self.is_key():
            self._table(self._indent())
        elif first in ("text", "quoted"):
            self.at += ahead
            self._text(parent)

    def _text(self, parent: int) -> None:
        """Moves behind a text, and the further lines of it if it has no quotes."""
        is_plain = self.kind == "text"
        self.at += 1
        while is_plain and self.kind == "newline":
            start = self.at
            while self.kind == "newline" or (self.kind == "indent" and self._kind(1) in ("newline", "end")):
                self.at += 1
            ahead = int(self.kind == "indent")
            first = self._kind(ahead)
            is_more = self._indent() > parent and (
                first == "-" or (first in ("text", "quoted") and self._kind(ahead + 1) != ":")
            )
            if not is_more:
                self.at = start
                return
            self.at += ahead + 1 + (first == "-" and self._kind(ahead + 1) in ("text", "quoted"))

    def _table(self, base: int, *, is_in_item: bool = False) -> None:
        if is_in_item:
            self._entry(base)
        while self.kind != "end":
            self.skip()
            # A line that is indented deeper is read all the same.
            if self._indent() < base or not self.is_key():
                return
            self._entry(base)

    def _entry(self, base: int) -> None:
        self.at += int(self.kind == "indent") + 2
        if self.kind in _ENDS:
            self._brackets()
            return
        if self.kind in ("text", "quoted"):
            self._text(base)
            return
        self.skip()
        is_list = self._indent() == base and self._kind(int(self.kind == "indent")) == "-"
        if self.kind != "end" and (is_list or self._indent() > base):
            self.value(base)

    def _list(self, base: int) -> None:
        is_first = True
        while self.kind != "end":
            self.skip()
            own = self.tokens[self.at].column if is_first and self.kind == "-" else self._indent()
            ahead, is_first = int(self.kind == "indent"), False
            if own < base or self._kind(ahead) != "-":
                return
            self.at += ahead + 1
            self._item(base)

    def _item(self, base: int) -> None:
        token = self.tokens[self.at]
        if self.kind in _ENDS:
            self._brackets()
        elif self.kind == "-":
            self._list(token.column)
        elif self.kind in ("text", "quoted"):
            if self._kind(1) == ":":
                self._table(token.column, is_in_item=True)
            else:
                self._text(base)
        else:
            self.skip()
            if self._indent() > base:
                self.value(base)

    def _brackets(self) -> None:
        """Moves behind the bracket that closes the next one."""
        open_ = []
        while self.kind != "end":
            if self.kind in _ENDS:
                open_.append(_ENDS[self.kind])
            elif open_ and self.kind == open_[-1]:
                open_.pop()
            self.at += 1
            if not open_:
                return
        self.is_open = True
