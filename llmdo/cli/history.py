"""`llmdo runs`, the list, without the command-line library: it is the question after every run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.cli.console import FINE, put, say, screen
from llmdo.render import runs as render
from llmdo.services import runs

if TYPE_CHECKING:
    from collections.abc import Mapping


def list_runs(request: runs.RunsRequest, *, as_json: bool) -> int:
    """Prints a line for each run, the last one first."""
    listed = runs.list_runs(request, say)
    if as_json:
        put(render.listed_as_json(listed), end="", as_json=True)
    elif listed:
        put(render.listed(listed, screen()), end="", is_drawn=True)
    else:
        say("no such run has a journal here")
    return FINE


def list_as_asked(options: Mapping[str, str]) -> int:
    """The same for words that `quick.listing` has read."""
    request = runs.RunsRequest(
        root=Path(options["project"]),
        entry=options.get("entry"),
        status=options.get("status"),
        where=(options["where"],) if "where" in options else (),
        limit=int(options.get("limit", "20")),
    )
    return list_runs(request, as_json=options.get("format") == "json")
