"""What `reach` prints, `why` answers: for every name and every row of projects of other tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo import foreign
from llmdo.render import reach as render
from tests.foreign.test_cases import CASES, format_of
from tests.reach.test_paths import assert_that_every_name_is_answered
from tests.support import commands

FOREIGN = [
    CASES / "LDO550" / slug
    for slug in ("claude-gain", "passes-docker-agent-asked-shell", "passes-opencode-asked-task")
]


@pytest.mark.parametrize("case", FOREIGN, ids=lambda case: case.name)
def test_why_takes_every_name_that_reach_prints_of_a_foreign_project(case: Path) -> None:
    read = foreign.read(format_of(case), case)
    assert_that_every_name_is_answered(read.analysis)
    origin = ("--from", format_of(case), ".")
    for entry in list(read.graph.entries.values())[:2]:
        for row in read.analysis.of(entry)[:2]:
            for words in ((entry.name, render.capability(row)), (entry.name, row.path[-1].name)):
                assert commands.llmdo(case, "reach", *words, *origin).returncode == 0, words
