"""The sketch of a lock's text: enough to see whether it is the lock of a graph, at a fraction of its size."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from llmdo.syntax import toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.base.source import Source
    from llmdo.base.values import Json

_BLOCK = 64 * 1024  # characters


class Sketch(NamedTuple):
    """A lock that was read."""

    blocks: tuple[bytes, ...]
    """The digest of each block of its text."""
    toolsets: Json
    """The data of the toolsets and their tools at its end; None if it is not TOML."""

    def is_of(self, pieces: Iterable[str]) -> bool:
        """Whether the joined pieces are exactly its text; stops at the first other block."""
        blocks = iter(self.blocks)
        return all(block == next(blocks, None) for block in _blocks(pieces)) and next(blocks, None) is None


def sketch(source: Source) -> Sketch:
    """The sketch of the lock in `source`."""
    text = source.text
    start = text.find("\n[toolset.")
    tables = toml.data_of(text[start:]) if start >= 0 else None
    cut = (text[at : at + _BLOCK] for at in range(0, len(text), _BLOCK))
    return Sketch(tuple(_blocks(cut)), (tables or {}).get("toolset"))


def _blocks(pieces: Iterable[str]) -> Iterator[bytes]:
    held: list[str] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        while size >= _BLOCK:
            text = "".join(held)
            yield _digest(text[:_BLOCK])
            held, size = [text[_BLOCK:]], size - _BLOCK
    yield _digest("".join(held))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
