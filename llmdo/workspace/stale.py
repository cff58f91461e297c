"""The finding that the lock is out of date for something, as a comparison of graphs or an edit of one file shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import finding
from llmdo.base.values import replace
from llmdo.syntax.unchanged import DESCRIPTION_CHANGED, PROMPT_CHANGED
from llmdo.workspace.root import LOCK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location

_TEXTS = tuple(
    f"`: {changes}"
    for changes in (DESCRIPTION_CHANGED, PROMPT_CHANGED, f"{DESCRIPTION_CHANGED}, {PROMPT_CHANGED}")
)


def stale_item(subject: str, at: Location, changes: Sequence[str], *, is_kept: bool = False) -> Diagnostic:
    """The finding about an item of the lock; `is_kept` says that only `llmdo lock --refresh` would change it."""
    return finding(
        "LDO401",
        at,
        f"`{LOCK}` is out of date for {subject}: {', '.join(changes)}",
        hint=f"run `llmdo lock{' --refresh' if is_kept else ''}`, review the difference, commit it",
    )


def is_about_texts(finding: Diagnostic) -> bool:
    """Whether a finding says that nothing of a worker but texts for models differs from the lock."""
    return (
        finding.code == "LDO401"
        and finding.message.startswith(f"`{LOCK}` is out of date for worker `")
        and finding.message.endswith(_TEXTS)
    )


def relaxed(finding: Diagnostic) -> Diagnostic:
    """A finding as it counts where the lock need not be current: one that is stale is a warning, none at all a note."""
    if finding.code == "LDO401":
        return replace(finding, severity="warning")
    return replace(finding, severity="note") if finding.code == "LDO402" else finding
