"""The files of a project of Claude Code, each read once; what is wrong with them is collected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import finding
from llmdo.base.values import dataclass, field
from llmdo.foreign import reading
from llmdo.syntax.globs import Glob

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Document, Place


@dataclass(slots=True)
class ClaudeFiles:
    """One reading of a project."""

    tree: Tree
    problems: list[Diagnostic] = field(default_factory=list)
    read: dict[str, Source | None] = field(default_factory=dict)
    """Every file that was read, None where it could not be."""
    _documents: dict[str, Document] = field(default_factory=dict)

    def find(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """The paths that the globs name; only one file counts where one is given alone."""
        if (only := self.tree.only) is not None:
            return (only,) if any(Glob(pattern).matches(only) for pattern in patterns) else ()
        paths, problems = self.tree.find(patterns)
        self.problems.extend(problem for problem in problems if problem not in self.problems)
        return paths

    def source(self, path: str) -> Source | None:
        """The text at `path`; None where there is none that can be read."""
        if path not in self.read:
            read = self.tree.read(path)
            if read is None:
                return None
            source, problems = read
            self.problems.extend(problem for problem in problems if problem not in self.problems)
            self.read[path] = None if problems else source
        return self.read[path]

    def json(self, path: str) -> Document | None:
        """The JSON file at `path`; None where there is none."""
        source = self.source(path)
        if source is None:
            return None
        if path not in self._documents:
            self._documents[path] = reading.json_with_comments(source)
            self.problems.extend(self._documents[path].problems)
        return self._documents[path]

    def header(self, path: str, keys: Iterable[str]) -> reading.Text | None:
        """The Markdown file at `path` in its two parts; None where it has no header."""
        source = self.source(path)
        return None if source is None else reading.text(source, keys)

    def note(self, code: str, place: Place, message: str, hint: str | None = None) -> None:
        """Notes what is wrong at a place."""
        self.problems.append(finding(code, place.location, message, hint=hint))
