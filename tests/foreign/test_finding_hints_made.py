"""The edit of each hint of a finding that is no flow, made in a copy as its words say, ends the finding and no more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from llmdo import foreign
from tests.checks.test_cases import copied
from tests.foreign.test_cases import ALL, format_of
from tests.support.finding_hints import EXPLAINED, form_of, of_findings

if TYPE_CHECKING:
    from pathlib import Path

_FINDING = re.compile(r"^(?:note|warning|error)\[LDO(?!552|555|154)", re.MULTILINE)
_HINT = re.compile(r"^ *= hint: (?P<hint>.*)$", re.MULTILINE)
HINTED = [
    case
    for case in ALL
    if _FINDING.search(text := (case / "expect.txt").read_text(encoding="utf-8")) and _HINT.search(text)
]


@pytest.mark.parametrize("case", HINTED, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_the_edit_of_a_hint_does_what_it_says(case: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    copied(case, root)
    (root / "page.md").unlink(missing_ok=True)
    tried = of_findings(root, foreign.read(format_of(case), root), tmp_path)
    assert tried.wrong == []
    assert tried.unmade == []


def test_every_form_that_only_explains_is_in_a_case() -> None:
    texts = [(case / "expect.txt").read_text(encoding="utf-8") for case in HINTED]
    forms = {form_of(match["hint"]) for text in texts for match in _HINT.finditer(text)}
    assert [each.pattern for each in EXPLAINED if not any(map(each.fullmatch, forms))] == []
