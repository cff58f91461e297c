"""`llmdo hook`: the answers to a client's events, its settings, and the proof that they work."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
import typer.core

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.request_fields import argument, option
from llmdo.cli import options, requests
from llmdo.cli.commands import HelpPlace
from llmdo.cli.console import FINDINGS, FINE, put, say
from llmdo.features.hook import quick
from llmdo.features.hook.clients import NAMES
from llmdo.features.hook.kept import SessionsRequest  # noqa: TC001  # the annotations are read
from llmdo.services.root import PROJECT, root_folder

PLACE = HelpPlace("Operate", 20)
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


def install(
    client: Annotated[str, CLIENT],
    locked: Annotated[bool, option("Deny every call unless llmdo.lock is current.")] = False,
    yes: Annotated[bool, option("Write the change without a question.")] = False,
    project: Annotated[str | None, PROJECT] = None,
) -> int:
    """Show the change of a client's settings by which it asks llmdo before each tool call, and write it."""
    from llmdo.features.hook import install as settings

    root = root_folder(project)
    change = settings.change_for(root, known(client), locked=locked)
    if change.is_made:
        say(f"`{change.path}` has the hooks already")
        return FINE
    put(change.diff, end="")
    if not yes and not _is_wanted(f"Write this to `{change.path}`?"):
        say("nothing was written: `--yes` writes it")
        return FINDINGS
    settings.write(root, change)
    say(f"wrote `{change.path}`; review it, then run `llmdo lock` and `llmdo hook doctor {client}`")
    return FINE


def doctor(client: Annotated[str, CLIENT], project: Annotated[str | None, PROJECT] = None) -> int:
    """See whether a client's hooks fire, in its agents too: where its terms allow it, by starting it in a copy."""
    from llmdo.features.hook.doctor import symptoms

    marks = {True: "ok", False: "WRONG", None: "note"}
    is_fine = True
    for symptom in symptoms(root_folder(project), known(client), os.environ):
        is_fine &= symptom.is_fine is not False
        put(f"{marks[symptom.is_fine]:<6} {symptom.text}")
    return FINE if is_fine else FINDINGS


def sessions(
    request: SessionsRequest,
    format: Annotated[options.PlainForm, options.OUTCOME] = "text",  # noqa: A002
) -> int:
    """List the sessions of the project whose calls were decided, the last one first, for `llmdo runs audit`."""
    from llmdo.features.hook import kept
    from llmdo.features.hook import rendering as render

    listed = kept.listed(request, say)
    if format == "json":
        put(render.as_json(listed), end="", as_json=True)
    elif not listed:
        say("no call of a session in this project was decided by `llmdo hook`")
    else:
        put("\n".join(render.as_text(listed)))
    return FINE


def _is_wanted(question: str) -> bool:
    """Whether a person at a terminal says yes."""
    return sys.stdin.isatty() and sys.stderr.isatty() and typer.confirm(question, err=True)


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
    requests.add(hook, install)
    requests.add(hook, doctor)
    requests.add(hook, sessions)
    app.add_typer(hook, name="hook")
