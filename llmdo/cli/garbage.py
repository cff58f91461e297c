"""Python's garbage collection: rare while a program is loaded, which makes hardly any garbage; as usual during a run.

Repeated collection of all that stays takes a third of the start of a run.
"""

from __future__ import annotations

import gc

POSTPONED = 200_000  # objects more than before, after which Python looks even so
USUAL = 2_000


def postpone() -> None:
    """Puts it off until something runs."""
    gc.set_threshold(POSTPONED)


def look_as_usual() -> None:
    """Ends the postponement, if any: objects loaded by now stay to the end, and are not looked at again."""
    if gc.get_threshold()[0] == POSTPONED:
        gc.freeze()
        gc.set_threshold(USUAL)
