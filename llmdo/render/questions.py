"""The questions of a waiting run: in a line each, and as the JSON document `llmdo.approve/1`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown

if TYPE_CHECKING:
    from llmdo.base.values import Json
    from llmdo.journal.questions import Waiting
    from llmdo.services.inbox import ApproveOutcome


def described(question: Waiting) -> str:
    """A question in a line, for a list."""
    record = question.record
    arguments = json.dumps(record["arguments"], ensure_ascii=True)
    only = ", at a terminal only" if question.terminal_only else ""
    return shown(f"{question.path}: {record['tool']} {arguments}: {'; '.join(record['reasons'])}{only}")


def to_json(outcome: ApproveOutcome) -> str:
    """The document."""
    records = [question_record(question) for question in outcome.questions.values()]
    return json.dumps({"schema": "llmdo.approve/1", "run": outcome.run, "questions": records}, indent=2)


def question_record(question: Waiting) -> dict[str, Json]:
    """A question as JSON data, with the digest that an answer to it has to repeat."""
    return {"path": question.path, "digest": question.key, **question.record}
