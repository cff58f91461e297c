"""The lock of a git revision, read from git's objects alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.syntax import commits
from llmdo.syntax.discovery import decode
from llmdo.workspace import lock
from llmdo.workspace.root import LOCK, MAX_LOCK

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.graph.resolved import Graph


def locked_graph(root: Path, revision: str) -> Graph | None:
    """The graph in the `llmdo.lock` of the workspace at `root` at `revision`; None if it had no lock there.

    Works in a shallow clone, and for a workspace in a folder of its repository.

    Raises:
        LlmdoError: there is no git, no repository, no such revision, or the lock there cannot be used.
    """
    blob = commits.file_at(root, revision, LOCK)
    if blob is None:
        return None
    where = f"`{LOCK}` at `{revision}`"
    if not blob.is_regular:
        raise LlmdoError(f"{where} is not a regular file")
    if blob.size is None:
        raise LlmdoError(f"{where} is not in this clone", hint=commits.WHOLE)
    if blob.size > MAX_LOCK:
        raise LlmdoError(f"{where} is larger than {MAX_LOCK // 1024:,} KiB")
    try:
        return graph_in(commits.contents(root, [blob.name])[blob.name])
    except LlmdoError as error:
        raise LlmdoError(f"at `{revision}`: {error.message}", hint=error.hint) from error


def graph_in(content: bytes) -> Graph:
    """The graph in the bytes of a lock.

    Raises:
        LlmdoError: it is no lock that this llmdo can read.
    """
    source, problems = decode(LOCK, content)
    locked = lock.read(source)
    if locked.graph is not None and not problems:
        return locked.graph
    fault = (*problems, *locked.problems)[0]
    old = "a lock of the past cannot be fixed: compare with another revision"
    raise LlmdoError(fault.message, hint=fault.hint if locked.state == "newer" else old, at=fault.at)
