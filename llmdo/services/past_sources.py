"""The sources of a revision compared with its lock, read from git's objects.

Nothing is checked out: the files that reading a workspace needs are written to a temporary folder.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown
from llmdo.base.values import replace
from llmdo.diff import revision
from llmdo.workspace import lock, project
from llmdo.workspace.root import LOCK, MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.graph.resolved import Graph

_READ = (".toml", ".worker", ".py", ".lock")
_NAMED = (".gitignore",)
_ELSEWHERE = ("extension", "policy", "model", "python-model")
"""Tables about files outside of the workspace, or of any name: these are not compared."""

MOST_BYTES = 64 * 1024 * 1024
_OUT_OF_DATE = f"`{LOCK}` is out of date for "

FEW = 3  # items in the sentence


def disagreements(root: Path, at: str, locked: Graph) -> Iterator[str]:
    """One sentence if the lock of the revision `at` differs from the sources there, or if nobody can tell."""
    blobs = {
        path: blob for path, blob in revision.files(root, at).items() if blob.is_regular and _is_read(path)
    }
    sizes = [blob.size for blob in blobs.values()]
    if None in sizes:
        yield f"note: at `{at}`, files are not in this clone, so only `{LOCK}` is judged"
        return
    if sum(size or 0 for size in sizes) > MOST_BYTES:
        yield f"note: at `{at}`, the sources are too large to be compared with `{LOCK}`, so only that is judged"
        return
    if MANIFEST not in blobs:
        yield f"note: at `{at}`, there is no `{MANIFEST}` beside `{LOCK}`, so only that is judged"
        return
    texts = revision.contents(root, [blob.name for blob in blobs.values()])
    with tempfile.TemporaryDirectory(prefix="llmdo-") as folder:
        for path, blob in blobs.items():
            try:
                place = Path(folder, path)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(texts[blob.name])
            except (OSError, ValueError):
                yield f"note: at `{at}`, `{shown(path)}` cannot be read here, so only `{LOCK}` is judged"
                return
        graph = project.read(Path(folder), copy_of=root).graph
    # Which rules are built in, the llmdo that wrote the lock says, and no source does.
    current = replace(graph, settings=replace(graph.settings, built_in=locked.settings.built_in))
    items = [item for item in lock.drift(locked, current) if item.kind not in _ELSEWHERE]
    if items:
        named = [item.problem.message.removeprefix(_OUT_OF_DATE) for item in items[:FEW]]
        more = [f"and {len(items) - FEW} more"] if len(items) > FEW else []
        yield (
            f"warning: at `{at}`, `{LOCK}` is not what its sources say: {'; '.join([*named, *more])}; what is judged "
            "is the lock"
        )


def _is_read(path: str) -> bool:
    """Whether reading a workspace looks at such a file; a stranger's tree may hold names that lead elsewhere."""
    steps = path.split("/")
    return not {"", ".", ".."}.intersection(steps) and (path.endswith(_READ) or steps[-1] in _NAMED)
