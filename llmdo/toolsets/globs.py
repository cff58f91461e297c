"""Patterns over paths: `*` and `?` within a name, `**` for any number of folders."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import translate

from llmdo.toolsets.refusal import PathRefused, normalise

State = frozenset[int]
"""The positions in a pattern that the names so far can have led to."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern, to be walked one name at a time: no path takes more time than its length times the pattern's.

    A hidden name, one that begins with a dot, is matched only by a part that begins with a dot as well.
    """

    parts: tuple[re.Pattern[str] | None, ...]
    """None is `**`."""
    dotted: tuple[bool, ...]

    @property
    def start(self) -> State:
        """Before the first name."""
        return self._with_nothing_for_stars({0})

    def step(self, state: State, name: str) -> State:
        """After one more name; empty when no path that begins like this can match."""
        hidden = name.startswith(".")
        reached: set[int] = set()
        for position in state:
            if position == len(self.parts) or (hidden and not self.dotted[position]):
                continue
            part = self.parts[position]
            if part is None:
                reached.add(position)
            elif part.match(name):
                reached.add(position + 1)
        return self._with_nothing_for_stars(reached)

    def matches(self, state: State) -> bool:
        """Whether the names so far are a whole match."""
        return len(self.parts) in state

    def goes_on(self, state: State) -> bool:
        """Whether a longer path can still match."""
        return any(position < len(self.parts) for position in state)

    def _with_nothing_for_stars(self, positions: set[int]) -> State:
        closed = set(positions)
        for position in positions:
            after = position
            while after < len(self.parts) and self.parts[after] is None:
                after += 1
                closed.add(after)
        return frozenset(closed)


def parse_pattern(text: str) -> Pattern:
    """The pattern that `text` spells.

    Raises:
        PathRefused: A path of this form would be refused.
    """
    names = normalise(text).split("/")
    if names == ["."]:
        raise PathRefused(
            text, "is not a pattern", hint="`*` stands for every file, `**/*` for those below as well"
        )
    return Pattern(
        tuple(None if name == "**" else re.compile(translate(name.replace("[", "[[]"))) for name in names),
        tuple(name.startswith(".") for name in names),
    )
