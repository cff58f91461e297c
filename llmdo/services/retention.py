"""The limits for keeping the past: by the options of a command, else by the manifest."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.workspace import project as projects

if TYPE_CHECKING:
    from pathlib import Path

DAY = 24 * 60 * 60  # seconds
KEPT = 20
"""The number of last ones that are kept if neither options nor the manifest say."""

Kind = Literal["runs", "batches"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The limits for keeping runs or batches that are over."""

    keep: int
    """So many of the last ones, however old."""
    days: int | None
    """And those that began within so many days; None for no others."""

    def keeps(self, number: int, began: float) -> bool:
        """Whether to keep the one at that place, the last being 0, with that beginning, in seconds since 1970."""
        return number < self.keep or (self.days is not None and time.time() - began < self.days * DAY)


def retention(root: Path, kind: Kind, keep: int | None, days: int | None) -> Retention:
    """The limits by the options `keep` and `days`; if both are None, those of the manifest at `root`.

    Raises:
        LlmdoError: The manifest has errors, so that its limits are unknown.
    """
    if keep is not None or days is not None:
        return Retention(keep=KEPT if keep is None else keep, days=days)
    kept = kept_days(root)[kind]
    return Retention(keep=KEPT, days=None) if kept is None else Retention(keep=0, days=kept)


def kept_days(root: Path) -> dict[Kind, int | None]:
    """The days that the manifest at `root` names.

    Raises:
        LlmdoError: It has errors.
    """
    project = projects.read(root)
    for problem in project.workspace.problems:
        if problem.severity == "error" and problem.at.path == (
            name := project.workspace.document.source.path
        ):
            raise LlmdoError(
                f"`{name}` has errors, so nobody knows for how long it keeps what is over: {problem.message}",
                hint="`llmdo check` shows where; `--keep` and `--older-than` say how much is kept without it",
            )
    settings = project.graph.settings
    return {"runs": settings.keep_runs_days, "batches": settings.keep_batches_days}
