"""The places of names: declarations and mentions of workers, toolsets, models, entries and Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from llmdo.base import parts
from llmdo.base.source import Location
from llmdo.syntax.document import Place
from llmdo.workspace.references import located, models_of, named_models, package_files, python_file
from llmdo.workspace.toolset_names import toolset_references

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.base.source import Span
    from llmdo.graph.keys import Reference
    from llmdo.workspace.project import Project

Kind = Literal["worker", "toolset", "model", "entry", "tool", "python"]


class Mention(NamedTuple):
    """One declaration or mention of a name."""

    kind: Kind
    name: str
    at: Place | Location
    declares: bool = False

    @property
    def path(self) -> str:
        """The file."""
        return self.at.path if isinstance(self.at, Location) else self.at.document.source.path

    @property
    def location(self) -> Location:
        """The place in its text."""
        return self.at if isinstance(self.at, Location) else self.at.location


def mentions(project: Project) -> Iterator[Mention]:
    """All declarations and mentions in the workspace."""
    yield from _of_workers(project)
    yield from _of_entries(project)
    yield from _of_models(project)
    yield from _of_python(project)


def mention_at(project: Project, path: str, line: int, column: int) -> Mention | None:
    """The mention at a place of a file, or None."""
    for mention in mentions(project):
        if mention.path == path and (span := mention.location.span) and _holds(span, line, column):
            return mention
    return None


def declarations(project: Project, mention: Mention) -> list[Location]:
    """The declarations of the mentioned name; those in Python as well if the manifest only names it."""
    return _places(_alike(project, mention), only_declaring=True)


def references(project: Project, mention: Mention, *, with_declaration: bool) -> list[Location]:
    """All mentions of the name."""
    alike = [each for each in _alike(project, mention) if with_declaration or not each.declares]
    return _places(alike, only_declaring=False)


def _alike(project: Project, mention: Mention) -> list[Mention]:
    meant = {(mention.kind, mention.name)}
    if mention.kind == "toolset" and (toolset := project.graph.toolsets.get(mention.name)) and toolset.python:
        meant.add(("python", toolset.python))
    if mention.kind == "python":
        meant |= {
            ("toolset", name)
            for name, toolset in project.graph.toolsets.items()
            if toolset.python == mention.name
        }
    return [each for each in mentions(project) if (each.kind, each.name) in meant]


def _places(alike: Iterable[Mention], *, only_declaring: bool) -> list[Location]:
    places = {each.location for each in alike if each.declares or not only_declaring}
    spans = [place for place in places if place.span]
    return sorted(spans, key=lambda place: (place.path, place.span.line if place.span else 0))


def _holds(span: Span, line: int, column: int) -> bool:
    return (span.line, span.column) <= (line, column) <= (span.end_line, span.end_column)


def _of_workers(project: Project) -> Iterator[Mention]:
    workers = project.graph.workers
    for name, worker in workers.items():
        yield Mention("worker", name, worker.at, declares=True)
        for use in worker.uses:
            if use.at.document.source.path:
                yield Mention("worker" if use.name in workers else "toolset", use.name, use.at)
        for named in worker.code:
            yield Mention("python", named.name, named.at)


def _of_entries(project: Project) -> Iterator[Mention]:
    for name, entry in project.graph.entries.items():
        if entry.declared:
            yield Mention("entry", name, entry.at, declares=True)
        if entry.declared and entry.worker:
            yield Mention("worker", entry.worker.name, entry.worker.at)
        for call in entry.calls:
            yield from _called(call)
        if entry.tool:
            yield from _called(entry.tool)
        if entry.function:
            yield Mention("python", entry.function.name, entry.function.at)
    document = project.workspace.document
    accepted = parts.items(project.workspace.table("check").get("accept"))
    for number, table in enumerate(accepted):
        if entry_name := parts.text(parts.table(table).get("entry")):
            yield Mention("entry", entry_name, Place(document, ("check", "accept", number, "entry")))


def _called(call: Reference) -> Iterator[Mention]:
    kind: Kind = "tool" if "." in call.name else "worker"
    yield Mention(kind, call.name, call.at)


def _of_models(project: Project) -> Iterator[Mention]:
    workspace = project.workspace
    for alias in workspace.table("models"):
        yield Mention(
            "model", alias, Place(workspace.document, ("models", alias), of_key=True), declares=True
        )
    named = [*named_models(workspace.document, workspace.manifest or {}), *models_of(workspace.workers)]
    for model, place in named:
        if model.startswith("python:"):
            yield Mention("python", model.removeprefix("python:"), place)
        elif model in project.graph.models:
            yield Mention("model", model, place)


def _of_python(project: Project) -> Iterator[Mention]:
    workspace = project.workspace
    for name, python, place in toolset_references(workspace):
        is_of_table = place.document is workspace.document and place.of_key
        yield Mention("toolset", name, place, declares=True)
        if is_of_table:
            yield Mention("python", python, Place(workspace.document, (*place.route, "python")))
        reference = located(python, workspace.modules)
        path = python_file(reference) or next(
            (each for each in package_files(reference) if each in workspace.modules), ""
        )
        module = workspace.modules.get(path)
        outline = module.outline.toolsets.get(reference.rpartition(":")[2]) if module else None
        if outline is not None:
            for tool, shown in outline.tools.items():
                yield Mention("tool", f"{name}.{tool}", Location(path, shown.span), declares=True)
    for name, table in workspace.tables("toolsets").items():
        if "mcp" in table:
            at = Place(workspace.document, ("toolsets", name), of_key=True)
            yield Mention("toolset", name, at, declares=True)
    for path, module in workspace.modules.items():
        for name, span in module.outline.spans.items():
            yield Mention("python", f"{path}:{name}", Location(path, span), declares=True)
