"""Findings for GitHub Actions: workflow commands that become annotations, and a step summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import place, shown
from llmdo.render.findings import summary
from llmdo.render.markdown import escaped, with_code
from llmdo.render.report import with_hint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmdo.base.codes import Severity
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.render.report import Report

_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "notice"}

MAX_SUMMARY = 512 * 1024  # bytes: GitHub takes 1 MiB from all that one step writes, or nothing at all


def commands(report: Report) -> str:
    """One workflow command a finding, errors first: GitHub shows only the first few of each kind."""
    ordered = sorted(report.findings, key=lambda finding: list(_COMMANDS).index(finding.severity))
    lines = [_annotation(finding, report.folder) for finding in ordered]
    if report.error:
        hint = f"\nhint: {report.error.hint}" if report.error.hint else ""
        lines.insert(0, _command("error", {"title": "llmdo check"}, report.error.message + hint))
    return "".join(lines)


def _annotation(finding: Diagnostic, folder: str) -> str:
    properties = {"file": shown(folder + finding.at.path)}
    if span := finding.at.span:
        properties["line"] = str(span.line)
        if span.line == span.end_line:  # columns are refused where a span has more lines than one
            properties["col"] = str(span.column)
        properties["endLine"] = str(span.end_line)
        if span.line == span.end_line:
            properties["endColumn"] = str(span.end_column)
    properties["title"] = f"{finding.code} {finding.name}"
    places = [f"\n{folder}{place(other.at)}: {other.message}" for other in finding.related]
    return _command(_COMMANDS[finding.severity], properties, with_hint(finding, "\n") + "".join(places))


def _command(name: str, properties: dict[str, str], message: str) -> str:
    written = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    lines = "%0A".join(_data(shown(line)) for line in message.split("\n"))
    return f"::{name} {written}::{lines}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def step_summary(report: Report) -> str:
    """All findings as a Markdown table, as far as they fit into the file for step summaries."""
    head = "## llmdo check\n\n"
    if report.error:
        hint = f"\n\nHint: {with_code(report.error.hint)}\n" if report.error.hint else "\n"
        return f"{head}Could not check: {with_code(report.error.message)}{hint}"
    head += f"{summary(report.findings).capitalize()}.\n\n"
    if not report.findings:
        return head
    rows = [_row(finding, report.folder) for finding in report.findings]
    count = _fitting(rows)
    rest = len(rows) - count
    more = f"\n{rest:,} more are in the log.\n" if rest else ""
    return head + "| | Where | What |\n|---|---|---|\n" + "".join(rows[:count]) + more + "\n"


def _row(finding: Diagnostic, folder: str) -> str:
    hint = f"<br>Hint: {with_code(finding.hint)}" if finding.hint else ""
    where = f"{escaped(folder)}{escaped(place(finding.at))}"
    return f"| {finding.severity} {finding.code} | {where} | {with_code(finding.message)}{hint} |\n"


def _fitting(rows: Sequence[str]) -> int:
    """The number of first rows that fit into a summary."""
    size = 0
    for number, row in enumerate(rows):
        size += len(row.encode("utf-8", "backslashreplace"))
        if size > MAX_SUMMARY:
            return number
    return len(rows)
