"""The code that a worker runs: reviewed, and unchanged since the worker began."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import digest
from llmdo.base.cache import Fingerprint
from llmdo.base.diagnostic import LlmdoError
from llmdo.services.soundness import require_sound
from llmdo.workspace import project as projects
from llmdo.workspace.root import LOCK

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.services.root import Tell


def lock_digest(root: Path) -> str:
    """The digest of the lock of a workspace, by which workers and queued runs find each other.

    Raises:
        LlmdoError: There is none.
    """
    try:
        return digest.of_bytes((root / LOCK).read_bytes())
    except OSError as error:
        raise LlmdoError(
            f"`{LOCK}` cannot be read: {error.strerror}", hint="a fleet runs what `llmdo lock` recorded"
        ) from error


class ReviewedCode:
    """A workspace whose lock is current, watched."""

    def __init__(self, root: Path, tell: Tell) -> None:
        """Checks all of it, as `check --locked` does.

        Raises:
            InvalidTeamError: There are errors, or the lock is not current.
            LlmdoError: There is no lock.
        """
        self.root, self._tell = root, tell
        self.lock = lock_digest(root)
        self._seen = self._read()

    def _read(self) -> Fingerprint:
        seen = Fingerprint()
        require_sound(projects.read(self.root, seen=seen.seen), self._tell, locked=True)
        return seen

    def change(self) -> str | None:
        """The change since the beginning, or None. Costs a look at the times of files."""
        if self._seen.holds(str(self.root)):
            return None
        try:
            if lock_digest(self.root) != self.lock:
                return f"`{LOCK}` has changed"
            self._seen = self._read()
        except LlmdoError as error:
            return f"the workspace has changed: {error.message}"
        return None
