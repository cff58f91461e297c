"""How often the gate of an evaluation errs: `python -m bench.gate`. No model is asked: what passes is drawn by chance.

Each of 200 evaluations of 30 cases is held against another one by the functions that `llmdo eval --baseline` calls.
Where both pass 85 %, each red is a false alarm; where the later one passes 20 points less, each red is a loss that was
found. Twice: with cases that all pass alike, and with some that always pass beside others that seldom do.
"""

from __future__ import annotations

import argparse
from random import Random
from typing import TYPE_CHECKING

from llmdo.features.evaluation.gate import OpenedEvalGate, held
from llmdo.features.evaluation.outcome import Evaluated, Judgement, Trial, Variant
from llmdo.features.evaluation.regression import GatePlan, power

if TYPE_CHECKING:
    from collections.abc import Sequence

CASES, PASSED, LOSS, BY = 30, 0.85, 0.2, 0.1
REPEATS = (1, 2, 3, 5, 10)
FALSE_ALARMS, FINDS = 0.05, 0.8
ENOUGH_REPEATS = 3
"""From so many repeats on a loss of 20 points has to be found."""
SPREAD = (1.0, 1.0, 1.0, 0.75, 0.5)
"""Cases that pass so, in turns: 85 % on average as well."""


def evaluation(chances: Sequence[float], repeat: int, chance: Random) -> Evaluated:
    """One whose cases pass as likely as `chances` says."""
    trials = tuple(
        Trial(
            case=f"c{number}",
            number=time,
            run=f"{number}-{time}",
            state="completed",
            judgements=(Judgement(evaluator="e", value=chance.random() < likely),),
        )
        for number, likely in enumerate(chances)
        for time in range(1, repeat + 1)
    )
    return Evaluated(
        id="e",
        name="e",
        entry="main",
        began=0,
        digest="",
        repeat=repeat,
        cases=tuple(f"c{number}" for number in range(len(chances))),
        variants=(Variant(label="workspace", trials=trials),),
    )


def red(chances: Sequence[float], loss: float, repeat: int, evaluations: int) -> float:
    """The part of so many evaluations in which the gate fails, where each case passes `loss` less often than before."""
    chance = Random(f"{list(chances)} {loss} {repeat}")  # which has to be the same each time
    failed = 0
    for _ in range(evaluations):
        before = evaluation(chances, repeat, chance)
        after = evaluation([max(0.0, likely - loss) for likely in chances], repeat, chance)
        outcome = held(after, OpenedEvalGate(baseline=before, compares=True, by=BY, fail_under=None))
        failed += outcome is not None and outcome.is_missed
    return failed / evaluations


def main() -> int:
    """Prints both figures for each number of repeats; 1 where one of them is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=200)
    evaluations = parser.parse_args().evaluations
    spread = [SPREAD[number % len(SPREAD)] for number in range(CASES)]
    print(f"{evaluations} evaluations each, {CASES} cases, {PASSED:.0%} pass, `--fail-on worse --by {BY:g}`")
    print("repeats  cases   false alarms  20 points lost  the plan says")
    is_missed = False
    for repeat in REPEATS:
        plan = GatePlan(cases=CASES, before_of=repeat, after_of=repeat, passed=PASSED)
        for name, chances in (("alike", [PASSED] * CASES), ("spread", spread)):
            alarms, finds = (red(chances, loss, repeat, evaluations) for loss in (0.0, LOSS))
            print(f"{repeat:>7}  {name:<6} {alarms:>12.1%} {finds:>15.1%} {power(plan, LOSS):>14.1%}")
            is_missed |= alarms > FALSE_ALARMS or (repeat >= ENOUGH_REPEATS and finds < FINDS)
    print(
        f"false alarms: at most {FALSE_ALARMS:.0%}; found from {ENOUGH_REPEATS} repeats on: at least {FINDS:.0%}"
    )
    return int(is_missed)


if __name__ == "__main__":
    raise SystemExit(main())
