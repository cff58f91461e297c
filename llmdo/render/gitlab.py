"""Findings as a Code Quality report of GitLab."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown
from llmdo.render.report import fingerprints, with_hint

if TYPE_CHECKING:
    from llmdo.base.codes import Severity
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.values import Json
    from llmdo.render.report import Report

_SEVERITIES: dict[Severity, str] = {"error": "major", "warning": "minor", "note": "info"}


def code_quality(report: Report) -> str:
    """A list of issues; if the check could not be made, one `blocker` that says so."""
    pairs = zip(report.findings, fingerprints(report), strict=True)
    issues = [_issue(finding, fingerprint, report.folder) for finding, fingerprint in pairs]
    if report.error:
        hint = f" (hint: {report.error.hint})" if report.error.hint else ""
        issues.append(
            {
                "description": shown(f"could not check: {report.error.message}{hint}"),
                "check_name": "llmdo-check",
                "fingerprint": "0" * 64,
                "severity": "blocker",
                "location": {"path": f"{report.folder}llmdo.toml", "lines": {"begin": 1}},
            }
        )
    return json.dumps(issues, indent=2) + "\n"


def _issue(finding: Diagnostic, fingerprint: str, folder: str) -> dict[str, Json]:
    span = finding.at.span
    return {
        "description": shown(with_hint(finding, " - ")),
        "check_name": f"{finding.code} {finding.name}",
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {
            "path": shown(folder + finding.at.path),
            "lines": {"begin": span.line, "end": span.end_line} if span else {"begin": 1},
        },
    }
