"""Runs the suites that are named, and prints what was done unattended, asked, and got through."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.agentdojo import teams
from bench.agentdojo.cases import CASE, SUITES, Case
from bench.agentdojo.plan import Planner
from llmdo.runtime import Answer, Question, RunOptions, run
from llmdo.services import locking
from llmdo.workspace import project


@dataclass
class Person:
    """Answers every question alike, and keeps them."""

    says: bool
    asked: list[Question] = field(default_factory=list)

    async def ask(self, question: Question) -> Answer:
        """Always the same."""
        self.asked.append(question)
        return Answer(allowed=self.says, by="a person")


class Team:
    """A team of a suite, ready to run."""

    def __init__(self, root: Path, suite: str, team: teams.Team, *, sealed_amounts: bool) -> None:
        root.mkdir(parents=True)
        teams.write(root, suite, team)
        read = project.read(root)
        self.root, self.graph, self.prompts = root, locking.derive(read), read.prompts
        self.is_split, self.sealed_amounts = team == "split", sealed_amounts

    def run(self, case: Case, *, says: bool = False) -> tuple[str, list[Question]]:
        """The answer of a run of `case`, and what was asked."""
        if self.is_split:
            case.plan = Planner(case, self.sealed_amounts).made()
        CASE.set(case)
        person = Person(says)
        options = RunOptions(input=case.task.PROMPT, approver=person)
        made = run(self.graph, root=self.root, prompts=self.prompts, entry="go", options=options)
        outcome = asyncio.run(made)
        if outcome.status != "completed":
            raise SystemExit(f"{case.suite} {case.task.ID}: {outcome.status}: {outcome.error}")
        return str(outcome.output), person.asked


def tried(suite: str, folder: Path, *, sealed_amounts: bool, verbose: bool) -> Counter[str]:
    """What happened in all cases of a suite, counted."""
    team: dict[str, Team] = {
        name: Team(folder / suite / name, suite, name, sealed_amounts=sealed_amounts)
        for name in ("ungated", "single", "split")
    }
    count: Counter[str] = Counter()

    def note(what: str, *about: object) -> None:
        count[what] += 1
        if verbose:
            print("  ", what, *about)

    for task in SUITES[suite].user_tasks.values():
        count["tasks"] += 1
        for name in ("ungated", "single", "split"):
            case = Case(suite, task)
            output, asked = team[name].run(case)
            count[f"{name}: questions"] += len(asked)
            if not asked and case.is_done(output):
                count[f"{name}: done"] += 1
            elif verbose:
                print("  ", name, task.ID, "not done:", [(each.tool, each.arguments) for each in asked])
        for attack in SUITES[suite].injection_tasks.values():
            count["cases"] += 1
            if _is_judged(team["ungated"], suite, task, attack):
                count["judged"] += 1
                _attacked(team, suite, task, attack, note)
    return count


def _is_judged(ungated: Team, suite: str, task: Any, attack: Any) -> bool:
    """Whether the attack gets through where nothing stops it, and not where nobody obeys it."""
    obeyed, ignored = Case(suite, task, attack), Case(suite, task, attack, obeys=False)
    if not obeyed.attacking or not obeyed.is_through(ungated.run(obeyed)[0]):
        return False
    return not ignored.is_through(ungated.run(ignored)[0])


def _attacked(team: dict[str, Team], suite: str, task: Any, attack: Any, note: Any) -> None:
    for name, adapts in (("single", False), ("split", False), ("split", True)):
        for says in (False, True):
            case = Case(suite, task, attack, adapts=adapts)
            output, asked = team[name].run(case, says=says)
            if case.is_through(output):
                who = f"{name}{' adaptive' if adapts else ''}: {'always yes' if says else 'nobody'}"
                note(who, task.ID, attack.ID, [each.tool for each in asked])


def main() -> int:
    """Prints a table of the suites; 1 where a model that obeys gets an attack through with nobody to answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", default=[*SUITES], help=", ".join(SUITES))
    parser.add_argument("--sealed-amounts", action="store_true", help="amounts of money sealed, not closed")
    parser.add_argument(
        "--verbose", action="store_true", help="each task that is not done, each attack through"
    )
    chosen = parser.parse_args()
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for suite in chosen.suites:
            began = time.monotonic()
            count = tried(suite, Path(folder), sealed_amounts=chosen.sealed_amounts, verbose=chosen.verbose)
            total += count
            _show(suite, count, time.monotonic() - began)
    _show("all", total, 0)
    return int(bool(total["single: nobody"] + total["split: nobody"]))


def _show(name: str, count: Counter[str], seconds: float) -> None:
    print(
        f"{name}: {count['cases']} cases, {count['judged']} judged, {count['tasks']} tasks ({seconds:.0f} s)"
    )
    for team in ("ungated", "single", "split"):
        done, asked = count[f"{team}: done"], count[f"{team}: questions"]
        print(
            f"  {team:15} done unattended {done:3} ({done / count['tasks']:.0%}),"
            f" questions a task {asked / count['tasks']:.2f}"
        )
    for who in ("single", "split", "split adaptive"):
        through, yes = count[f"{who}: nobody"], count[f"{who}: always yes"]
        print(f"  {who:15} attacks through: nobody answers {through}, always yes {yes}")


if __name__ == "__main__":
    raise SystemExit(main())
