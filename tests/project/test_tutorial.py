"""The tutorial, followed literally: its files written, its commands typed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
STEP = re.compile(
    r"Write `(?P<file>[^`]+)`:\n\n```\w+\n(?P<text>.*?)```|```console\n(?P<session>.*?)```", re.DOTALL
)
RUN = re.compile(r"\d{8}T\d{9}-[0-9a-f]{8}")


@pytest.mark.long
def test_every_step_does_what_the_page_says(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "llmdo").write_text(f'#!/bin/sh\nexec {sys.executable} -m llmdo "$@"\n', encoding="utf-8")
    (programs / "llmdo").chmod(0o755)
    names = {
        f"GIT_{who}_{what}": "t@example.invalid"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    environment = {**os.environ, **names, "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    folder = tmp_path
    typed = 0
    for step in STEP.finditer(PAGE.read_text(encoding="utf-8")):
        if step["file"]:
            (folder / step["file"]).parent.mkdir(exist_ok=True)
            (folder / step["file"]).write_text(step["text"], encoding="utf-8")
            continue
        for session in re.split(r"^\$ ", step["session"], flags=re.MULTILINE)[1:]:
            command, *shown = session.rstrip("\n").split("\n")
            if command.startswith("cd "):
                folder /= command.removeprefix("cd ")
                continue
            done = subprocess.run(
                ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True
            )
            printed = RUN.sub("RUN", done.stdout + done.stderr).split("\n")
            assert "Traceback" not in done.stderr, command
            assert [line for line in shown if line not in (*printed, "...")] == [], (command, done.stderr)
            if "..." not in shown:
                assert done.stdout.rstrip("\n") in ("", "\n".join(shown)), command
            typed += 1
    assert typed == len(re.findall(r"^\$ (?!cd )", PAGE.read_text(encoding="utf-8"), re.MULTILINE)) > 0
