"""The attachments that a run starts with, and the sources of their content."""

from __future__ import annotations

import asyncio
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pydantic_ai.messages import BinaryContent

from llmdo.base.diagnostic import LlmdoError
from llmdo.toolsets.paths import PathRefused

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from llmdo.journal.binding import AttachmentKind
    from llmdo.toolsets.confinement import Root


class AttachmentResolver(Protocol):
    """Gives the content of attached files that the gate let through."""

    def read(self, path: str, most: int) -> Awaitable[bytes]:
        """The content of the file at `path` of the workspace, which the path map gave: at most `most` bytes.

        Raises:
            PathRefused: It cannot be read, or is larger.
        """
        ...


@dataclass(frozen=True, slots=True)
class WorkspaceFiles:
    """The files of the workspace themselves."""

    confined: Root

    async def read(self, path: str, most: int) -> bytes:
        """The content of a file, read in a thread."""
        return await asyncio.to_thread(self.confined.read, path, most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """One attachment of an entry."""

    name: str
    """The worker's name for it: a path of the workspace, an alias, or the name of content."""
    kind: AttachmentKind = "file"
    """A file of the workspace, one outside with this alias, or content from a program."""
    outside: Path | None = None
    """The file outside of the workspace; None in a continued run, whose journal holds the content."""
    content: BinaryContent | None = None
    """None as `outside`."""
    stored: Path | None = None
    """The kept copy of an outside file that may have changed since; None: the file itself is read."""


def read_outside(attached: Attached, most: int) -> bytes:
    """The content of a file outside of the workspace, named on the command line.

    Raises:
        PathRefused: It is not a regular file, is larger than `most` bytes, or cannot be read.
    """
    if attached.outside is None:
        raise PathRefused(attached.name, "lies outside of the workspace, and the journal does not hold it")
    try:
        descriptor = os.open(attached.stored or attached.outside, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise PathRefused(attached.name, "is not a regular file")
            data = file.read(most + 1)
    except OSError as error:
        raise PathRefused(attached.name, f"cannot be read: {error.strerror}") from error
    if len(data) > most:
        raise PathRefused(attached.name, f"is larger than {most:,} bytes")
    return data


def attached_of(files: object, root: Path) -> tuple[Attached, ...]:
    """A program's attachments: paths of the workspace, and content of pydantic-ai.

    Raises:
        TypeError: One is something else.
    """
    if isinstance(files, str | bytes | os.PathLike) or not hasattr(files, "__iter__"):
        raise TypeError("`attachments` is a list of paths and of `pydantic_ai.BinaryContent`")
    attached = []
    for each in files:
        if isinstance(each, BinaryContent):
            attached.append(Attached(name=each.identifier, kind="content", content=each))
        elif isinstance(each, str | os.PathLike):
            attached.append(Attached(name=in_workspace(os.fspath(each), root)))
        else:
            raise TypeError(
                f"an attachment is a path or a `pydantic_ai.BinaryContent`, not {type(each).__name__}"
            )
    return tuple(attached)


def in_workspace(path: str, root: Path) -> str:
    """`path` relative to the workspace, if it is absolute and lies in it.

    Raises:
        LlmdoError: It is absolute and lies elsewhere.
    """
    if not os.path.isabs(path):  # noqa: PTH117
        return path
    relative = os.path.relpath(path, root.absolute()).replace(os.sep, "/")
    if relative == ".." or relative.startswith("../"):
        raise LlmdoError(
            f"`{path}` lies outside of the workspace",
            hint=f"give it a name on the command line: `--path NAME={path} --attach NAME`; a program gives its content",
        )
    return relative
