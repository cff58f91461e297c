"""The error of a team that cannot run because of what `check` finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic


class InvalidTeamError(LlmdoError, ValueError):
    """What should be run has mistakes, each of them a finding of `check`; or the entry is not there."""

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
