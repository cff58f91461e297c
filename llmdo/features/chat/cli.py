"""`llmdo chat`."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from llmdo.base.request_fields import argument
from llmdo.cli import options, quick, requests
from llmdo.cli.approving import ApprovalOptions  # noqa: TC001  # the annotations are read
from llmdo.cli.commands import HelpPlace
from llmdo.cli.terminal import Terminal
from llmdo.cli.watch import WatchOptions  # noqa: TC001
from llmdo.features.chat.service import ChatRequest  # noqa: TC001
from llmdo.services.root import LOCKED, PROJECT
from llmdo.services.run import EntryRequest

if TYPE_CHECKING:
    import typer

PLACE = HelpPlace("Run", 20)


def chat(
    request: ChatRequest,
    answers: ApprovalOptions,
    watch: WatchOptions,
    entry: Annotated[str | None, argument("[ENTRY]", "An entry.")] = None,
    locked: Annotated[bool, LOCKED] = False,
    project: Annotated[str | None, PROJECT] = None,
) -> int:
    """Hold a conversation with an entry: each turn is a run, under all its rules and limits."""
    from llmdo.features.chat.conversation import hold

    is_locked = quick.is_locked(flag=locked, environ=os.environ)
    start = EntryRequest((entry,) if entry else (), project=project, of_files=False, locked=is_locked)
    watch = replace(watch, as_text=True)
    terminal = Terminal(approvals=answers, watch=watch)
    return hold(replace(request, start=start), terminal)


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    without = ("trace_dir", "trace_content", "trace_binary")
    requests.add(app, chat, also=(options.WITH_ENV_FILE, options.WITH_TRUST), without=without)
