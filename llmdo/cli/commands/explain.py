"""`llmdo explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from llmdo.base.diagnostic import CODES, LlmdoError, did_you_mean
from llmdo.cli.console import put


def explain(
    code: Annotated[str, typer.Argument(metavar="CODE", help="A code such as LDO301, or its name.")] = "",
    form: Annotated[
        str,
        typer.Option("--from", metavar="FORMAT", help="Instead: what each tool of another format can do."),
    ] = "",
) -> None:
    """Say what a finding means, why it matters and how it is fixed."""
    from llmdo.checks import explanation
    from llmdo.render import foreign as render
    from llmdo.services import foreign
    from llmdo.services.extensions import extensions_here

    text = render.table(foreign.table(form)) if form or not code else explanation(code)
    text = text or explanation(code, extensions_here())
    if text is None:
        known = [*CODES, *(name for name, _ in CODES.values())]
        hint = did_you_mean(code.upper(), known) or "see the README"
        raise LlmdoError(f"there is no check `{code}`", hint=hint)
    put(text, end="")


def add_to(app: typer.Typer) -> None:
    """Makes the command known."""
    app.command()(explain)
