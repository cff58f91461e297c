"""The commands: what each asks for, one call of a service, its output, and its exit code.

`REGISTER` has each with its place in the help and its module here, whose `add_to(app)` makes its commands known. Those
of features are in their `EXTENSION`, with `PLACE` in their module. `FORMER` has the names that commands had before.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

GROUPS = ("Begin", "Prove", "Run", "Look", "Operate", "Develop")
"""The groups of the help, in its order."""


class HelpPlace(NamedTuple):
    """The place of a command in the help."""

    group: str
    order: int
    """Its place in the group."""
    is_first: bool = False
    """Whether the first help lists it; `llmdo help all` lists all."""


REGISTER: Mapping[str, tuple[HelpPlace, str]] = {
    "scan": (HelpPlace("Begin", 10, is_first=True), "scan"),
    "new": (HelpPlace("Begin", 15, is_first=True), "init"),
    "init": (HelpPlace("Begin", 20), "init"),
    "add": (HelpPlace("Begin", 30), "edit"),
    "remove": (HelpPlace("Begin", 30), "edit"),
    "trust": (HelpPlace("Begin", 50), "trust"),
    "check": (HelpPlace("Prove", 10, is_first=True), "check"),
    "reach": (HelpPlace("Prove", 20, is_first=True), "questions"),
    "diff": (HelpPlace("Prove", 30, is_first=True), "diff"),
    "lock": (HelpPlace("Prove", 40, is_first=True), "lock"),
    "suggest": (HelpPlace("Prove", 50), "questions"),
    "explain": (HelpPlace("Prove", 60), "about"),
    "run": (HelpPlace("Run", 10, is_first=True), "run"),
    "resume": (HelpPlace("Run", 40), "resume"),
    "inbox": (HelpPlace("Run", 50, is_first=True), "approve"),
    "approve": (HelpPlace("Run", 60), "approve"),
    "runs": (HelpPlace("Look", 10, is_first=True), "runs"),
    "doctor": (HelpPlace("Operate", 40), "about"),
    "schema": (HelpPlace("Develop", 10), "about"),
    "completion": (HelpPlace("Develop", 30), "about"),
}
FORMER: Mapping[str, tuple[str, ...]] = {
    "why": ("reach",),
    "graph": ("reach", "--graph"),
    "replay": ("runs", "replay"),
    "audit": ("runs", "audit"),
    "test": ("runs", "test"),
}
"""Former names of commands, which work as before, to the words that stand for them now."""
