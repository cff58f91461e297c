"""The judging of trials: the dataset of pydantic-evals, and its report."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
from contextlib import redirect_stdout
from functools import partial
from typing import TYPE_CHECKING

from pydantic_evals import Case, CaseLifecycle, Dataset

from llmdo.base.values import replace
from llmdo.features.evaluation.evaluators import FACTS, RUN, ending, evaluators_of
from llmdo.features.evaluation.outcome import Judgement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic_evals.reporting import ReportCase

    from llmdo.features.evaluation.evaluators import Context, Functions
    from llmdo.features.evaluation.judges import JudgeRuling
    from llmdo.features.evaluation.outcome import Trial
    from llmdo.features.evaluation.run_facts import RunFacts
    from llmdo.features.evaluation.running import Ran
    from llmdo.features.evaluation.suite import EvalCase, Suite

LLMDO_ERROR = "LlmdoError: "


def judged(
    suite: Suite,
    trials: Sequence[Trial],
    ran: Ran,
    functions: Functions,
) -> tuple[Trial, ...]:
    """The trials with the results of their evaluators; unfinished ones unchanged."""
    of_case: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.is_judged:
            of_case.setdefault(trial.case, []).append(trial)
    judgements: dict[str, tuple[Judgement, ...]] = {}
    with redirect_stdout(sys.stderr):  # what functions print is no result
        for repeat in sorted({len(each) for each in of_case.values()}):
            alike = {case.name for case in suite.cases if len(of_case.get(case.name, ())) == repeat}
            left = {name: iter(of_case[name]) for name in alike}
            dataset = Dataset(
                name=suite.name,
                cases=[
                    _case(suite, case, functions, ran.rulings) for case in suite.cases if case.name in alike
                ],
            )
            work = dataset.evaluate(
                _ran_already,
                name=suite.name,
                progress=False,
                repeat=repeat,
                lifecycle=partial(_shown, left, ran.facts),
            )
            for reported in asyncio.run(work).cases:
                judgements[reported.attributes[RUN]] = tuple(_judgements(reported, ran.rulings))
    return tuple(replace(trial, judgements=judgements.get(trial.run, ())) for trial in trials)


async def _ran_already(_: object) -> None:
    """The task of the dataset: its runs are over, and evaluators see their results."""


class _ShownTrial(CaseLifecycle[object, object, object]):
    """One trial, shown to the evaluators in place of the task's return value."""

    def __init__(self, case: Case[object, object, object], trial: Trial, facts: RunFacts) -> None:
        super().__init__(case)
        self._trial = trial
        self._facts = facts

    async def prepare_context(self, ctx: Context) -> Context:
        """The context with the output of the trial and the facts of its run."""
        trial = self._trial
        metrics: dict[str, int | float] = {"requests": trial.requests}
        if trial.cost_usd is not None:
            metrics["cost_usd"] = trial.cost_usd
        return dataclasses.replace(
            ctx,
            output=trial.output,
            duration=trial.seconds or 0.0,
            attributes={
                RUN: trial.run,
                "state": trial.state,
                "error": trial.error,
                FACTS: self._facts,
            },
            metrics=metrics,
        )


def _shown(
    left: Mapping[str, Iterator[Trial]], facts: Mapping[str, RunFacts], case: Case[object, object, object]
) -> _ShownTrial:
    """The next remaining trial of a case."""
    trial = next(left[case.name or ""])
    return _ShownTrial(case, trial, facts[trial.run])


def _case(
    suite: Suite, case: EvalCase, functions: Functions, rulings: Mapping[tuple[str, str], JudgeRuling]
) -> Case[object, object, object]:
    ends = case.criteria.get("ends") or suite.criteria.get("ends") or "completed"
    evaluators = [
        ending(ends),
        *evaluators_of(suite.criteria, functions, rulings),
        *evaluators_of(case.criteria, functions, rulings),
    ]
    return Case(
        name=case.name,
        inputs=case.input,
        metadata=case.metadata,
        expected_output=case.expected,
        evaluators=evaluators,
    )


def _judgements(
    reported: ReportCase[object, object, object], rulings: Mapping[tuple[str, str], JudgeRuling]
) -> Iterator[Judgement]:
    """The results of the evaluators: first those that say yes or no, last those that failed."""

    def judge_of(name: str) -> str | None:
        ruling = rulings.get((reported.attributes[RUN], name))
        return ruling.run if ruling else None

    for results in (reported.assertions, reported.scores, reported.labels):
        for name, result in results.items():
            yield Judgement(evaluator=name, value=result.value, reason=result.reason, run=judge_of(name))
    for failure in reported.evaluator_failures:
        reason = failure.error_message.removeprefix(LLMDO_ERROR)
        yield Judgement(evaluator=failure.name, value=None, reason=reason, run=judge_of(failure.name))
