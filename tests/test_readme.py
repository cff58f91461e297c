"""The README's first minute, run line by line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def sessions(text: str) -> list[tuple[str, str]]:
    """Command and expected output of every `$ ` line in the console blocks of `text`."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output.rstrip("\n")))
    return found


def test_the_first_minute_runs_as_it_is_written(tmp_path: Path) -> None:
    section = (
        (ROOT / "README.md").read_text(encoding="utf-8").split("## The first minute")[1].split("\n## ")[0]
    )
    (install, _), (go, _), *lines = sessions(section)
    assert install.startswith("make install")
    root = tmp_path / go.removeprefix("cd ")
    shutil.copytree(ROOT / "examples/confused_deputy", root, ignore=shutil.ignore_patterns("__pycache__"))
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "llmdo").write_text(f'#!/bin/sh\nexec {sys.executable} -m llmdo "$@"\n', encoding="utf-8")
    (programs / "llmdo").chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    for command, expected in lines:
        done = subprocess.run(
            ["bash", "-c", command], cwd=root, env=environment, capture_output=True, text=True
        )
        assert done.stdout.rstrip("\n") == expected, (command, done.stderr)
        assert "Traceback" not in done.stderr
    assert len(lines) == 8
