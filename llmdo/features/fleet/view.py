"""The fleet: its workers, their runs, and the waiting ones, if runs are kept in a database."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.features.fleet.rendering import as_json
from llmdo.features.page.endpoints import Endpoint, Inquiry, RequestError

if TYPE_CHECKING:
    from llmdo.base.values import Json
    from llmdo.features.page.subject import Subject


def answer(subject: Subject, inquiry: Inquiry) -> Json:
    """The status of the fleet that shares the store."""
    del inquiry
    if subject.store is None:
        raise RequestError(
            404,
            "the runs of this workspace are files",
            hint="a fleet shares a database: `--store URL` names it",
        )
    from llmdo.features.fleet.opening import require

    named = require(subject.store)
    from llmdo.features.fleet.status import status  # which needs the extra `fleet`

    document: Json = json.loads(as_json(status(named)))
    return document


ENDPOINTS = (Endpoint(path="/api/fleet", answer=answer),)
