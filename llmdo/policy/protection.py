"""Names that govern a run: a write to one of them raises `fs.write.protected` as well."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from llmdo.policy.secret_files import folded

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMES = frozenset({
    "llmdo.toml", "llmdo.lock", ".llmdo",
    ".git", ".gitattributes", ".gitmodules", ".pre-commit-config.yaml",
    ".github", ".gitlab-ci.yml", ".circleci",
    ".vscode", ".idea", ".devcontainer", ".cursor", ".claude",
    ".env", ".envrc",
    "conftest.py", "sitecustomize.py", "usercustomize.py",
})  # fmt: skip
_PERSONAL = ("llmdo", "policy.toml")  # where the workspace is a home folder
_ENDINGS = (".worker", ".worker.md", ".pth")
_COMPILED = (".pyc", ".so", ".pyd")  # modules that Python may take instead of the source beside them


def is_protected(path: str, also: Iterable[str] = ()) -> bool:
    """Whether a part of `path` has a protected name, or it is one of `also` or lies below one.

    Names are compared as the least strict file system compares them.
    """
    parts = folded(path)
    if any(name in _NAMES or name.endswith(_ENDINGS) for name in parts) or parts[-2:] == _PERSONAL:
        return True
    governing = _all_folded(frozenset(also))
    of_source = _of_source(parts)
    return of_source in governing or any(parts[:length] in governing for length in range(1, len(parts) + 1))


@lru_cache(maxsize=64)  # a run asks about thousands of paths, and what governs it stays the same
def _all_folded(paths: frozenset[str]) -> frozenset[tuple[str, ...]]:
    return frozenset(map(folded, paths))


def _of_source(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Where the source of a compiled module would be; `parts` itself where it is none."""
    if not parts or not parts[-1].endswith(_COMPILED):
        return parts
    folder = parts[:-2] if parts[-2:-1] == ("__pycache__",) else parts[:-1]
    return (*folder, f"{parts[-1].partition('.')[0]}.py")
