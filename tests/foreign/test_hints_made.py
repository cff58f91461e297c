"""The edits of each hint of a flow, made in a copy as its words say, leave what the hint says and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from llmdo import foreign
from tests.checks.test_cases import copied
from tests.foreign.test_cases import format_of
from tests.foreign.test_hints import FLOWING
from tests.support.hints import of_project

if TYPE_CHECKING:
    from pathlib import Path

UNMADE = {
    "claude-many-rules-alike": "and 4 more, which the next scan names",
    "github-actions-environment-of-an-older-client": "let an _ say who may start it and whose text it reads",
    "github-actions-gemini-commands-that-read": "let an _ say who may start it and whose text it reads",
    "github-actions-gemini-several-commands": "let an _ say who may start it and whose text it reads",
    "github-actions-text-in-a-quoted-document": "pass _ by _",
    "github-actions-text-in-an-unquoted-document": "pass _ by _",
    "github-actions-two-texts-in-a-script": "pass _, _ by _",
    "passes-github-actions-aliases": "no claude at its place",
}
"""The cases with a hint whose edit is for a person alone, and the reason; that of an alias is in another line."""


@pytest.mark.parametrize("case", FLOWING, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_the_edits_of_a_hint_do_what_it_says(case: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    copied(case, root)
    _, wrong, unmade = of_project(root, foreign.read(format_of(case), root), tmp_path)
    assert wrong == []
    assert [each for each in unmade if case.name not in UNMADE or UNMADE[case.name] not in each] == []
    assert bool(unmade) is (case.name in UNMADE)
