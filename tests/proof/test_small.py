"""What llmdo says of small teams is what their runs do, and the laws notice where it is not."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from proof.small.calls import ALLOWED, ASKS, BLOCKED, ENTRY, STRANGERS
from proof.small.laws import Subject, failures, held
from proof.small.product import graph_of
from proof.small.runs import runs_of
from proof.small.teams import PARTS, SCOPES, Flow, Team, bases, large, shapes, some

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_two_thousand_teams_keep_the_laws() -> None:
    chance = random.Random(34)
    findings = held([*some(1_000, chance), *[large(chance) for _ in range(1_000)]], every=4)
    assert findings.failures == []
    assert (findings.teams + findings.left_out, findings.compared > 400) == (2_000, True)


def test_what_counts_for_a_folder_counts_for_what_is_in_it() -> None:
    chance = random.Random(34)
    findings = held([large(chance, SCOPES) for _ in range(100)], every=4)
    assert (findings.failures, findings.teams > 90) == ([], True)


def test_the_interpreter_shares_no_code_with_the_product() -> None:
    code = "import sys, proof.small.calls, proof.small.runs, proof.small.teams; sys.exit(any(m.startswith('llmdo') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_every_shape_is_there_once() -> None:
    assert [len(shapes(size)) for size in (1, 2, 3, 4)] == [1, 2, 18, 30]
    assert len(bases()) == 718
    [first, *_] = bases()
    of_one = list(first.teams())
    assert len(of_one) == len(set(of_one)) == 34_642


def test_what_is_drawn_is_among_what_is_enumerated() -> None:
    drawn = [team for team in some(1_000, random.Random(1)) if len(team.calls) == 1]
    assert drawn
    assert {*drawn} <= {*bases()[0].teams()}
    assert PARTS == 5


TEAM = Team(
    calls=((1, 2), (), ()),
    uses=((), (0,), (1, 2)),
    rules=(("x", "allowed"),),
    ceilings=((ENTRY, ("x.t0.do", "x.t1.do")),),
    approvals=((2, "x.t1.do", "needs_approval"),),
    flow=Flow((STRANGERS,), "x.t1.do", "blocked"),
    strange=("x.t0.do",),
    answers=("plain", "closed", "plain"),
)
"""A planner, a reader whose answer is closed, and a worker that acts."""


def test_runs_of_a_team_are_what_the_law_says() -> None:
    runs = runs_of(TEAM)
    by_tool = {called: outcome for (_, called, _), outcome in runs.calls.items()}
    assert by_tool == {"w1": ALLOWED, "w2": ALLOWED, "t0": ALLOWED, "t1": ASKS, "t2": BLOCKED}
    assert runs.after == {"x.t0.do": ALLOWED}
    opened = runs_of(replace(TEAM, answers=("plain", "plain", "plain")))
    assert opened.after == {"x.t0.do": ALLOWED}  # what would act is blocked by then
    asked = replace(TEAM, answers=(), flow=Flow((STRANGERS,), "x.t1.do", "needs_approval"))
    assert runs_of(replace(asked, answers=("plain",) * 3)).after == {"x.t0.do": ALLOWED, "x.t1.do": ASKS}


@pytest.mark.parametrize(
    "other",
    [
        replace(TEAM, rules=()),
        replace(TEAM, ceilings=()),
        replace(TEAM, approvals=()),
        replace(TEAM, strange=()),
        replace(TEAM, depth=0),
        replace(TEAM, calls=((1,), (), ())),
    ],
)
def test_the_laws_notice_a_graph_of_another_team(other: Team) -> None:
    right, wrong = Subject(TEAM), Subject(TEAM)
    wrong.graph = graph_of(other)
    assert [*failures(right)] == []
    assert [*failures(wrong)] != []


def test_the_laws_notice_words_that_llmdo_does_not_count() -> None:
    asks = Flow((STRANGERS,), "x.t1.do", "needs_approval")
    opened = Subject(replace(TEAM, answers=("plain", "plain", "plain"), flow=asks))
    assert [*failures(opened)] == []
    opened = Subject(opened.team)
    opened.graph = graph_of(replace(TEAM, flow=asks))
    assert any(sentence.startswith("labels") for sentence in failures(opened))


def test_the_laws_notice_a_difference_that_is_none() -> None:
    before, after = Subject(TEAM), Subject(replace(TEAM, approvals=()))
    assert [*failures(after, before)] == []
    before.graph = after.graph
    assert any(sentence.startswith("difference") for sentence in failures(after, before))
