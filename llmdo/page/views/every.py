"""All endpoints of all views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.page.views import batches, diff, evals, fleet, inbox, project, reach, runs, totals

if TYPE_CHECKING:
    from llmdo.page.endpoints import Endpoint, Stream

ENDPOINTS: tuple[Endpoint, ...] = (
    *project.ENDPOINTS,
    *reach.ENDPOINTS,
    *diff.ENDPOINTS,
    *inbox.ENDPOINTS,
    *runs.ENDPOINTS,
    *batches.ENDPOINTS,
    *evals.ENDPOINTS,
    *fleet.ENDPOINTS,
    *totals.ENDPOINTS,
)

STREAMS: tuple[Stream, ...] = (*runs.STREAMS,)
