"""`llmdo runs replay`."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from llmdo.cli import options, requests
from llmdo.cli.console import FINDINGS, FINE, say
from llmdo.cli.watch import WatchOptions, watching
from llmdo.journal import SUFFIX
from llmdo.services import resume_replay as service
from llmdo.services.root import PROJECT, root_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    import typer

    from llmdo.runtime.telemetry.events import Sink
    from llmdo.services.plan import EndedRun


def replay(
    request: service.ReplayRequest,
    watch: WatchOptions,
    format: Annotated[options.PlainForm, options.OUTCOME] = "text",  # noqa: A002
    project: Annotated[str | None, PROJECT] = None,
) -> int:
    """Repeat a run from its journal alone: no key, no network, no effects."""
    from llmdo.cli.trusting import consent_here

    if not request.run.endswith(SUFFIX):
        request = replace(request, root=root_folder(project))
    replayed = service.replay(request, _watching(watch), say, consent_here())
    if replayed.is_there:
        say(f"stopped before {request.until}, as asked")
        return FINE
    return _report(replayed, as_json=format == "json", detail=watch.detail)


def _watching(watch: WatchOptions) -> service.Watching:
    @contextmanager
    def watched(run: str, entry: str) -> Iterator[Sink]:
        with watching(watch, run=run, entry=entry, approvals="recorded", environ=os.environ) as watching_it:
            yield watching_it.sink

    return watched


def _report(replayed: EndedRun, *, as_json: bool, detail: int) -> int:
    """Prints the tools that did not end as recorded, and how the run ended; returns the exit code."""
    from llmdo.cli import outcome

    for difference in replayed.differences:
        say(f"error: {difference}")
    code = outcome.report(replayed, as_json=as_json, detail=detail)
    return FINDINGS if replayed.differences else code


def add_to(app: typer.Typer) -> None:
    """Makes the command known, below `llmdo runs`."""
    also = (options.WITH_ENV_FILE, options.WITH_STORE, options.WITH_TRUST)
    requests.add(app, replay, also=also, without=("trace_dir", "trace_content", "trace_binary"))
