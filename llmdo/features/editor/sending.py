"""Our values as those of the Language Server Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls import uris

from llmdo.base.diagnostic import shown
from llmdo.base.source import Span
from llmdo.features.editor import explained
from llmdo.features.editor.text import At

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location
    from llmdo.features.editor.text import EditorText

    TextOf = Callable[[str], EditorText]
    """The text of a file of the workspace, by its path."""
    UriOf = Callable[[str], str]

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}
_UNUSED = frozenset({"LDO303", "LDO304", "LDO305"})
_WHOLE = Span(1, 1, 1, 1)


def range_of(text: EditorText, span: Span | None) -> types.Range:
    """A stretch of text; the beginning of the file without one."""
    start, end = text.range(span or _WHOLE)
    return types.Range(types.Position(*start), types.Position(*end))


def at(position: types.Position) -> At:
    """A place that the editor names."""
    return At(position.line, position.character)


def location(at: Location, text_of: TextOf, uri_of: UriOf) -> types.Location:
    """A place in a file of the workspace."""
    return types.Location(uri_of(at.path), range_of(text_of(at.path), at.span))


def diagnostic(finding: Diagnostic, text_of: TextOf, uri_of: UriOf) -> types.Diagnostic:
    """A finding, as the editor shows it in the file that it is about."""
    page = explained.page(finding.code)
    hint = f"\nhint: {finding.hint}" if finding.hint else ""
    return types.Diagnostic(
        range=range_of(text_of(finding.at.path), finding.at.span),
        message=shown(finding.message) + hint,
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(uris.from_fs_path(str(page)) or "") if page else None,
        source="llmdo",
        tags=[types.DiagnosticTag.Unnecessary] if finding.code in _UNUSED and finding.at.span else None,
        related_information=[
            types.DiagnosticRelatedInformation(location(other.at, text_of, uri_of), shown(other.message))
            for other in finding.related
        ]
        or None,
    )
