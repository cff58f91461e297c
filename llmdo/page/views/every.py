"""All endpoints of all views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.page.views import diff, inbox, project, reach, runs

if TYPE_CHECKING:
    from llmdo.page.endpoints import Endpoint, Stream

ENDPOINTS: tuple[Endpoint, ...] = (
    *project.ENDPOINTS,
    *reach.ENDPOINTS,
    *diff.ENDPOINTS,
    *inbox.ENDPOINTS,
    *runs.ENDPOINTS,
)

STREAMS: tuple[Stream, ...] = (*runs.STREAMS,)
