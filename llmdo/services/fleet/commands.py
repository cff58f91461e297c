"""What is done with a fleet as a whole: its tables are made, and it is looked at."""

from __future__ import annotations

from llmdo.journal import opening
from llmdo.services.fleet.opening import require


def migrate(address: str | None) -> int:
    """Brings the tables of journals and of the queue up to date, and returns how many steps those of journals took.

    Raises:
        LlmdoError: The store is none, cannot be reached or does not allow it.
    """
    steps = opening.migrate(address)
    from llmdo.services.fleet import queue

    queue.make_tables(require(address))
    return steps
