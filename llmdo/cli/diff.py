"""`llmdo diff`: two locks read, compared and shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli.console import CANNOT_GO_ON, FINDINGS, FINE, put, root_folder, say
from llmdo.diff import diff, revision
from llmdo.graph.resolved import Graph
from llmdo.render import diff as render
from llmdo.workspace import project
from llmdo.workspace.reading import LOCK, MAX_LOCK

if TYPE_CHECKING:
    from llmdo.diff import Difference

WORKTREE = "worktree"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRequest:
    """What `llmdo diff` was asked for."""

    before: str = "HEAD"
    """A revision."""
    after: str = WORKTREE
    locks: tuple[str, str] | None = None
    """Two files to compare instead."""
    fail_on: Literal["widened", "changed"] | None = None
    lock_checked: bool = False
    """Whether the caller says that `lock --check` has passed."""
    format: Literal["text", "json", "markdown"] = "text"
    project: str | None = None
    origin: tuple[str, str] | None = None
    """Format and folder of a foreign project to compare with itself."""


def run(options: DiffRequest) -> int:
    """Compares, prints the difference and returns the exit code."""
    try:
        difference, sides = _compared(options)
        difference = replace(difference, is_lock_checked=options.lock_checked)
    except LlmdoError as error:
        if options.format != "json":
            raise
        put(render.error_json(error), end="", as_json=True)
        return CANNOT_GO_ON
    match options.format:
        case "json":
            put(render.to_json(difference, sides), end="", as_json=True)
        case "markdown":
            put(render.markdown(difference, sides), end="")
        case "text":
            put(render.text(difference, sides), end="")
    return FINDINGS if difference.fails(options.fail_on) else FINE


def _compared(options: DiffRequest) -> tuple[Difference, render.Sides]:
    if options.origin:
        from llmdo.cli import foreign

        return foreign.compared(options.origin, options.before, options.after)
    before, after, sides = _files(*options.locks) if options.locks else _revisions(options)
    if before is None:
        say(f"no baseline: there is no `{LOCK}` at `{sides.before}`, so everything is new")
        before = Graph(settings=after.settings)
    return diff(before, after), sides


def _files(before: str, after: str) -> tuple[Graph, Graph, render.Sides]:
    return _file(before), _file(after), render.Sides(before=before, after=after)


def _file(name: str) -> Graph:
    try:
        with Path(name).open("rb") as file:
            content = file.read(MAX_LOCK + 1)
    except OSError as error:
        raise LlmdoError(f"cannot read `{name}`: {(error.strerror or 'error').lower()}") from error
    if len(content) > MAX_LOCK:
        raise LlmdoError(f"`{name}` is larger than {MAX_LOCK // 1024:,} KiB")
    try:
        return revision.graph_in(content)
    except LlmdoError as error:
        raise LlmdoError(f"`{name}`: {error.message}", hint=error.hint) from error


def _revisions(options: DiffRequest) -> tuple[Graph | None, Graph, render.Sides]:
    root = root_folder(options.project)
    before = revision.locked_graph(root, options.before)
    if options.after == WORKTREE:
        after = _worktree(root)
    elif (found := revision.locked_graph(root, options.after)) is not None:
        after = found
    else:
        raise LlmdoError(f"there is no `{LOCK}` at `{options.after}`")
    return (
        before,
        after,
        render.Sides(before=options.before, after=options.after, has_baseline=before is not None),
    )


def _worktree(root: Path) -> Graph:
    """The graph of the lock on disk, its places in the sources where they say the same."""
    read = project.read(root)
    if read.locked.graph is None:
        problems = [*read.locked.problems, *(one for one in read.workspace.problems if one.at.path == LOCK)]
        if problems:
            raise LlmdoError(problems[0].message, hint=problems[0].hint, at=problems[0].at)
        raise LlmdoError(f"there is no `{LOCK}`", hint="run `llmdo lock`: it is what `llmdo diff` compares")
    if read.is_current:
        return read.graph
    say(f"warning: `{LOCK}` is not what the sources say; what is compared is the lock (run `llmdo lock`)")
    return read.locked.graph
