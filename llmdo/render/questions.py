"""The questions of a waiting run: in a line each, and as the JSON document `llmdo.approve/1`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown
from llmdo.base.jsonable import document

if TYPE_CHECKING:
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
    return document("llmdo.approve/1", outcome, in_ascii=True)
