"""A new check is one file: its code, its name, its severity and its text are where its function is."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import llmdo
from llmdo.base.checking import Check
from llmdo.base.codes import CODES
from llmdo.checks import ALL
from llmdo.foreign.findings import ALL as FOREIGN

PACKAGE = Path(llmdo.__file__).parent

CHECK = '''
from llmdo.base.checking import reports
from llmdo.base.diagnostic import finding
from llmdo.base.source import Location

@reports("LDO399", "warning")
def lone_worker(project):
    """A workspace has one worker.

    Fixed: with another one.
    """
    if len(project.graph.workers) == 1:
        yield finding("LDO399", Location("llmdo.toml"), "there is one worker")
'''


def test_no_two_checks_have_one_code_or_one_name() -> None:
    checks: tuple[Check[Any], ...] = (*ALL, *FOREIGN)
    assert len(checks) == len({check.code for check in checks}) == len({check.name for check in checks})
    assert list(CODES) == sorted(CODES)


@pytest.mark.long
def test_a_check_is_its_module_alone(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "llmdo", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(PACKAGE.parent / "schemas", tmp_path / "schemas")
    shutil.copytree(
        PACKAGE.parent / "examples/greeter", tmp_path / "w", ignore=shutil.ignore_patterns(".llmdo")
    )

    def run(*words: str) -> str:
        environ = {"PYTHONPATH": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        command = [sys.executable, "-P", "-m", *words]
        return subprocess.run(command, cwd=tmp_path / "w", env=environ, capture_output=True, text=True).stdout

    (tmp_path / "llmdo/checks/lone.py").write_text(CHECK, encoding="utf-8")
    assert run("llmdo.cli.tabulate") == ""
    assert "warning[LDO399]: there is one worker" in run("llmdo", "check")
    assert run("llmdo", "explain", "lone-worker").startswith(
        "LDO399 lone-worker (warning)\n\nA workspace has one"
    )
    assert run("llmdo", "__complete", "explain", "lone") == "lone-worker\n"
