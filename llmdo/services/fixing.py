"""`check --fix`: the safe edits that findings offer, applied to the files, and an update of a stale lock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo import checks
from llmdo.base.diagnostic import place, shown
from llmdo.scaffold import files
from llmdo.services import locking
from llmdo.services.relocking import behind
from llmdo.syntax import discovery
from llmdo.workspace import project

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic, Fix
    from llmdo.base.source import Span
    from llmdo.workspace.trust import Consent

MAX_ROUNDS = (
    5  # an edit may uncover another mistake; more rounds than this are two edits that undo each other
)

_BOM = "\ufeff"


def fix(root: Path, consent: Consent | None = None) -> Iterator[str]:
    """Makes the safe edits in the workspace at `root`; tells each edit, and announces a relock before it.

    A stale lock is updated only if all other findings are notes. That imports toolset modules in a child process,
    as `llmdo lock` does. Changes that only `llmdo lock` takes in are left to it.

    Raises:
        UntrustedError: `consent` refuses an import.
        LlmdoError: a file cannot be written, or a toolset module cannot be imported.
    """
    for _ in range(MAX_ROUNDS):
        edited = False
        for path, fixes in _by_path(_findings(project.read(root))):
            for fix in _apply(root, path, fixes):
                edited = True
                yield f"fixed {place(fix.at)}: `{shown(fix.before)}` is `{shown(fix.text)}` now"
        if not edited:
            break
    read = project.read(root)
    if {finding.code for finding in _findings(read) if finding.severity != "note"} == {"LDO401"}:
        yield "the lock is stale: bringing it up to date, which imports toolset modules in a child process"
        stale = behind(read, locking.derive(read, consent=consent))
        lines: list[str] = []
        if stale:
            stale.take_in(lines.append)
        yield from lines


def _findings(read: project.Project) -> tuple[Diagnostic, ...]:
    return checks.reported(read, checks.check(read))


def _by_path(findings: Iterable[Diagnostic]) -> Iterable[tuple[str, list[Fix]]]:
    fixes: dict[str, list[Fix]] = {}
    for finding in findings:
        if finding.fix and finding.fix.safe:
            fixes.setdefault(finding.fix.at.path, []).append(finding.fix)
    return fixes.items()


def _apply(root: Path, path: str, fixes: Sequence[Fix]) -> list[Fix]:
    """Makes, in one write, the edits that overlap no earlier one and still find their old text; returns them.

    Every other byte of the file stays: line ends, a byte-order mark, white space.
    """
    content = discovery.read(root, path)
    if isinstance(content, discovery.RefusedPath):
        return []
    text = content.decode("utf-8")
    applied: list[Fix] = []
    parts: list[str] = []
    done = 0
    for start, end, fix in sorted(_stretches(text, fixes), key=lambda stretch: stretch[:2]):
        if start >= done and text[start:end] == fix.before:
            parts += (text[done:start], fix.text)
            done = end
            applied.append(fix)
    if applied:
        files.write(root, path, "".join((*parts, text[done:])).encode("utf-8"))
    return applied


def _stretches(text: str, fixes: Iterable[Fix]) -> Iterator[tuple[int, int, Fix]]:
    """The start and end offsets of the spans of `fixes` in `text`, the file as it is on the disk."""
    first = len(_BOM) if text.startswith(_BOM) else 0
    starts = [first]
    for line in text[first:].split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for fix in fixes:
        span: Span | None = fix.at.span
        if span and span.end_line < len(starts):
            yield (
                starts[span.line - 1] + span.column - 1,
                starts[span.end_line - 1] + span.end_column - 1,
                fix,
            )
