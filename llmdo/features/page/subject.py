"""The subject of a page: a workspace or a foreign project."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.page.live_runs import LiveRuns
from llmdo.journal.opening import address_of
from llmdo.services.reach import ReachRequest
from llmdo.services.root import root_folder

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The subject of a page. It is read again for every request: people edit while they look."""

    project: str | None = None
    """The workspace's folder; None: found from the current one."""
    origin: tuple[str, str] | None = None
    """Format and folder of a foreign project instead."""
    desk: LiveRuns = field(default_factory=LiveRuns, compare=False)
    """The state of its runs between requests."""

    @property
    def root(self) -> Path:
        """The workspace.

        Raises:
            LlmdoError: There is none.
        """
        return root_folder(self.project)

    @property
    def with_runs(self) -> Path:
        """The workspace, for requests about its runs.

        Raises:
            LlmdoError: There is none, or it is a project that nothing here runs.
        """
        if self.origin is not None:
            raise LlmdoError(
                "a project of another tool has no runs here", hint="`llmdo import` makes it one of ours"
            )
        return self.root

    @property
    def store(self) -> str | None:
        """The address of the database of its runs; None if they are files.

        Raises:
            LlmdoError: There is no workspace, or it names a variable that is not set.
        """
        return address_of(self.with_runs, os.environ) or None

    def asking(self, entry: str | None = None) -> ReachRequest:
        """The request about one entry, or about all."""
        return ReachRequest(entry=entry, project=self.project, origin=self.origin)
