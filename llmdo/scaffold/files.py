"""Writing into a workspace: every file whole or not at all, never through a link; and values as text of our formats."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError

if TYPE_CHECKING:
    from pathlib import Path


def obstacle(root: Path, path: str) -> str | None:
    """The obstacle to a file at `path`, a POSIX path below `root`, as a phrase to follow the path.

    None if `path` is free or a regular file, with only folders, or nothing, on the way to it.
    """
    at = root
    *folders, _name = path.split("/")
    for folder in folders:
        at = at / folder
        mode = _mode(at)
        if mode is None:
            return None
        if not stat.S_ISDIR(mode):
            return f"is reached through `{folder}`, which is {_kind(mode)}"
    mode = _mode(root / path)
    return None if mode is None or stat.S_ISREG(mode) else f"is {_kind(mode)}"


def read(root: Path, path: str) -> bytes | None:
    """The bytes of the file at `path`, which has no `obstacle`; None without a file."""
    try:
        return (root / path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _failure("read", path, error) from error


def write(root: Path, path: str, content: bytes) -> None:
    """Writes `content` to `path`, which has no `obstacle`, in one step; an existing file keeps its mode.

    Raises:
        LlmdoError: the file system refuses.
    """
    target = root / path
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if (mode := _mode(target)) is not None:
                temporary.chmod(stat.S_IMODE(mode))
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise _failure("write", path, error) from error


def remove(root: Path, path: str) -> None:
    """Deletes the file at `path`.

    Raises:
        LlmdoError: the file system refuses.
    """
    try:
        (root / path).unlink()
    except OSError as error:
        raise _failure("remove", path, error) from error


def _mode(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _failure("read", path.name, error) from error


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a link, which llmdo does not follow"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a file" if stat.S_ISREG(mode) else "neither a file nor a folder"


def _failure(verb: str, path: str, error: OSError) -> LlmdoError:
    return LlmdoError(f"cannot {verb} `{path}`: {(error.strerror or str(error)).lower()}")


_BARE = re.compile(r"[A-Za-z0-9_-]+")


def yaml(value: object) -> str:
    """A value in YAML: JSON with all unprintable characters escaped."""
    plain = json.dumps(value, ensure_ascii=False)
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in plain)


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NO_TEXT = frozenset({"null", "true", "false"})


def yaml_word(text: str) -> str:
    """A text in YAML, without quotes where it is a mere name."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _NO_TEXT else yaml(text)


def toml(value: object) -> str:
    """A value in TOML, with tables inline."""
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{toml_key(key)} = {toml(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return toml_text(str(value))


def toml_text(text: str) -> str:
    """A text in TOML, which escapes as YAML does."""
    return yaml(text)


def toml_key(*names: str) -> str:
    """A key in TOML, dotted if there are several names."""
    return ".".join(name if _BARE.fullmatch(name) else toml_text(name) for name in names)
