"""Permission modes: the decision if no rule decides, in a session and in the agents below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from llmdo.foreign.lines import Line
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Place

MODES = frozenset({"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan"})
"""The permission modes; `manual` is the interface's name of `default`."""
_HOLDS_BELOW = frozenset({"acceptEdits", "auto", "bypassPermissions"})
"""The modes of a session that no agent below it changes, whatever its file says."""
_UNASKED = frozenset({"auto", "bypassPermissions"})


@dataclass(frozen=True, slots=True)
class Mode:
    """The decision if no rule decides.

    If no file names a mode it is `auto`, the mildest of those that a session then starts in: the actual one depends on
    the plan of the person who starts it.
    """

    name: str = "auto"
    at: Place | None = None

    @property
    def origin(self) -> str:
        """The source of the decision."""
        return f"Claude Code, mode {self.name}" + ("" if self.at else ": no file sets another")

    @property
    def never_asks(self) -> bool:
        """Whether no person is asked, except by a rule."""
        return self.name in _UNASKED

    def decision(self, line: Line) -> Decision:
        """Its decision about a tool."""
        if line.decision == "allowed" or self.never_asks:
            return "allowed"
        if self.name == "acceptEdits" and writes(line):
            return "allowed"
        # Edits wait for a plan that a person approves: that is a question, and then they run.
        return "blocked" if self.name == "dontAsk" else line.decision

    def below(self, own: Mode | None) -> Mode:
        """The mode of an agent whose file says `own` below a session in this mode."""
        return self if own is None or self.name in _HOLDS_BELOW else own


def writes(line: Line) -> bool:
    """Whether a tool edits files."""
    return any(capability.startswith("fs.write") for capability in line.capabilities)
