"""The built-in toolset `filesystem`: files of the workspace, in terms of the path map, within configured scopes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from anyio import to_thread
from pydantic import Field
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import BinaryContent
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from llmdo import builtin
from llmdo.authority import UNDECLARED, Capability, scope_contains, scopes_meet
from llmdo.toolsets.media import media_type, text_of
from llmdo.toolsets.pathmap import below
from llmdo.toolsets.protection import is_protected
from llmdo.toolsets.refusal import WORKSPACE, PathRefused, file_parts, normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic_ai import RunContext
    from pydantic_ai.toolsets import ToolsetTool

    from llmdo.toolsets.confinement import Listing, Root
    from llmdo.toolsets.pathmap import PathMap

MAX_TEXT = 1024 * 1024  # bytes of one answer: more fills a model's context
MAX_FILE = 10_000_000  # bytes: what providers take as one attachment
MAX_ANSWERED = 1_000  # files of one listing

Result = TypeVar("Result")

_CAPABILITIES = {"list_files": "fs.list", "read_file": "fs.read", "write_file": "fs.write"}


class FilesystemToolset(AbstractToolset[object]):
    """The tools that one use of `filesystem` offers.

    What a call raises and what it does follow from one resolution of its path. A refusal is a failed
    result, never a retry: a model that insists on a forbidden path must not end the whole tree.
    """

    def __init__(
        self, root: Root, config: Mapping[str, object], paths: PathMap, protected: Iterable[str] = ()
    ) -> None:
        """`protected` are the files, beside those with a protected name, that govern the run."""
        offered = builtin.tools("filesystem", config)
        own: dict[str, Callable[..., Any]] = {
            "list_files": self.list_files,
            "read_file": self.read_file,
            "write_file": self.write_file,
        }
        scopes = {
            capability: tuple(one.scope for one in tool.capabilities if one.name == capability and one.scope)
            for name, capability in _CAPABILITIES.items()
            if (tool := offered.get(name))
        }
        self._read = scopes.get("fs.read", ())
        self._write = scopes.get("fs.write", ())
        self._root = root
        self._paths = paths
        self._protected = frozenset(protected)
        self._tools: FunctionToolset[object] = FunctionToolset(
            [own[name] for name in offered], id="filesystem"
        )

    @property
    def id(self) -> str:
        """The name by which workers use it."""
        return "filesystem"

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        """The tools that the configuration leaves something to do."""
        return await self._tools.get_tools(ctx)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[object], tool: ToolsetTool[object]
    ) -> object:
        """The answer of the tool."""
        return await self._tools.call_tool(name, tool_args, ctx, tool)

    def get_capabilities(
        self,
        name: str,
        tool_args: Mapping[str, Any],
        ctx: RunContext[object],  # noqa: ARG002  # the hook of every toolset is called alike
        config: Mapping[str, object],  # noqa: ARG002
    ) -> set[Capability]:
        """What this call does, in terms of real paths.

        A listing covers whole folders: those parts of the asked one that the configuration admits. A path
        that cannot be resolved is an unknown scope; its call fails.
        """
        if name not in _CAPABILITIES:
            return {Capability(UNDECLARED)}
        capability = _CAPABILITIES[name]
        try:
            path = self._paths.resolve(tool_args.get("path", WORKSPACE))
            if name == "list_files":
                return {Capability(capability, scope) for scope in self._listed(path)}
            file_parts(path)
        except PathRefused:
            return {Capability(capability)}
        raised = {Capability(capability, path)}
        if name == "write_file" and is_protected(path, self._protected):
            raised.add(Capability("fs.write.protected", path))
        return raised

    async def list_files(self, path: str = WORKSPACE, pattern: str = "**/*") -> str:
        """List the files in a folder, one path a line.

        Args:
            path: The folder.
            pattern: Which files, relative to the folder: `*` stands for any part of a name, `?` for one
                character, `**` for any number of folders. Hidden files are listed only where the pattern
                names the dot, as in `.*`.
        """
        folder = self._resolved(path)
        if not any(scopes_meet(one, _everything_in(folder)) for one in self._read):
            raise _outside(path, self._read, "list")
        listing: Listing = await self._in_thread(
            path,
            folder,
            lambda: self._root.list_files(folder, pattern, limit=MAX_ANSWERED, within=self._read),
        )
        return "\n".join(self._answer(normalise(path), folder, listing))

    async def read_file(
        self,
        path: str,
        offset: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1)] | None = None,
    ) -> str | BinaryContent:
        """Read a file. Images, PDF and office files come back as attachments.

        Args:
            path: The file.
            offset: How many lines to leave out at the start.
            limit: How many lines to read; all where left out.
        """
        real = self._resolved(path)
        if not any(scope_contains(one, real) for one in self._read):
            raise _outside(path, self._read, "read")
        content: bytes = await self._in_thread(path, real, lambda: self._root.read(real, MAX_FILE))
        text = text_of(content)
        if text is not None:
            return _lines(path, text, offset, limit)
        kind = media_type(real)
        if kind is None:
            raise ToolFailed(f"`{path}` is neither UTF-8 text nor a kind of file that can be attached")
        return BinaryContent(content, media_type=kind, identifier=path)

    async def write_file(self, path: str, content: str) -> str:
        """Write a text file: create it, with its folders, or replace all of it.

        Args:
            path: The file.
            content: All of its new text.
        """
        real = self._resolved(path)
        if not any(scope_contains(one, real) for one in self._write):
            raise _outside(path, self._write, "write")
        try:
            encoded = content.encode()
        except UnicodeEncodeError as error:
            raise ToolFailed(f"`{path}` was not written: its content is not valid Unicode") from error
        if len(encoded) > MAX_FILE:
            raise ToolFailed(f"`{path}` was not written: its content is larger than {MAX_FILE:,} bytes")
        done = await self._in_thread(path, real, lambda: self._root.write_atomic(real, encoded))
        return f"{done} {path} ({len(encoded):,} bytes)"

    def _listed(self, folder: str) -> list[str]:
        asked = _everything_in(folder)
        admitted = [one for one in self._read if scopes_meet(one, asked)]
        return [one if scope_contains(asked, one) else asked for one in admitted] or [asked]

    def _answer(self, named: str, folder: str, listing: Listing) -> Iterable[str]:
        start = 0 if folder == WORKSPACE else len(folder) + 1
        shadowed = 0
        for real in listing.paths:
            path = below(named, real[start:])
            if self._leads_to(path, real):
                yield path
            else:
                shadowed += 1
        if not listing.paths:
            yield "no files here match"
        if shadowed:
            yield f"(not shown: {shadowed:,} files that cannot be named from here)"
        if listing.skipped:
            yield f"(left out: {listing.skipped:,}, being links, special files or closed folders)"
        if listing.cut:
            yield f"(cut off after {len(listing.paths):,} files: ask for a folder or a narrower pattern)"

    def _leads_to(self, path: str, real: str) -> bool:
        try:
            return self._paths.resolve(path) == real
        except PathRefused:  # an alias may have more parts than what it stands for
            return False

    def _resolved(self, path: str) -> str:
        try:
            return self._paths.resolve(path)
        except PathRefused as refused:
            raise ToolFailed(str(refused)) from refused

    async def _in_thread(self, path: str, real: str, work: Callable[[], Result]) -> Result:
        """What `work` returns; a refusal of the real path is told in terms of the path that the caller used."""
        try:
            return await to_thread.run_sync(work)
        except PathRefused as refused:
            named = path if refused.path == real else refused.path
            raise ToolFailed(str(PathRefused(named, refused.reason, hint=refused.hint))) from refused


def _everything_in(folder: str) -> str:
    return "**" if folder == WORKSPACE else f"{folder}/**"


def _outside(path: str, scopes: tuple[str, ...], verb: str) -> ToolFailed:
    listed = ", ".join(f"`{scope}`" for scope in scopes)
    return ToolFailed(f"`{path}` is not among the files that this worker may {verb}: {listed}")


def _lines(path: str, text: str, offset: int, limit: int | None) -> str:
    """The asked lines of `text`, and after them, where there are more, how to go on."""
    lines = list(io.StringIO(text))
    if offset and offset >= len(lines):
        raise ToolFailed(f"`{path}` has {len(lines):,} lines, so there is nothing after line {offset:,}")
    end = len(lines) if limit is None else min(offset + limit, len(lines))
    asked = "".join(lines[offset:end])
    if (size := len(asked.encode())) > MAX_TEXT:
        raise ToolFailed(
            f"`{path}` has {len(lines):,} lines; those asked for are {size:,} bytes, more than "
            f"{MAX_TEXT:,} at once: read it in parts with `offset` and `limit`"
        )
    if end == len(lines):
        return asked
    return f"{asked}(lines {offset + 1:,} to {end:,} of {len(lines):,}; go on with offset={end})"
