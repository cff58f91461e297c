"""The unit of systemd in docs/fleet.md is one that systemd takes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "fleet.md"


def unit() -> str:
    """The unit as the page has it."""
    (block,) = re.findall(r"```ini\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return str(block)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no `systemd-analyze` here")
@pytest.mark.parametrize("is_whole", [True, False])
def test_systemd_takes_the_unit(tmp_path: Path, is_whole: bool) -> None:
    text = re.sub(r"ExecStart=\S+", f"ExecStart={sys.executable}", unit()).replace("User=llmdo\n", "")
    path = tmp_path / "llmdo-worker.service"
    path.write_text(text if is_whole else text.replace("Restart=always", "Restart=allways"), encoding="utf-8")
    ended = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)], capture_output=True, text=True, check=False
    )
    complaints = [line for line in ended.stderr.splitlines() if path.name in line]
    assert bool(complaints) is not is_whole, ended


def test_the_unit_starts_a_worker_as_the_command_line_has_it() -> None:
    from llmdo.cli.tables import COMMANDS

    words = re.search(r"ExecStart=(.*)", unit())
    assert words
    _, group, command, *options = words.group(1).split()
    assert {option for option in options if option.startswith("--")} <= {*COMMANDS[f"{group} {command}"]}
