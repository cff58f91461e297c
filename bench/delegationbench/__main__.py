"""Counts what is refused of the scenarios, by class, and of what its fuzzer makes of them."""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import yaml
from delegationbench import fuzzer
from delegationbench.corpus import corpus_path
from delegationbench.scenario import ScenarioError, parse_scenario
from delegationbench.tools import UnknownResourceError

from bench.delegationbench.actors import tried
from bench.delegationbench.team import MEANS, Scenario, unsaid
from bench.delegationbench.world import Stores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from delegationbench.oracle import Verdict

REFUSED = [f"refused by {what}" for what in ("check", "run", "flow rules", "answers")]
COLUMNS = {
    "attack": ["through with nothing in the way", *REFUSED, "cannot be said", "through"],
    "benign": [*REFUSED, "done"],
}


def counted(scenario: Scenario) -> Iterator[str]:
    """What happened in a scenario of the corpus."""
    for name, means in MEANS.items():
        stores = Stores(scenario)
        by_check, by_run = tried(scenario, stores, means)
        is_through = stores.judged().violation
        is_refused = bool(by_run) and not is_through
        if name == "nothing":
            yield from ["through with nothing in the way"] * is_through
        elif name != "all":
            yield from [f"refused by {name}"] * is_refused
        else:
            yield from ["refused by check"] * bool(by_check)
            yield from ["refused by run"] * is_refused
            yield from ["done"] * (not is_refused and stores.is_done())
            if scenario["type"] == "attack" and not is_refused:
                yield "cannot be said" if unsaid(scenario) and not is_through else "through"


def row(scenario: Scenario, corpus: dict[str, Scenario]) -> str:
    """The classes of an attack; of a benign scenario those of the attack that its description names first."""
    named = re.findall(r"attack-\d+", scenario["description"])
    attack = corpus[named[0]] if scenario["type"] == "benign" and named else scenario
    return ", ".join(attack["expect"].get("violation_kinds") or ()) or "none named"


def mutants(seed: Scenario, budget: int, rng: random.Random) -> Iterator[tuple[Scenario, Verdict]]:
    """What the fuzzer makes of a scenario, with what the oracle says where nothing is in the way."""
    for _ in range(budget):
        try:
            made, _operators = fuzzer.generate_mutant(dict(seed), rng)
            yield made, fuzzer.judge(parse_scenario(made), "none")
        except (fuzzer.MutationNotApplicable, ScenarioError, UnknownResourceError):
            continue  # as its own campaigns do


def compared(scenario: Scenario, truth: Verdict) -> str:
    """What the oracle says of a mutant, and what llmdo does with it."""
    stores = Stores(scenario)
    by_check, by_run = tried(scenario, stores, MEANS["all"])
    after = stores.judged()
    if after.violation:
        return f"through: {', '.join(after.kinds)}"
    what = "refused by run" if by_run else "refused by check alone" if by_check else "not refused"
    if by_run and by_run[0].startswith("the run took longer"):
        what = "out of time"
    if not truth.violation:
        return f"clean: {what}"
    reasons = sorted(unsaid(scenario)) or truth.kinds
    return f"violation: {what}" + (f" ({', '.join(reasons)})" if what == "not refused" else "")


def main() -> int:
    """Prints a table of the classes; 1 where the oracle finds a violation in what llmdo let through."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fuzz", type=int, default=0, help="how many mutants of each scenario are tried")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    texts = [path.read_text(encoding="utf-8") for path in sorted(corpus_path().rglob("*.yaml"))]
    corpus = {scenario["id"]: scenario for scenario in map(yaml.safe_load, texts)}
    through = 0
    for kind, columns in COLUMNS.items():
        table: dict[str, Counter[str]] = defaultdict(Counter)
        for scenario in corpus.values():
            if scenario["type"] == kind:
                table[row(scenario, corpus)].update([kind, *counted(scenario)])
        table["all"] = sum(table.values(), Counter())
        through += table["all"]["through"]
        print("| class", kind, *columns, sep=" | ")
        for name, count in sorted(table.items()):
            print(f"| {name}", *(count[column] for column in (kind, *columns)), sep=" | ")
    rng = random.Random(chosen.seed)
    fuzzed = Counter(
        compared(*made) for scenario in corpus.values() for made in mutants(scenario, chosen.fuzz, rng)
    )
    print(*(f"{number:6} {what}" for what, number in sorted(fuzzed.items())), sep="\n")
    return int(bool(through or any(what.startswith("through") for what in fuzzed)))


if __name__ == "__main__":
    raise SystemExit(main())
