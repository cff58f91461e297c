"""`init`: a new workspace from a template."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from llmdo.base import resources
from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.scaffold import files
from llmdo.scaffold.team import TeamAnswers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_LINES = {".gitattributes": "llmdo.lock text eol=lf", ".gitignore": ".llmdo/"}
"""Files that others write too: only the missing line is appended."""

_SCHEMAS = {"schemas/llmdo-manifest.json": "manifest.json", "schemas/llmdo-worker.json": "worker.json"}
"""Copied into the workspace, so that the editor lines name an existing file, offline too."""

_BLANK = re.compile(r"\{\{([a-z-]+)\}\}")


def templates() -> tuple[str, ...]:
    """The names of the templates, sorted."""
    return tuple(sorted(folder.name for folder in resources.folder("templates").iterdir() if folder.is_dir()))


def init(
    directory: Path, template: str, *, force: bool, values: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Makes `directory` a workspace from a template; returns the POSIX paths of the written files, in order.

    `values` are for the blanks of the template `team`, which has some of its own.

    Equal files are left alone. `force` replaces different ones; links and folders are never replaced, and nothing is
    written through a link.

    Raises:
        LlmdoError: there is no such template, something is in the way (then nothing was written), or the
            file system refuses.
    """
    if directory.exists() and not directory.is_dir():
        raise LlmdoError(f"`{directory}` is not a folder", exit_code=1)
    values = {"name": workspace_name(directory), **(values or TeamAnswers().values())}
    return write_new(directory, _contents(directory, template, values), force=force)


def write_new(directory: Path, contents: Mapping[str, bytes], *, force: bool) -> tuple[str, ...]:
    """Writes the files of a new workspace, as `init` does."""
    blocked = {path: reason for path in contents if (reason := files.obstacle(directory, path))}
    current = {path: files.read(directory, path) for path in contents if path not in blocked}
    missing = {path: content for path, content in contents.items() if current.get(path) != content}
    if not force:
        different = (path for path in missing if current.get(path) is not None and path not in _LINES)
        blocked |= dict.fromkeys(different, "exists and says something else")
    if blocked:
        raise LlmdoError(
            "; ".join(f"`{path}` {reason}" for path, reason in sorted(blocked.items())),
            hint=None if force else "nothing was written; `--force` replaces files, never a link or a folder",
            exit_code=1,
        )
    for path, content in missing.items():
        files.write(directory, path, content)
    return tuple(missing)


def workspace_name(directory: Path) -> str:
    """The name of the folder, as near as the rules for names allow."""
    plain = unicodedata.normalize("NFKD", directory.resolve().name).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", plain)
    return re.sub(r"^[^A-Za-z]+", "", name)[:64].rstrip("-") or "workspace"


def _contents(directory: Path, template: str, values: Mapping[str, str]) -> dict[str, bytes]:
    """Every file of the new workspace with its content, in order of path."""
    if template not in templates():
        raise LlmdoError(
            f"there is no template `{template}`",
            hint=did_you_mean(template, templates()) or f"there are {_listed(templates())}",
        )
    folder = resources.folder("templates") / template
    texts = {
        file.relative_to(folder).as_posix(): file.read_text("utf-8")
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts  # installers compile the Python files
    }
    contents = {_filled(path, values): _filled(text, values).encode() for path, text in texts.items()}
    contents |= {path: resources.read("schemas", schema).encode() for path, schema in _SCHEMAS.items()}
    return with_lines(directory, contents)


def with_lines(directory: Path, contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files with those in which a workspace needs a line, in order of path.

    Raises:
        LlmdoError: The directory is something else.
    """
    if directory.exists() and not directory.is_dir():
        raise LlmdoError(f"`{directory}` is not a folder", exit_code=1)
    lines = {path: _with_line(directory, path, line) for path, line in _LINES.items()}
    return dict(sorted({**contents, **lines}.items()))


def _filled(text: str, values: Mapping[str, str]) -> str:
    """`text` with the values of its blanks, such as `{{name}}`; other braces stay."""
    return _BLANK.sub(lambda blank: values.get(blank[1], blank[0]), text)


def _with_line(directory: Path, path: str, line: str) -> bytes:
    """The file at `path`, with `line` added if missing."""
    current = b"" if files.obstacle(directory, path) else files.read(directory, path) or b""
    if line.encode() in (existing.strip() for existing in current.split(b"\n")):
        return current
    end = b"\r\n" if b"\r\n" in current else b"\n"
    gap = end if current and not current.endswith(b"\n") else b""
    return current + gap + line.encode() + end


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
