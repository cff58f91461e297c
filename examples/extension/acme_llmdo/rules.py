"""The check and the evaluator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_evals.evaluators import EvaluatorContext

    from llmdo.workspace.project import Project


def unsigned_prompt(project: Project) -> Iterator[Diagnostic]:
    """The prompt of a worker does not say which team answers for it.

    At Acme every prompt ends with the name of a team, so that readers know whom to ask.

    Fails:

        Tell the bridge what changed.

    Fixed:

        Tell the bridge what changed.
        Team: harbour
    """
    for name, prompt in project.prompts.items():
        if "Team: " not in prompt:
            yield Diagnostic(
                code="ACME001",
                at=project.graph.workers[name].at.location,
                message=f"the prompt of `{name}` names no team",
                hint="end it with a line such as `Team: harbour`",
            )


def polite(ctx: EvaluatorContext[object, object, object]) -> bool:
    """Whether the answer of a trial thanks somebody."""
    return "thank" in str(ctx.output).lower()
