"""Waiting questions about like calls, whose arguments are seen side by side."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmdo.journal.questions import Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """The arguments of several calls of one tool."""

    same: Mapping[str, object]
    """Those that all calls have with the same value."""
    rows: tuple[Mapping[str, object], ...]
    """The others, of each call."""

    @classmethod
    def of(cls, calls: Sequence[Mapping[str, object]]) -> SideBySide:
        """The arguments of `calls`, which are at least one. As in JSON, true is not 1."""
        first, *others = (
            {name: json.dumps(value, sort_keys=True) for name, value in call.items()} for call in calls
        )
        same = {name for name, text in first.items() if all(other.get(name) == text for other in others)}
        return cls(
            same={name: value for name, value in calls[0].items() if name in same},
            rows=tuple({name: value for name, value in call.items() if name not in same} for call in calls),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the others, in the order of their first call."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row))


@dataclass(frozen=True, slots=True, kw_only=True)
class LikeQuestions:
    """Questions of one worker about one tool, for the same reasons: a person may answer several of them at once."""

    questions: tuple[Waiting, ...]
    titles: tuple[str, ...]
    """The title of the run of each."""
    reasons: tuple[str, ...]
    """In the words that they share."""
    raises: tuple[str, ...]
    """The capabilities; `<path>` for a scope that is that argument of each."""

    @property
    def advice(self) -> tuple[str, ...]:
        """The changes that would answer all of them for good."""
        first, *others = (each.record["advice"] for each in self.questions)
        return tuple(text for text in first if all(text in other for other in others))

    @property
    def arguments(self) -> SideBySide:
        """Their arguments."""
        return SideBySide.of([each.record["arguments"] for each in self.questions])

    def without(self, answered: Sequence[int]) -> LikeQuestions:
        """Those that are left without some, which are named by their places."""
        left = [place for place in range(len(self.questions)) if place not in answered]
        return LikeQuestions(
            questions=tuple(self.questions[place] for place in left),
            titles=tuple(self.titles[place] for place in left),
            reasons=self.reasons,
            raises=self.raises,
        )
