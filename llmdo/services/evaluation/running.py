"""The cases of an evaluation, run: a batch for each variant, begun or gone on with, and what its runs did."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from llmdo.journal.items import NewItem
from llmdo.journal.opening import runs_of
from llmdo.services.batch import commands as batches
from llmdo.services.evaluation import suite as suites
from llmdo.services.evaluation.deeds import RunDeeds, deeds_of
from llmdo.services.evaluation.outcome import Trial
from llmdo.services.run import EntryRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from llmdo.journal.items import BatchItem, State
    from llmdo.journal.ports import RunIndex
    from llmdo.services.batch.commands import BatchHost, BatchOutcome
    from llmdo.services.batch.scheduling import BatchBounds
    from llmdo.services.evaluation.outcome import Variant
    from llmdo.services.evaluation.suite import Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """How the runs of an evaluation are worked off now."""

    root: Path
    bounds: BatchBounds
    """Of all of them together."""
    locked: bool
    debug: bool
    environ: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The variants of an evaluation with their trials, not judged yet."""

    variants: tuple[Variant, ...]
    deeds: Mapping[str, RunDeeds]
    """Of each run that is over, by its id."""
    reason: str | None = None
    """Why not all was run."""
    interrupted: bool = False


def run_all(planned: tuple[Variant, ...], suite: Suite, repeat: int, how: Conditions, host: BatchHost) -> Ran:
    """What became of the cases of `suite` with every variant, as far as the bounds allow.

    Raises:
        InvalidTeamError: `check` finds errors that stand in the way.
        LlmdoError: A batch cannot be put in, or worked off.
    """
    items = tuple(_items(suite, how.root, repeat))
    spent, reason, interrupted = Decimal(0), None, False
    variants, deeds = [], {}
    for variant in planned:
        if reason is None and (reason := _exhausted(how.bounds, spent)) is None:
            outcome = _batch(variant, suite, items, replace(how, bounds=_left(how.bounds, spent)), host)
            spent += Decimal(outcome.spent.cost_usd)
            reason, interrupted = outcome.reason, outcome.interrupted
        trials, done = _trials(variant, items, how.root)
        variants.append(replace(variant, trials=trials))
        deeds.update(done)
    return Ran(variants=tuple(variants), deeds=deeds, reason=reason, interrupted=interrupted)


def _items(suite: Suite, root: Path, repeat: int) -> Iterator[NewItem]:
    """What is run with each variant: all cases once before any is repeated."""
    paths = dict.fromkeys(path for case in suite.cases for path in case.attachments)
    files = {path: (root / path).read_bytes() for path in paths}
    for number in range(1, repeat + 1):
        for case in suite.cases:
            yield NewItem(
                key=f"{case.name}#{number}",
                place=f"{suites.FOLDER}/{suite.name}{suites.SUFFIX}",
                input=case.input,
                files=tuple((str(root / path), files[path]) for path in case.attachments),
            )


def _batch(
    variant: Variant, suite: Suite, items: tuple[NewItem, ...], how: Conditions, host: BatchHost
) -> BatchOutcome:
    """How the batch of a variant stands after it was begun, or gone on with."""
    working = batches.Working(bounds=how.bounds, debug=how.debug, environ=how.environ)
    if batches.is_there(how.root, variant.batch):
        return batches.go_on(
            batches.ContinuedBatch(root=how.root, batch=variant.batch, working=working), host
        )
    start = EntryRequest(entry=suite.entry, project=str(how.root), locked=how.locked, environ=how.environ)
    request = batches.BatchRequest(
        start=start, inputs=items, models=variant.models, id=variant.batch, working=working
    )
    return batches.begin(request, host)


def _exhausted(bounds: BatchBounds, spent: Decimal) -> str | None:
    """Why no other batch is begun."""
    if bounds.budget_usd is None or spent < bounds.budget_usd:
        return None
    return f"the runs have cost ${spent:.4f}, and `--budget-usd` is ${bounds.budget_usd}"


def _left(bounds: BatchBounds, spent: Decimal) -> BatchBounds:
    """The bounds for a batch after others that have spent so much."""
    budget = None if bounds.budget_usd is None else bounds.budget_usd - spent
    return replace(bounds, budget_usd=budget)


def _trials(
    variant: Variant, items: tuple[NewItem, ...], root: Path
) -> tuple[tuple[Trial, ...], dict[str, RunDeeds]]:
    """The trials of a variant, those that never began as queued; and what the runs did that are over."""
    if not batches.is_there(root, variant.batch):
        return tuple(_trial(item.key, "", "queued") for item in items), {}
    runs = runs_of(root)
    trials, deeds = [], {}
    for item in batches.show(root, variant.batch)[1]:
        trial = _trial(item.key, item.run, item.state)
        if trial.is_judged:
            deeds[item.run] = _deeds(runs, item.run)
            trial = _over(trial, item, deeds[item.run])
        else:
            trial = replace(trial, error=item.result.error)
        trials.append(trial)
    return tuple(trials), deeds


def _trial(key: str, run: str, state: State) -> Trial:
    case, _, number = key.rpartition("#")
    return Trial(case=case, number=int(number), run=run, state=state)


def _over(trial: Trial, item: BatchItem, deeds: RunDeeds) -> Trial:
    """The trial whose run is over, or waits."""
    return replace(
        trial,
        output=item.result.output,
        error=item.result.error,
        requests=deeds.requests,
        input_tokens=None if deeds.unmeasured else deeds.input_tokens,
        output_tokens=None if deeds.unmeasured else deeds.output_tokens,
        cost_usd=None if deeds.unpriced else float(deeds.cost_usd),
        seconds=round(deeds.seconds, 3),
    )


def _deeds(runs: RunIndex, run: str) -> RunDeeds:
    """What the run did; nothing, where it could not begin."""
    if not runs.has(run):
        return RunDeeds()
    with runs.read(run) as journal:
        return deeds_of(journal)
