"""A conversation as Markdown: what a person said and what was answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    class Exchange(Protocol):
        """One turn."""

        @property
        def input(self) -> str:
            """What the person said."""

        @property
        def output(self) -> str | None:
            """What was answered; None where nothing was."""


def transcript(entry: str, turns: Iterable[Exchange]) -> str:
    """The turns of a conversation with `entry`, in their order."""
    lines = [f"# Conversation with {entry}", ""]
    for turn in turns:
        lines += [*(f"> {line}".rstrip() for line in turn.input.splitlines()), ""]
        lines += [turn.output if turn.output is not None else "*(no answer)*", ""]
    return "\n".join(lines)
