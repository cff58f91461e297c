"""What the files of a workspace were read as, so that a file that stayed as it was is not read again.

A reading that is given a memory takes from it what it says of files that are unchanged, and leaves in it what it
read. A file is unchanged while all is the same that the disk tells of it, as in `llmdo.base.cache`, or while an editor
has the same text of it. What was made of such files is kept beside what it was made of. Of files with faults nothing
is kept: they are read anew each time.
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
    """What tells whether a file is the same: the packed facts of the disk, or an editor's text."""


@dataclass(slots=True)
class Memory:
    """What is known of one workspace from one reading of it to the next."""

    buffers: dict[str, str] = field(default_factory=dict)
    """The texts of an editor by the paths of files: they stand for what is on the disk."""
    files: Remembered[WorkerFile] = field(default_factory=Remembered)
    modules: Remembered[Module] = field(default_factory=Remembered)
    workers: Remembered[Worker] = field(default_factory=Remembered)
    """By path, made of a `WorkerFile`."""
    pieces: Remembered[str] = field(default_factory=Remembered)
    """The tables of the lock that say what workers are: by name, made of a `Worker` and of what its lines name."""
    locked: Remembered[Locked] = field(default_factory=Remembered)
    """The lock, made of the digests of its text."""
    analyses: Remembered[Analysis] = field(default_factory=Remembered)
    """That of the lock, made of its graph."""

    def keep(self, remembered: Remembered[Made], path: str, state: State | None, value: Made) -> None:
        """Takes what a file was read as, but where it changed so recently that `state` may miss another change."""
        if isinstance(state, str) or (state and not cache.is_young(state, time.time_ns())):
            remembered.keep(path, state, value)
