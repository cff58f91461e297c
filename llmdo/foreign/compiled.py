"""The workflows that gh-aw compiles: which of the two files of a name counts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.source import Source
from llmdo.foreign import reading

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.foreign.tree import Tree

COMPILED = ".lock.yml"
"""The ending of workflows that gh-aw compiles."""
STARTS = "on"
"""The key without which a file is no workflow of its own."""
_BY_GH_AW = re.compile(r"^#.*\bgh-aw\b", re.MULTILINE)
_INDENTED = re.compile(r"^[ \t]*---[ \t]*$", re.MULTILINE)


def header_of(source: Source, keys: Iterable[str]) -> reading.Text | None:
    """The header of a workflow in Markdown; gh-aw takes lines for its fences that are indented as well."""
    return reading.text(Source(source.path, _INDENTED.sub("---", source.text, count=2)), keys)


def lock_of(path: str, tree: Tree) -> Source | None:
    """The workflow that gh-aw made of the file at `path`; None without one."""
    lock = tree.read(path.removesuffix(".md") + COMPILED)
    return lock[0] if lock and is_compiled(lock[0]) else None


def is_compiled(source: Source) -> bool:
    """Whether gh-aw made a workflow."""
    return source.path.endswith(COMPILED) and _BY_GH_AW.search(source.text[:4_000]) is not None


def is_covered(source: Source, tree: Tree) -> bool:
    """Whether gh-aw made a workflow of a file that its own reader takes for one; what GitHub runs is the lock."""
    read = tree.read(f"{source.path.removesuffix(COMPILED)}.md") if is_compiled(source) else None
    if read is None or read[1]:
        return False
    text = header_of(read[0], (STARTS,))
    return text is not None and STARTS in text.document.data
