"""The files that one reading of a project has read so far, and what there is to say about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean, excerpt, finding
from llmdo.base.values import dataclass, field
from llmdo.foreign import reading
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Document


@dataclass(slots=True)
class Files:
    """One reading of a project: hands out files, and collects which they were and their problems."""

    tree: Tree
    product: str
    """The tool whose format this is, as a sentence names it."""
    problems: list[Diagnostic] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def source(self, path: str) -> Source | None:
        """The file at `path`; None where there is none, or where it cannot be read."""
        source, problems = self.tree.read(path) or (None, ())
        self.problems.extend(problems)
        if source is None:
            return None
        self.paths.append(path)
        return None if problems else source

    def json(self, path: str) -> Document | None:
        """The JSON file at `path`, with what could be read of it; None where there is none."""
        source = self.source(path)
        return self._kept(reading.json_with_comments(source)) if source else None

    def yaml(self, path: str) -> Document | None:
        """The YAML file at `path`, with what could be read of it; None where there is none."""
        source = self.source(path)
        return self._kept(reading.yaml(source)) if source else None

    def text(self, path: str, keys: Iterable[str]) -> reading.Text | None:
        """The file at `path` with a header of these `keys`; None where it has none, which is noted."""
        source = self.source(path)
        if source is None:
            return None
        text = reading.text(source, keys)
        if text is None:
            message = f"`{path}` has no header, so it is no agent to {self.product}"
            self.problems.append(finding("LDO152", source.location(), message))
            return None
        self._kept(text.document)
        return text

    def texts(self, document: Document, *route: str) -> Iterator[tuple[str, Place]]:
        """The texts in the list at `route`, each with its place; another value than a list is noted."""
        value: object = document.data
        for step in route:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None:
            return
        if not isinstance(value, list):
            message = f"`{route[-1]}` is no list, so {self.product} does not heed it"
            self.note("LDO151", Place(document, route), message)
            return
        for number, item in enumerate(value):
            if isinstance(item, str):
                yield item, Place(document, (*route, number))

    def note(self, code: str, place: Place, message: str, hint: str | None = None) -> None:
        """Notes a finding about what stands at `place`."""
        self.problems.append(finding(code, place.location, message, hint=hint))

    def unknown_key(self, place: Place, name: str, known: Iterable[str], hint: str | None = None) -> None:
        """Notes a name that the format does not know there."""
        message = f"{self.product} does not know `{excerpt(name)}`, so it does nothing"
        self.note("LDO151", place, message, hint or did_you_mean(name, known))

    def misspelt_keys(self, document: Document, known: Iterable[str], *route: str | int) -> None:
        """Notes the keys of the table at `route` that were certainly meant to be others of the format's."""
        known = frozenset(known)
        table = Place(document, route).data
        for key in table if isinstance(table, dict) else ():
            if isinstance(key, str) and reading.misspelt(key, known):
                self.unknown_key(Place(document, (*route, key), of_key=True), key, known)

    def unknown_server(self, place: Place, name: str, known: Iterable[str]) -> None:
        """Notes an MCP server that no file of the project declares."""
        message = f"no file of this project declares the MCP server `{excerpt(name)}`"
        hint = did_you_mean(name, known) or "it may come from a person's own configuration"
        self.note("LDO250", place, message, hint)

    def _kept(self, document: Document) -> Document:
        self.problems.extend(document.problems)
        return document
