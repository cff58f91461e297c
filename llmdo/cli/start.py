"""`llmdo run` on the command line: its words and options."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Optional

import typer

from llmdo.cli import edit  # noqa: TC001  # typer reads the annotations


class RunFormat(StrEnum):
    """How the outcome of a run is printed."""

    text = "text"
    json = "json"


Words = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(metavar="[NAME | FILE... [INPUT]]", help="An entry; or worker and Python files."),
]
Paths = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--path", metavar="ALIAS=FILE", help="A path map for this run; again for more."),
]
Models = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--model", metavar="[WORKER=]MODEL", help="The model of workers that name none, or of one."),
]
MaxDepth = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--max-depth", min=0, help="Fewer delegations in a chain than the workspace allows."),
]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        show_default=False,
        help="Tell of workers; twice, of every call and request.",
    ),
]
LogEvents = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--log-events", metavar="FILE", help="Append every event to a file, as JSON lines."),
]
TraceDir = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--trace-dir", metavar="DIR", help="Write OpenTelemetry spans there, as JSON lines."),
]
TraceContent = Annotated[
    bool, typer.Option("--trace-content", help="Put prompts, answers and results into the trace.")
]
TraceBinary = Annotated[bool, typer.Option("--trace-binary", help="Put attachments into the trace as well.")]


def run(
    words: Words = None,
    project: edit.Project = None,
    input: Annotated[  # noqa: A002
        Optional[str],  # noqa: UP045
        typer.Option("--input", metavar="TEXT", help="The input, or - for standard input."),
    ] = None,
    path: Paths = None,
    model: Models = None,
    max_depth: MaxDepth = None,
    locked: Annotated[
        bool, typer.Option("--locked", help="Refuse unless llmdo.lock is current. Default where CI is set.")
    ] = False,
    approve_all: Annotated[
        bool, typer.Option("--approve-all", help="Answer every question with yes. Lifts no block.")
    ] = False,
    reject_all: Annotated[
        bool, typer.Option("--reject-all", help="Answer every question with no, also at a terminal.")
    ] = False,
    all_tools: Annotated[
        bool, typer.Option("--all-tools", help="List every tool that the run could call, and run nothing.")
    ] = False,
    verbose: Verbose = 0,
    log_events: LogEvents = None,
    trace_dir: TraceDir = None,
    trace_content: TraceContent = False,
    trace_binary: TraceBinary = False,
    format: Annotated[RunFormat, typer.Option(help="How the outcome is printed.")] = RunFormat.text,  # noqa: A002
) -> int:
    """Run an entry: exactly what was checked."""
    from llmdo.cli import run as command
    from llmdo.cli.watch import WatchOptions

    return command.run(
        command.Options(
            words=tuple(words or ()),
            project=project,
            input=input,
            paths=tuple(path or ()),
            models=tuple(model or ()),
            max_depth=max_depth,
            locked=locked,
            approve_all=approve_all,
            reject_all=reject_all,
            all_tools=all_tools,
            json=format is RunFormat.json,
            watch=WatchOptions(
                verbose=verbose,
                log_events=log_events,
                trace_dir=trace_dir,
                trace_content=trace_content,
                trace_binary=trace_binary,
            ),
        )
    )
