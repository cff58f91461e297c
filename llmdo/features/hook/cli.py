"""`llmdo hook`: the answers to a client's events, its settings, and the proof that they work."""

from __future__ import annotations

import os
from typing import Annotated

import typer
import typer.core

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.request_fields import argument, option
from llmdo.cli import requests
from llmdo.features.hook import quick
from llmdo.features.hook.clients import NAMES

PLACE = 107
ANSWER = "answer"

CLIENT = argument("CLIENT", f"{', '.join(NAMES[:-1])} or {NAMES[-1]}.")


class _Clients(typer.core.TyperGroup):
    """Takes `llmdo hook CLIENT` for `llmdo hook answer CLIENT`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = [ANSWER, *args]
        return super().parse_args(ctx, args)


def answer(
    client: Annotated[str, CLIENT],
    locked: Annotated[bool, option("Deny every call unless llmdo.lock is current.")] = False,
) -> int:
    """Answer an event of a client, whose JSON is on standard input. `llmdo hook CLIENT` is the same, for settings."""
    known(client)
    return quick.answered([client, *(["--locked"] if locked else [])], os.environ) or 0


def known(client: str) -> str:
    """The name of a client.

    Raises:
        LlmdoError: There is none of this name.
    """
    if client not in NAMES:
        raise LlmdoError(
            f"`{client}` is no client that llmdo hooks into",
            hint=did_you_mean(client, NAMES) or f"these are: {', '.join(NAMES)}",
        )
    return client


def add_to(app: typer.Typer) -> None:
    """Makes the commands known."""
    hook = typer.Typer(
        help="Decide about the tool calls of another client, before it makes them.",
        callback=lambda: None,
        cls=_Clients,
    )
    requests.add(hook, answer)
    app.add_typer(hook, name="hook")
