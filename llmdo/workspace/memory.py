"""The results of reading the files of a workspace, so that unchanged files are not read again.

A reading takes the results of unchanged files from its memory, and adds its own. A file is unchanged while all its
facts on the disk are the same, as in `llmdo.base.cache`, or while an editor has the same text. Values made of such
files are kept with their sources. Files with faults are read again each time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from llmdo.base import cache
from llmdo.base.values import dataclass, field
from llmdo.workspace.remembered import Made, Remembered

if TYPE_CHECKING:
    from llmdo.graph.worker import Worker
    from llmdo.reach import Analysis
    from llmdo.workspace.lock import Locked
    from llmdo.workspace.modules import Module
    from llmdo.workspace.worker_file import WorkerFile

    State = bytes | str
    """The identity of a file's content: the packed facts of the disk, or an editor's text."""


@dataclass(slots=True)
class Memory:
    """The results kept for one workspace from one reading to the next."""

    buffers: dict[str, str] = field(default_factory=dict)
    """The texts of an editor by the paths of files, which replace those on the disk."""
    files: Remembered[WorkerFile] = field(default_factory=Remembered)
    modules: Remembered[Module] = field(default_factory=Remembered)
    workers: Remembered[Worker] = field(default_factory=Remembered)
    """By path, made of a `WorkerFile`."""
    pieces: Remembered[str] = field(default_factory=Remembered)
    """The tables of workers in the lock, by name, each made of a `Worker` and the names in its lines."""
    locked: Remembered[Locked] = field(default_factory=Remembered)
    """The lock, made of the digests of its text."""
    analyses: Remembered[Analysis] = field(default_factory=Remembered)
    """That of the lock, made of its graph."""

    def keep(self, remembered: Remembered[Made], path: str, state: State | None, value: Made) -> None:
        """Keeps the result of reading a file, unless it changed so recently that `state` may miss another change."""
        if isinstance(state, str) or (state and not cache.is_young(state, time.time_ns())):
            remembered.keep(path, state, value)
