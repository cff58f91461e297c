"""The subject of a page, a workspace or a foreign project, and the state of its runs between requests."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.opening import address_of
from llmdo.services import diff, reach
from llmdo.services.inbox import Inbox
from llmdo.services.root import ORIGIN, PROJECT, root_folder
from llmdo.services.run_processes import ResumeProcesses

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.services.diff import DiffOutcome
    from llmdo.services.reach import GraphOutcome
    from llmdo.services.root import Tell
    from llmdo.services.run_processes import LiveRun


@dataclass(slots=True)
class LiveRuns:
    """The inboxes and processes of the runs of workspaces."""

    _inboxes: dict[Path, Inbox] = field(default_factory=dict)
    _processes: dict[Path, ResumeProcesses] = field(default_factory=dict)
    live_run: LiveRun | None = None
    """The run that the page was opened with."""
    is_ending: bool = False
    """Whether the server ends, so that streams do as well."""

    def inbox(self, root: Path) -> Inbox:
        """The inbox of the workspace at `root`."""
        return self._inboxes.setdefault(root, Inbox(root=root))

    def processes(self, root: Path) -> ResumeProcesses:
        """The processes that resume its runs."""
        return self._processes.setdefault(root, ResumeProcesses(root=root))

    def close(self) -> tuple[str, ...]:
        """Detaches from all processes; gives the ids of the runs that go on."""
        at_work = tuple(run for processes in self._processes.values() for run in processes.at_work())
        for processes in self._processes.values():
            processes.close()
        return at_work


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The subject of a page. It is read again for every request: people edit while they look."""

    project: str | None = field(default=None, metadata=PROJECT)
    """The workspace's folder; None: found from the current one."""
    origin: tuple[str, str] | None = field(default=None, metadata=ORIGIN)
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

    def graph(self, tell: Tell, entry: str | None = None, select: tuple[str, ...] = ()) -> GraphOutcome:
        """The graph below one entry, or below all.

        Raises:
            LlmdoError: The project cannot be read, or has no such entry.
        """
        request = reach.GraphRequest(entry=entry, select=select, project=self.project, origin=self.origin)
        return reach.graph(request, tell)

    def difference(self, before: str, after: str, tell: Tell) -> DiffOutcome:
        """The difference between two revisions.

        Raises:
            LlmdoError: One of them cannot be read.
        """
        request = diff.DiffRequest(before=before, after=after, project=self.project, origin=self.origin)
        return diff.diff(request, tell)
