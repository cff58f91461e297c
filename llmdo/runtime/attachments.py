"""The attachments of a worker, by its caller or at its start: mapped, limited, and made content."""

from __future__ import annotations

import asyncio
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import BinaryContent

from llmdo.base.diagnostic import LlmdoError
from llmdo.graph.builtin import ENTRY_SIDE
from llmdo.graph.toolkit import READ
from llmdo.journal.entries import HANDED
from llmdo.policy.authority import Capability
from llmdo.policy.protection import protected
from llmdo.runtime.attached import Attached, read_outside
from llmdo.runtime.gate.call import Call
from llmdo.runtime.gate.decisions import judge
from llmdo.runtime.gate.labelling import add_kept, context_of_code, labels_for, opened
from llmdo.runtime.place import require_no_probe
from llmdo.toolsets.media import endings_of, media_type, text_of
from llmdo.toolsets.paths import PathMap, PathRefused
from llmdo.toolsets.python import sentence_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_ai.messages import UserContent

    from llmdo.graph.worker import Worker
    from llmdo.runtime.attached import AttachmentResolver
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame


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
"""Text that providers take as documents; other text becomes part of the prompt."""


def raised_by(path: str, paths: PathMap) -> frozenset[Capability]:
    """The capabilities raised by attaching `path`; of unknown scope if it names no file of the workspace.

    A name that mostly stands for a secret counts on both sides of the path map.
    """
    try:
        real = paths.resolve(path)
    except PathRefused:
        return frozenset({READ})
    return frozenset({Capability(READ.name, real)}) | protected(real) | protected(path, real)


def raised_by_attached(attached: Attached, paths: PathMap) -> frozenset[Capability]:
    """The capabilities raised by an attachment of an entry; none for a program's content, as for its input.

    An outside file has no scope that a rule or a ceiling could name.
    """
    if attached.kind == "file":
        return raised_by(attached.name, paths)
    if attached.kind == "content":
        return frozenset()
    names = (attached.name, *(attached.outside.parts if attached.outside else ()))
    return frozenset({READ}).union(
        *({Capability(secret.name) for secret in protected(name)} for name in names if name.strip("/"))
    )


async def load(
    worker: Worker, files: Sequence[str | Attached], paths: PathMap, resolver: AttachmentResolver
) -> list[UserContent]:
    """The content of the files given to `worker`, each after a line with its name.

    Raises:
        ToolFailed: One cannot be attached; gives the caller's name for it and the reason.
    """
    if fault := _excess(worker, len(files)):
        raise ToolFailed(fault)
    content: list[UserContent] = []
    most_bytes = max(MAX_TOTAL_BYTES, worker.attachments.max_bytes or 0)
    left = most_bytes
    for each in files:
        attached = Attached(name=each) if isinstance(each, str) else each
        parts, size = await _loaded(worker, attached, paths, resolver)
        left -= size
        if left < 0:
            raise ToolFailed(
                f"`{worker.name}` was not called: with `{attached.name}`, its attachments are more than "
                f"{most_bytes:,} bytes"
            )
        content.extend(parts)
    return content


def require_accepted(worker: Worker, files: Sequence[Attached], aliases: Mapping[str, str]) -> None:
    """Check that `worker` takes as many files as these, and of their kinds, before anybody is asked for them.

    Raises:
        LlmdoError: It does not.
    """
    paths, fault = PathMap.of(aliases), _excess(worker, len(files))
    try:
        for attached in files:
            real = attached.outside.name if attached.outside else paths.resolve(attached.name)
            _require_suffix(worker, attached.name, [PurePosixPath(real).suffix])
    except ToolFailed as failed:
        fault = fault or failed.message
    if fault:
        raise LlmdoError(fault, hint=f"what `{worker.name}` takes is in `attachments` of its header")


def _excess(worker: Worker, number: int) -> str | None:
    """The fault of so many files for `worker`; None if it takes them."""
    most = DEFAULT_MAX if worker.attachments.max is None else worker.attachments.max
    if number <= most:
        return None
    if most == 0:
        return f"`{worker.name}` takes no attachments"
    return f"`{worker.name}` takes at most {most} attachments, not {number}"


async def load_one(
    worker: Worker, path: str, paths: PathMap, resolver: AttachmentResolver
) -> list[UserContent]:
    """The content of one file; `path` is the caller's name for it.

    Raises:
        ToolFailed: As `load`.
    """
    return (await _loaded(worker, Attached(name=path), paths, resolver))[0]


async def _loaded(
    worker: Worker, attached: Attached, paths: PathMap, resolver: AttachmentResolver
) -> tuple[list[UserContent], int]:
    """An attachment for a model, and its size in bytes."""
    name, limits = attached.name, worker.attachments
    most = DEFAULT_MAX_BYTES if limits.max_bytes is None else limits.max_bytes
    try:
        match attached.kind:
            case "content":
                return _of_program(worker, attached, most)
            case "outside":
                real = attached.outside.name if attached.outside else name
                _require_suffix(worker, name, [PurePosixPath(real).suffix])
                data = await asyncio.to_thread(read_outside, attached, most)
            case "file":
                real = paths.resolve(name)
                _require_suffix(worker, name, [PurePosixPath(real).suffix])
                data = await _resolved(resolver, name, real, most)
    except PathRefused as error:
        raise ToolFailed(f"`{name}` {error.reason}") from error
    return _content(name, real, data), len(data)


def _of_program(worker: Worker, attached: Attached, most: int) -> tuple[list[UserContent], int]:
    content = attached.content
    if content is None:
        raise ToolFailed(f"`{attached.name}` was given by a program, and the journal does not hold it")
    _require_suffix(worker, attached.name, endings_of(content.media_type))
    if len(content.data) > most:
        raise ToolFailed(f"`{attached.name}` is larger than {most:,} bytes")
    return [f"File `{attached.name}`:", content], len(content.data)


def _require_suffix(worker: Worker, name: str, suffixes: Sequence[str]) -> None:
    """Requires that the worker takes one of these endings.

    Raises:
        ToolFailed: It does not.
    """
    accepts = worker.attachments.suffixes
    if accepts is not None and not {suffix.lower() for suffix in suffixes} & set(map(str.lower, accepts)):
        accepted = ", ".join(accepts) or "none"
        raise ToolFailed(f"`{worker.name}` does not take `{name}`: it accepts {accepted}")


async def _resolved(resolver: AttachmentResolver, name: str, real: str, most: int) -> bytes:
    """The content of a file from the resolver, at most `most` bytes."""
    try:
        data: object = await resolver.read(real, most)
    except (PathRefused, ToolFailed):
        raise
    except Exception as error:  # from the program that runs the team: anything at all
        raise ToolFailed(f"`{name}` cannot be read: the resolver raised {sentence_of(error)}") from error
    if not isinstance(data, bytes):
        raise ToolFailed(f"`{name}` cannot be read: the resolver returned no bytes")
    if len(data) > most:
        raise ToolFailed(f"`{name}` is larger than {most:,} bytes")
    return data


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
        problem = "not UTF-8 text" if known else "neither UTF-8 text nor a file of a kind that models take"
        raise ToolFailed(f"`{path}` is {problem}")
    return [f"File `{path}`:\n{text}"]


async def handed_at_start(
    config: RuntimeConfig, frame: CallFrame, worker: Worker, attached: Sequence[Attached]
) -> Sequence[UserContent]:
    """The content of the attachments of the entry's `worker`; `frame` is the entry's.

    Raises:
        LlmdoError: It may not be read, or cannot be attached.
    """
    if not attached:
        return ()
    names = [each.name for each in attached]
    raised = frozenset().union(*(raised_by_attached(each, config.paths) for each in attached))
    capabilities = tuple(sorted(raised, key=str))
    call = Call(
        path=f"{worker.name}/{HANDED}",
        toolset=ENTRY_SIDE,
        tool="attachments",
        arguments={"attachments": names},
        raised=capabilities,
        declared=capabilities,
        labels=labels_for(config, frame.context),
    )

    async def read() -> list[UserContent]:
        return await load(worker, attached, config.paths, config.attachments)

    try:
        await judge(config, frame, call)
        if context := opened(config, frame, call):
            frame.context.carry(context.end)
        return await config.log.files(worker.name, names, read)
    except ToolFailed as failed:
        raise LlmdoError(failed.message) from failed


async def loaded_by_tool(config: RuntimeConfig, frame: CallFrame, path: str) -> list[UserContent]:
    """The content of a file for a tool's code, under the limits of the tool's worker.

    Raises:
        ToolFailed: The file may not be read, or cannot be attached.
    """
    require_no_probe()
    worker = frame.worker
    if worker is None:
        raise LlmdoError("a function gives attachments to `call_agent` by their paths")
    context = context_of_code(frame)
    call = Call(
        path=f"{frame.path}/load_attachment",
        toolset=worker.name,
        tool="load_attachment",
        arguments={"path": path},
        raised=tuple(raised_by(path, config.paths)),
        declared=(READ,),
        labels=labels_for(config, context),
    )
    await judge(config, frame, call)
    inside = opened(config, frame, call)
    content = await load_one(worker, path, config.paths, config.attachments)
    if inside:
        add_kept(config, call, inside)
        context.carry(inside.end)
    return content
