"""The list of runs on screens of several widths."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

import pytest

from llmdo.base.colour import PAPER, Screen, painted, plain
from llmdo.journal.summary import Summary
from llmdo.render import runs

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")

COMPLETED = Summary(
    run="20260101-101112-abcd",
    entry="pitchdeck",
    status="completed",
    began=1_767_262_272.0,
    ended=1_767_262_275.5,
    error=None,
    hint=None,
    frames=(),
    requests=12,
    tool_calls=4,
    input_tokens=34_567,
    output_tokens=1_234,
    cost_usd=Decimal("0.1234"),
    denied=2,
    questions=0,
)
RUNS = [COMPLETED, replace(COMPLETED, run="20260101-101113-beef", status="failed", ended=None, denied=0)]


def test_a_wide_screen_shows_a_line_a_run() -> None:
    assert runs.listed(RUNS, Screen(plain, 200)) == runs.listed(RUNS, PAPER)
    assert len(runs.listed(RUNS).splitlines()) == len(RUNS)


@pytest.mark.parametrize("columns", [80, 66])
def test_a_narrow_screen_folds_each_run_once_and_keeps_all_words(columns: int) -> None:
    lines = runs.listed(RUNS, Screen(plain, columns)).splitlines()
    assert len(lines) == 2 * len(RUNS)
    assert max(map(len, lines)) <= columns
    words = runs.listed(RUNS).replace(",", " ").split()
    assert sorted(" ".join(lines).replace(",", " ").split()) == sorted(words)


@pytest.mark.parametrize("columns", [80, 200])
def test_colour_adds_nothing_but_colour(columns: int) -> None:
    drawn = runs.listed(RUNS, Screen(painted, columns))
    assert ESCAPES.sub("", drawn) == runs.listed(RUNS, Screen(plain, columns))
    assert "\x1b[32mcompleted\x1b[0m" in drawn
    assert "\x1b[31;1mfailed\x1b[0m" in drawn


def test_a_name_cannot_steer_the_terminal() -> None:
    hostile = replace(COMPLETED, run="a\x1b[2J", status="\x1b[8mfailed", entry="x\u202ey")
    assert not re.search("[\x1b\u202e]", runs.listed([hostile], Screen(plain, 80)))
