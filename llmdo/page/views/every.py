"""All endpoints of all views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.page.views import project, reach

if TYPE_CHECKING:
    from llmdo.page.endpoints import Endpoint, Stream

ENDPOINTS: tuple[Endpoint, ...] = (*project.ENDPOINTS, *reach.ENDPOINTS)

STREAMS: tuple[Stream, ...] = ()
