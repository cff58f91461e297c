"""`llmdo explain`, `schema`, `doctor` and `completion`: what llmdo says of itself and of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from llmdo.base.request_fields import argument, option
from llmdo.cli import requests
from llmdo.cli.console import FINDINGS, FINE, put
from llmdo.services.root import PROJECT

if TYPE_CHECKING:
    import typer

FILES = Literal["manifest", "worker", "team", "lock", "policy", "eval", "script"]


def explain(
    code: Annotated[
        str, argument("[CODE|WORD]", "A code such as LDO301, its name, or a word to look for.")
    ] = "",
    more: Annotated[tuple[str, ...], argument("[WORD]...", "Further words that the explanation holds.")] = (),
    form: Annotated[
        str, option("Instead: what each tool of another format can do.", "--from", metavar="FORMAT")
    ] = "",
) -> int:
    """Say what a finding means, why it matters and how it is fixed."""
    from llmdo.render import foreign as render
    from llmdo.services import explaining, foreign
    from llmdo.services.root import extensions_here

    words = " ".join((code, *more)).strip()
    put(render.table(foreign.table(form)) if form else explaining.explained(words, extensions_here), end="")
    return FINE


def schema(
    name: Annotated[FILES, argument("manifest|worker|team|lock|policy|eval|script", "The file format.")],
) -> int:
    """Print the JSON Schema of a file format."""
    from llmdo.base import resources

    put(resources.read("schemas", f"{name}.json"), end="", as_json=True)
    return FINE


def doctor(
    project: Annotated[str | None, PROJECT] = None,
    format: Annotated[Literal["text", "json"], option("How it is printed.")] = "text",  # noqa: A002
) -> int:
    """Say what is installed and in force here, and what this workspace needs and lacks."""
    from llmdo.render import doctor as render
    from llmdo.services import doctor as service

    items = service.examine_here(project)
    if format == "json":
        put(render.to_json(items), end="", as_json=True)
    else:
        put("\n".join(render.lines(items)))
    return FINDINGS if any(item.problem for item in items) else FINE


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], argument("bash|zsh|fish", "Your shell.")],
) -> int:
    """Print a completion script for your shell."""
    from llmdo.cli.completion import script

    put(script(shell), end="")
    return FINE


def add_to(app: typer.Typer) -> None:
    """Makes the commands known."""
    for command in (explain, schema, doctor, completion):
        requests.add(app, command)
