"""`llmdo suggest`, `graph`, `reach` and `why`: what is asked about a workspace, answered from its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import option
from llmdo.cli import requests
from llmdo.cli.commands.diff import exit_code
from llmdo.cli.console import FINDINGS, FINE, put, say, screen
from llmdo.services import reach as service

if TYPE_CHECKING:
    import typer

FORMAT = option("How it is printed.")
FailOn = Literal["widened", "changed"]
Form = Literal["text", "json", "markdown"]


def suggest(request: service.SuggestRequest) -> int:
    """Print the smallest ceiling and rules under which an entry can do all that its workers declare."""
    from llmdo.render import reach as render

    if request.from_sessions or request.sessions:
        ceilings = service.suggest_used(request, say)
        put("\n".join(map(render.used_ceiling, ceilings)), end="")
    else:
        put("\n".join(map(render.suggestion, service.suggest(request, say))), end="")
    return FINE


def graph(
    request: service.GraphRequest,
    format: Annotated[Literal["text", "mermaid", "dot", "json"], FORMAT] = "text",  # noqa: A002
) -> int:
    """Draw who delegates to whom and which toolsets they use, with what is decided about each and its scopes."""
    from llmdo.render import graph as render

    outcome = service.graph(request, say)
    drawn = render.drawing(outcome.analysis, outcome.entries, outcome.workers, outcome.to)
    draw = {"text": render.tree, "mermaid": render.mermaid, "dot": render.dot, "json": render.to_json}
    put(draw[format](drawn), end="", as_json=format == "json")
    return FINE


def reach(
    request: service.ReachRequest,
    format: Annotated[Literal["text", "json", "markdown"], FORMAT] = "text",  # noqa: A002
) -> int:
    """Show what each entry can reach through delegation, by which path and behind which gate."""
    from llmdo.render import reached as render

    outcome = service.reach(request, say)
    drawn = format == "text" and outcome.foreign is None
    put(render.rendered(outcome, format, screen()), end="", as_json=format == "json", is_drawn=drawn)
    return FINE


def why(
    request: service.WhyRequest,
    fail_on: Annotated[
        FailOn | None,
        option("With a plugin, exit 1 where something is widened, or changed; 2 where that is unknown."),
    ] = None,
    format: Annotated[Form, option("How it is printed, with a plugin.")] = "text",  # noqa: A002
) -> int:
    """Show how a worker or an entry comes to a capability, a toolset or a worker: paths with the place of each edge."""
    from llmdo.render import flows
    from llmdo.render import reach as render

    if request.plugin is not None:
        return _why_with(request.plugin, request, fail_on, format)
    if fail_on or format != "text":
        raise LlmdoError("`--fail-on` and `--format` are for `--with PLUGIN`")
    outcome = service.why(request, say)
    if not outcome.reasons:
        say(f"`{request.name}` cannot reach `{outcome.target}`")
        return FINDINGS
    after = [flows.why(row) for reason in outcome.reasons for row in reason.after]
    put("\n".join([render.reasons(outcome), *after]), end="")
    return FINE


def _why_with(plugin: str, request: service.WhyRequest, fail_on: FailOn | None, form: Form) -> int:
    """Prints what a plugin would add, as a difference, and returns the exit code of `diff`."""
    from llmdo.render import diff as render
    from llmdo.services.addition import AdditionRequest, addition

    if request.name or request.all_paths:
        raise LlmdoError("`--with` says everything that a plugin adds", hint="leave out NAME and `--all`")
    asked = AdditionRequest(plugin=plugin, project=request.project, origin=request.origin)
    outcome = addition(asked, say)
    put(render.rendered(outcome, form), end="", as_json=form == "json")
    return exit_code(outcome.difference, fail_on)


def add_to(app: typer.Typer) -> None:
    """Makes the commands known."""
    for command in (suggest, graph, reach, why):
        requests.add(app, command)
