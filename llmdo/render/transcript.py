"""A conversation as Markdown: the person's words and the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    class Exchange(Protocol):
        """One turn."""

        @property
        def input(self) -> str:
            """The person's words."""

        @property
        def output(self) -> str | None:
            """The answer; None if there was none."""


def transcript(entry: str, turns: Iterable[Exchange]) -> str:
    """The turns of a conversation with `entry`, in their order."""
    lines = [f"# Conversation with {entry}", ""]
    for turn in turns:
        lines += [*(f"> {line}".rstrip() for line in turn.input.splitlines()), ""]
        lines += [turn.output if turn.output is not None else "*(no answer)*", ""]
    return "\n".join(lines)
