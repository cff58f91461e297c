"""Keys of a header that are lists or tables, of which js-yaml 3, by which opencode reads headers, makes texts.

`model: {{MODEL}}` of a template is a table whose key is a table: its text is `[object Object]` (watched with 1.18.33).
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING

import yaml

from llmdo.syntax.header import HEADER_BOUNDS, LOADER
from llmdo.syntax.plain import WORDS

if TYPE_CHECKING:
    from yaml import Event

_TABLE = "[object Object]"
_MERGE = "<<"
"""The key that may stand twice."""


class _Node:
    """A list or a table whose end is still to come."""

    __slots__ = ("at_key", "is_key", "is_table", "keys", "start", "texts")

    def __init__(self, event: Event, *, is_key: bool) -> None:
        self.start = _index(event.start_mark)
        self.is_key = is_key
        self.is_table = isinstance(event, yaml.MappingStartEvent)
        self.at_key = self.is_table
        self.texts: list[str | None] = []
        """The items of a list as they stand in a key; None for a list, which no key takes."""
        self.keys: set[str] = set()

    def take(self, text: str | None) -> bool:
        """Whether a key, a value or an item may stand here; None is that of a list."""
        if not self.is_table:
            self.texts.append(text)
        elif self.at_key:
            if text is None or (text in self.keys and text != _MERGE):
                return False
            self.keys.add(text)
        self.at_key = self.is_table and not self.at_key
        return True

    @property
    def text(self) -> str | None:
        """The text that is made of it in a key; None of a list in a list, with which no header is read."""
        if self.is_table:
            return _TABLE
        if not self.is_key:
            return None
        items = [each for each in self.texts if each is not None]
        return ",".join(items) if len(items) == len(self.texts) else None


def with_text_keys(header: str) -> str | None:
    """A header with the texts that are made of its keys; None if js-yaml takes one of them for a mistake."""
    texts: list[tuple[int, int, str]] = []
    opened: list[_Node] = []
    try:
        for event in islice(yaml.parse(header, Loader=LOADER), HEADER_BOUNDS.events):
            if isinstance(event, yaml.CollectionStartEvent):
                opened.append(_Node(event, is_key=bool(opened) and opened[-1].at_key))
                continue
            node = opened.pop() if isinstance(event, yaml.CollectionEndEvent) else None
            text = node.text if node else _text(event)
            if (
                opened
                and isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent)
                and not opened[-1].take(text)
            ):
                return None
            if node and node.is_key and not any(each.is_key for each in opened):
                texts.append((node.start, _index(event.end_mark), text or ""))
    except yaml.YAMLError:
        return None
    for start, end, text in reversed(texts):
        breaks = "\n" * header.count("\n", start, end)
        header = f"{header[:start]}{json.dumps(text, ensure_ascii=False)}{breaks}{header[end:]}"
    return header


def _index(mark: object) -> int:
    """The offset of a mark in the text, which whatever was parsed has."""
    return int(getattr(mark, "index", 0))


def _text(event: Event) -> str:
    """The text of a scalar within a key; an alias has one of its own."""
    if not isinstance(event, yaml.ScalarEvent):
        return f"*{getattr(event, 'anchor', '')}"
    word = WORDS.get(event.value, event.value) if event.implicit[0] else event.value
    return "" if word is None else str(word).lower() if isinstance(word, bool) else event.value
