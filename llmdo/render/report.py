"""The report of a check: the source of every format of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import error_keys
from llmdo.base.values import also_in_json, dataclass, field, in_json, unenforced

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
    lines: Lines = field(default=_no_lines, metadata=in_json(part=None))
    files: tuple[str, ...] = field(default=(), metadata=in_json(part=None))
    """The files with a result of their own, also without findings."""
    folder: str = field(default="", metadata=in_json(part=None))
    """The workspace's folder in the repository, such as `agents/`; empty if it is the repository's own."""
    strict: bool = field(default=False, metadata=in_json(part=None))
    """Whether warnings fail."""
    colour: bool = field(default=False, metadata=in_json(part=None))
    read_from: str | None = field(default=None, metadata=in_json(by=unenforced, flat=True, after=None))
    """The format of a foreign project; None for our own."""
    error: LlmdoError | None = field(default=None, metadata=in_json(by=error_keys, sparse=True))
    """The reason why the check could not be made; the only findings are then about unreadable files."""

    @property
    @also_in_json(after="read_from")
    def status(self) -> str:
        """The result in a word."""
        return "error" if self.error else "findings" if self.findings else "clean"

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
