"""What entries can reach, drawn: in full lines, in a narrow window, and in colour."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from llmdo.base.colour import PAPER, Screen, painted, plain
from llmdo.reach import depth_of
from llmdo.render.reach import folded, text
from llmdo.workspace import project

EXAMPLES = Path(__file__).parents[2] / "examples"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def drawn(example: str, entry: str, screen: Screen) -> str:
    read = project.read(EXAMPLES / example)
    chosen = read.graph.entries[entry]
    return text(entry, depth_of(read.analysis, chosen), read.analysis.of(chosen), screen)


def test_a_table_that_fits_has_a_line_a_capability() -> None:
    assert drawn("pitchdeck", "pitchdeck", Screen(plain, 200)) == drawn("pitchdeck", "pitchdeck", PAPER)


def test_in_a_narrow_window_the_path_stands_below() -> None:
    lines = drawn("pitchdeck", "pitchdeck", Screen(plain, 60)).split("\n")
    assert lines[1].split() == ["capability", "decision", "assurance"]
    assert lines[2] == "      path"
    assert max(map(len, lines)) <= 60
    wide = drawn("pitchdeck", "pitchdeck", PAPER).split("\n")
    assert len(lines) - 2 == 2 * (len(wide) - 2)


def test_what_is_decided_has_a_colour_of_its_own_and_always_its_word() -> None:
    coloured = drawn("approvals_demo", "demo", Screen(painted, 200))
    assert COLOUR.sub("", coloured) == drawn("approvals_demo", "demo", PAPER)
    codes = {
        word.strip(): code
        for code, word in re.findall(r"\x1b\[([0-9;]*)m(allowed *|needs_approval *|blocked *)", coloured)
    }
    assert codes.keys() == {"allowed", "needs_approval", "blocked"}
    assert len({*codes.values()}) == 3


@given(
    st.lists(
        st.text(st.characters(codec="ascii", exclude_characters=" >\x1b"), min_size=1, max_size=9), min_size=1
    ),
    st.integers(12, 40),
)
def test_a_folded_path_is_the_same_path_within_the_window(steps: list[str], room: int) -> None:
    lines = list(folded(" > ".join(steps), room))
    assert " ".join(lines) == " > ".join(steps)
    assert max(map(len, lines)) <= room
