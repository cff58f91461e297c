"""The requests of an editor: each is answered from one reading of the workspace that the file belongs to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from llmdo.base import parts
from llmdo.base.diagnostic import Fix, LlmdoError, place
from llmdo.base.nearest import TEAM_FILES
from llmdo.base.source import Location, Span
from llmdo.base.team_words import lines_for
from llmdo.checks.acceptance import ACCEPTABLE
from llmdo.features.editor import completing, hovering, sending, symbols
from llmdo.features.editor.symbols import Mention, mentions
from llmdo.formats.schema import accepts_part
from llmdo.graph import builtin
from llmdo.reach.suggest import suggest
from llmdo.syntax.document import Place
from llmdo.workspace.root import MANIFEST, WORKER_ENDINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.features.editor.sending import EditorText
    from llmdo.features.editor.server import EditorServer, Session
    from llmdo.reach import Row
    from llmdo.workspace.project import Project
    from llmdo.workspace.workspace import Workspace


class Lens(NamedTuple):
    """A line above a place."""

    span: Span
    title: str


def lenses(project: Project, path: str) -> Iterator[Lens]:
    """The lenses of a file."""
    graph, analysis = project.graph, project.analysis
    for name, worker in graph.workers.items():
        if worker.at.document.source.path == path and (span := worker.at.location.span):
            yield Lens(span, title(analysis.of_worker(name)))
    for entry in graph.entries.values():
        if entry.declared and entry.at.document.source.path == path and (span := entry.at.location.span):
            yield Lens(span, title(analysis.of(entry)))


def title(rows: Iterable[Row]) -> str:
    """The number of reached capabilities, and of those without approval."""
    reached = [row for row in rows if row.decision != "blocked"]
    unasked = sum(row.decision == "allowed" for row in reached)
    noun = "capability" if len(reached) == 1 else "capabilities"
    return f"reaches {len(reached)} {noun}, {unasked} without approval"


_YAML_WORDS = frozenset({"null", "true", "false"})


def renamed(project: Project, mention: Mention, name: str) -> list[Fix]:
    """The edits that rename a worker to `name`: all of them, or none.

    Raises:
        LlmdoError: It is no worker, the name is taken or invalid, or a place cannot surely be rewritten.
    """
    if mention.kind != "worker" or mention.name not in project.graph.workers:
        raise LlmdoError("only workers are renamed here")
    if not accepts_part(name, "worker", "name") or name in _YAML_WORDS:
        raise LlmdoError(f"`{name}` cannot be the name of a worker")
    graph = project.graph
    if name in graph.workers or name in graph.toolsets or name in builtin.NAMES:
        raise LlmdoError(f"there is a worker or toolset `{name}` already")
    if project.gaps.names:
        raise LlmdoError("files that may name it cannot be read: fix what `check` finds in them first")
    alike = [each for each in mentions(project) if each.kind == "worker" and each.name == mention.name]
    return [_respelt(each, name) for each in alike]


def _respelt(mention: Mention, name: str) -> Fix:
    at = mention.location
    is_table = isinstance(mention.at, Place) and mention.at.route[:1] == ("workers",)
    text = mention.at.document.source.marked(at.span) if at.span and isinstance(mention.at, Place) else ""
    is_bare = text == mention.name and not at.path.endswith(".py")
    if is_table or not (is_bare or text in (f'"{mention.name}"', f"'{mention.name}'")):
        raise LlmdoError(f"`{mention.name}` is written at {place(at)} in a way that only a person can change")
    return Fix(at, text, text.replace(mention.name, name), safe=True)


class Edit(NamedTuple):
    """A replacement of text."""

    at: Location
    text: str


class Action(NamedTuple):
    """An action."""

    title: str
    edits: tuple[Edit, ...]
    finding: Diagnostic | None = None
    """The finding that it solves."""
    is_preferred: bool = False


def fixes(findings: Iterable[Diagnostic]) -> Iterator[Action]:
    """The edits that findings offer."""
    for finding in findings:
        if fix := finding.fix:
            title = f"Write `{fix.text}` for `{fix.before}`"
            yield Action(title, (Edit(fix.at, fix.text),), finding, fix.safe)


def all_fixes(findings: Iterable[Diagnostic]) -> tuple[Edit, ...]:
    """The edits that `check --fix` would make in one file, without overlaps."""
    edits: list[Edit] = []
    safe = [finding.fix for finding in findings if finding.fix and finding.fix.safe]
    for fix in sorted(safe, key=lambda fix: (fix.at.path, fix.at.span or Span(0, 0, 0, 0))):
        before = edits[-1].at.span if edits else None
        span = fix.at.span
        if span and (before is None or (span.line, span.column) >= (before.end_line, before.end_column)):
            edits.append(Edit(fix.at, fix.text))
    return tuple(edits)


def acceptances(project: Project, findings: Iterable[Diagnostic]) -> Iterator[Action]:
    """The manifest lines that accept a finding, for each that people may accept; a person has to give the reason."""
    source = project.workspace.document.source
    manifest = source.path
    if project.workspace.manifest is None or not _takes_another(project.workspace, source):
        return
    lines = source.text.split("\n")
    end = Span(len(lines), len(lines[-1]) + 1, len(lines), len(lines[-1]) + 1)
    for finding in findings:
        if finding.code in ACCEPTABLE:
            stated = (("code", finding.code), ("entry", finding.subject), ("capability", finding.capability))
            written = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in stated if value]
            added = lines_for(manifest, ["", "[[check.accept]]", *written, 'reason = ""', ""])
            yield Action(
                f"Accept {finding.code} in {manifest}, with a reason",
                (Edit(Location(manifest, end), "\n" * _lacks_end(source.text) + "\n".join(added)),),
                finding,
            )


def _takes_another(workspace: Workspace, source: Source) -> bool:
    """Whether a manifest can have one more acceptance at its end."""
    if source.path == MANIFEST:
        return "accept" not in workspace.table("check") or "[[check.accept]]" in source.text
    return not workspace.table("check") and not source.text.startswith("---")


def _lacks_end(text: str) -> bool:
    """Whether the last line of a text does not end."""
    return bool(text) and not text.endswith("\n")


def suggestions(project: Project, path: str, line: int) -> Iterator[Action]:
    """The smallest ceiling that admits the whole reach of the entry at a line of the manifest."""
    if path != MANIFEST:
        return
    for entry in project.graph.entries.values():
        at = entry.at.location.span
        if not entry.declared or at is None or at.line != line:
            continue
        may = json.dumps([str(each) for each in suggest(project.analysis, entry).may], ensure_ascii=False)
        title = f"Set the ceiling of `{entry.name}` to what it can reach now"
        table = parts.table(project.workspace.table("entries"), entry.name)
        if entry.may_at and "may" in table:
            span = entry.may_at.location.span
            if span:
                yield Action(title, (Edit(Location(MANIFEST, span), may),))
        elif project.workspace.document.source.text.split("\n")[line - 1].lstrip().startswith("["):
            below = Span(line + 1, 1, line + 1, 1)
            yield Action(title, (Edit(Location(MANIFEST, below), f"may = {may}\n"),))


if TYPE_CHECKING:
    Asked = types.HoverParams | types.DefinitionParams | types.ReferenceParams | types.CompletionParams
    Renaming = types.RenameParams | types.PrepareRenameParams


Sent = TypeVar("Sent")


class PlaceAsked(NamedTuple):
    """A place in a file of a workspace that an editor asks about."""

    session: Session
    path: str
    text: EditorText
    line: int
    column: int

    @property
    def project(self) -> Project:
        """The workspace as it is now."""
        return self.session.reading().project

    @property
    def mention(self) -> Mention | None:
        """The name at the place."""
        return symbols.mention_at(self.project, self.path, self.line, self.column)


_KINDS = {
    "key": types.CompletionItemKind.Property,
    "worker": types.CompletionItemKind.Class,
    "toolset": types.CompletionItemKind.Module,
    "capability": types.CompletionItemKind.EnumMember,
    "scope": types.CompletionItemKind.File,
    "value": types.CompletionItemKind.Value,
}


def question(server: EditorServer, params: Asked | Renaming) -> PlaceAsked | None:
    """The place in question; None if it is in no workspace."""
    placed = server.session_of(params.text_document.uri)
    if placed is None:
        return None
    session, path = placed
    text = session.text(path)
    return PlaceAsked(session, path, text, *text.place(sending.at(params.position)))


def hover(server: EditorServer, params: types.HoverParams) -> types.Hover | None:
    """The description of the name or key at a place."""
    place = question(server, params)
    if place is None:
        return None
    mention = place.mention
    meaning = hovering.about(place.project, mention) if mention else None
    if meaning is None:
        name = hovering.capability_at(place.text.lines[place.line - 1], place.column)
        meaning = hovering.about_capability(place.project, name) if name else _of_key(place)
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, meaning)) if meaning else None


def _of_key(place: PlaceAsked) -> str | None:
    """The format's description of the key at a place."""
    line = place.text.lines[place.line - 1]
    end = place.column - 1
    while end < len(line) and (line[end].isalnum() or line[end] in "_-"):
        end += 1
    return completing.about_key(place.path, place.text.lines, place.line, end + 1)


def definition(server: EditorServer, params: types.DefinitionParams) -> list[types.Location]:
    """The declarations of the name at a place."""
    place = question(server, params)
    mention = place.mention if place else None
    if place is None or mention is None:
        return []
    return _locations(server, place.session, symbols.declarations(place.project, mention))


def references(server: EditorServer, params: types.ReferenceParams) -> list[types.Location]:
    """All mentions of the name at a place."""
    place = question(server, params)
    mention = place.mention if place else None
    if place is None or mention is None:
        return []
    with_declaration = params.context.include_declaration
    places = symbols.references(place.project, mention, with_declaration=with_declaration)
    return _locations(server, place.session, places)


def _locations(server: EditorServer, session: Session, places: Iterable[Location]) -> list[types.Location]:
    text_of = session.texts()
    return [sending.location(at, text_of, lambda path: server.uri_of(session, path)) for at in places]


def completion(server: EditorServer, params: types.CompletionParams) -> list[types.CompletionItem]:
    """The proposals at a place."""
    place = question(server, params)
    if place is None:
        return []
    project = place.session.sound().project
    offered = completing.completions(project, place.path, place.text.lines, place.line, place.column)
    start = place.text.at(place.line, place.column - offered.replaced)
    replaced = types.Range(types.Position(*start), params.position)
    return [
        types.CompletionItem(
            item.label,
            kind=_KINDS[item.kind],
            detail=item.detail or None,
            text_edit=types.TextEdit(replaced, item.text or item.label),
            filter_text=item.label,
        )
        for item in offered.items
    ]


def prepare_rename(server: EditorServer, params: types.PrepareRenameParams) -> types.Range | None:
    """The name at a place, if it is that of a worker."""
    place = question(server, params)
    mention = place.mention if place else None
    if place is None or mention is None or mention.kind != "worker":
        return None
    return sending.range_of(place.text, mention.location.span)


def rename(server: EditorServer, params: types.RenameParams) -> types.WorkspaceEdit | None:
    """The edits that rename the worker at a place."""
    place = question(server, params)
    mention = place.mention if place else None
    if place is None or mention is None:
        return None
    try:
        edits = renamed(place.project, mention, params.new_name)
    except LlmdoError as error:
        raise JsonRpcInvalidParams(error.message) from error
    return _edit(server, place.session, [Edit(fix.at, fix.text) for fix in edits])


def _edit(server: EditorServer, session: Session, edits: Sequence[Edit]) -> types.WorkspaceEdit:
    text_of = session.texts()
    changes: dict[str, list[types.TextEdit]] = {}
    for edit in edits:
        uri = server.uri_of(session, edit.at.path)
        span = sending.range_of(text_of(edit.at.path), edit.at.span)
        changes.setdefault(uri, []).append(
            types.TextEdit(span, session.with_line_ends(edit.at.path, edit.text))
        )
    return types.WorkspaceEdit(changes)


def code_actions(server: EditorServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The actions for the findings and the entry in a stretch of text."""
    placed = server.session_of(params.text_document.uri)
    if placed is None:
        return []
    session, path = placed
    text = session.text(path)
    first, _ = text.place(sending.at(params.range.start))
    last, _ = text.place(sending.at(params.range.end))
    reading = session.reading()
    in_file = reading.by_path.get(path, ())
    touched = [finding for finding in in_file if _touches(finding.at.span, first, last)]
    offered = [
        *((types.CodeActionKind.QuickFix, action) for action in fixes(touched)),
        *((types.CodeActionKind.QuickFix, action) for action in acceptances(reading.project, touched)),
        *((types.CodeActionKind.Refactor, action) for action in suggestions(reading.project, path, first)),
    ]
    if edits := all_fixes(in_file):
        offered.append((types.CodeActionKind.SourceFixAll, Action("Fix all that is certain", edits)))
    wanted = params.context.only
    return [
        _action(server, session, kind, action)
        for kind, action in offered
        if wanted is None or any(kind == each or kind.startswith(f"{each}.") for each in wanted)
    ]


def _touches(span: Span | None, first: int, last: int) -> bool:
    """Whether a finding is about one of these lines, or about the whole file."""
    return span is None or (first <= span.end_line and span.line <= last)


def _action(
    server: EditorServer, session: Session, kind: types.CodeActionKind, action: Action
) -> types.CodeAction:
    about = None
    if action.finding:
        text_of = session.texts()
        about = [sending.diagnostic(action.finding, text_of, lambda path: server.uri_of(session, path))]
    return types.CodeAction(
        action.title,
        kind=kind,
        diagnostics=about,
        is_preferred=action.is_preferred or None,
        edit=_edit(server, session, action.edits),
    )


def code_lenses(server: EditorServer, params: types.CodeLensParams) -> list[types.CodeLens]:
    """How much the workers and entries of a file reach."""
    placed = server.session_of(params.text_document.uri)
    if placed is None or not (
        placed[1] in (MANIFEST, *TEAM_FILES) or placed[1].endswith((*WORKER_ENDINGS, ".py"))
    ):
        return []
    session, path = placed
    text = session.text(path)
    return [
        types.CodeLens(sending.range_of(text, lens.span), types.Command(lens.title, ""))
        for lens in lenses(session.reading().project, path)
    ]


def add_to(server: EditorServer) -> None:
    """Registers the requests."""

    def answers(method: str, answer: Callable[[EditorServer, Sent], object], options: object = None) -> None:
        server.feature(method, options)(lambda sent: answer(server, sent))

    answers(types.TEXT_DOCUMENT_HOVER, hover)
    answers(types.TEXT_DOCUMENT_DEFINITION, definition)
    answers(types.TEXT_DOCUMENT_REFERENCES, references)
    triggers = types.CompletionOptions(trigger_characters=[".", ":", '"', "["])
    answers(types.TEXT_DOCUMENT_COMPLETION, completion, triggers)
    answers(types.TEXT_DOCUMENT_PREPARE_RENAME, prepare_rename)
    answers(types.TEXT_DOCUMENT_RENAME, rename, types.RenameOptions(prepare_provider=True))
    kinds = [types.CodeActionKind.QuickFix, types.CodeActionKind.Refactor, types.CodeActionKind.SourceFixAll]
    answers(types.TEXT_DOCUMENT_CODE_ACTION, code_actions, types.CodeActionOptions(kinds))
    answers(types.TEXT_DOCUMENT_CODE_LENS, code_lenses, types.CodeLensOptions())
