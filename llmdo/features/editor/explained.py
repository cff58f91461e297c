"""The page about a code that an editor opens: the output of `llmdo explain`, as a file of the person's own."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from llmdo import checks
from llmdo.base import cache as memory
from llmdo.version import __version__


@cache
def page(code: str) -> Path | None:
    """The file that explains `code`; None if the person has no folder to keep it in."""
    try:
        if memory.is_off(os.environ):
            return None
        folder = Path(memory.folder_of_person(os.environ), "explained", __version__)
        target = folder / f"{code}.md"
        text = f"# {checks.explanation(code)}"
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside = target.with_suffix(f".{os.getpid()}")
            beside.write_text(text, encoding="utf-8", newline="\n")
            beside.replace(target)
    except OSError:
        return None
    return target
