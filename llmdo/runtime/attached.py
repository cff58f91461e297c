"""What whoever starts a run hands to its entry, and where the content of files comes from."""

from __future__ import annotations

import asyncio
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pydantic_ai.messages import BinaryContent

from llmdo.base.diagnostic import LlmdoError
from llmdo.toolsets.refusal import PathRefused

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from llmdo.journal.binding import AttachmentKind
    from llmdo.toolsets.confinement import Root


class AttachmentResolver(Protocol):
    """Gives the content of files that are handed over, once the gate has let them through."""

    def read(self, path: str, most: int) -> Awaitable[bytes]:
        """The content of the file at `path` of the workspace, which the path map gave; `most` bytes of it at most.

        Raises:
            PathRefused: It cannot be read, or is larger.
        """
        ...


@dataclass(frozen=True, slots=True)
class WorkspaceFiles:
    """The files of the workspace themselves."""

    confined: Root

    async def read(self, path: str, most: int) -> bytes:
        """The content of one, read in a thread."""
        return await asyncio.to_thread(self.confined.read, path, most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """One attachment of an entry."""

    name: str
    """What the worker is told that it is called: a path of the workspace, an alias, or the name of content."""
    kind: AttachmentKind = "file"
    """Whether it is a file of the workspace, one outside that has this alias, or content that a program gives."""
    outside: Path | None = None
    """The file outside of the workspace; None in a run that goes on, whose journal holds what was in it."""
    content: BinaryContent | None = None
    """The content; None as `outside`."""
    stored: Path | None = None
    """Where the content of a file outside was kept that may have changed since; None: it is read where it lies."""


def read_outside(attached: Attached, most: int) -> bytes:
    """The content of a file outside of the workspace that a person named on the command line.

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
    """The attachments that a program gives: paths of the workspace, and content of pydantic-ai.

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
    """`path` as the workspace has it, where it is absolute and lies in it.

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
