"""All endpoints of all views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.page.views import diff, project, reach

if TYPE_CHECKING:
    from llmdo.page.endpoints import Endpoint, Stream

ENDPOINTS: tuple[Endpoint, ...] = (*project.ENDPOINTS, *reach.ENDPOINTS, *diff.ENDPOINTS)

STREAMS: tuple[Stream, ...] = ()
