"""The README's first minute, run line by line."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import llmdo
from tests.examples.running import sessions
from tests.providers.server import Say, Server

ROOT = Path(__file__).parent.parent


def in_a_shell(root: Path, command: str) -> tuple[str, str]:
    """What a command line prints where `llmdo` is a program."""
    programs = root.parent / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "llmdo").write_text(f'#!/bin/sh\nexec {sys.executable} -m llmdo "$@"\n', encoding="utf-8")
    (programs / "llmdo").chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", command], cwd=root, env=environment, capture_output=True, text=True)
    return done.stdout, done.stderr


def in_this_process(root: Path, command: str) -> tuple[str, str]:
    """What it prints, where all that a shell would do is to run one program after another."""
    out = err = ""
    for words in map(shlex.split, command.split(" && ")):
        if words[0] == "llmdo":
            done = llmdo(root, *words[1:])
        else:
            done = subprocess.run(words, cwd=root, capture_output=True, text=True)
        out, err = out + done.stdout, err + done.stderr
        if done.returncode:
            break
    return out, err


@pytest.mark.parametrize("typed", [in_this_process, pytest.param(in_a_shell, marks=pytest.mark.long)])
def test_the_first_minute_runs_as_it_is_written(
    tmp_path: Path, typed: Callable[[Path, str], tuple[str, str]]
) -> None:
    section = (
        (ROOT / "README.md").read_text(encoding="utf-8").split("## The first minute")[1].split("\n## ")[0]
    )
    (install, _), (go, _), *lines = sessions(section)
    assert install.startswith("make install")
    root = tmp_path / go.removeprefix("cd ")
    shutil.copytree(ROOT / "examples/confused_deputy", root, ignore=shutil.ignore_patterns("__pycache__"))
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    for command, expected in lines:
        out, err = typed(root, command)
        assert out.rstrip("\n") == expected, (command, err)
        assert "Traceback" not in err
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


@pytest.mark.long
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
    assert "5040" in str(server.requests[1].body)
