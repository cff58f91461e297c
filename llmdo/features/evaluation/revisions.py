"""The workspace at another revision: workers and manifest read from git's objects, without a checkout."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, near_or_all
from llmdo.base.values import replace
from llmdo.diff import revision as git
from llmdo.graph.inventory import Inventory
from llmdo.services.diff import WORKTREE
from llmdo.services.run import PreparedRun
from llmdo.services.soundness import require_sound, resolved
from llmdo.workspace import project as projects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.features.batch.commands import BatchHost
    from llmdo.workspace.project import Project

MAX_BYTES = 64_000_000  # of all files of a revision that are read
BETWEEN = ".."
SHOWN = 5  # files in a sentence


def both(text: str) -> tuple[str, str]:
    """The two revisions of `A..B`.

    Raises:
        LlmdoError: It is not of that form.
    """
    before, between, after = text.partition(BETWEEN)
    if not (before and between and after) or before == after or BETWEEN in after:
        raise LlmdoError(
            f"`--rev {text}` does not name two revisions", hint=f"such as `--rev main..{WORKTREE}`"
        )
    return before, after


def commit_of(root: Path, revision: str) -> str | None:
    """The commit of a revision; None for the files in the folder.

    Raises:
        LlmdoError: There is no such revision.
    """
    return None if revision == WORKTREE else git.commit_of(root, revision)


@contextmanager
def prepared(
    now: Project, commit: str, label: str, entry: str, *, runs_code: bool, locked: bool, host: BatchHost
) -> Iterator[PreparedRun]:
    """The entry as it was at a commit, ready to be run in the workspace as it is `now`.

    Its Python is that of the workspace, or with `runs_code` its own.

    Raises:
        InvalidTeamError: The workspace had mistakes then.
        UntrustedError: Its Python would be imported, and the host's consent refuses it.
        LlmdoError: It cannot be read, or its Python differs and was not asked for.
    """
    root = now.workspace.root
    with TemporaryDirectory(prefix="llmdo-rev-") as name:
        folder = Path(name)
        _write(root, commit, label, folder)
        then = projects.read(folder, copy_of=root)
        differing = sorted(path for path, _ in then.graph.code.items() ^ now.graph.code.items())
        if differing and not runs_code:
            named = ", ".join(f"`{path}`" for path in dict.fromkeys(differing[:SHOWN]))
            raise LlmdoError(
                f"the Python at `{label}` is not that of the workspace: {named}",
                hint=f"read it there; `--sources {label}` runs it",
            )
        require_sound(then, host.tell, reviewed=now.locked.graph)
        graph = resolved(then, host.tell, host.consent)
        if entry not in graph.entries:
            raise LlmdoError(
                f"at `{label}` there is no entry `{entry}`", hint=near_or_all(entry, graph.entries, "entry")
            )
        # What governs a run in this workspace is protected from it, whatever the run itself consists of.
        yield PreparedRun(
            root=root,
            graph=replace(graph, governing=Inventory.of(now.graph).governing),
            prompts=then.prompts,
            entry=entry,
            input=None,
            locked=locked,
            code=folder if differing else None,
            sources="run",
        )


def _write(root: Path, commit: str, label: str, folder: Path) -> None:
    """Writes the regular files of the workspace at a commit below `folder`."""
    blobs = {
        path: blob for path, blob in git.files(root, commit).items() if blob.is_regular and _is_inside(path)
    }
    if sum(blob.size for blob in blobs.values()) > MAX_BYTES:
        raise LlmdoError(f"the files at `{label}` are larger than {MAX_BYTES:,} bytes together")
    contents = git.contents(root, [blob.name for blob in blobs.values()])
    for path, blob in blobs.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(contents[blob.name])


def _is_inside(path: str) -> bool:
    """Whether a path of a tree stays below the folder that it is written to, whoever made the tree."""
    parts = PurePosixPath(path).parts
    return not path.startswith("/") and ".." not in parts and ".git" not in parts and ".llmdo" not in parts
