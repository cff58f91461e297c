"""The text of a lock to data, as `layout` writes it: line by line, four times as fast as TOML in general."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.values import Json

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NAME = re.compile(r'(?:([A-Za-z0-9_-]+)|("[^"\\]*"))(?:\.|$)')
_STRANGE_ESCAPE = re.compile(
    r'\\(?!["nt]|u(?![dD][89a-fA-F])[0-9a-f]{4}|U000(?!0d[89a-f])[0-9a-f]{5}|U0010[0-9a-f]{4})'
)
_LONG_ESCAPE = re.compile(r"(\\\\)|\\U([0-9a-f]{8})")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\.[0-9]+")

MAX_KEYS = 100_000  # of one table: a lock has a table for each thing, with few keys

_DEEPEST = 8


class _OtherLayoutError(Exception):
    """The text may still be TOML, but not in our layout."""


def read(text: str) -> dict[str, Json] | None:
    """The TOML data of `text`; None if it is not laid out as a lock."""
    if _CONTROL.search(text):
        return None
    lock: dict[str, Json] = {}
    table = lock
    lines = iter(text.split("\n"))
    try:
        for line in lines:
            if not line or line[0] == "#":
                continue
            if line[0] == "[":
                table = _table(lock, line)
                continue
            key, _, value = line.partition(" = ")
            if not _BARE.fullmatch(key):
                key = _text(key)
            if key in table or len(table) > MAX_KEYS:
                return None
            table[key] = _list(lines) if value == "[" else _scalar(value)
    except _OtherLayoutError:
        return None
    return lock


def _table(lock: dict[str, Json], line: str) -> dict[str, Json]:
    """The new table that a header names."""
    is_item = line.startswith("[[") and line.endswith("]]")
    if not line.endswith("]"):
        raise _OtherLayoutError
    *parents, last = _names(line[2:-2] if is_item else line[1:-1])
    above = lock
    for name in parents:
        inner = above.setdefault(name, {})
        if not isinstance(inner, dict):
            raise _OtherLayoutError
        above = inner
    new: dict[str, Json] = {}
    if is_item and not parents:
        items = above.setdefault(last, [new])
        if not isinstance(items, list) or not items or not isinstance(items[0], dict):
            raise _OtherLayoutError
        if items[0] is not new:
            items.append(new)
    elif is_item or last in above:
        raise _OtherLayoutError
    else:
        above[last] = new
    return new


def _names(text: str) -> list[str]:
    if text.isascii() and text.replace("_", "").replace("-", "").replace(".", "").isalnum():
        names = text.split(".")
    else:
        names = []
        at = 0
        while at < len(text):
            match = _NAME.match(text, at)
            if match is None:
                raise _OtherLayoutError
            names.append(match[1] or match[2][1:-1])
            at = match.end()
    if not names or "" in names or len(names) > _DEEPEST or text.endswith("."):
        raise _OtherLayoutError
    return names


def _list(lines: Iterator[str]) -> list[Json]:
    items: list[Json] = []
    for line in lines:
        if line == "]":
            return items
        if not line.startswith("    ") or not line.endswith(","):
            break
        items.append(_scalar(line[4:-1]))
    raise _OtherLayoutError


def _scalar(value: str) -> Json:
    if value[:1] == '"':
        return _text(value)
    if value in ("true", "false"):
        return value == "true"
    if _INTEGER.fullmatch(value):
        return int(value)
    if _FLOAT.fullmatch(value):
        return float(value)
    if value == "[]":
        return []
    raise _OtherLayoutError


def _text(value: str) -> str:
    if len(value) < 2 or value[0] != '"' or value[-1] != '"':
        raise _OtherLayoutError
    inner = value[1:-1]
    if "\\" not in inner:
        if '"' in inner:
            raise _OtherLayoutError
        return inner
    if _STRANGE_ESCAPE.search(inner.replace("\\\\", "")):
        raise _OtherLayoutError
    if "\\U" in inner:  # TOML's own, which JSON does not have
        value = _LONG_ESCAPE.sub(lambda match: match[1] or chr(int(match[2], 16)), value)
    try:
        text: str = json.loads(value, strict=False)
    except ValueError:
        raise _OtherLayoutError from None
    return text
