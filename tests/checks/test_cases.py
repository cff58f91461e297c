"""Every folder `cases/<code>/<slug>/` is a workspace, beside `expect.txt`: what `llmdo check` prints about it.

`LLMDO_ACCEPT=1 pytest tests/checks/test_cases.py` writes what it prints now; read the difference before you commit it.
Links of a workspace are lines of its `links.txt`: as links they would make a source distribution follow them.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from llmdo import checks
from llmdo.base.codes import CODES
from llmdo.cli.check import rendered
from llmdo.foreign import findings
from llmdo.workspace import project

CASES = Path(__file__).parent.parent / "cases"
FOREIGN = {check.name for check in findings.ALL}
"""The checks of foreign projects, whose cases are in `foreign/`."""
ALL = sorted(path for path in CASES.glob("*/*") if path.is_dir())


def checked(root: Path, code: str) -> tuple[str, set[str]]:
    """What `check --locked` says; of the lock only in the cases about it, since the others have none."""
    read = project.read(root)
    diagnostics = [
        diagnostic
        for diagnostic in checks.reported(read, checks.check(read, locked=True))
        if diagnostic.code != "LDO402" or code.startswith("LDO4")
    ]
    return rendered(diagnostics, root, "text"), {diagnostic.code for diagnostic in diagnostics}


def copied(case: Path, root: Path) -> None:
    """The workspace of a case, with its links."""
    shutil.copytree(case, root)
    (root / "expect.txt").unlink(missing_ok=True)
    links = root / "links.txt"
    if links.exists():
        for line in links.read_text(encoding="utf-8").splitlines():
            name, target = line.split(" -> ")
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).symlink_to(target)
        links.unlink()


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_check_prints_what_the_case_expects(case: Path, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    copied(case, root)
    text, codes = checked(root, case.parent.name)
    if os.environ.get("LLMDO_ACCEPT"):
        (case / "expect.txt").write_text(text, encoding="utf-8")
    assert text == (case / "expect.txt").read_text(encoding="utf-8")
    if case.name.startswith("passes"):
        assert case.parent.name not in codes
    else:
        assert case.parent.name in codes


@pytest.mark.parametrize("code", [code for code, (name, _) in CODES.items() if name not in FOREIGN])
def test_every_code_has_a_case_that_fails_and_one_that_passes(code: str) -> None:
    slugs = [case.name for case in ALL if case.parent.name == code]
    assert any(slug.startswith("passes") for slug in slugs)
    assert any(not slug.startswith("passes") for slug in slugs)
