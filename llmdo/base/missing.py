"""Files that a person names: whether they are there, and the error about one that is not.

A word may be too long for a path, or hold a character that no path has. `pathlib` raises an error for some of these
before Python 3.14; here they are no file, like any other word.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from llmdo.base.diagnostic import LlmdoError, did_you_mean

FROM_HERE = "its path is relative to this folder"


def is_file(path: str | Path) -> bool:
    """Whether there is a file at the path."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: str | Path) -> bool:
    """Whether there is a folder at the path."""
    return os.path.isdir(path)  # noqa: PTH112


def exists(path: str | Path) -> bool:
    """Whether there is anything at the path."""
    return os.path.exists(path)  # noqa: PTH110


def missing_file(
    name: str, *, of: str = "", folder: Path | None = None, endings: tuple[str, ...] = ("",), hint: str = ""
) -> LlmdoError:
    """The error that no file has the path `name`, seen from `folder`, which is the current one where left out.

    It says in which folder the file was looked for. A file there whose name is like it, and ends in one of `endings`,
    is the hint; else it is `hint`. `of` is the option that names the file.
    """
    base = (folder or Path.cwd()).absolute()
    path = Path(os.path.normpath(base / name))
    lacking, kind = path, "file"
    while not is_folder(lacking.parent):
        lacking, kind = lacking.parent, "folder"
    prefix = f"`{of} {name}`: " if of else ""
    message = f"{prefix}there is no {kind} `{lacking.name}` in `{lacking.parent}`"
    others: list[str] = []
    with suppress(OSError):
        entries = [each for each in lacking.parent.iterdir() if kind == "file" or each.is_dir()]
        others = [each.name for each in entries if kind == "folder" or each.name.endswith(endings)]
    shown = name[: len(name) - len(path.name)] if kind == "file" else ""
    near = did_you_mean(lacking.name, others)
    if near and shown:
        near = near.replace("`", f"`{shown}", 1)
    return LlmdoError(message, hint=near or hint or FROM_HERE)
