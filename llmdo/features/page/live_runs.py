"""The state of runs that one server of the page keeps between requests: their processes, and cached readings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmdo.services.inbox import Inbox
from llmdo.services.run_processes import ResumeProcesses

if TYPE_CHECKING:
    from pathlib import Path

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
