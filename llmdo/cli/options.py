"""The options that several commands have beside the fields of their requests."""

from __future__ import annotations

import os
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Literal

import typer

from llmdo.base.request_fields import option

OUTCOME = option("How the outcome is printed.")
PlainForm = Literal["text", "json"]
APPROVALS = option("Ask as the run goes on, or stop and have `llmdo approve` answer later.")
ApprovalTime = Literal["prompt", "later"]


def _load(file: str | None) -> str | None:
    """Reads a file of variables into the environment, before the command looks at that."""
    if file is not None:
        from llmdo.cli.console import say
        from llmdo.services import env_file

        names = env_file.load(Path(file), os.environ)
        say(f"variables of {file}: {', '.join(names) or 'none that is not set already'}")
    return file


def keep_in(store: str | None) -> str | None:
    """Has everything that this command opens look for journals in `store`."""
    if store is not None:
        from llmdo.journal.opening import STORE

        os.environ[STORE] = store
    return store


def _answer(trust: bool) -> bool:  # typer calls it so
    """Has everything that this command, and what it starts of ours, would execute be answered for."""
    if trust:
        from llmdo.workspace.trust.consent import VARIABLE

        os.environ[VARIABLE] = "1"
    return trust


Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="ADDRESS",
        callback=keep_in,
        help="The PostgreSQL database that journals are in, instead of files; without it, LLMDO_STORE.",
    ),
]
EnvFile = Annotated[
    str | None,
    typer.Option(
        "--env-file",
        metavar="FILE",
        callback=_load,
        is_eager=True,
        help="Variables for this command, NAME=VALUE a line; what they hold is secret, and never written down.",
    ),
]
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
