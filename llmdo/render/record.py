"""Findings as the JSON document `llmdo.check/1`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location
    from llmdo.base.values import Json
    from llmdo.render.report import Report


def record(report: Report) -> str:
    """The document: its status is `clean`, `findings` or, if the check could not be made, `error`."""
    error = report.error
    document: dict[str, Json] = {
        "schema": "llmdo.check/1",
        **({"read_from": report.read_from, "enforced": False} if report.read_from else {}),
        "status": "error" if error else "findings" if report.findings else "clean",
        "findings": [_finding(finding) for finding in report.findings],
    }
    if error:
        document["error"] = {"message": error.message, "hint": error.hint}
    # ASCII alone: a terminal is shown no control or bidi character, and every encoding can carry it.
    return json.dumps(document, indent=2) + "\n"


def _finding(finding: Diagnostic) -> dict[str, Json]:
    fix = finding.fix
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        **_where(finding.at),
        "message": finding.message,
        "hint": finding.hint,
        "related": [{**_where(other.at), "message": other.message} for other in finding.related],
        "fix": {**_where(fix.at), "before": fix.before, "text": fix.text, "safe": fix.safe} if fix else None,
    }


def _where(at: Location) -> dict[str, Json]:
    span = at.span
    return {
        "path": at.path,
        "line": span.line if span else None,
        "column": span.column if span else None,
        "end_line": span.end_line if span else None,
        "end_column": span.end_column if span else None,
    }
