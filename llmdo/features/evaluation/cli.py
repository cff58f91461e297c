"""The commands of `llmdo eval`."""

from __future__ import annotations

import os
from dataclasses import replace
from decimal import Decimal  # the annotations are read
from pathlib import Path  # noqa: TC003
from typing import Annotated, Literal

import typer
import typer.core

from llmdo.base.request_fields import argument, option
from llmdo.cli import options, quick, requests
from llmdo.cli.approving import ApprovalOptions  # noqa: TC001
from llmdo.cli.commands import HelpPlace
from llmdo.cli.console import FINDINGS, FINE, put, say
from llmdo.features.batch.scheduling import JOBS, BatchBounds, budget
from llmdo.features.evaluation import commands as service
from llmdo.features.evaluation.gate import EvalGate  # noqa: TC001
from llmdo.services.root import ROOT

PLACE = HelpPlace("Run", 70)
START = "start"

Reference = Annotated[
    str, argument("EVALUATION", "An evaluation's id, a unique start or end of one, or `last`.")
]
Jobs = Annotated[int, JOBS]
Budget = Annotated[
    Decimal | None,
    option(
        "Begin nothing more once all runs have cost that; what has begun may add `--jobs` times an entry's limit.",
        metavar="X",
        by=budget,
    ),
]
Form = Annotated[
    Literal["text", "json", "jsonl", "csv", "junit", "markdown", "html"],
    option("How the evaluation is printed."),
]


class _Evals(typer.core.TyperGroup):
    """Takes `llmdo eval NAME ...` for `llmdo eval start NAME ...`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if not args or args[0] not in (*self.commands, "-h", "--help"):
            args = [START, *args]
        return super().parse_args(ctx, args)


def start(
    request: service.EvalRequest,
    variants: service.EvalVariants,
    terms: service.EvalTerms,
    working: service.EvalWorking,
    gate: EvalGate,
    answers: ApprovalOptions,
    jobs: Jobs = 8,
    budget_usd: Budget = None,
    format: Form = "text",  # noqa: A002
) -> int:
    """Run an eval: every case with every variant, so often; `llmdo eval NAME` is the same."""
    from llmdo.features.batch.terminal import BatchTerminal
    from llmdo.features.evaluation import terminal as evaluating

    terms = replace(terms, gate=gate, working=_working(working, jobs, budget_usd))
    request = replace(request, terms=terms, variants=variants)
    return evaluating.report(service.start(request, BatchTerminal(approvals=answers)), format)


def resume(
    reference: Reference,
    terms: service.EvalTerms,
    working: service.EvalWorking,
    gate: EvalGate,
    answers: ApprovalOptions,
    jobs: Jobs = 8,
    budget_usd: Budget = None,
    format: Form = "text",  # noqa: A002
) -> int:
    """Go on with what is left of an evaluation; nothing is run twice."""
    from llmdo.features.batch.terminal import BatchTerminal
    from llmdo.features.evaluation import terminal as evaluating

    terms = replace(terms, gate=gate, working=_working(working, jobs, budget_usd))
    return evaluating.report(service.resume(reference, terms, BatchTerminal(approvals=answers)), format)


def _working(working: service.EvalWorking, jobs: int, most: Decimal | None) -> service.EvalWorking:
    is_locked = quick.is_locked(flag=working.locked, environ=os.environ)
    return replace(working, bounds=BatchBounds(jobs=jobs, budget_usd=most), locked=is_locked)


def new(
    name: Annotated[str, argument("NAME", "The eval is evals/NAME.yaml.")],
    root: Annotated[Path, ROOT],
    from_runs: Annotated[str, option("The entry whose past runs become cases.", metavar="ENTRY")],
    limit: Annotated[int, option("The last N runs.", metavar="N", least=1)] = 20,
) -> int:
    """Write an eval with cases of past runs, without known secrets, for review."""
    from llmdo.features.evaluation.from_runs import write_new

    written = write_new(root, name, from_runs, limit, say)
    say(f"wrote {written.cases} cases to {written.path}: review what is expected, and what people wrote")
    return FINE


def show(
    reference: Reference,
    root: Annotated[Path, ROOT],
    gate: EvalGate,
    format: Form = "text",  # noqa: A002
) -> int:
    """Show an evaluation as it was left, perhaps held against another one."""
    from llmdo.features.evaluation import terminal as evaluating

    evaluated = service.show(root, reference, gate)
    evaluating.show(evaluated, format)
    return FINDINGS if evaluated.held and evaluated.held.is_missed else FINE


def list_evaluations(
    root: Annotated[Path, ROOT],
    format: Annotated[options.PlainForm, options.OUTCOME] = "text",  # noqa: A002
) -> int:
    """List the evaluations of the workspace, the latest first."""
    from llmdo.features.evaluation import rendering as render

    evaluations = list(service.listed(root))
    if format == "json":
        put(render.listed_as_json(evaluations), end="", as_json=True)
    elif evaluations:
        put(render.listed(evaluations), end="")
    else:
        say("there is no evaluation in this workspace")
    return FINE


def add_to(app: typer.Typer) -> None:
    """Makes the commands known."""
    evals = typer.Typer(
        cls=_Evals,
        help="Run the cases of evals/NAME.yaml and judge each run: `llmdo eval NAME`. It can be resumed at any time.",
    )
    working = (options.WITH_ENV_FILE, options.WITH_TRUST)
    requests.add(evals, start, START, also=working)
    requests.add(evals, resume, also=working)
    for command in (new, show):
        requests.add(evals, command)
    requests.add(evals, list_evaluations, "list")
    app.add_typer(evals, name="eval")
