"""The commands: what each asks for, one call of a service, its output, and its exit code.

`REGISTER` has each with its place in `--help`, from the first file to the last run, and its module here, whose
`add_to(app)` makes its commands known. Those of features are in their `EXTENSION`, with `PLACE` in their module.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

REGISTER: Mapping[str, tuple[int, str]] = {
    "scan": (5, "scan"),
    "new": (8, "init"),
    "init": (10, "init"),
    "add": (20, "edit"),
    "remove": (20, "edit"),
    "check": (30, "check"),
    "lock": (40, "lock"),
    "diff": (50, "diff"),
    "explain": (60, "about"),
    "suggest": (70, "questions"),
    "graph": (80, "questions"),
    "reach": (90, "questions"),
    "why": (100, "questions"),
    "trust": (105, "trust"),
    "run": (110, "run"),
    "resume": (120, "resume"),
    "replay": (130, "replay"),
    "inbox": (135, "approve"),
    "approve": (140, "approve"),
    "runs": (150, "runs"),
    "audit": (160, "runs"),
    "test": (170, "test"),
    "schema": (190, "about"),
    "doctor": (200, "about"),
    "completion": (220, "about"),
}
