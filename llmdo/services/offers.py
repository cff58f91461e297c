"""Entries as other programs see them: the input and output of each."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, near_or_all
from llmdo.graph.offers import require_ours
from llmdo.runtime.signatures import PlainInput, signatures_of
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.python import Modules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from llmdo.graph.resolved import Entry, Graph
    from llmdo.runtime.signatures import Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedEntry:
    """One entry as a tool."""

    entry: Entry
    signature: Signature | None
    """Of its worker; None if a function or a tool takes text."""
    description: str

    @property
    def takes(self) -> dict[str, object]:
        """The JSON Schema of its arguments."""
        schema = (
            self.signature.takes.schema(files=False) if self.signature else PlainInput().schema(files=False)
        )
        return {**schema, "required": []} if self.entry.input is not None and self._takes_text else schema

    @property
    def gives(self) -> dict[str, object] | None:
        """The JSON Schema of its output, if that is an object."""
        if self.signature is None or self.signature.gives is None:
            return None
        schema = self.signature.gives.model_json_schema()
        return schema if schema.get("type") == "object" else None

    @property
    def goes_on(self) -> bool:
        """Whether a run of it may go on from another: only of a worker, with a text."""
        return self.entry.worker is not None and self._takes_text

    @property
    def _takes_text(self) -> bool:
        return self.signature is None or isinstance(self.signature.takes, PlainInput)

    def input(self, arguments: Mapping[str, object]) -> str | None:
        """The input of a run that is called with `arguments`; None if the entry's own holds.

        Raises:
            LlmdoError: They do not fit its input.
        """
        if not self._takes_text:
            return json.dumps(arguments)
        text = arguments.get("input")
        if set(arguments) - {"input"} or not (text is None or isinstance(text, str)):
            raise LlmdoError(f"`{self.entry.name}` takes one argument, the text `input`")
        return text


def offers_of(graph: Graph, root: Path, names: Iterable[str]) -> dict[str, OfferedEntry]:
    """The entries of these names, or all if none is given, as tools. Models of typed inputs are imported.

    Raises:
        LlmdoError: There is no such entry, or a model cannot be imported.
    """
    chosen = tuple(names) or tuple(name for name, entry in graph.entries.items() if not entry.format)
    for name in chosen:
        if name not in graph.entries:
            raise LlmdoError(f"there is no entry `{name}`", hint=near_or_all(name, graph.entries, "entry"))
        require_ours(graph.entries[name])
    offers: dict[str, OfferedEntry] = {}
    with closing(Root.open(root)) as files, Modules(root, files, graph.code) as modules:
        for name in sorted(chosen):
            entry = graph.entries[name]
            worker = graph.workers.get(entry.worker.name) if entry.worker else None
            offers[name] = OfferedEntry(
                entry=entry,
                signature=signatures_of(graph, [worker.name], modules)[worker.name] if worker else None,
                description=(worker and worker.description)
                or f"Runs the entry {name} of {graph.settings.name}.",
            )
    return offers
