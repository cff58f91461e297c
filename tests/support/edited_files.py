"""The files of a copy in which edits are made, each at a place of the text as it was before all of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_HEADER = re.compile(r"\ufeff?---[ \t]*\r?\n(?P<text>.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_PLACE = re.compile(r"(?P<path>.+?):(?P<line>\d+):(?P<column>\d+)")


class NotMadeError(Exception):
    """The reason why an edit in words cannot be made."""


class Pair(NamedTuple):
    """A key with its value in the table or list that holds them; the key of an item is its number."""

    within: yaml.Node
    key: yaml.Node | int
    value: yaml.Node
    route: tuple[str | int, ...]

    @property
    def name(self) -> str | int:
        """The key."""
        return self.route[-1]


class Edited:
    """The files of a copy, with what was changed in each."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._before: dict[str, str] = {}
        self._changes: dict[str, list[tuple[int, int, int]]] = {}
        self._created: list[str] = []

    @property
    def paths(self) -> set[str]:
        """The files that were changed or created."""
        return {*self._changes, *self._created}

    def undo(self) -> None:
        """Brings every file back to what it was."""
        for path, text in self._before.items():
            with (self.root / path).open("w", encoding="utf-8", newline="") as opened:
                opened.write(text)
        for path in self._created:
            (self.root / path).unlink()

    def text(self, path: str) -> str:
        """The text of a file now."""
        file = self.root / path
        if not file.is_file():
            raise NotMadeError(f"no file {path}")
        with file.open(encoding="utf-8", newline="") as opened:
            text = opened.read()
        self._before.setdefault(path, text)
        return text

    def at(self, place: str) -> tuple[str, int | None]:
        """The file of a place in words, and where in its text that place is now."""
        parts = _PLACE.fullmatch(place)
        if parts is None:
            return place, None
        self.text(parts["path"])
        lines = self._before[parts["path"]].splitlines(keepends=True)
        offset = sum(map(len, lines[: int(parts["line"]) - 1])) + int(parts["column"]) - 1
        for start, end, length in self._changes.get(parts["path"], []):
            offset = offset + length - (end - start) if offset >= end else min(offset, start)
        return parts["path"], offset

    def put(self, path: str, start: int, end: int, new: str) -> None:
        """Writes a text in place of a part of a file."""
        text = self.text(path)
        self._changes.setdefault(path, []).append((start, end, len(new)))
        with (self.root / path).open("w", encoding="utf-8", newline="") as opened:
            opened.write(text[:start] + new + text[end:])

    def create(self, path: str, text: str) -> None:
        """Writes a new file."""
        self._created.append(path)
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def delete(self, path: str) -> None:
        """Takes a file away."""
        self.text(path)
        self._changes.setdefault(path, [])
        (self.root / path).unlink()

    def tree(self, path: str) -> yaml.Node:
        """The nodes of a file of YAML or JSON, or of the header of one in Markdown, placed in its whole text."""
        text = self.text(path)
        if path.endswith((".json", ".jsonc")):
            text = _COMMENT.sub(lambda match: match[1] or re.sub(r"[^\n]", " ", match[0]), text)
        elif not path.endswith((".yml", ".yaml", ".agent")) or _HEADER.match(text):
            # Cursor takes a header for one wherever it stands.
            start = text.find("\n---\n") + 1 if path.startswith(".cursor/") and text[:3] != "---" else 0
            header = _HEADER.match(text, start)
            if header is None:
                raise NotMadeError("no header")
            text = re.sub(r"[^\n]", " ", text[: header.start("text")]) + header["text"]
        text = text.replace("\ufeff", " ")
        if path.endswith((".json", ".jsonc")):
            text = text.replace("\t", " ")
        try:
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.YAMLError as error:
            raise NotMadeError("no YAML") from error
        if node is None:
            raise NotMadeError("empty file")
        return node

    def end(self, path: str, node: yaml.Node) -> int:
        """The end of a node without the blank lines and comments after it."""
        if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            return self.end(path, last[1] if isinstance(last, tuple) else last)
        start, end = node.start_mark.index, node.end_mark.index
        return start + len(self.text(path)[start:end].rstrip()) if style_of(node) in ("|", ">") else end

    def chain(self, path: str, offset: int | None) -> list[Pair]:
        """The keys and items around a place, the outermost first."""
        node, route, pairs = self.tree(path), (), []
        while offset is not None:
            pair = next(
                (
                    each
                    for each in pairs_of(node, route)
                    if start_of(each) <= offset <= self.end(path, each.value)
                ),
                None,
            )
            if pair is None:
                break
            pairs.append(pair)
            if isinstance(pair.key, yaml.Node) and offset < pair.key.end_mark.index:
                break
            node, route = pair.value, pair.route
        return pairs

    def insert(self, path: str, table: yaml.Node, line: str) -> None:
        """Writes a line at the end of a table."""
        if not isinstance(table, yaml.MappingNode):
            is_empty = isinstance(table, yaml.ScalarNode) and not table.value
            if not is_empty:
                raise NotMadeError("no table")
            self.put(path, table.start_mark.index, table.end_mark.index, f" {{{line}}}")
        elif not table.value:
            self.put(path, table.start_mark.index, table.end_mark.index, f"{{{line}}}")
        else:
            end = self.end(path, table.value[-1][1])
            indent = " " * table.value[0][0].start_mark.column
            self.put(path, end, end, f", {line}" if table.flow_style else f"\n{indent}{line}")

    def set_pair(self, path: str, pair: Pair, line: str) -> None:
        """Writes a line in place of a key and its value."""
        self.put(path, start_of(pair), self.end(path, pair.value), line)

    def remove(self, path: str, pair: Pair) -> None:
        """Takes a key or an item out."""
        text, start, end = self.text(path), start_of(pair), self.end(path, pair.value)
        within = pair.within
        if len(within.value) == 1:
            empty = "{}" if isinstance(within, yaml.MappingNode) else "[]"
            self.put(path, within.start_mark.index, self.end(path, within), empty)
        elif within.flow_style:
            if after := re.compile(r"\s*,[ \t]*").match(text, end):
                self.put(path, start, after.end(), "")
            else:
                self.put(path, len(text[:start].rstrip().removesuffix(",")), end, "")
        else:
            first = text.rfind("\n", 0, start) + 1
            last = text.find("\n", end)
            self.put(path, first, len(text) if last < 0 else last + 1, "")


def style_of(node: yaml.Node) -> str | None:
    """The quote or sign before a text; None for a plain text, and for what is none."""
    return node.style if isinstance(node, yaml.ScalarNode) else None


def start_of(pair: Pair) -> int:
    """The start of a key, or of an item."""
    node = pair.key if isinstance(pair.key, yaml.Node) else pair.value
    return node.start_mark.index


def pairs_of(node: yaml.Node, route: tuple[str | int, ...] = ()) -> Iterator[Pair]:
    """The keys with their values of a table, or the items of a list."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield Pair(node, key, value, (*route, str(key.value)))
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield Pair(node, number, value, (*route, number))


def below(node: yaml.Node, *keys: str) -> yaml.Node | None:
    """The value below some keys; None if there is none."""
    for key in keys:
        own = next((each for each in pairs_of(node) if each.name == key), None)
        if own is None:
            return None
        node = own.value
    return node


def merged(table: dict[str, object], more: dict[str, object]) -> dict[str, object]:
    """A table with the keys of another one written into it."""
    both = dict(table)
    for key, value in more.items():
        old = both.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            both[key] = merged(old, value)
        else:
            both.pop(key, None)
            both[key] = value
    return both
