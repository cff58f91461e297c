"""The built-in toolset `filesystem`: files of the workspace, by the paths of the path map, within configured scopes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from anyio import to_thread
from pydantic import Field
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import BinaryContent
from pydantic_ai.toolsets import AbstractToolset

from llmdo.graph import builtin
from llmdo.policy.authority import Capability, scope_contains, scopes_meet
from llmdo.policy.protection import is_secret, protected, raised_by_change
from llmdo.policy.vocabulary import UNDECLARED
from llmdo.toolsets.definitions import definitions_of
from llmdo.toolsets.media import media_type, text_of
from llmdo.toolsets.paths import WORKSPACE, PathRefused, below, file_parts, normalise

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

    from pydantic_ai import RunContext
    from pydantic_ai.toolsets import ToolsetTool

    from llmdo.toolsets.confinement import Listing, Root
    from llmdo.toolsets.paths import PathMap

MAX_TEXT = 1024 * 1024  # bytes of one answer: more fills a model's context
MAX_FILE = 10_000_000  # bytes: what providers take as one attachment
MAX_ANSWERED = 1_000  # files of one listing
SHOWN_PLACES = 5  # of a text that occurs more than once
SHEBANG = "#!"
"""The beginning of a text that names its interpreter."""

Result = TypeVar("Result")

_CAPABILITIES = {
    "list_files": ("fs.list",),
    "read_file": ("fs.read",),
    "write_file": ("fs.write",),
    "edit_file": ("fs.read", "fs.write"),
}


class FilesystemToolset(AbstractToolset[object]):
    """The tools of one use of `filesystem`.

    The capabilities of a call and its effect follow from one resolution of its path. A refusal is a failed result,
    never a retry: a model that insists must not end the whole tree.
    """

    def __init__(
        self, root: Root, config: Mapping[str, object], paths: PathMap, governing: Iterable[str] = ()
    ) -> None:
        """`governing` are the paths and globs of the files that govern the run, as seen from `root`."""
        self._offered = builtin.tools("filesystem", config)
        self._read = self._scopes("read_file", "fs.read")
        self._write = self._scopes("write_file", "fs.write")
        self._root = root
        self._paths = paths
        self._governing = frozenset(governing)

    def _scopes(self, name: str, capability: str) -> tuple[str, ...]:
        tool = self._offered.get(name)
        declared = tool.capabilities if tool else ()
        return tuple(each.scope for each in declared if each.name == capability and each.scope)

    @property
    def id(self) -> str:
        """The name by which workers use it."""
        return "filesystem"

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        """The tools that the configuration leaves something to do."""
        return definitions_of(FilesystemToolset, tuple(_CAPABILITIES)).bound(self, ctx, self._offered)

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, object],
        ctx: RunContext[object],  # noqa: ARG002  # pydantic-ai's signature
        tool: ToolsetTool[object],  # noqa: ARG002
    ) -> object:
        """The answer of the tool."""
        own: dict[str, Callable[..., Awaitable[object]]] = {
            "list_files": self.list_files,
            "read_file": self.read_file,
            "write_file": self.write_file,
            "edit_file": self.edit_file,
        }
        return await own[name](**tool_args)

    def get_capabilities(
        self,
        name: str,
        tool_args: Mapping[str, Any],
        ctx: RunContext[object],  # noqa: ARG002  # the hook of every toolset is called alike
        config: Mapping[str, object],  # noqa: ARG002
    ) -> set[Capability]:
        """The capabilities of this call, in terms of real paths.

        A listing covers whole folders: the admitted parts of the requested one. An unresolvable path is an unknown
        scope; its call fails.
        """
        if name not in _CAPABILITIES:
            return {Capability(UNDECLARED)}
        capabilities = _CAPABILITIES[name]
        try:
            path = self._paths.resolve(tool_args.get("path", WORKSPACE))
            if name == "list_files":
                return {listing for scope in self._listed(path) for listing in _listing(path, scope)}
            file_parts(path)
        except PathRefused:
            return {Capability(capability) for capability in capabilities}
        raised = {Capability(capability, path) for capability in capabilities}
        if "fs.read" in capabilities:
            raised |= protected(path)
        if "fs.write" in capabilities:
            is_executed = self._makes_script(path, tool_args) or self._root.is_executable(path)
            raised.update(raised_by_change(path, self._governing, is_executed=is_executed))
        return raised

    def _makes_script(self, path: str, tool_args: Mapping[str, Any]) -> bool:
        """Whether the written or edited file would begin with `#!`."""
        if "content" in tool_args:
            return str(tool_args["content"]).startswith(SHEBANG)
        old, new = str(tool_args.get("old", "")).encode(), str(tool_args.get("new", "")).encode()
        try:
            before = self._root.read(path, MAX_FILE)
        except PathRefused:
            return False
        return before.replace(old, new, 1).startswith(SHEBANG.encode()) if old else False

    async def list_files(self, path: str = WORKSPACE, pattern: str = "**/*") -> str:
        """List the files in a folder, one path a line.

        Args:
            path: The folder.
            pattern: Which files, relative to the folder: `*` stands for any part of a name, `?` for one
                character, `**` for any number of folders. Hidden files are listed only where the pattern
                names the dot, as in `.*`.
        """
        folder = self._resolved(path)
        if not any(scopes_meet(scope, _everything_in(folder)) for scope in self._read):
            raise _outside(path, self._read, "list")
        listing: Listing = await self._in_thread(
            path,
            folder,
            lambda: self._root.list_files(
                folder, pattern, limit=MAX_ANSWERED, within=self._read, is_closed=_closed_below(folder)
            ),
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
        if not any(scope_contains(scope, real) for scope in self._read):
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
        if not any(scope_contains(scope, real) for scope in self._write):
            raise _outside(path, self._write, "write")
        try:
            encoded = content.encode()
        except UnicodeEncodeError as error:
            raise ToolFailed(f"`{path}` was not written: its content is not valid Unicode") from error
        if len(encoded) > MAX_FILE:
            raise ToolFailed(f"`{path}` was not written: its content is larger than {MAX_FILE:,} bytes")
        done = await self._in_thread(path, real, lambda: self._root.write_atomic(real, encoded))
        return f"{done} {path} ({len(encoded):,} bytes)"

    async def edit_file(self, path: str, old: str, new: str) -> str:
        """Replace one piece of text in a file by another.

        Args:
            path: The file.
            old: The text to replace, exactly as it stands in the file, with enough around it to occur only once.
            new: The text to put there.
        """
        real = self._resolved(path)
        for scopes, verb in ((self._read, "read"), (self._write, "write")):
            if not any(scope_contains(scope, real) for scope in scopes):
                raise _outside(path, scopes, verb)
        try:
            before, after = old.encode(), new.encode()
        except UnicodeEncodeError as error:
            raise ToolFailed(f"`{path}` was not changed: the text is not valid Unicode") from error

        def change(content: bytes) -> bytes:
            starts = list(_starts(content, before))
            if len(starts) != 1:
                raise ToolFailed(f"`{path}` was not changed: {_unclear(content, before, starts)}")
            if len(changed := content.replace(before, after)) > MAX_FILE:
                raise ToolFailed(f"`{path}` was not changed: it would be larger than {MAX_FILE:,} bytes")
            return changed

        size = len(await self._in_thread(path, real, lambda: self._root.edit(real, change, MAX_FILE)))
        return f"changed {path} ({size:,} bytes)"

    def _listed(self, folder: str) -> list[str]:
        wanted = _everything_in(folder)
        admitted = [scope for scope in self._read if scopes_meet(scope, wanted)]
        return [scope if scope_contains(wanted, scope) else wanted for scope in admitted] or [wanted]

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
        if listing.closed:
            shown = ", ".join(f"`{below(named, real[start:])}`" for real in listing.closed[:SHOWN_PLACES])
            more = ", ..." if len(listing.closed) > SHOWN_PLACES else ""
            yield f"(not entered, as secrets are kept there: {shown}{more}; list such a folder itself)"
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
        """The result of `work`; a refusal of the real path names the path that the caller used."""
        try:
            return await to_thread.run_sync(work)
        except PathRefused as refused:
            named = path if refused.path == real else refused.path
            raise ToolFailed(str(PathRefused(named, refused.reason, hint=refused.hint))) from refused


def _listing(folder: str, scope: str) -> Iterator[Capability]:
    """The capabilities of listing the part of `folder` that lies in `scope`."""
    yield Capability("fs.list", scope)
    yield from protected(folder, scope)


def _closed_below(folder: str) -> Callable[[str], bool]:
    """A predicate for the folders that a listing of `folder` does not enter, since nobody was asked about them."""
    return (lambda _: False) if is_secret(folder) else is_secret


def _everything_in(folder: str) -> str:
    return "**" if folder == WORKSPACE else f"{folder}/**"


def _outside(path: str, scopes: tuple[str, ...], verb: str) -> ToolFailed:
    listed = ", ".join(f"`{scope}`" for scope in scopes)
    return ToolFailed(f"`{path}` is not among the files that this worker may {verb}: {listed}")


def _starts(content: bytes, text: bytes) -> Iterator[int]:
    """The offsets of `text` in `content`, including overlapping ones; none if it is empty."""
    at = content.find(text) if text else -1
    while at >= 0:
        yield at
        at = content.find(text, at + 1)


def _unclear(content: bytes, old: bytes, starts: list[int]) -> str:
    """Why `old`, which begins at all of `starts`, does not say which text to replace."""
    if not old:
        return "the text to replace is empty"
    if starts:
        lines = [str(content.count(b"\n", 0, start) + 1) for start in starts[:SHOWN_PLACES]]
        more = ", ..." if len(starts) > len(lines) else ""
        places = f"{len(starts):,} times, in lines {', '.join(lines)}{more}"
        return f"the text occurs {places}; give more of what is around it"
    first = old.splitlines()[0].split()
    for number, line in enumerate(content.splitlines(), 1):
        if first and line.split() == first:
            return f"the text is not in it, though line {number} begins like it; blanks count, and so do later lines"
    return "the text is not in it; read the file for what it says now"


def _lines(path: str, text: str, offset: int, limit: int | None) -> str:
    """The requested lines of `text`, followed by a note on how to continue if there are more."""
    lines = list(io.StringIO(text))
    if offset and offset >= len(lines):
        raise ToolFailed(f"`{path}` has {len(lines):,} lines, so there is nothing after line {offset:,}")
    end = len(lines) if limit is None else min(offset + limit, len(lines))
    shown = "".join(lines[offset:end])
    if (size := len(shown.encode())) > MAX_TEXT:
        raise ToolFailed(
            f"`{path}` has {len(lines):,} lines; those asked for are {size:,} bytes, more than "
            f"{MAX_TEXT:,} at once: read it in parts with `offset` and `limit`"
        )
    if end == len(lines):
        return shown
    return f"{shown}(lines {offset + 1:,} to {end:,} of {len(lines):,}; go on with offset={end})"
