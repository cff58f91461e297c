"""The files of one reading of a workspace: from memory, else from an editor's text, else from the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.syntax import discovery
from llmdo.syntax import module as outlines
from llmdo.workspace.modules import Module

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.base.cache import Seen
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.workspace.memory import Memory, State
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
