"""Names that govern a run: a write to one of them raises `fs.write.protected` as well."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

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


def is_protected(path: str, also: Iterable[str] = ()) -> bool:
    """Whether a part of `path` has a protected name, or it is one of `also` or lies below one.

    Names are compared as the least strict file system compares them: without case, composition and
    invisible characters, and without the dots and blanks that Windows drops from the end of a name.
    """
    parts = _folded(path)
    if any(name in _NAMES or name.endswith(_ENDINGS) for name in parts) or parts[-2:] == _PERSONAL:
        return True
    return any(parts[: len(one)] == one for one in map(_folded, also))


def _folded(path: str) -> tuple[str, ...]:
    visible = "".join(character for character in path if unicodedata.category(character) != "Cf")
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", visible).casefold())
    return tuple(name.rstrip(". ") for name in folded.split("/") if name not in ("", "."))
