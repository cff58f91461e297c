"""The formats of `llmdo check`, of which only the chosen one is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo.base.values import replace
from llmdo.workspace.stale import told_once

if TYPE_CHECKING:
    from llmdo.render.report import Report

Format = Literal["text", "concise", "json", "github", "gitlab", "junit", "sarif"]

FOR_PEOPLE: tuple[Format, ...] = ("text", "concise")
"""The formats that print nothing on standard output if the check could not be made."""


def rendered(report: Report, form: Format) -> str:
    """The report as text in the format `form`."""
    report = replace(report, findings=told_once(report.findings))
    match form:
        case "text":
            from llmdo.render.findings import text

            return text(report.findings, report.lines, colour=report.colour)
        case "concise":
            from llmdo.render.findings import concise

            return concise(report.findings)
        case "json":
            from llmdo.base.jsonable import document

            # ASCII alone: a terminal is shown no control or bidi character, and every encoding can carry it.
            return document("llmdo.check/1", report, in_ascii=True)
        case "github":
            from llmdo.render.github import commands

            return commands(report)
        case "gitlab":
            from llmdo.render.gitlab import code_quality

            return code_quality(report)
        case "junit":
            from llmdo.render.junit import suite

            return suite(report)
        case "sarif":
            from llmdo.render.sarif import log

            return log(report)
