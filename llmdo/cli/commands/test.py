"""`llmdo test`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from llmdo.cli import options  # typer reads the annotations
from llmdo.cli.console import FINDINGS, FINE, put, say


class TestFormat(StrEnum):
    """The formats of the results of recordings."""

    text = "text"
    json = "json"
    junit = "junit"


def repeat_recordings(
    files: Annotated[
        options.Texts,
        typer.Argument(metavar="[FILE...]", help="Exported runs; those in recordings/ otherwise."),
    ] = None,
    project: options.Project = None,
    decisions: Annotated[
        bool, typer.Option("--decisions", help="Judge the recorded calls by today's rules instead.")
    ] = False,
    sources: options.Sources = options.SourceOrigin.workspace,
    trust: options.Trust = False,  # noqa: ARG001  # its callback notes it
    format: Annotated[TestFormat, typer.Option(help="How the results are printed.")] = TestFormat.text,  # noqa: A002
) -> int:
    """Repeat recorded runs against the workspace as it is now, and say where it would do something else."""
    from llmdo.cli.trusting import consent_here
    from llmdo.render import recordings as render
    from llmdo.render.amounts import counted
    from llmdo.services import resume_replay as service

    request = service.RecordingsRequest(
        files=tuple(files or ()), project=project, decisions=decisions, sources=sources.value
    )
    repeated = service.repeat(request, say, consent_here())
    write = {"text": render.as_text, "json": render.as_json, "junit": render.as_junit}[format.value]
    put(write(repeated, "decisions" if decisions else "requests"), end="", as_json=format == "json")
    failed = sum(recording.status != "passed" for recording in repeated)
    say(f"{counted(len(repeated), 'recording')}, {failed} failed")
    return FINDINGS if failed else FINE


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command("test")(repeat_recordings)
