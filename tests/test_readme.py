"""The README's first minute, run line by line."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.commands import llmdo
from tests.examples.running import sessions
from tests.providers.server import Say, Server

ROOT = Path(__file__).parent.parent


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


def test_what_agents_reach_is_answered_as_it_is_written(tmp_path: Path) -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8")
    section = section.split("## What can my agents reach?")[1].split("\n## ")[0]
    (go, _), *lines = sessions(section)
    root = tmp_path / "repository"
    shutil.copytree(ROOT / go.removeprefix("cd "), root)
    for command, expected in lines:
        program, *words = command.split()
        done = llmdo(root, *words)
        assert (program, done.stdout.rstrip("\n")) == ("llmdo", expected), done.stderr
    assert len(lines) == 2


def test_files_alone_run_as_they_are_shown(tmp_path: Path) -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8")
    section = section.split("Without a manifest")[1].split("\n## ")[0]
    for name, kind in (("main.worker", "yaml"), ("tools.py", "python")):
        text = section.split(f"```{kind}\n")[1].split("```")[0]
        (tmp_path / name).write_text(text, encoding="utf-8")
    [(command, _)] = sessions(section)
    program, *words = shlex.split(command)
    assert program == "llmdo"
    answers = [Say(calls=[("factorial", {"n": 7})]), Say("7! is 5040.")]
    with Server({"nobody": answers}).running() as server:
        done = llmdo(tmp_path, *words, environ={**os.environ, **server.environment})
    assert (done.returncode, done.stdout) == (0, "7! is 5040.\n"), done.stderr
    assert "5040" in str(server.asked[1].body)
