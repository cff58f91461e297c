"""Findings in one of the formats of `llmdo check`, of which only the chosen one is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from llmdo.diagnostic import Diagnostic, LlmdoError

    Lines = Callable[[str], Sequence[str]]
    """The lines of a file of the workspace, without their ends; none for a file that cannot be shown."""

Format = Literal["text", "concise", "json", "github", "gitlab", "junit", "sarif"]

FOR_PEOPLE: tuple[Format, ...] = ("text", "concise")
"""The formats that say nothing on standard output where the check could not be made."""


def _no_lines(_path: str) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a check found, and what a format needs to know besides."""

    findings: tuple[Diagnostic, ...] = ()
    """In order of place."""
    lines: Lines = _no_lines
    files: tuple[str, ...] = ()
    """The files that have a result of their own, whether something was found in them or not."""
    folder: str = ""
    """The workspace's folder in the repository, such as `agents/`; empty where that is the repository's own."""
    strict: bool = False
    """Whether warnings fail."""
    colour: bool = False
    error: LlmdoError | None = None
    """Why the check could not be made; there are no findings then."""

    def fails(self, finding: Diagnostic) -> bool:
        """Whether this finding is one that makes the check fail."""
        return finding.severity == "error" or (self.strict and finding.severity == "warning")


def rendered(report: Report, form: Format) -> str:
    """The report as text in the format `form`."""
    match form:
        case "text":
            from llmdo.render.findings import text

            return text(report.findings, report.lines, colour=report.colour)
        case "concise":
            from llmdo.render.findings import concise

            return concise(report.findings)
        case "json":
            from llmdo.render.record import record

            return record(report)
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


def fingerprints(report: Report) -> Iterator[str]:
    """For each finding a digest that stays when lines move: of code, path, message and, for equals, their number."""
    from hashlib import sha256

    seen: dict[tuple[str, str, str], int] = {}
    for finding in report.findings:
        identity = (finding.code, report.folder + finding.at.path, finding.message)
        seen[identity] = number = seen.get(identity, 0) + 1
        text = "\0".join((*identity, str(number)))
        yield sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def with_hint(finding: Diagnostic, separator: str) -> str:
    """The finding's sentence and its hint."""
    return separator.join(_sentences(finding.message, finding.hint))


def _sentences(message: str, hint: str | None) -> Iterable[str]:
    return (message, f"hint: {hint}") if hint else (message,)
