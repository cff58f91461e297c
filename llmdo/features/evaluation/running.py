"""The cases of an evaluation, run: a batch for each variant, started or resumed, and the facts of its runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from llmdo.features.batch import commands as batches
from llmdo.features.batch.item_run import ItemRefusal
from llmdo.features.batch.scheduling import UNPRICED
from llmdo.features.evaluation.judges import items_for, rulings_of
from llmdo.features.evaluation.outcome import Trial
from llmdo.features.evaluation.run_facts import RunFacts, run_facts_of
from llmdo.journal.items import NewItem
from llmdo.journal.opening import runs_of
from llmdo.services.run import EntryRequest
from llmdo.workspace.evals import path_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from llmdo.features.batch.commands import BatchHost, BatchOutcome
    from llmdo.features.batch.scheduling import BatchBounds
    from llmdo.features.evaluation.judges import JudgeRuling, JudgeRulings
    from llmdo.features.evaluation.outcome import Variant
    from llmdo.features.evaluation.suite import Suite
    from llmdo.journal.items import BatchItem, State
    from llmdo.journal.stored import RunIndex
    from llmdo.services.run import PreparedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The conditions under which the runs of an evaluation are worked off."""

    root: Path
    bounds: BatchBounds
    """Bounds of all runs together."""
    locked: bool
    debug: bool
    environ: Mapping[str, str]
    evaluation: str
    """Its id."""
    judging: Mapping[str, str] = field(default_factory=dict)
    """The entry of each judge."""
    prepared: Mapping[str, PreparedRun] = field(default_factory=dict)
    """The prepared run of each variant of another revision, by label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The variants of an evaluation with their unjudged trials."""

    variants: tuple[Variant, ...]
    facts: Mapping[str, RunFacts]
    """The facts of each finished run, by its id."""
    rulings: Mapping[tuple[str, str], JudgeRuling]
    """The answers of judges, by the judged run and the label of the question."""
    reason: str | None = None
    """Why not all was run."""
    interrupted: bool = False


@dataclass(slots=True)
class _Spending:
    """The usage of all batches so far, and the reason why no other one is begun."""

    bounds: BatchBounds
    spent: Decimal = Decimal(0)
    is_unpriced: bool = False
    """Whether more was spent at an unknown price."""
    reason: str | None = None
    interrupted: bool = False

    @property
    def left(self) -> BatchBounds:
        """The bounds for the next batch."""
        budget = None if self.bounds.budget_usd is None else self.bounds.budget_usd - self.spent
        return replace(self.bounds, budget_usd=budget)

    def may_go_on(self) -> bool:
        """Whether another batch is begun."""
        budget = self.bounds.budget_usd
        if self.reason is None and budget is not None:
            if self.is_unpriced:
                self.reason = UNPRICED
            elif self.spent >= budget:
                self.reason = f"the runs have cost ${self.spent:.4f}, and `--budget-usd` is ${budget}"
        return self.reason is None

    def add(self, outcome: BatchOutcome) -> None:
        """Adds the usage of a batch."""
        self.spent += Decimal(str(outcome.spent.cost_usd))
        self.is_unpriced = self.is_unpriced or outcome.spent.unpriced > 0
        self.reason, self.interrupted = outcome.reason, outcome.interrupted


def run_all(planned: tuple[Variant, ...], suite: Suite, repeat: int, how: Conditions, host: BatchHost) -> Ran:
    """Runs the cases of `suite` with every variant, as far as the bounds allow.

    Raises:
        InvalidTeamError: `check` finds errors.
        LlmdoError: A batch cannot be put in, or worked off.
    """
    items = tuple(_items(suite, how.root, repeat))
    refused = dict(_refused(suite, repeat))
    spending = _Spending(how.bounds)
    variants: list[Variant] = []
    facts: dict[str, RunFacts] = {}
    rulings: JudgeRulings = {}
    for variant in planned:
        if spending.may_go_on():
            request = batches.BatchRequest(
                start=_entry(suite.entry, how),
                inputs=items,
                models=variant.models,
                id=variant.batch,
                prepared=how.prepared.get(variant.label),
                settings={"evaluation": {"eval": suite.name, "evaluation": how.evaluation}},
                working=replace(_working(how, spending), refused=refused),
            )
            spending.add(_worked_off(request, how, host))
        trials, done = _trials(variant, items, how.root)
        variants.append(replace(variant, trials=trials))
        facts.update(done)
        rulings.update(_judged(variants[-1], suite, how, spending, host))
    return Ran(
        variants=tuple(variants),
        facts=facts,
        rulings=rulings,
        reason=spending.reason,
        interrupted=spending.interrupted,
    )


def _judged(
    variant: Variant, suite: Suite, how: Conditions, spending: _Spending, host: BatchHost
) -> Iterator[tuple[tuple[str, str], JudgeRuling]]:
    """The answers of a variant's judges, asked once all of its runs are over."""
    if not all(trial.is_judged for trial in variant.trials):
        return
    for worker, batch in variant.judges.items():
        items = items_for(worker, suite, variant.trials)
        if items and spending.may_go_on():
            request = batches.BatchRequest(
                start=_entry(how.judging[worker], how),
                inputs=items,
                models=variant.models if variant.recording else (),
                settings={"evaluation": {"eval": suite.name, "evaluation": how.evaluation, "judge": worker}},
                id=batch,
                working=_working(how, spending),
            )
            spending.add(_worked_off(request, how, host))
        if batches.is_there(how.root, batch):
            yield from rulings_of(worker, suite, variant.trials, batches.show(how.root, batch)[1])


def _entry(name: str, how: Conditions) -> EntryRequest:
    return EntryRequest(entry=name, project=str(how.root), locked=how.locked, environ=how.environ)


def _working(how: Conditions, spending: _Spending) -> batches.Working:
    return batches.Working(bounds=spending.left, debug=how.debug, environ=how.environ)


def _worked_off(request: batches.BatchRequest, how: Conditions, host: BatchHost) -> BatchOutcome:
    """The batch after it was started or resumed."""
    if request.id and batches.is_there(how.root, request.id):
        continued = batches.ContinuedBatch(
            root=how.root, batch=request.id, prepared=request.prepared, working=request.working
        )
        return batches.go_on(continued, host)
    return batches.begin(request, host)


def _items(suite: Suite, root: Path, repeat: int) -> Iterator[NewItem]:
    """The items of each variant: all cases once before any is repeated."""
    paths = dict.fromkeys(path for case in suite.cases for path in case.attachments)
    files = {path: (root / path).read_bytes() for path in paths}
    for number in range(1, repeat + 1):
        for case in suite.cases:
            yield NewItem(
                key=f"{case.name}#{number}",
                place=path_of(suite.name),
                input=case.input,
                files=tuple((str(root / path), files[path]) for path in case.attachments),
            )


def _refused(suite: Suite, repeat: int) -> Iterator[tuple[str, ItemRefusal]]:
    """The refusals, by the key of each item whose case has some."""
    for number in range(1, repeat + 1):
        for case in suite.cases:
            if case.refused:
                by = f"the case `{case.name}` of {path_of(suite.name)}"
                yield f"{case.name}#{number}", ItemRefusal(by=by, capabilities=case.refused)


def _trials(
    variant: Variant, items: tuple[NewItem, ...], root: Path
) -> tuple[tuple[Trial, ...], dict[str, RunFacts]]:
    """The trials of a variant, those that never began as queued, and the facts of the finished runs."""
    if not batches.is_there(root, variant.batch):
        return tuple(_trial(item.key, "", "queued") for item in items), {}
    runs = runs_of(root)
    trials, facts = [], {}
    for item in batches.show(root, variant.batch)[1]:
        trial = replace(_trial(item.key, item.run, item.state), title=item.title)
        if trial.is_judged:
            facts[item.run] = _facts(runs, item.run)
            trial = _over(trial, item, facts[item.run])
        else:
            trial = replace(trial, error=item.result.error)
        trials.append(trial)
    return tuple(trials), facts


def _trial(key: str, run: str, state: State) -> Trial:
    case, _, number = key.rpartition("#")
    return Trial(case=case, number=int(number), run=run, state=state)


def _over(trial: Trial, item: BatchItem, facts: RunFacts) -> Trial:
    """The trial of a run that is over or waits."""
    return replace(
        trial,
        output=item.result.output,
        error=item.result.error,
        requests=facts.requests,
        input_tokens=None if facts.unmeasured else facts.input_tokens,
        output_tokens=None if facts.unmeasured else facts.output_tokens,
        cost_usd=None if facts.unpriced else float(facts.cost_usd),
        recorded_usd=None if facts.recorded_unpriced else float(facts.recorded_usd),
        seconds=round(facts.seconds, 3),
    )


def _facts(runs: RunIndex, run: str) -> RunFacts:
    """The facts of a run; empty if it could not begin."""
    if not runs.has(run):
        return RunFacts()
    with runs.read(run) as journal:
        return run_facts_of(journal)
