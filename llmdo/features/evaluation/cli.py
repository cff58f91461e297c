"""The commands of `llmdo eval`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Optional

import typer
import typer.core

from llmdo.cli import options  # typer reads the annotations
from llmdo.cli.console import FINDINGS, FINE, put, say
from llmdo.features.batch.cli import Jobs  # noqa: TC001  # typer reads it
from llmdo.services.root import root_folder

PLACE = 172
START = "start"


class EvalFormat(StrEnum):
    """The formats of a printed evaluation."""

    text = "text"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"
    junit = "junit"
    markdown = "markdown"
    html = "html"


class EvalFailOn(StrEnum):
    """The conditions on which a gate fails."""

    worse = "worse"


EvalReference = Annotated[
    str,
    typer.Argument(metavar="EVALUATION", help="An evaluation's id, a unique start or end of one, or `last`."),
]
EvalName = Annotated[
    Optional[str],  # noqa: UP045
    typer.Argument(metavar="[NAME]", help="The eval in evals/NAME.yaml; the only one where left out."),
]
VariantModels = Annotated[
    options.Texts,
    typer.Option(
        "--model",
        metavar="[WORKER=]MODEL",
        help="Run all cases with this model, beside those of other `--model`; a comma joins several workers'.",
    ),
]
Revisions = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--rev",
        metavar="A..B",
        help="Run all cases with workers and manifest of both revisions; `worktree` is the folder as it is.",
    ),
]
Sources = Annotated[
    options.Texts,
    typer.Option(
        "--sources",
        metavar="REV",
        help="Run the Python of this revision too, where it is not the workspace's.",
    ),
]
Cases = Annotated[
    options.Texts,
    typer.Option("--case", metavar="PATTERN", help="Run the cases of these names alone; `*` is any text."),
]
Repeat = Annotated[int, typer.Option("--repeat", min=1, max=1000, help="How often each case is run.")]
Record = Annotated[
    bool, typer.Option("--record", help="Write what models answer to evals/NAME.recorded.json, for review.")
]
Recorded = Annotated[
    bool, typer.Option("--recorded", help="Have that answer instead of models: no key, nothing spent.")
]
Budget = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--budget-usd",
        metavar="X",
        help="Begin nothing more once all runs have cost that; what has begun may add `--jobs` times an entry's limit.",
    ),
]
Baseline = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--baseline",
        metavar="FILE|EVALUATION",
        help="Exit with 1 where it is shown that less passes than in it; recorded answers are held case by case.",
    ),
]
FailOn = Annotated[
    Optional[EvalFailOn],  # noqa: UP045
    typer.Option(
        "--fail-on",
        help="Exit with 1 where a variant is shown to be worse than the baseline, or the first variant.",
    ),
]
By = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option("--by", metavar="SHARE", help="The smallest loss that matters: 0.1, where left out."),
]
FailUnder = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option("--fail-under", metavar="SHARE", help="Exit with 1 where less passes, such as 0.9."),
]
Format = Annotated[EvalFormat, typer.Option("--format", help="How the evaluation is printed.")]


class _Evals(typer.core.TyperGroup):
    """Takes `llmdo eval NAME ...` for `llmdo eval start NAME ...`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if not args or args[0] not in (*self.commands, "-h", "--help"):
            args = [START, *args]
        return super().parse_args(ctx, args)


evals = typer.Typer(
    cls=_Evals,
    help="Run the cases of evals/NAME.yaml and judge each run: `llmdo eval NAME`. It can be resumed at any time.",
)


@evals.command(START)
def start(
    name: EvalName = None,
    project: options.Project = None,
    model: VariantModels = None,
    rev: Revisions = None,
    sources: Sources = None,
    case: Cases = None,
    repeat: Repeat = 1,
    record: Record = False,
    recorded: Recorded = False,
    jobs: Jobs = 8,
    budget_usd: Budget = None,
    baseline: Baseline = None,
    fail_on: FailOn = None,
    by: By = None,
    fail_under: FailUnder = None,
    env_file: options.EnvFile = None,  # noqa: ARG001  # its callback reads it
    locked: options.Locked = False,
    approve: options.Approve = None,
    approve_all: options.ApproveAll = False,
    reject_all: options.RejectAll = False,
    trust: options.Trust = False,  # noqa: ARG001  # its callback notes it
    debug: options.Debug = False,
    format: Format = EvalFormat.text,  # noqa: A002
) -> int:
    """Run an eval: every case with every variant, so often; `llmdo eval NAME` is the same."""
    from llmdo.features.evaluation import commands as service
    from llmdo.features.evaluation import terminal as evaluating
    from llmdo.features.evaluation.gate import EvalGate

    gate = EvalGate(
        baseline=baseline, fail_on=fail_on.value if fail_on else None, by=by, fail_under=fail_under
    )
    terms = evaluating.terms(project, jobs, budget_usd, gate, locked=locked, debug=debug)
    models, runs_code = tuple(model or ()), tuple(sources or ())
    variants = service.EvalVariants(models=models, revisions=rev, sources=runs_code, recorded=recorded)
    request = service.EvalRequest(
        name=name, terms=terms, variants=variants, repeat=repeat, cases=tuple(case or ()), records=record
    )
    host = evaluating.host(approve, approve_all=approve_all, reject_all=reject_all)
    return evaluating.report(service.start(request, host), format.value)


@evals.command("resume")
def resume(
    reference: EvalReference,
    project: options.Project = None,
    jobs: Jobs = 8,
    budget_usd: Budget = None,
    baseline: Baseline = None,
    fail_on: FailOn = None,
    by: By = None,
    fail_under: FailUnder = None,
    env_file: options.EnvFile = None,  # noqa: ARG001  # its callback reads it
    locked: options.Locked = False,
    approve: options.Approve = None,
    approve_all: options.ApproveAll = False,
    reject_all: options.RejectAll = False,
    trust: options.Trust = False,  # noqa: ARG001  # its callback notes it
    debug: options.Debug = False,
    format: Format = EvalFormat.text,  # noqa: A002
) -> int:
    """Go on with what is left of an evaluation; nothing is run twice."""
    from llmdo.features.evaluation import commands as service
    from llmdo.features.evaluation import terminal as evaluating
    from llmdo.features.evaluation.gate import EvalGate

    gate = EvalGate(
        baseline=baseline, fail_on=fail_on.value if fail_on else None, by=by, fail_under=fail_under
    )
    terms = evaluating.terms(project, jobs, budget_usd, gate, locked=locked, debug=debug)
    host = evaluating.host(approve, approve_all=approve_all, reject_all=reject_all)
    return evaluating.report(service.resume(reference, terms, host), format.value)


@evals.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The eval is evals/NAME.yaml.")],
    from_runs: Annotated[
        str, typer.Option("--from-runs", metavar="ENTRY", help="The entry whose past runs become cases.")
    ],
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="The last N runs.")] = 20,
    project: options.Project = None,
) -> int:
    """Write an eval with cases of past runs, without known secrets, for review."""
    from llmdo.features.evaluation import from_runs as service

    written = service.write_new(root_folder(project), name, from_runs, limit, say)
    say(f"wrote {written.cases} cases to {written.path}: review what is expected, and what people wrote")
    return FINE


@evals.command("show")
def show(
    reference: EvalReference,
    project: options.Project = None,
    baseline: Baseline = None,
    fail_on: FailOn = None,
    by: By = None,
    fail_under: FailUnder = None,
    format: Format = EvalFormat.text,  # noqa: A002
) -> int:
    """Show an evaluation as it was left, perhaps held against another one."""
    from llmdo.features.evaluation import commands as service
    from llmdo.features.evaluation import terminal as evaluating
    from llmdo.features.evaluation.gate import EvalGate

    gate = EvalGate(
        baseline=baseline, fail_on=fail_on.value if fail_on else None, by=by, fail_under=fail_under
    )
    evaluated = service.show(root_folder(project), reference, gate)
    evaluating.show(evaluated, format.value)
    return FINDINGS if evaluated.held and evaluated.held.is_missed else FINE


@evals.command("list")
def list_evaluations(
    project: options.Project = None,
    format: options.OutcomeFormat = options.PlainFormat.text,  # noqa: A002
) -> int:
    """List the evaluations of the workspace, the latest first."""
    from llmdo.features.evaluation import commands as service
    from llmdo.features.evaluation import rendering as render

    evaluations = list(service.listed(root_folder(project)))
    if format == "json":
        put(render.listed_as_json(evaluations), end="", as_json=True)
    elif evaluations:
        put(render.listed(evaluations), end="")
    else:
        say("there is no evaluation in this workspace")
    return FINE


def add_to(app: typer.Typer) -> None:
    """Makes the commands known."""
    app.add_typer(evals, name="eval")
