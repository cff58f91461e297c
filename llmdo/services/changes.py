"""Changes of a workspace's files, reported by the system instead of polling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchfiles import Change, DefaultFilter
from watchfiles._rust_notify import (
    RustNotify,
)  # `watch` begins to listen only when it is asked for the first change

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOGETHER = 100
"""Milliseconds: changes within them are one, as an editor makes several for one save."""

UNTIL_INTERRUPTED = 5_000
"""Milliseconds between looks for an interruption."""


def changes(root: Path) -> Iterator[None]:
    """Yields once when it has begun to listen, and then once for each batch of changes.

    Raises:
        KeyboardInterrupt: Somebody ended it.
    """
    counts = DefaultFilter(ignore_dirs=(*DefaultFilter.ignore_dirs, ".llmdo"))
    with RustNotify([str(root)], False, False, 300, True, True) as listener:  # noqa: FBT003  # it takes no names
        yield
        while True:
            event = listener.watch(TOGETHER, TOGETHER // 2, UNTIL_INTERRUPTED, None)
            if event == "signal":
                raise KeyboardInterrupt
            if isinstance(event, set) and any(counts(Change(kind), path) for kind, path in event):
                yield
