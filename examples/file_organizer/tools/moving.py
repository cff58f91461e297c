"""Moves of files out of `inbox/` into a folder for each kind: planned first, then done."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from pydantic_ai import RunContext  # noqa: TC002  # pydantic-ai reads the annotation
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.toolsets import FunctionToolset
from typing_extensions import TypedDict

from llmdo import Capability

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parent.parent
KINDS = ("images", "documents", "audio", "video", "archives", "data", "code", "other")
MOST_MOVES = 500  # of one call: a person has to read them all
SOURCES, TARGETS = "inbox", "sorted"


class Move(TypedDict):
    """One file, where it is and where it goes."""

    source: Annotated[str, Field(description="The file's path, such as inbox/photo.jpg.")]
    target: Annotated[str, Field(description="Its new path, such as sorted/images/photo.jpg.")]


Moves = Annotated[list[Move], Field(max_length=MOST_MOVES)]


class Moving(FunctionToolset):
    """Plans and makes moves. For each call it says which files that call takes away and which it makes."""

    def get_capabilities(
        self, name: str, tool_args: Mapping[str, Any], ctx: object, config: object
    ) -> set[Capability]:
        """What one call raises. A path that leaves its folder is none that the tool declares: it is blocked."""
        if name == "plan_moves":  # it lists by a tool that it calls
            return set()
        taken = {Capability("fs.delete", move["source"]) for move in tool_args["moves"]}
        return taken | {Capability("fs.write", move["target"]) for move in tool_args["moves"]}


moving = Moving()


@moving.tool(metadata={"capabilities": []})
async def plan_moves(ctx: RunContext[Any], moves: Moves) -> list[str]:
    """Say of each move whether it can be made, and why not. Nothing is moved."""
    listed = await _listed(ctx)
    sources = {path for path in listed if path.startswith(f"{SOURCES}/")}
    taken = {path.casefold() for path in listed - sources}
    return [f"{_shown(move)}: {_foreseen(move, sources, taken) or 'ok'}" for move in moves]


@moving.tool_plain(metadata={"capabilities": ["fs.delete:inbox/**", "fs.write:sorted/**"]})
def move_files(moves: Moves) -> list[str]:
    """Move each of these files. A file that is already there is never replaced. Plan the very same moves first."""
    done: set[str] = set()
    return [f"{_shown(move)}: {problem(move, done) or _moved(move)}" for move in moves]


async def _listed(ctx: RunContext[Any]) -> set[str]:
    """The files of both folders, listed as a model lists them: through the gate, under the rules of the worker."""
    lines = (await ctx.deps.call_tool("filesystem.list_files")).splitlines()
    if any(line.startswith("(cut off") for line in lines):
        raise ToolFailed("there are too many files to plan for at once")
    return set(lines)


def _foreseen(move: Move, sources: set[str], taken: set[str]) -> str | None:
    """Why a move could not be made, as far as listings tell; else its target is added to `taken`."""
    if misnamed := _misnamed(move):
        return misnamed
    if move["source"] not in sources:
        return "the source is a folder, a link or no regular file"
    if move["target"].casefold() in taken:
        return "the target is taken"
    taken.add(move["target"].casefold())
    return None


def _misnamed(move: Move) -> str | None:
    """What is wrong with the paths of a move, if anything is."""
    source, target = move["source"].split("/"), move["target"].split("/")
    if source[0] != SOURCES or len(source) < 2 or not all(map(_is_plain, source)):
        return f"the source is not a file in {SOURCES}/ with an ordinary name"
    if target[0] != TARGETS or len(target) != 3 or target[1] not in KINDS or not _is_plain(target[2]):
        return f"the target is not {TARGETS}/KIND/NAME with one of the kinds {', '.join(KINDS)}"
    return None


def problem(move: Move, taken: set[str]) -> str | None:
    """Why a move cannot be made, if it cannot; else its target is added to `taken`."""
    if misnamed := _misnamed(move):
        return misnamed
    source, target = move["source"].split("/"), move["target"].split("/")
    try:
        status = _stat(source)
    except OSError as error:
        return f"the source cannot be used: {_why(error)}"
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        return "the source is a folder, a link or no regular file"
    try:
        _stat(target)
    except FileNotFoundError:
        is_taken = move["target"].casefold() in taken
    except OSError as error:
        return f"the target cannot be used: {_why(error)}"
    else:
        is_taken = True
    if is_taken:
        return "the target is taken"
    taken.add(move["target"].casefold())
    return None


def _moved(move: Move) -> str:
    """Moves one file: it gets its new name first, which fails where there is one, and then loses the old one."""
    (*above, name), (*below, new) = move["source"].split("/"), move["target"].split("/")
    try:
        with opened(above) as here, opened(below, make=True) as there:
            os.link(name, new, src_dir_fd=here, dst_dir_fd=there, follow_symlinks=False)
            os.unlink(name, dir_fd=here)
    except FileExistsError:
        return "the target is taken"
    except OSError as error:
        return f"not moved: {_why(error)}"
    return "moved"


@contextmanager
def opened(parts: list[str], *, make: bool = False) -> Iterator[int]:
    """A descriptor of a folder of the workspace, walked to from the top without following a link."""
    descriptor = os.open(ROOT, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts:
            if make:
                _make(part, descriptor)
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _stat(parts: list[str]) -> os.stat_result:
    with opened(parts[:-1]) as folder:
        return os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)


def _make(name: str, folder: int) -> None:
    try:
        os.mkdir(name, dir_fd=folder)
    except FileExistsError:
        return


def _is_plain(name: str) -> bool:
    """Whether a part of a path is neither hidden nor a step up, and can be shown as it is."""
    return name.isprintable() and bool(name) and name[0] != "."


def _why(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _shown(move: Move) -> str:
    return f"{move['source']!r} -> {move['target']!r}"
