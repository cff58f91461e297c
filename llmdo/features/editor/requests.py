"""The requests of an editor: each is answered from one reading of the workspace that the file belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.editor import actions, completing, hovering, lenses, renaming, sending, symbols
from llmdo.workspace.root import MANIFEST, WORKER_ENDINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from llmdo.base.source import Location, Span
    from llmdo.features.editor.server import EditorServer
    from llmdo.features.editor.session import Session
    from llmdo.features.editor.symbols import Mention
    from llmdo.features.editor.text import EditorText
    from llmdo.workspace.project import Project

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
        edits = renaming.rename(place.project, mention, params.new_name)
    except LlmdoError as error:
        raise JsonRpcInvalidParams(error.message) from error
    return _edit(server, place.session, [actions.Edit(fix.at, fix.text) for fix in edits])


def _edit(server: EditorServer, session: Session, edits: Sequence[actions.Edit]) -> types.WorkspaceEdit:
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
        *((types.CodeActionKind.QuickFix, action) for action in actions.fixes(touched)),
        *(
            (types.CodeActionKind.QuickFix, action)
            for action in actions.acceptances(reading.project, touched)
        ),
        *(
            (types.CodeActionKind.Refactor, action)
            for action in actions.suggestions(reading.project, path, first)
        ),
    ]
    if edits := actions.all_fixes(in_file):
        offered.append((types.CodeActionKind.SourceFixAll, actions.Action("Fix all that is certain", edits)))
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
    server: EditorServer, session: Session, kind: types.CodeActionKind, action: actions.Action
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
    if placed is None or not (placed[1] == MANIFEST or placed[1].endswith((*WORKER_ENDINGS, ".py"))):
        return []
    session, path = placed
    text = session.text(path)
    return [
        types.CodeLens(sending.range_of(text, lens.span), types.Command(lens.title, ""))
        for lens in lenses.lenses(session.reading().project, path)
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
