"""`llmdo reach` and `suggest`: what is asked about a workspace, answered from its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import option
from llmdo.cli import requests
from llmdo.cli.commands.diff import exit_code
from llmdo.cli.console import FINDINGS, FINE, put, say, screen
from llmdo.services import reach as service
from llmdo.services.root import SELECT

if TYPE_CHECKING:
    import typer

FORMAT = option("How it is printed.")
FailOn = Literal["widened", "changed"]
Form = Literal["text", "json", "markdown"]
Drawn = Literal["mermaid", "dot"]


def suggest(request: service.SuggestRequest) -> int:
    """Print the smallest ceiling and rules under which an entry can do all that its workers declare."""
    from llmdo.render import reach as render

    if request.from_sessions or request.sessions:
        ceilings = service.suggest_used(request, say)
        put("\n".join(map(render.used_ceiling, ceilings)), end="")
    else:
        put("\n".join(map(render.suggestion, service.suggest(request, say))), end="")
    return FINE


def reach(
    request: service.WhyRequest,
    select: Annotated[tuple[str, ...], SELECT] = (),
    graph: Annotated[
        bool,
        option("Draw who delegates to whom and which toolsets they use, with what is decided about each."),
    ] = False,
    to: Annotated[str | None, service.TO] = None,
    fail_on: Annotated[
        FailOn | None,
        option("With a plugin, exit 1 where something is widened, or changed; 2 where that is unknown."),
    ] = None,
    format: Annotated[Literal["text", "json", "markdown", "mermaid", "dot"], FORMAT] = "text",  # noqa: A002
) -> int:
    """Show what each entry can reach through delegation, by which path and behind which gate.

    With a second name, show the paths to it, with the place of each edge: `llmdo reach triage proc.exec`.
    """
    is_drawn = graph or format in ("mermaid", "dot")
    _require_fitting(request, is_drawn=is_drawn, select=select, to=to, fail_on=fail_on, form=format)
    entry, project, origin = request.name or None, request.project, request.origin
    if graph or format == "mermaid" or format == "dot":  # which the types follow
        to = to or " ".join(request.target) or None
        asked = service.GraphRequest(entry=entry, select=select, to=to, project=project, origin=origin)
        return _draw(asked, format)
    if request.plugin is not None:
        return _reach_with(request.plugin, request, fail_on, format)
    if request.target:
        return _ways(request)
    return _table(service.ReachRequest(entry=entry, select=select, project=project, origin=origin), format)


def _require_fitting(
    request: service.WhyRequest,
    *,
    is_drawn: bool,
    select: tuple[str, ...],
    to: str | None,
    fail_on: FailOn | None,
    form: Form | Drawn,
) -> None:
    """Raises an error where two options are about different questions."""
    has_target = bool(request.target) and not is_drawn
    if fail_on and request.plugin is None:
        raise LlmdoError("`--fail-on` is for `--with PLUGIN`")
    if to is not None and not is_drawn:
        raise LlmdoError("`--to` is for `--graph`", hint="llmdo reach NAME TARGET shows the paths")
    if to is not None and request.target:
        raise LlmdoError("`--to` and a second name are two targets", hint="leave out one of them")
    if request.all_paths and not has_target:
        raise LlmdoError("`--all` is for the paths to a target", hint="llmdo reach NAME TARGET --all")
    if has_target and (select or form != "text"):
        raise LlmdoError("the paths to a target take no `--select` and are printed as text alone")
    if is_drawn and form == "markdown":
        raise LlmdoError("a drawing is text, mermaid, dot or json")
    if is_drawn and request.plugin is not None:
        raise LlmdoError("what a plugin adds is not drawn")


def _table(request: service.ReachRequest, form: Form) -> int:
    from llmdo.render import reached as render

    outcome = service.reach(request, say)
    is_drawn = form == "text" and outcome.foreign is None
    put(render.rendered(outcome, form, screen()), end="", as_json=form == "json", is_drawn=is_drawn)
    return FINE


def _draw(request: service.GraphRequest, form: Form | Drawn) -> int:
    from llmdo.render import graph as render

    outcome = service.graph(request, say)
    drawn = render.drawing(outcome.analysis, outcome.entries, outcome.workers, outcome.to)
    draw = {"text": render.tree, "mermaid": render.mermaid, "dot": render.dot, "json": render.to_json}
    put(draw[form](drawn), end="", as_json=form == "json")
    return FINE


def _ways(request: service.WhyRequest) -> int:
    """Prints the paths of a worker or an entry to a capability, a toolset or a worker."""
    from llmdo.render import flows
    from llmdo.render import reach as render

    outcome = service.why(request, say)
    if not outcome.reasons:
        say(f"`{request.name}` cannot reach `{outcome.target}`")
        return FINDINGS
    after = [flows.why(row) for reason in outcome.reasons for row in reason.after]
    put("\n".join([render.reasons(outcome), *after]), end="")
    return FINE


def _reach_with(plugin: str, request: service.WhyRequest, fail_on: FailOn | None, form: Form) -> int:
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
    for command in (reach, suggest):
        requests.add(app, command)
