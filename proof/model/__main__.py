"""Compares the product with the model, on random decisions and random teams: `python -m proof.model`.

A difference means that one of them is wrong. The question is printed as the model reads it.
"""

from __future__ import annotations

import argparse
import sys
from itertools import islice

from proof.model import compare, extracted

SHOWN = 5  # of each kind: more of them rarely tell more


def main() -> int:
    """Compares as many as the command says; 1 if anything differs."""
    parser = argparse.ArgumentParser(prog="python -m proof.model", description=__doc__)
    parser.add_argument("--decisions", type=int, default=1_000_000)
    parser.add_argument("--teams", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    program = extracted.built()
    is_wrong = False
    for kind, cases, number in (
        ("vocabulary", compare.vocabulary(), 1),
        ("decisions", compare.decisions(asked.seed), asked.decisions),
        ("teams", compare.teams(asked.seed), asked.teams),
    ):
        differing = list(islice(compare.differences(program, cases, number), SHOWN))
        for difference in differing:
            print(difference)
        print(f"{kind}: {'differ' if differing else 'equal'} ({number:,})", flush=True)
        is_wrong = is_wrong or bool(differing)
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
