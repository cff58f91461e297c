"""`llmdo runs test`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from llmdo.base.request_fields import option
from llmdo.cli import options, requests
from llmdo.cli.console import FINDINGS, FINE, put, say
from llmdo.services import resume_replay as service

if TYPE_CHECKING:
    import typer


def repeat_recordings(
    request: service.RecordingsRequest,
    format: Annotated[Literal["text", "json", "junit"], option("How the results are printed.")] = "text",  # noqa: A002
) -> int:
    """Repeat recorded runs against the workspace as it is now, and say where it would do something else."""
    from llmdo.cli.trusting import consent_here
    from llmdo.render import recordings as render
    from llmdo.render.amounts import counted

    repeated = service.repeat(request, say, consent_here())
    write = {"text": render.as_text, "json": render.as_json, "junit": render.as_junit}[format]
    put(write(repeated, "decisions" if request.decisions else "requests"), end="", as_json=format == "json")
    failed = sum(recording.status != "passed" for recording in repeated)
    say(f"{counted(len(repeated), 'recording')}, {failed} failed")
    return FINDINGS if failed else FINE


def add_to(app: typer.Typer) -> None:
    """Makes the command known, below `llmdo runs`."""
    requests.add(app, repeat_recordings, "test", also=(options.WITH_TRUST,))
