"""What a page is about: a workspace or a foreign project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmdo.services.reach import ReachRequest
from llmdo.services.root import root_folder

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a page is about. It is read anew for every request: people edit while they look."""

    project: str | None = None
    """The workspace's folder; None: found from the current one."""
    origin: tuple[str, str] | None = None
    """Format and folder of a foreign project instead."""

    @property
    def root(self) -> Path:
        """The workspace.

        Raises:
            LlmdoError: There is none.
        """
        return root_folder(self.project)

    def asking(self, entry: str | None = None) -> ReachRequest:
        """The request about one entry, or about all."""
        return ReachRequest(entry=entry, project=self.project, origin=self.origin)
