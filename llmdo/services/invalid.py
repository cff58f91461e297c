"""The error of a team that cannot run because of findings of `check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.workspace.extensions import REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic


class InvalidTeamError(LlmdoError, ValueError):
    """The team has mistakes, each of them a finding of `check`; or the entry is not there."""

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        findings: Sequence[Diagnostic] = (),
        root: Path | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.findings = tuple(findings)
        self.root = root
        """The folder that the findings are about."""


def require_extensions(problems: Iterable[Diagnostic]) -> None:
    """Check that every extension is loaded which a workspace with these problems names.

    Raises:
        LlmdoError: One is not, so its additions are unknown.
    """
    if refused := [each for each in problems if each.code == REFUSED]:
        raise LlmdoError(
            "; ".join(f"{each.message} [{each.code}]" for each in refused),
            hint=refused[0].hint if len(refused) == 1 else "`llmdo check` says of each what to do",
            at=refused[0].at,
        )
