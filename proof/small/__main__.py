"""The command: `python -m proof.small`, some teams by chance; `--all`, every team of up to five parts.

`--kept FILE` keeps what is done of all, and goes on from there; `--part 3/8` does an eighth of it. `--count` only
says how many they are. Where a law does not hold, the sentence and the team are printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from proof.small.laws import Findings, held
from proof.small.teams import bases, large, some

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proof.small.teams import Team

CHUNK = 250  # teams that a process takes at a time, by chance
PIECE = 2_500  # sets of clauses that it takes at a time, of all
MOST_SHOWN = 20
EVERY = 8  # of so many teams the lock is read, and the difference from the one before


class Piece(NamedTuple):
    """Some of the teams with one beginning: those of `PIECE` sets of clauses, from number `start` on."""

    base: int
    start: int

    @property
    def teams(self) -> Iterator[Team]:
        """These teams."""
        return bases()[self.base].teams(self.start, PIECE)


def pieces() -> list[Piece]:
    """All teams of up to five parts, in an order by which the first ones are of every kind."""
    every = [
        Piece(number, start)
        for number, base in enumerate(bases())
        for start in range(0, sum(base.weights), PIECE)
    ]
    random.Random(0).shuffle(every)
    return every


def held_of(piece: Piece) -> Findings:
    """What becomes of a piece."""
    return held(piece.teams, EVERY, most=None)


def counted(number: int) -> int:
    """How many teams have one beginning."""
    return sum(1 for _ in bases()[number].teams())


def by_chance(teams: int, seed: int, jobs: int) -> Findings:
    """What becomes of so many teams: half of up to five parts, half larger."""
    chance = random.Random(seed)
    drawn = some(teams - teams // 2, chance)
    drawn += [large(chance) for _ in range(teams // 2)]
    findings = Findings()
    with ProcessPoolExecutor(jobs) as pool:
        left = iter(drawn)
        chunks = iter(lambda: list(islice(left, CHUNK)), [])
        for each in _watched(pool.map(partial(held, every=EVERY), chunks), teams):
            findings.add(each)
    return findings


def every_one(part: str, kept: Path | None, jobs: int) -> Findings:
    """What becomes of all teams of up to five parts, or of those of one part."""
    which, _, parts = part.partition("/")
    lines = kept.read_text(encoding="utf-8").splitlines() if kept and kept.exists() else []
    done = [json.loads(line) for line in lines]
    keys = ("teams", "states", "compared", "effects", "beyond", "left_out")
    findings = Findings(**{key: sum(each[key] for each in done) for key in keys})
    over = {Piece(*each["piece"]) for each in done}
    wanted = [piece for piece in pieces()[int(which) - 1 :: int(parts)] if piece not in over]
    with ProcessPoolExecutor(jobs) as pool:
        waiting = {pool.submit(held_of, piece): piece for piece in wanted}
        for number, future in enumerate(as_completed(waiting), 1):
            each = future.result()
            findings.add(each)
            if kept and not each.failures:
                line = {"piece": waiting[future], **{key: getattr(each, key) for key in keys}}
                with kept.open("a", encoding="utf-8") as file:
                    file.write(f"{json.dumps(line)}\n")
            if number % 20 == 0:
                shown = f"{number:,} of {len(wanted):,} pieces, {findings.teams:,} teams"
                print(f"{shown}, {len(findings.failures)} failures", file=sys.stderr)
    return findings


def _watched(results: Iterator[Findings], teams: int) -> Iterator[Findings]:
    done = 0
    for number, each in enumerate(results, 1):
        done += each.teams + each.left_out
        if number % 20 == 0:
            print(f"{done:,} of {teams:,} teams", file=sys.stderr)
        yield each


def main() -> int:
    """Runs what the command line asks for, and prints what became of it."""
    parser = argparse.ArgumentParser(prog="python -m proof.small", description=__doc__)
    parser.add_argument("--teams", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--count", action="store_true")
    given = parser.parse_args()
    if given.count:
        with ProcessPoolExecutor(given.jobs) as pool:
            print(f"{sum(pool.map(counted, range(len(bases())), chunksize=8)):,} teams of up to five parts")
        return 0
    began = time.monotonic()
    findings = (
        every_one(given.part, given.kept, given.jobs)
        if given.all
        else by_chance(given.teams, given.seed, given.jobs)
    )
    for sentence, team in findings.failures[:MOST_SHOWN]:
        print(f"{sentence}\n    {team}")
    print(
        f"{findings.teams:,} teams, {findings.states:,} states, {findings.compared:,} locks and differences, "
        f"{findings.beyond:,} of {findings.effects:,} effects after a stranger's words that no run has, "
        f"{findings.left_out:,} left out, {len(findings.failures):,} failures, {time.monotonic() - began:.0f} s"
    )
    return 1 if findings.failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
