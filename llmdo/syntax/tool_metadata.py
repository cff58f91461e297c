"""The metadata of a tool, as far as the text of its module shows it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import nearest

if TYPE_CHECKING:
    from llmdo.base.source import Span
    from llmdo.syntax.tree import Places

DECLARING = "capabilities"
"""The key of a tool's metadata with the possible effects of its calls."""

PROBING = "probe"
"""The key with the function that says whether a call took effect."""

TARGETS = "targets"
"""The key with the arguments that name the targets of a tool."""

READ = (DECLARING, PROBING, "retry", TARGETS)
"""The keys of a tool's metadata that llmdo reads."""


def declared(metadata: ast.expr | None, inherited: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The capabilities in a literal `metadata`, `inherited` if it names none; None if it cannot be read.

    A key that can only be meant for them counts as such: nothing runs before it is spelt right.
    """
    if metadata is None or (isinstance(metadata, ast.Constant) and metadata.value is None):
        return inherited
    if not isinstance(metadata, ast.Dict) or len(keys := dict(_keys(metadata))) < len(metadata.keys):
        return None
    values = dict(zip(keys, metadata.values, strict=True))
    meant = DECLARING if DECLARING in values else next(filter(means_capabilities, values), None)
    return _texts(values[meant]) if meant else inherited


def means_capabilities(key: str) -> bool:
    """Whether a key of metadata can only be a misspelt `capabilities`."""
    return key != DECLARING and nearest(key.lower(), (DECLARING,)) is not None


def _keys(metadata: ast.expr | None) -> list[tuple[str, ast.expr]]:
    """The keys of a literal table that are plain text."""
    if not isinstance(metadata, ast.Dict):
        return []
    return [
        (key.value, key)
        for key in metadata.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    ]


def other_keys(metadata: ast.expr | None, places: Places) -> tuple[tuple[str, Span], ...]:
    """The keys that llmdo does not know, and their places."""
    return tuple((text, places.span(key)) for text, key in _keys(metadata) if text not in READ)


def probe(metadata: ast.expr | None, places: Places) -> tuple[str, Span] | None:
    """The name of the probe in a literal `metadata`, and its place."""
    if isinstance(metadata, ast.Dict):
        for key, value in zip(metadata.keys, metadata.values, strict=True):
            match key, value:
                case ast.Constant(value="probe"), ast.Constant(value=str(name)):
                    return name, places.span(value)
    return None


def is_silent(metadata: ast.expr | None) -> bool:
    """Whether the text shows that metadata says nothing about capabilities."""
    return not may_state(metadata, DECLARING)


def may_state(metadata: ast.expr | None, key: str) -> bool:
    """Whether metadata has a key, or may have it, as far as the text shows."""
    if metadata is None or (isinstance(metadata, ast.Constant) and metadata.value is None):
        return False
    keys = _keys(metadata)
    return not isinstance(metadata, ast.Dict) or len(keys) < len(metadata.keys) or key in dict(keys)


def _texts(node: ast.expr) -> tuple[str, ...] | None:
    if not isinstance(node, ast.List | ast.Tuple):
        return None
    texts = [
        item.value for item in node.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)
    ]
    return tuple(texts) if len(texts) == len(node.elts) else None
