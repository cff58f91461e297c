"""Every folder `cases/<code>/<slug>/` is a project of another tool, beside `expect.txt`: what llmdo says about it.

The slug says the format: `claude-not-yaml`, `passes-claude-plain`. Where there is a `page.md` as well, it is the page about
the project. `LLMDO_ACCEPT=1 pytest tests/foreign` writes what is said now; read the difference before you commit it.
Links of a project are lines of its `links.txt`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from llmdo import foreign
from llmdo.base.codes import CODES
from llmdo.cli.check import rendered
from llmdo.extensions.spec import AUTO
from llmdo.foreign import findings
from llmdo.foreign.known import formats
from llmdo.foreign.summary import summary_of
from llmdo.render import foreign as render
from llmdo.render.page import page
from tests.checks.test_cases import copied

CASES = Path(__file__).parent / "cases"
ALL = sorted(path.parent for path in CASES.glob("*/*/expect.txt"))
NAMES = {check.name for check in findings.ALL}
_CODE = re.compile(r"`[^`]+`")
_EMPTY = re.compile(r"  |``|\( *\)| [,;.)]|^ | $")
"""What a sentence has where one of its parts is empty, with its code as a word."""
FOREIGN = [code for code, (name, _) in CODES.items() if name in NAMES]


def format_of(case: Path) -> str:
    slug = case.name.removeprefix("passes-")
    return next(form for form in (*formats(), AUTO) if slug.startswith(f"{form}-"))


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_what_is_said_is_what_the_case_expects(case: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    copied(case, root)
    (root / "page.md").unlink(missing_ok=True)
    read = foreign.read(format_of(case), root)
    diagnostics = findings.check(read)
    places = [at.path for each in diagnostics for at in (each.at, *(other.at for other in each.related))]
    assert [path for path in places if not (root / path).exists()] == []
    hints = [each.hint for each in diagnostics if each.hint]
    assert [each for each in hints if _EMPTY.search(_CODE.sub("_", each))] == []
    reached = render.alike((entry, read.analysis.of(entry)) for entry in read.graph.entries.values())
    if (case / "page.md").exists():
        drawn = page(read, summary_of(read, diagnostics), list(reached))
        if os.environ.get("LLMDO_ACCEPT"):
            (case / "page.md").write_text(drawn, encoding="utf-8")
        assert drawn == (case / "page.md").read_text(encoding="utf-8")
    text = f"{rendered(diagnostics, root, 'text')}\n{render.text(read.team.format, reached)}"
    if os.environ.get("LLMDO_ACCEPT"):
        (case / "expect.txt").write_text(text, encoding="utf-8")
    assert text == (case / "expect.txt").read_text(encoding="utf-8")
    codes = {diagnostic.code for diagnostic in diagnostics}
    assert (case.parent.name in codes) is not case.name.startswith("passes-")


@pytest.mark.parametrize("code", FOREIGN)
def test_every_code_has_a_case_that_fails_and_one_that_passes(code: str) -> None:
    slugs = [case.name for case in ALL if case.parent.name == code]
    assert any(slug.startswith("passes-") for slug in slugs)
    assert any(not slug.startswith("passes-") for slug in slugs)
