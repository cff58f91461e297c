"""Several errors as one, for a person who should see all of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError

if TYPE_CHECKING:
    from collections.abc import Iterable


class Problems(LlmdoError):  # noqa: N818  # named by what it holds
    """The command cannot go on, for each of these reasons."""

    def __init__(self, problems: Iterable[LlmdoError]) -> None:
        """At least one is needed."""
        self.problems = tuple(problems)
        first = self.problems[0]
        if len(self.problems) == 1:
            super().__init__(first.message, hint=first.hint, at=first.at)
        else:
            lines = (f"\n  - {_sentence(problem)}" for problem in self.problems)
            super().__init__(f"{len(self.problems)} things are wrong with the toolsets:" + "".join(lines))


def _sentence(problem: LlmdoError) -> str:
    where = "" if problem.at is None else f"{problem.at.path}: "
    return where + (problem.message if problem.hint is None else f"{problem.message} ({problem.hint})")
