"""The answer of a check after an edit of texts for models: only its findings about the lock change."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from llmdo.base.diagnostic import Diagnostic, Fix, Related
from llmdo.base.source import Location, Span
from llmdo.cli.console import FINDINGS, FINE
from llmdo.cli.sources import repository_folder, source_lines
from llmdo.render import formats
from llmdo.render.report import Report
from llmdo.syntax import discovery, frontmatter
from llmdo.syntax.document import Place
from llmdo.syntax.unchanged import changed_texts
from llmdo.workspace.stale import relaxed, stale_item, without_explained

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmdo.base.cache import Answer, CheckQuestion
    from llmdo.render.formats import Format
    from llmdo.syntax.unchanged import Meaning

MAX_FINDINGS = 50  # that are kept: of a workspace with more a check is made


def as_values(findings: Sequence[Diagnostic]) -> list[tuple[Any, ...]] | None:
    """Findings as values for the memory; None for too many, and for those about unreadable files."""
    if len(findings) > MAX_FINDINGS or any(finding.code.startswith("LDO1") for finding in findings):
        return None
    return [_values(finding) for finding in findings]


def _values(finding: Diagnostic) -> tuple[Any, ...]:
    fix = finding.fix
    return (
        finding.code,
        _place(finding.at),
        finding.message,
        finding.hint,
        tuple([(_place(other.at), other.message) for other in finding.related]),
        finding.severity,
        finding.subject,
        finding.capability,
        finding.gated,
        (_place(fix.at), fix.before, fix.text, fix.safe) if fix else None,
    )


def _place(at: Location) -> tuple[Any, ...]:
    span = at.span
    return (at.path, *((span.line, span.column, span.end_line, span.end_column) if span else ()))


def _finding(values: tuple[Any, ...]) -> Diagnostic:
    code, at, message, hint, related, severity, subject, capability, gated, fix = values
    return Diagnostic(
        code=code,
        at=_location(at),
        message=message,
        hint=hint,
        related=tuple([Related(_location(other), about) for other, about in related]),
        severity=severity,
        subject=subject,
        capability=capability,
        gated=gated,
        fix=Fix(_location(fix[0]), *fix[1:]) if fix else None,
    )


def _location(place: tuple[Any, ...]) -> Location:
    path, *span = place
    return Location(path, Span(*span) if span else None)


def answer_now(
    root: str, question: CheckQuestion, before: Answer, edited: Mapping[str, tuple[Meaning, Meaning]]
) -> Answer | None:
    """The answer after the texts of these files were edited; None if a check has to be made.

    `edited` maps paths to the old and new meaning of files.
    """
    if before[2] is None:
        return None
    known = [_finding(values) for values in before[2]]
    unaffected = [
        finding for finding in known if not (finding.code == "LDO401" and finding.at.path in edited)
    ]
    stale = [
        _stale(root, path, changes)
        for path, (_, meaning) in edited.items()
        if (changes := changed_texts(meaning))
    ]
    if not question.locked:
        stale = list(map(relaxed, stale))
    findings = tuple(sorted(without_explained([*unaffected, *stale]), key=lambda finding: finding.order))
    report = Report(
        findings=findings,
        lines=source_lines(Path(root)),
        folder=repository_folder(Path(root), os.environ),
        strict=question.strict,
        colour=question.colour,
    )
    text = formats.rendered(report, cast("Format", question.form))
    return (FINDINGS if any(map(report.fails, findings)) else FINE, text, as_values(findings))


def _stale(root: str, path: str, changes: Sequence[str]) -> Diagnostic:
    """The finding at the name of a worker whose texts differ from the lock."""
    source, _ = discovery.read_source(Path(root), path)
    document = frontmatter.parse(source).document
    return stale_item(f"worker `{document.data['name']}`", Place(document, ("name",)).location, changes)
