"""Questions of a run that wait for an answer, and the answers that somebody gives them afterwards."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from llmdo.diagnostic import LlmdoError
from llmdo.journal.entries import Entry, pack
from llmdo.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.journal.store import Journal

VALID_SECONDS = 7 * 24 * 60 * 60  # how long an answer counts where nobody says: a week


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A question that nobody has answered yet."""

    path: str
    key: str
    """The digest of the call that it is about, with the files that a command names, for this run alone."""
    said: Mapping[str, Any]
    """The question as it was asked."""

    @property
    def terminal_only(self) -> bool:
        """Whether only a person at a terminal may say yes."""
        return bool(self.said["terminal_only"])


def waiting(journal: Journal) -> dict[str, Waiting]:
    """The questions of a run that wait, by call path and in its order: in which they came is chance."""
    if next(journal.entries("asked"), None) is None:
        return {}  # the decisions of a long run are many
    now = time.time()
    found: dict[str, Waiting] = {}
    for entry in journal.entries("asked", "answered", "decision"):
        if entry.kind == "asked":
            found[entry.path] = Waiting(path=entry.path, key=entry.digest, said=entry.data)
        elif entry.kind == "decision" or is_valid(entry, now):
            found.pop(entry.path, None)
    return dict(sorted(found.items(), key=lambda item: _position(item[0])))


def _position(path: str) -> list[tuple[str, int]]:
    """What sorts call paths as a person would: the second call of a worker before the tenth."""
    steps = (step.partition("#") for step in path.split("/"))
    return [(name, int(number) if number.isdecimal() else 0) for name, _, number in steps]


def is_valid(answer: Entry, now: float) -> bool:
    """Whether an answer still counts at the time `now`."""
    expires = answer.data["expires"]
    return expires is None or bool(expires > now)


def add_answer(journal: Journal, question: Waiting, said: Mapping[str, Any], *, at_terminal: bool) -> None:
    """Keeps an answer for whoever goes on with the run; `said` has `allowed`, `by`, `reason`, `told`, `expires`.

    Raises:
        LlmdoError: Only a person at a terminal may give it.
    """
    if question.terminal_only and said["allowed"] and not at_terminal:
        raise LlmdoError(
            f"{question.path}: only a person at a terminal may say yes to this",
            hint=f"`llmdo approve {journal.run}` at a terminal",
        )
    body = pack(
        {**said, "key": question.key, "by_tool": question.said["by_tool"], "at_terminal": at_terminal}
    )
    step = 1 + sum(entry.path == question.path for entry in journal.entries("answered"))
    outcome = "allowed" if said["allowed"] else "denied"
    journal.add(
        Entry(path=question.path, kind="answered", step=step, outcome=outcome, digest=question.key, body=body)
    )
    journal.commit()
