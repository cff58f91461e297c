"""The finding that the lock is out of date for an item, from a comparison of graphs or an edit of one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, finding, joined
from llmdo.base.values import replace
from llmdo.syntax.unchanged import DESCRIPTION_CHANGED, PROMPT_CHANGED
from llmdo.workspace.root import LOCK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location

_TEXTS = tuple(
    f"`: {changes}"
    for changes in (DESCRIPTION_CHANGED, PROMPT_CHANGED, f"{DESCRIPTION_CHANGED}, {PROMPT_CHANGED}")
)


_SUBJECT = f"`{LOCK}` is out of date for "
_BEFORE = ("LDO1", "LDO2", "LDO3")
"""The beginnings of the codes of errors that keep a lock from being written."""


def stale_item(subject: str, at: Location, changes: Sequence[str], *, is_kept: bool = False) -> Diagnostic:
    """The finding about an item of the lock; `is_kept` says that only `llmdo lock --refresh` would change it."""
    return finding(
        "LDO401",
        at,
        f"{_SUBJECT}{subject}: {', '.join(changes)}",
        hint=f"run `llmdo lock{' --refresh' if is_kept else ''}`, review the difference, commit it",
    )


def without_explained(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The findings, without those about a stale lock if errors about files or names prevent a new one."""
    known = list(findings)
    if any(finding.severity == "error" and finding.code.startswith(_BEFORE) for finding in known):
        return [finding for finding in known if finding.code != "LDO401"]
    return known


def told_once(findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings for a person: those about a stale lock are merged into one, after all others, with all places."""
    known = tuple(findings)
    stale = [finding for finding in known if finding.code == "LDO401"]
    if not stale:
        return known
    first, others = stale[0], stale[1:]
    words = [finding.message.removeprefix(_SUBJECT) for finding in others]
    kept = next(
        (finding.hint for finding in stale if finding.hint and "--refresh" in finding.hint), first.hint
    )
    whole = replace(
        first,
        message=joined([first.message, *words]),
        hint=kept,
        related=tuple(
            Related(each.at, sentence) for each, sentence in zip(others, words, strict=True) if each.at.span
        ),
    )
    return (*(finding for finding in known if finding.code != "LDO401"), whole)


def is_about_texts(finding: Diagnostic) -> bool:
    """Whether a finding says that only texts for models of a worker differ from the lock."""
    return (
        finding.code == "LDO401"
        and finding.message.startswith(f"{_SUBJECT}worker `")
        and finding.message.endswith(_TEXTS)
    )


def relaxed(finding: Diagnostic) -> Diagnostic:
    """A finding if the lock need not be current: a stale lock is a warning, a missing one a note."""
    if finding.code == "LDO401":
        return replace(finding, severity="warning")
    return replace(finding, severity="note") if finding.code == "LDO402" else finding
