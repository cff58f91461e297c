"""What `reach` prints about a foreign project, `why` takes; what can be read is named where people look for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from llmdo import foreign
from llmdo.extensions.spec import AUTO
from llmdo.foreign.known import formats
from llmdo.reach.paths import origins_of, rows_to, target_of
from llmdo.render.reach import capability
from llmdo.services.root import ORIGIN
from tests.foreign.test_cases import ALL, CASES, format_of


@pytest.mark.few(4)
@pytest.mark.parametrize("form", [*formats(), AUTO])
def test_every_name_in_a_reach_is_one_that_can_be_asked_about(form: str) -> None:
    cases = [case for case in ALL if format_of(case) == form]
    assert cases
    for case in cases:
        read = foreign.read(form, case)
        for entry in read.graph.entries.values():
            for row in read.analysis.of(entry):
                (origin,) = origins_of(read.graph, entry.name)
                assert row in rows_to(read.analysis, origin, target_of(read.graph, capability(row)))
                assert all(origins_of(read.graph, hop.name) for hop in row.path)


def test_a_server_is_there_although_calls_of_another_one_are_milder() -> None:
    read = foreign.read("gemini", CASES / "LDO554" / "gemini-server-beside-a-milder-one")
    uses = {use.name for use in read.graph.workers["main-session"].uses}
    assert {"ledger", "warehouse"} <= uses


def test_help_readme_and_documentation_name_every_format() -> None:
    forms = [*formats(), AUTO]
    root = Path(__file__).parents[2]
    option = ORIGIN["option"].help
    assert f"{', '.join(forms[:-1])} or {forms[-1]}." in option
    readme = " ".join((root / "README.md").read_text(encoding="utf-8").split())
    listed = readme.split("Files of ")[1].split(" are read as they are")[0]
    products = [form.product for form in formats().values()]
    assert sorted(re.split(", | and ", listed)) == sorted(products)
    rows = re.findall(
        r"^\| `([\w-]+)` \|", (root / "docs/foreign.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert rows[: len(forms)] == forms
