"""Findings as a JUnit report: a test case for each file, so that files without findings count as well."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import place, shown
from llmdo.render.report import with_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.render.report import Report


def suite(report: Report) -> str:
    """One test suite; if the check could not be made, its first test case is an error.

    Findings that make the check fail are failures, the others are output of their test case.
    """
    by_path: dict[str, list[Diagnostic]] = {path: [] for path in report.files}
    for finding in report.findings:
        by_path.setdefault(finding.at.path, []).append(finding)
    cases = [_case(path, by_path[path], report) for path in sorted(by_path)]
    failures = sum(any(map(report.fails, findings)) for findings in by_path.values())
    errors = 0
    if report.error:
        cases, errors = [_error_case(report.error.message, report.error.hint), *cases], 1
    counts = f'name="llmdo check" tests="{len(cases)}" failures="{failures}" errors="{errors}"'
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<testsuites {counts}>\n<testsuite {counts}>\n{''.join(cases)}</testsuite>\n</testsuites>\n"
    )


def _case(path: str, findings: Sequence[Diagnostic], report: Report) -> str:
    name = _quoted(report.folder + path)
    failing = [finding for finding in findings if report.fails(finding)]
    others = [finding for finding in findings if not report.fails(finding)]
    inside = ""
    if failing:
        first = failing[0].message if len(failing) == 1 else f"{len(failing)} findings"
        codes = " ".join(dict.fromkeys(finding.code for finding in failing))
        inside += f'<failure message="{_quoted(first)}" type="{codes}">{_text_of(failing)}</failure>\n'
    if others:
        inside += f"<system-out>{_text_of(others)}</system-out>\n"
    opening = f'<testcase classname="llmdo.check" name="{name}" file="{name}"'
    return f"{opening}>\n{inside}</testcase>\n" if inside else f"{opening}/>\n"


def _error_case(message: str, hint: str | None) -> str:
    text = _quoted(f"hint: {hint}") if hint else ""
    return (
        '<testcase classname="llmdo.check" name="llmdo check">\n'
        f'<error message="{_quoted(message)}" type="LlmdoError">{text}</error>\n</testcase>\n'
    )


def _text_of(findings: Iterable[Diagnostic]) -> str:
    return "\n".join(
        escape(
            f"{place(finding.at)}: {finding.severity}[{finding.code}]: "
            + "\n    ".join(map(shown, with_hint(finding, "\n").split("\n")))
        )
        for finding in findings
    )


def _quoted(text: str) -> str:
    """`text` for XML, which knows no way to write most control characters."""
    return escape(shown(text))
