"""The permission modes of Claude Code: what is decided where no rule does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, replace

if TYPE_CHECKING:
    from llmdo.foreign.lines import Line
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Place

MODES = frozenset({"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan"})
"""The permission modes; `manual` is the interface's name of `default`."""
BYPASSES = "bypassPermissions"
_HOLDS_BELOW = frozenset({"acceptEdits", "auto", BYPASSES})
"""The modes of a session that no agent below it changes, whatever its file says."""
_UNASKED = frozenset({"auto", BYPASSES})


@dataclass(frozen=True, slots=True)
class Mode:
    """The decision if no rule decides.

    If no file names a mode it is `auto`, the mildest of those that a session then starts in: the actual one depends on
    the plan of the person who starts it.
    """

    name: str = "auto"
    at: Place | None = None
    over: str = ""
    """The mode that an agent's file says, in place of which this one may hold as no file sets that of its session."""

    @property
    def origin(self) -> str:
        """The source of the decision."""
        of_session = " for its session" if self.over else ""
        return f"Claude Code, mode {self.name}" + ("" if self.at else f": no file sets another{of_session}")

    @property
    def unset(self) -> str:
        """What a condition says of a mode that no file sets."""
        own = f", and its own mode `{self.over}` holds only below a session that asks" if self.over else ""
        return f"no file sets a mode{own}"

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
        if own is None or self.name not in _HOLDS_BELOW:
            return own or self
        return self if self.at or own.never_asks else replace(self, over=own.name)


def writes(line: Line) -> bool:
    """Whether a tool edits files."""
    return any(capability.startswith("fs.write") for capability in line.capabilities)
