"""When Python looks for garbage: not while a program is loaded, which makes hardly any; as usual while it runs a team.

Going again and again through all that stays takes a third of the start of a run.
"""

from __future__ import annotations

import gc

POSTPONED = 200_000  # objects more than before, after which Python looks even so
USUAL = 2_000


def postpone() -> None:
    """Puts it off until something runs."""
    gc.set_threshold(POSTPONED)


def look_as_usual() -> None:
    """Ends that, where it was put off: what is loaded by now stays to the end, and is not looked at again."""
    if gc.get_threshold()[0] == POSTPONED:
        gc.freeze()
        gc.set_threshold(USUAL)
