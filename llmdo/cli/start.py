"""`llmdo run` on the command line: its words and options."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from llmdo.cli import edit  # noqa: TC001  # typer reads the annotations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmdo.cli.approving import ApprovalOptions


class RunFormat(StrEnum):
    """How the outcome of a run is printed."""

    text = "text"
    json = "json"


class Approvals(StrEnum):
    """When questions are answered."""

    prompt = "prompt"
    later = "later"


Words = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(metavar="[NAME | FILE... [INPUT]]", help="An entry; or worker and Python files."),
]
Entry = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--entry", metavar="NAME", help="What to start, also of files alone: then any worker."),
]
Paths = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--path", metavar="ALIAS=FILE", help="A path map for this run; may be repeated."),
]
Models = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--model", metavar="[WORKER=]MODEL", help="The model of workers that name none, or of one."),
]
MaxDepth = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--max-depth", min=0, help="Fewer delegations in a chain than the workspace allows."),
]
Approve = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--approve",
        metavar="CAP[:SCOPE]",
        help="Answer questions about this capability with yes; may be repeated. Lifts no block.",
    ),
]
ApproveAll = Annotated[
    bool, typer.Option("--approve-all", help="Answer every question with yes. Lifts no block.")
]
RejectAll = Annotated[
    bool, typer.Option("--reject-all", help="Answer every question with no, also at a terminal.")
]
When = Annotated[
    Approvals,
    typer.Option(
        "--approvals", help="Ask as the run goes on, or stop and have `llmdo approve` answer later."
    ),
]
NoJournal = Annotated[
    bool,
    typer.Option("--no-journal", help="Keep no journal: the run cannot be resumed, replayed or audited."),
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
Debug = Annotated[
    bool, typer.Option("--debug", help="Of a failure in code, show all frames, not only the workspace's own.")
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


def answered(
    when: Approvals, approve: Sequence[str] | None, *, approve_all: bool, reject_all: bool
) -> ApprovalOptions:
    """What the options say about who answers."""
    from llmdo.cli.approving import ApprovalOptions

    return ApprovalOptions(
        approve=tuple(approve or ()),
        approve_all=approve_all,
        reject_all=reject_all,
        later=when is Approvals.later,
    )


def run(
    words: Words = None,
    entry: Entry = None,
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
    approvals: When = Approvals.prompt,
    approve: Approve = None,
    approve_all: ApproveAll = False,
    reject_all: RejectAll = False,
    no_journal: NoJournal = False,
    all_tools: Annotated[
        bool, typer.Option("--all-tools", help="List every tool that the run could call, and run nothing.")
    ] = False,
    verbose: Verbose = 0,
    log_events: LogEvents = None,
    trace_dir: TraceDir = None,
    trace_content: TraceContent = False,
    trace_binary: TraceBinary = False,
    debug: Debug = False,
    format: Annotated[RunFormat, typer.Option(help="How the outcome is printed.")] = RunFormat.text,  # noqa: A002
) -> int:
    """Run an entry: exactly what was checked."""
    from llmdo.cli import run as command
    from llmdo.cli.watch import WatchOptions

    return command.run(
        command.RunRequest(
            words=tuple(words or ()),
            entry=entry,
            project=project,
            input=input,
            paths=tuple(path or ()),
            models=tuple(model or ()),
            max_depth=max_depth,
            locked=locked,
            approvals=answered(approvals, approve, approve_all=approve_all, reject_all=reject_all),
            all_tools=all_tools,
            no_journal=no_journal,
            json=format is RunFormat.json,
            debug=debug,
            watch=WatchOptions(
                verbose=verbose,
                log_events=log_events,
                trace_dir=trace_dir,
                trace_content=trace_content,
                trace_binary=trace_binary,
            ),
        )
    )
