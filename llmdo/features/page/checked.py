"""The findings of `check`, each with the line of source that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import error_keys
from llmdo.base.jsonable import record
from llmdo.cli.sources import source_lines
from llmdo.features.page.endpoints import Endpoint, Inquiry
from llmdo.render.excerpt import drawn
from llmdo.render.findings import summary
from llmdo.services import check, foreign

if TYPE_CHECKING:
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location
    from llmdo.features.page.subject import Subject
    from llmdo.render.report import Lines


def checked(subject: Subject, inquiry: Inquiry) -> object:
    """The findings, in the order of `llmdo check`, and the reason if the check is not whole."""
    del inquiry
    if subject.origin is not None:
        of_others = foreign.check(subject.origin)
        findings, lines, problem = of_others.findings, source_lines(of_others.root), None
    else:
        outcome = check.check(check.CheckRequest(project=subject.project))
        findings, problem = outcome.findings, outcome.problem
        lines = source_lines(outcome.root, outcome.fingerprint.seen)
    return {
        "findings": [_finding(each, lines) for each in findings],
        "summary": summary(findings),
        "problem": error_keys(problem),
    }


def _finding(finding: Diagnostic, lines: Lines) -> dict[str, object]:
    related = [{**record(each), "excerpt": _excerpt(each.at, lines)} for each in finding.related]
    return {
        **record(finding),
        "subject": finding.subject,
        "capability": finding.capability,
        "excerpt": _excerpt(finding.at, lines),
        "related": related,
    }


def _excerpt(at: Location, lines: Lines) -> dict[str, str] | None:
    """The line at a place as a terminal shows it, with the mark below it; None for a whole file."""
    source = lines(at.path) if at.span else ()
    if at.span is None or at.span.line > len(source):
        return None
    line, before, mark = drawn(source[at.span.line - 1], at.span)
    return {"line": line, "mark": before + mark}


ENDPOINTS = (Endpoint(path="/api/check", answer=checked),)
