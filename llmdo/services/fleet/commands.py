"""What is done with a fleet as a whole: its tables are made, and it is looked at."""

from __future__ import annotations

from llmdo.journal import opening
from llmdo.services.fleet.opening import require


def restored(address: str) -> tuple[int, int]:
    """How many items and runs wait for a person now, as the store was put back to an earlier state.

    Raises:
        LlmdoError: The store cannot be used.
    """
    return opening.declare_restored(address)


def migrate(address: str | None) -> int:
    """Brings the tables of journals and of the queue up to date, and returns how many steps those of journals took.

    Raises:
        LlmdoError: The store is none, cannot be reached or does not allow it.
    """
    steps = opening.migrate(address)
    from llmdo.services.fleet import queue

    queue.make_tables(require(address))
    return steps
