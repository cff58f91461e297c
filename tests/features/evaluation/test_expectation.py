"""Expected outputs beside actual ones: every difference is marked, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.features.evaluation.document import Evaluations, document, parse
from llmdo.features.evaluation.expectation import MOST, ShownValue, plain, side_by_side
from tests.features.evaluation.conftest import root, write
from tests.support import commands

__all__ = ["root"]


def marked(value: ShownValue) -> list[str]:
    return [part for line in value.lines for part, is_marked in line if is_marked]


@pytest.mark.parametrize(
    ("expected", "actual", "missing", "more"),
    [
        ("yes", "yes", [], []),
        ("the red house", "the blue house", ["red"], ["blue"]),
        ("a\nb", "a\nc\nb", [], ["c"]),
        ({"a": 1}, {"a": 2}, ["1"], ["2"]),
        ("1", 1, ['"', '"'], []),
        ("yes", None, ["yes"], []),
        ("pay \u202e", "pay x", ["\\u{202e}"], ["x"]),
    ],
)
def test_what_differs_is_marked_on_its_side(
    expected: object, actual: object, missing: list[str], more: list[str]
) -> None:
    first, second = side_by_side(expected, actual)  # type: ignore[arg-type]
    assert (marked(first), marked(second)) == (missing, more)


WORDS = st.text("ab \n", max_size=12)


@given(WORDS, WORDS)
def test_what_is_not_marked_is_in_both(expected: str, actual: str) -> None:
    sides = side_by_side(expected, actual)
    kept = [
        "".join(part for line in side.lines for part, is_marked in line if not is_marked) for side in sides
    ]
    assert kept[0] == kept[1]
    assert expected != actual or not any(map(marked, sides))


def test_a_long_value_is_cut_and_says_so() -> None:
    assert plain("x" * (MOST + 7)).left_out == 7
    first, second = side_by_side("word." * MOST, "other." * MOST)
    assert first.left_out == 4 * MOST
    assert marked(second)


def test_an_evaluation_keeps_what_was_expected(root: Path) -> None:
    cases = [{"name": "a", "input": "say yes", "expected": "yes"}, {"name": "b", "input": "say no"}]
    write(root, cases, evaluators={"ends": "completed"})
    done = commands.llmdo(root, "eval")
    assert done.returncode == 0, done.stderr
    evaluations = Evaluations(root)
    evaluated = evaluations.read(evaluations.names()[-1])
    assert evaluated.expected == {"a": "yes"}
    earlier = document(evaluated)
    del earlier["expected"]
    assert parse(json.dumps(earlier), "earlier").expected is None
