"""The nearest folder with a file, from one folder upwards.

Without `pathlib`, which an answer from memory cannot afford.
"""

from __future__ import annotations

import os

MANIFEST = "llmdo.toml"


def nearest(folder: str, name: str, *, is_file: bool = True) -> str | None:
    """The absolute `folder`, or the first above it, that has `name` in it; None if none has.

    With `is_file` only a file of that name counts, or a link to one.
    """
    holds = os.path.isfile if is_file else os.path.exists
    while not holds(f"{folder.rstrip('/')}/{name}"):
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            return None
        folder = above
    return folder
