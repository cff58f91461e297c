"""The files of one reading of a workspace: from memory of earlier readings, an editor's text, or the disk."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from llmdo.base import cache
from llmdo.base.values import dataclass, field
from llmdo.syntax import discovery
from llmdo.syntax import module as outlines
from llmdo.workspace.modules import Module
from llmdo.workspace.remembered import Made, Remembered

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmdo.base.cache import Seen
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.graph.worker import Worker
    from llmdo.reach import Analysis
    from llmdo.workspace.lock import Locked
    from llmdo.workspace.worker_file import WorkerFile


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """The source of files for a reading of a workspace."""

    root: Path
    seen: Seen | None = None
    memory: Memory | None = None

    def source(self, path: str, *, limit: int = discovery.MAX_FILE) -> tuple[Source, tuple[Diagnostic, ...]]:
        """The text of a file, or why it has none."""
        if self.memory and (text := self.memory.buffers.get(path)) is not None:
            return discovery.stand_in(self.root, path, text, limit=limit, seen=self.seen)
        return discovery.read_source(self.root, path, limit=limit, seen=self.seen)

    @property
    def unsaved(self) -> Mapping[str, str]:
        """The texts of an editor for files that are there, by path."""
        buffers = self.memory.buffers if self.memory else {}
        read = {path: self.source(path) for path in buffers}
        return {path: source.text for path, (source, problems) in read.items() if not problems}

    def state(self, path: str, *, is_walked: bool = False) -> State | None:
        """The state of the file at `path` for the memory; None if nothing is remembered of it.

        `is_walked` says that a walk has just passed the path, so that its folders are no links.
        """
        if self.memory is None or self.seen is None:
            return None
        if is_walked:
            facts = discovery.walked_facts(self.root, path, self.seen)
            text = self.memory.buffers.get(path)
            return facts if text is None or facts is None else text
        if discovery.exists(self.root, path, self.seen):
            return None
        text = self.memory.buffers.get(path)
        return self.seen.get(path) if text is None else text

    def known_worker(self, path: str, state: State | None) -> WorkerFile | None:
        """The remembered worker of a file in this state."""
        return self.memory.files.of(path, state) if self.memory else None

    def keep_worker(self, path: str, state: State | None, worker: WorkerFile) -> None:
        """Remembers the worker read from the file in this state."""
        if self.memory:
            self.memory.keep(self.memory.files, path, state, worker)

    def module(self, path: str) -> tuple[Module, tuple[Diagnostic, ...]]:
        """The Python file at `path`; an empty one, with the problems, if it cannot be read."""
        state = self.state(path)
        if self.memory and (known := self.memory.modules.of(path, state)):
            return known, ()
        source, problems = self.source(path)
        outline = outlines.Outline() if problems else outlines.outline(source)
        module, problems = Module(source, outline), (*problems, *outline.problems)
        if self.memory and not problems:
            self.memory.keep(self.memory.modules, path, state, module)
        return module, problems


if TYPE_CHECKING:
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
