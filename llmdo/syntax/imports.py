"""The possible paths of the modules that a Python file imports."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmdo.syntax.module import Outline

MAX_PACKAGES = 32  # levels of a dotted import that are looked for


def import_candidates(path: str, outline: Outline) -> tuple[str, ...]:
    """The paths of the modules that the file at `path` imports, if they were files of the workspace.

    The packages around it are among them: whoever imports it by its name runs them first.
    """
    return _import_candidates(path.rpartition("/")[0], outline.imports)


@lru_cache(maxsize=1_024)  # the modules of one folder mostly import the same
def _import_candidates(parent: str, imports: tuple[str, ...]) -> tuple[str, ...]:
    folder = parent.split("/") if parent else []
    candidates = [f"{'/'.join(folder[:length])}/__init__.py" for length in range(1, len(folder) + 1)]
    for name in imports:
        dotted = name.lstrip(".")
        level = len(name) - len(dotted)
        if level > len(folder) + 1:
            continue
        base = folder[: len(folder) + 1 - level] if level else []
        parts = dotted.split(".", MAX_PACKAGES)[:MAX_PACKAGES] if dotted else []
        for length in range(1, len(parts) + 1):
            stem = "/".join([*base, *parts[:length]])
            candidates += (f"{stem}.py", f"{stem}/__init__.py")
    return tuple(dict.fromkeys(candidates))
