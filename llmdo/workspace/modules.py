"""The Python files of a workspace: their imports of each other, and the digests that cover these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import digest, topology
from llmdo.base.values import dataclass
from llmdo.syntax.document import Document, Place
from llmdo.syntax.imports import import_candidates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.source import Source, Span
    from llmdo.syntax.document import Route
    from llmdo.syntax.module import Outline


@dataclass(frozen=True, slots=True)
class Module:
    """A Python file that the workspace names or that such a file imports: outlined, never imported."""

    source: Source
    outline: Outline
    sources: tuple[str, ...] = ()
    """The files that it imports without its text saying so, from the manifest, sorted."""

    def place(self, name: str) -> Place:
        """The place of the binding of `name`; the file itself if that is not known."""

        def index() -> dict[Route, tuple[Span, Span]]:
            span = self.outline.spans.get(name)
            return {(name,): (span, span)} if span else {}

        return Place(Document(self.source, {}, index), (name,))


def imports_of(modules: Mapping[str, Module]) -> dict[str, list[str]]:
    """Path to those of `modules` that the file imports directly, sorted."""
    return {
        path: sorted(
            {
                imported
                for imported in (*import_candidates(path, module.outline), *module.sources)
                if imported in modules
            }
            - {path}
        )
        for path, module in modules.items()
    }


def text_digests(modules: Mapping[str, Module]) -> dict[str, str]:
    """Path to the digest of the text of that file alone."""
    return {path: digest.of_text(module.source.text) for path, module in modules.items()}


def importable(modules: Mapping[str, Module]) -> frozenset[str]:
    """Every path that an import of `modules` could find, whether a file exists there or not."""
    return frozenset().union(*{import_candidates(path, module.outline) for path, module in modules.items()})


def source_digests(modules: Mapping[str, Module]) -> dict[str, str]:
    """Path to the digest of a Python file and of all workspace files that it imports, near and far.

    Imports enter a digest by their own digests. Files that import each other share one.
    """
    imports = imports_of(modules)
    first = {
        path: component[0]
        for component in topology.strongly_connected_components(imports)
        for path in component
    }
    texts: dict[str, dict[str, str]] = {}
    below: dict[str, list[str]] = {}
    for path, imported in imports.items():
        head = first.get(path, path)
        texts.setdefault(head, {})[path] = modules[path].source.text
        others = (first.get(name, name) for name in imported)
        below.setdefault(head, []).extend(other for other in others if other != head)
    digests: dict[str, str] = {}
    for head in topology.ends_first(below, frozenset()):
        digests[head] = digest.of_data({**texts[head], **{other: digests[other] for other in below[head]}})
    return {path: digests[first.get(path, path)] for path in modules}
