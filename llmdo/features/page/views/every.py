"""All endpoints of all views."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from llmdo.extensions.registry import features
from llmdo.features.page.views import diff, inbox, project, reach, runs, totals

_OTHERS = tuple(import_module(view) for each in features() for view in each.views)

if TYPE_CHECKING:
    from llmdo.features.page.endpoints import Endpoint, Stream

ENDPOINTS: tuple[Endpoint, ...] = (
    *project.ENDPOINTS,
    *reach.ENDPOINTS,
    *diff.ENDPOINTS,
    *inbox.ENDPOINTS,
    *runs.ENDPOINTS,
    *totals.ENDPOINTS,
    *(endpoint for view in _OTHERS for endpoint in view.ENDPOINTS),
)

STREAMS: tuple[Stream, ...] = (
    *runs.STREAMS,
    *(stream for view in _OTHERS for stream in getattr(view, "STREAMS", ())),
)
