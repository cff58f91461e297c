"""Lists of tools, as agents, commands and skills have them: in YAML, or as one text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.foreign import reading
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.syntax.document import Document

_ITEM = re.compile(r"[^\s,()\"'\[\]]+(?:\((?:[^()]|\([^()]*\))*\))?")
"""A tool in a text that separates several by commas or blanks, with its parentheses."""

Item = tuple[str, str | None, Place]
"""A tool, the text in its parentheses, and its place."""


def items_in(document: Document, key: str) -> Iterator[Item]:
    """The tools that a header lists at `key`."""
    value = document.data.get(key)
    items: list[object] = value if isinstance(value, list) else []
    if isinstance(value, str):
        items = _ITEM.findall(value)
    document = reading.with_items(document, key, _ITEM)
    for number, item in enumerate(items):
        tool, _, pattern = item.strip().partition("(") if isinstance(item, str) else ("", "", "")
        if tool:
            yield tool.strip(), pattern.removesuffix(")") if pattern else None, Place(document, (key, number))
