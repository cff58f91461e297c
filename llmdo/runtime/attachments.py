"""Files that a caller hands to a worker: found through the path map, confined, limited, and made content."""

from __future__ import annotations

import asyncio
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import BinaryContent

from llmdo.graph.inventory import READ
from llmdo.policy.authority import Capability
from llmdo.policy.secret_files import protected
from llmdo.toolsets.media import media_type, text_of
from llmdo.toolsets.refusal import PathRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_ai.messages import UserContent

    from llmdo.graph.worker import Worker
    from llmdo.toolsets.confinement import Root
    from llmdo.toolsets.pathmap import PathMap

DEFAULT_MAX_BYTES = 10_000_000  # a file; what the design gives as the default of `max-bytes`
DEFAULT_MAX = 100  # files of one call, where the worker names no `max`
MAX_TOTAL_BYTES = 50_000_000  # of one call; a worker whose `max-bytes` is more takes that much in all

_DOCUMENTS = {
    ".txt": "text/plain",
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".htm": "text/html",
    ".html": "text/html",
}
"""Text that providers know as documents; all other text is handed over as part of the prompt."""


def raised_by(path: str, paths: PathMap) -> frozenset[Capability]:
    """What handing over `path` raises; of unknown scope where it stands for no file of the workspace.

    A name that mostly stands for a secret counts on both sides of the path map.
    """
    try:
        real = paths.resolve(path)
    except PathRefused:
        return frozenset({READ})
    return frozenset({Capability(READ.name, real)}) | protected(real) | protected(path, real)


async def load(worker: Worker, given: Sequence[str], paths: PathMap, confined: Root) -> list[UserContent]:
    """The content of the files that `worker` is handed, each after a line that says its name.

    Raises:
        ToolFailed: One of them cannot be handed over; says which as the caller named it, and why.
    """
    most = DEFAULT_MAX if worker.attachments.max is None else worker.attachments.max
    if len(given) > most:
        raise ToolFailed(f"`{worker.name}` takes at most {most} attachments, not {len(given)}")
    content: list[UserContent] = []
    most_bytes = max(MAX_TOTAL_BYTES, worker.attachments.max_bytes or 0)
    left = most_bytes
    for path in given:
        real, data = await _read(worker, path, paths, confined)
        left -= len(data)
        if left < 0:
            raise ToolFailed(
                f"`{worker.name}` was not called: with `{path}`, its attachments are more than {most_bytes:,} bytes"
            )
        content.extend(_content(path, real, data))
    return content


async def load_one(worker: Worker, path: str, paths: PathMap, confined: Root) -> list[UserContent]:
    """The content of one file; `path` is what the caller calls it.

    Raises:
        ToolFailed: As `load`.
    """
    return _content(path, *await _read(worker, path, paths, confined))


async def _read(worker: Worker, path: str, paths: PathMap, confined: Root) -> tuple[str, bytes]:
    """The real path of a file and what it holds."""
    limits = worker.attachments
    try:
        real = paths.resolve(path)
        suffix = PurePosixPath(real).suffix.lower()
        if limits.suffixes is not None and suffix not in {allowed.lower() for allowed in limits.suffixes}:
            accepted = ", ".join(limits.suffixes) or "none"
            raise ToolFailed(f"`{worker.name}` does not take `{path}`: it accepts {accepted}")
        most = DEFAULT_MAX_BYTES if limits.max_bytes is None else limits.max_bytes
        return real, await asyncio.to_thread(confined.read, real, most)
    except PathRefused as error:
        raise ToolFailed(f"`{path}` {error.reason}") from error


def _content(path: str, real: str, data: bytes) -> list[UserContent]:
    if not data:
        return [f"File `{path}` is empty."]  # providers refuse a document of no bytes
    text = text_of(data)
    media = media_type(real)
    if media is None and text is not None:
        media = _DOCUMENTS.get(PurePosixPath(real).suffix.lower())
    if media is not None:
        return [f"File `{path}`:", BinaryContent(data, media_type=media, identifier=path)]
    if text is None:
        known = PurePosixPath(real).suffix.lower() in _DOCUMENTS
        what = "not UTF-8 text" if known else "neither UTF-8 text nor a file of a kind that models take"
        raise ToolFailed(f"`{path}` is {what}")
    return [f"File `{path}`:\n{text}"]
