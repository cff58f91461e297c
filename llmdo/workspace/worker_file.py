"""A worker as read from its file, of any kind: its header, its prompt, and their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import digest
from llmdo.base.parts import table, text, texts
from llmdo.base.values import dataclass
from llmdo.formats.schema import judge
from llmdo.syntax import frontmatter
from llmdo.syntax.document import Document, Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Span
    from llmdo.base.values import Json
    from llmdo.formats.worker import WorkerHeader
    from llmdo.syntax.document import Route
    from llmdo.syntax.workers import WorkerOutline

_OWN = ("python", "capabilities")
"""The keys of `[workers.NAME]` that no header has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFile:
    """A worker as read: its header, as far as it is valid, and its prompt."""

    document: Document
    """The header."""
    header: WorkerHeader
    instructions: str | None = None
    """The prompt of a worker that has no file of its own; None if only running Python would tell."""
    is_inline: bool = False
    """Whether it stands in the file of its team."""
    python: str | None = None
    """FILE.py:NAME of a worker written in Python."""
    agent: str | None = None
    """FILE.py:NAME of the pydantic-ai agent that was adopted as this worker."""

    @property
    def name(self) -> str:
        """The worker's name."""
        return text(self.header["name"])

    @property
    def has_own_file(self) -> bool:
        """Whether its file is a header and a prompt, and nothing else."""
        return not (self.python or self.agent or self.is_inline)

    @property
    def prompt(self) -> str | None:
        """With LF line ends; None if only running Python would tell."""
        if not self.has_own_file:
            return self.instructions
        # Cut out again each time: kept as well, the prompts of many workers would be the largest thing in memory.
        return frontmatter.prompt(self.document.source)

    def prompt_digest(self, sources: Mapping[str, str]) -> str:
        """Of the prompt; if only running code would tell it, of all that code, by `sources`."""
        if (prompt := self.prompt) is not None:
            return digest.of_text(prompt)
        path = (self.python or self.agent or "").rpartition(":")[0]
        return sources.get(path, digest.of_text(""))

    @property
    def toolsets(self) -> Iterator[tuple[str, Place]]:
        """The names of its header for the toolsets and workers that it may use, line by line, with their places."""
        listed = self.header.get("toolsets")
        if isinstance(listed, list):
            for number, name in enumerate(texts(listed)):
                yield name, Place(self.document, ("toolsets", number), of_key=True)
        else:
            for name in table(listed):
                yield name, Place(self.document, ("toolsets", name), of_key=True)

    @property
    def references(self) -> Iterator[tuple[str, Place]]:
        """The Python files of its typed input and output and of its deps, with their places."""
        for key in ("schema_in_ref", "schema_out_ref", "deps"):
            if reference := self.header.get(key):
                yield str(reference).rpartition(":")[0], Place(self.document, (key,))


def from_python(python: str, outline: WorkerOutline) -> tuple[WorkerFile | None, tuple[Diagnostic, ...]]:
    """The worker `python`, FILE.py:NAME, and its problems; None if its header cannot be used."""
    judged = judge(outline.header, "worker")
    reported = {(problem.code, problem.message.partition(" in ")[0]) for problem in outline.header.problems}
    # What is missing has no place in a header that is not in one piece: the outline gave it that of the call.
    rest = (
        problem
        for problem in judged.problems
        if (problem.code, problem.message.partition(" in ")[0]) not in reported
    )
    problems = (*outline.header.problems, *rest)
    header = judged.data
    if header is None:
        return None, problems
    instructions = outline.instructions
    return WorkerFile(
        document=judged.document, header=header, instructions=instructions, python=python
    ), problems


def adopted(manifest: Document, tables: Mapping[str, Mapping[str, Json]]) -> Iterator[WorkerFile]:
    """The workers of `[workers]`, each a pydantic-ai agent; the manifest was judged with them in it."""
    for name, agent in tables.items():
        if "python" not in agent or "/" in name:
            continue
        data: dict[str, Json] = {
            "name": name,
            **{key: value for key, value in agent.items() if key not in _OWN},
        }
        document = part_of(manifest, ("workers", name), data)
        yield WorkerFile(document=document, header=data, agent=text(agent["python"]))


def part_of(document: Document, route: Route, header: Mapping[str, Json]) -> Document:
    """The document of a header that is a table at `route` of another one; its name is the key of that table."""
    return Document(document.source, header, _Below(document, route).index)


@dataclass(frozen=True, slots=True)
class _Below:
    """The places of a document below a route, as those of a document of its own."""

    document: Document
    route: Route

    def index(self) -> Mapping[Route, tuple[Span, Span]]:
        """Route below to places; the place of the name is that of the table's own key."""
        depth = len(self.route)
        below = {
            route[depth:]: spans
            for route, spans in self.document.index().items()
            if route[:depth] == self.route
        }
        if () in below:
            key = below.pop(())[0]
            below[("name",)] = (key, key)
        return below
