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


def colours(example: str, entry: str) -> set[tuple[str, str, str]]:
    """The capability, the decision and the colour of that, of each row."""
    coloured = drawn(example, entry, Screen(painted, 200))
    assert COLOUR.sub("", coloured) == drawn(example, entry, PAPER)
    rows = re.findall(
        r"\x1b\[1m(\S+) *\x1b\[0m  \x1b\[([0-9;]*)m(allowed|needs_approval|blocked) *\x1b\[0m", coloured
    )
    return {(name, decision, code) for name, code, decision in rows}


def test_colour_says_danger_and_the_word_what_is_decided() -> None:
    demo = colours("approvals_demo", "demo")
    assert {code for _, decision, code in demo if decision == "blocked"} == {"2"}
    assert {code for _, decision, code in demo if decision == "needs_approval"} == {"33;1"}
    assert ("fs.read:letters/**", "allowed", "32") in demo


def test_a_shell_that_nobody_is_asked_about_is_never_green() -> None:
    assert ("proc.exec", "allowed", "31;1") in colours("confused_deputy", "release")


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
