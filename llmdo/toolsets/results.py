"""An MCP server's results for a model: no more than it can use, and no file that it cannot take."""

from __future__ import annotations

from pydantic_ai.messages import BinaryContent
from pydantic_core import PydanticSerializationError, to_json

from llmdo.toolsets.media import MEDIA_TYPES

MAX_TEXT = 100_000  # characters of one result
MAX_FILES = 10  # of one result
MAX_FILE = 10 * 1024 * 1024  # bytes


def capped(result: object) -> object:
    """`result` within the limits for a model; omissions are noted in their place."""
    if isinstance(result, str | BinaryContent):
        return _part(result, MAX_TEXT)
    if not isinstance(result, list) or not any(isinstance(item, BinaryContent) for item in result):
        return _data(result, MAX_TEXT)
    parts: list[object] = []
    left, files = MAX_TEXT, 0
    for item in result:
        files += isinstance(item, BinaryContent)
        if left <= 0 or files > MAX_FILES:
            parts.append(f"[{len(result) - len(parts)} more parts were left out]")
            break
        part = _part(item, left)
        left -= len(part) if isinstance(part, str) else 1
        parts.append(part)
    return parts


def _part(part: object, most: int) -> object:
    if isinstance(part, BinaryContent):
        return _file(part)
    return _cut(part, most) if isinstance(part, str) else _data(part, most)


def _file(content: BinaryContent) -> BinaryContent | str:
    size = f"{len(content.data):,} bytes"
    if content.media_type not in MEDIA_TYPES:
        return f"[a file of {size} was left out: its type is none that models take]"
    return content if len(content.data) <= MAX_FILE else f"[a file of {size} was left out: it is too large]"


def _data(value: object, most: int) -> object:
    try:
        text = to_json(value).decode()
    except (PydanticSerializationError, ValueError):
        return "[the result is not JSON]"
    return value if len(text) <= most else _cut(text, most)


def _cut(text: str, most: int) -> str:
    return (
        text if len(text) <= most else f"{text[:most]}\n[{len(text) - most:,} more characters were left out]"
    )
