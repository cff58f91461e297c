"""What one server of the page knows of runs between requests: who goes on with which, and what needs no second look."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmdo.services.going_on import GoingOn
from llmdo.services.inbox import Inbox

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.services.beside import RunBeside


@dataclass(slots=True)
class Desk:
    """Where the runs of workspaces are looked at and answered."""

    _inboxes: dict[Path, Inbox] = field(default_factory=dict)
    _going: dict[Path, GoingOn] = field(default_factory=dict)
    beside: RunBeside | None = None
    """The run that the page was opened beside."""
    is_ending: bool = False
    """Whether the server ends, so that streams do as well."""

    def inbox(self, root: Path) -> Inbox:
        """What waits in the workspace at `root`."""
        return self._inboxes.setdefault(root, Inbox(root=root))

    def going_on(self, root: Path) -> GoingOn:
        """The processes that go on with its runs."""
        return self._going.setdefault(root, GoingOn(root=root))

    def close(self) -> tuple[str, ...]:
        """Leaves all processes alone; the ids of the runs that go on."""
        at_work = tuple(run for going in self._going.values() for run in going.at_work())
        for going in self._going.values():
            going.close()
        return at_work
