"""The options that several commands have, as the command-line library reads them."""

from __future__ import annotations

import os
from enum import StrEnum
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Optional

import typer

from llmdo.base.request_fields import option
from llmdo.cli.requests import info
from llmdo.services.root import ENTRY, ORIGIN, PROJECT, RUN, SELECT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmdo.cli.approving import ApprovalOptions
    from llmdo.cli.terminal import Terminal
    from llmdo.cli.watch import WatchOptions

Texts = Optional[list[str]]  # noqa: UP045  # typer reads annotations at run time
Project = Annotated[
    Optional[str],  # noqa: UP045
    info("project", PROJECT),
]


Projects = Annotated[
    Texts,
    typer.Option(
        "--project",
        metavar="DIR",
        help="The workspace's folder, instead of looking upwards from here; may be repeated.",
    ),
]
AllProjects = Annotated[
    bool,
    typer.Option(
        "--all", help="All workspaces in and below this folder, but in what is hidden or git ignores."
    ),
]


def several(projects: Sequence[str] | None, *, everything: bool) -> tuple[Path, ...]:
    """The workspaces, where more than the usual one is meant; none otherwise."""
    if not everything and len(projects or ()) < 2:
        return ()
    from llmdo.services.root import roots

    return roots(projects or (), Path.cwd(), everything=everything)


def _load(file: str | None) -> str | None:
    """Reads a file of variables into the environment, before the command looks at that."""
    if file is not None:
        from llmdo.cli.console import say
        from llmdo.services import env_file

        names = env_file.load(Path(file), os.environ)
        say(f"variables of {file}: {', '.join(names) or 'none that is not set already'}")
    return file


EnvFile = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--env-file",
        metavar="FILE",
        callback=_load,
        is_eager=True,
        help="Variables for this command, NAME=VALUE a line; what they hold is secret, and never written down.",
    ),
]


def keep_in(store: str | None) -> str | None:
    """Has everything that this command opens look for journals in `store`."""
    if store is not None:
        from llmdo.journal.opening import STORE

        os.environ[STORE] = store
    return store


Store = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--store",
        metavar="ADDRESS",
        callback=keep_in,
        help="The PostgreSQL database that journals are in, instead of files; without it, LLMDO_STORE.",
    ),
]


def _answer(trust: bool) -> bool:  # typer calls it so
    """Has everything that this command, and what it starts of ours, would execute be answered for."""
    if trust:
        from llmdo.workspace.trust.consent import VARIABLE

        os.environ[VARIABLE] = "1"
    return trust


Trust = Annotated[
    bool,
    typer.Option(
        "--trust", callback=_answer, help="Answer for the workspace's code, servers and rules, this once."
    ),
]


def _beside(name: str, annotation: object, default: object) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


WITH_STORE = _beside("store", Store, None)
WITH_ENV_FILE = _beside("env_file", EnvFile, None)
WITH_TRUST = _beside("trust", Trust, default=False)
"""Options whose callbacks do all, for `requests.add`."""

AllowDrift = Annotated[
    Texts,
    typer.Option("--allow-drift", metavar="NAME", help="Something that changed since; may be repeated."),
]
EntryName = Annotated[Optional[str], info("entry", ENTRY)]  # noqa: UP045
Select = Annotated[Texts, info("select", SELECT)]
Origin = Annotated[
    Optional[tuple[str, str]],  # noqa: UP045
    info("origin", ORIGIN),
]


OUTCOME = option("How the outcome is printed.")
PlainForm = Literal["text", "json"]
APPROVALS = option("Ask as the run goes on, or stop and have `llmdo approve` answer later.")
ApprovalTime = Literal["prompt", "later"]


class PlainFormat(StrEnum):
    """How most results are printed."""

    text = "text"
    json = "json"


class SourceOrigin(StrEnum):
    """Where what runs is taken from."""

    workspace = "workspace"
    run = "run"


class Approvals(StrEnum):
    """When questions are answered."""

    prompt = "prompt"
    later = "later"


RunName = Annotated[str, info("run", RUN)]
Sources = Annotated[
    SourceOrigin,
    typer.Option("--sources", help="Run the workspace, or the code that an imported run brought."),
]
Approve = Annotated[
    Texts,
    typer.Option(
        "--approve",
        metavar="CAP[:SCOPE]",
        help="Approve this capability; may be repeated. Does not lift blocks.",
    ),
]
ApproveAll = Annotated[
    bool, typer.Option("--approve-all", help="Approve every question. Does not lift blocks.")
]
RejectAll = Annotated[bool, typer.Option("--reject-all", help="Reject every question, also at a terminal.")]
When = Annotated[
    Approvals,
    typer.Option(
        "--approvals", help="Ask as the run goes on, or stop and have `llmdo approve` answer later."
    ),
]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        show_default=False,
        help="Show workers; twice, every call and request.",
    ),
]
Debug = Annotated[
    bool,
    typer.Option("--debug", help="For a failure in code, show all frames, not only the workspace's own."),
]
LogEvents = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--log-events", metavar="FILE", help="Append every event to a file, as JSON lines."),
]
TraceDir = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--trace-dir", metavar="DIR", help="Write OpenTelemetry spans to a file, as JSON lines."),
]
Models = Annotated[
    Texts,
    typer.Option("--model", metavar="[WORKER=]MODEL", help="The model of workers that name none, or of one."),
]
MaxDepth = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--max-depth", min=0, help="Fewer delegations in a chain than the workspace allows."),
]
Frozen = Annotated[bool, typer.Option("--frozen", help="Leave llmdo.lock as it is. Default where CI is set.")]
Locked = Annotated[
    bool, typer.Option("--locked", help="Refuse unless llmdo.lock is current. Default where CI is set.")
]
OutcomeFormat = Annotated[PlainFormat, typer.Option("--format", help="How the outcome is printed.")]


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


def watched(
    verbose: int,
    log_events: str | None,
    trace_dir: str | None = None,
    *,
    content: bool = False,
    binary: bool = False,
    as_text: bool = False,
) -> WatchOptions:
    """What the options say about who watches."""
    from llmdo.cli.watch import WatchOptions

    return WatchOptions(
        verbose=verbose,
        log_events=log_events,
        trace_dir=trace_dir,
        trace_content=content or binary,
        trace_binary=binary,
        as_text=as_text,
    )


def terminal(approvals: ApprovalOptions, watch: WatchOptions, *, is_brief: bool = False) -> Terminal:
    """The host of a run with these options; `is_brief` of one that is a turn of a chat."""
    from llmdo.cli.terminal import Terminal

    return Terminal(approvals=approvals, watch=watch, is_brief=is_brief)
