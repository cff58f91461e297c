"""One workspace as an editor has it: the files on disk, replaced by texts that are not saved yet."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from llmdo import checks
from llmdo.base.values import dataclass, field
from llmdo.features.editor.text import EditorText
from llmdo.syntax import discovery
from llmdo.workspace import project as projects
from llmdo.workspace.memory import Memory
from llmdo.workspace.root import MAX_LOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.features.editor.text import Encoding
    from llmdo.workspace.project import Project


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of a workspace, and its findings."""

    project: Project
    findings: tuple[Diagnostic, ...]

    @property
    def by_path(self) -> Mapping[str, tuple[Diagnostic, ...]]:
        """The findings about each file."""
        paths: dict[str, list[Diagnostic]] = {}
        for finding in self.findings:
            paths.setdefault(finding.at.path, []).append(finding)
        return {path: tuple(about) for path, about in paths.items()}


@dataclass(slots=True)
class Session:
    """A workspace that is open in an editor."""

    root: Path
    encoding: Encoding = "utf-16"
    _memory: Memory = field(default_factory=Memory)
    _reading: Reading | None = None
    _sound: Reading | None = None
    """The last one that knows all names: during typing, a file often cannot be read."""

    def edit(self, path: str, text: str) -> None:
        """Takes the editor's text of a file, which replaces that on disk from now on."""
        self._memory.buffers[path] = text
        self._reading = None

    def close(self, path: str) -> None:
        """Takes a file from the disk again."""
        self._memory.buffers.pop(path, None)
        self._reading = None

    def forget(self) -> None:
        """Lets the workspace be read again, as the disk may have changed."""
        self._reading = None

    @property
    def is_read(self) -> bool:
        """Whether nothing changed since the workspace was read."""
        return self._reading is not None

    def reading(self) -> Reading:
        """The workspace with its findings; unchanged files are not read again."""
        if self._reading is None:
            project = projects.read(self.root, memory=self._memory)
            self._reading = Reading(project, checks.reported(project, checks.check(project)))
            if project.workspace.manifest is not None and not project.gaps.names:
                self._sound = self._reading
        return self._reading

    def sound(self) -> Reading:
        """The last reading that knows all names of the workspace, or else the last one."""
        now = self.reading()
        return self._sound or now

    def text(self, path: str) -> EditorText:
        """A file as the editor shows it; empty if it cannot be read."""
        return EditorText(self._shown(path), self.encoding)

    def texts(self) -> Callable[[str], EditorText]:
        """Files as the editor shows them, each read once."""
        return cache(self.text)

    def with_line_ends(self, path: str, text: str) -> str:
        """`text`, whose lines end in LF, with the line ends of the file."""
        return text.replace("\n", "\r\n") if "\r\n" in self._shown(path) else text

    def _shown(self, path: str) -> str:
        shown = self._memory.buffers.get(path)
        if shown is None:
            content = discovery.read(self.root, path, limit=MAX_LOCK)
            shown = "" if isinstance(content, discovery.RefusedPath) else content.decode("utf-8", "replace")
        return shown
