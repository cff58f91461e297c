"""Waiting questions of a run, and the answers given afterwards."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass, field, in_json
from llmdo.journal.entries import CANCELLED, JournalEntry, pack
from llmdo.journal.spans import marked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.journal.stored import JournalStore

VALID_SECONDS = 7 * 24 * 60 * 60  # how long an answer counts where nobody says: a week
MOST_HOURS = 1_000_000  # for which somebody may let one count: a century


_SHOWN = ("worker", "toolset", "tool", "arguments", "capabilities")


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A question that nobody has answered yet."""

    path: str
    key: str = field(metadata=in_json("digest"))
    """The digest of its call, with the files that a command names, for this run alone."""
    record: Mapping[str, Any] = field(metadata=in_json(flat=True))
    """The question as it was asked."""
    entry: JournalEntry = field(metadata=in_json(part=None))

    @property
    def digest(self) -> str:
        """The digest that an answer repeats: `key`, under its name in JSON."""
        return self.key

    @property
    def terminal_only(self) -> bool:
        """Whether only a person at a terminal may say yes."""
        return bool(self.record["terminal_only"])

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables whose names replace their values in its record."""
        return tuple(sorted({span.variable for span in self.entry.spans}))

    @property
    def is_whole(self) -> bool:
        """Whether its record has all of the call but the values of variables."""
        return bool(json.loads(marked(self.entry.body, self.entry.spans)) == self.record)


def waiting(journal: JournalStore, ended: JournalEntry | None = None) -> dict[str, Waiting]:
    """The waiting questions of a run by call path, sorted, as their order of arrival is chance.

    With `ended`, the entry about the end of the run, those that waited then.
    """
    if next(journal.entries("asked"), None) is None:
        return {}  # the decisions of a long run are many
    if ended is None and (last := journal.last("end")) is not None and last.outcome == CANCELLED:
        return {}
    now, foreign = ended.at if ended else time.time(), foreign_answers(journal)
    questions: dict[str, Waiting] = {}
    for entry in journal.entries("asked", "answered", "decision", *(("end",) if ended else ())):
        if entry.kind == "end":
            if ended and entry.step == ended.step:
                break
        elif entry.kind == "asked":
            questions[entry.path] = Waiting(path=entry.path, key=entry.digest, record=entry.data, entry=entry)
        elif entry.kind == "decision" or _still_counts(entry, now, foreign):
            questions.pop(entry.path, None)
    return dict(sorted(questions.items(), key=lambda item: _position(item[0])))


def _position(path: str) -> list[tuple[str, int]]:
    """A key that sorts call paths naturally: the second call of a worker before the tenth."""
    return [(text, int(number or 0)) for text, number in re.findall(r"([^0-9]+)([0-9]*)", f"/{path}")]


def _still_counts(answer: JournalEntry, now: float, foreign: frozenset[tuple[str, int]]) -> bool:
    record = answer.data
    return is_valid(record, now) and counts(answer, record, foreign)


def is_valid(record: Mapping[str, Any], now: float) -> bool:
    """Whether an answer, by its entry's body, counts at the time `now`."""
    expires = record["expires"]
    return expires is None or bool(expires > now)


def foreign_answers(journal: JournalStore) -> frozenset[tuple[str, int]]:
    """The answers of an imported run, by call path and number: whoever made its file wrote them."""
    return frozenset(
        (str(path), step) for entry in journal.entries("imported") for path, step in entry.data["answered"]
    )


def counts(answer: JournalEntry, record: Mapping[str, object], foreign: frozenset[tuple[str, int]]) -> bool:
    """Whether an answer, whose body is `record`, was given here, or is a no."""
    return (answer.path, answer.step) not in foreign or not record["allowed"]


def imported(journal: JournalStore) -> JournalEntry:
    """The entry which says that the run of `journal` comes from a file."""
    first = next(journal.entries("session"))
    content = {"answered": [[entry.path, entry.step] for entry in journal.entries("answered")]}
    step = 1 + sum(1 for _ in journal.entries("imported"))
    return JournalEntry(path=first.path, kind="imported", step=step, body=pack(content))


def digest_of(question: Mapping[str, object]) -> str:
    """The digest of the call as a person sees it: an answer is for that, whatever its journal says of its key."""
    return digest.of_text(digest.canonical({name: question[name] for name in _SHOWN}))


def add_answer(
    journal: JournalStore, question: Waiting, answer: Mapping[str, object], *, at_terminal: bool
) -> None:
    """Keeps an answer for the next process of the run; `answer` is as `Answers.as_kept` makes it.

    Raises:
        LlmdoError: Only a person at a terminal may give it.
    """
    if question.terminal_only and answer["allowed"] and not at_terminal:
        raise LlmdoError(
            f"{question.path}: only a person at a terminal may say yes to this",
            hint=f"`llmdo approve {journal.run}` at a terminal",
        )
    body = pack(
        {
            **answer,
            "key": question.key,
            "question": digest_of(question.record),
            "by_tool": question.record["by_tool"],
            "at_terminal": at_terminal,
        }
    )
    step = 1 + journal.count(question.path, "answered")
    outcome = "allowed" if answer["allowed"] else "denied"
    journal.add(
        JournalEntry(
            path=question.path, kind="answered", step=step, outcome=outcome, digest=question.key, body=body
        )
    )
    journal.commit()
