"""The report of a check: the source of every format of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from llmdo.base.diagnostic import Diagnostic, LlmdoError

    Lines = Callable[[str], Sequence[str]]
    """The lines of a file of the workspace, without their ends; none for a file that cannot be shown."""


def _no_lines(_path: str) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of a check, with further facts for the formats."""

    findings: tuple[Diagnostic, ...] = ()
    """As `checks.check` orders them."""
    lines: Lines = _no_lines
    files: tuple[str, ...] = ()
    """The files with a result of their own, also without findings."""
    folder: str = ""
    """The workspace's folder in the repository, such as `agents/`; empty if it is the repository's own."""
    strict: bool = False
    """Whether warnings fail."""
    colour: bool = False
    read_from: str | None = None
    """The format of a foreign project; None for our own."""
    error: LlmdoError | None = None
    """The reason why the check could not be made; the only findings are then about unreadable files."""

    def fails(self, finding: Diagnostic) -> bool:
        """Whether this finding is one that makes the check fail."""
        return finding.severity == "error" or (self.strict and finding.severity == "warning")


def fingerprints(report: Report) -> Iterator[str]:
    """A digest for each finding that stays when lines move: of code, path, message and, for equals, their number."""
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
