"""The README, run line by line, and what it says elsewhere of files alone."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from tests.support.commands import llmdo
from tests.support.examples import LEFT_OVER, sessions
from tests.support.provider import Say, Server

ROOT = Path(__file__).parents[2]


ANSWERED = "There is nothing to say."
"""What the model of a provider says that only the README's block with a key asks."""

OUTSIDE = ("make test", "make lint")
"""Commands about the repository of llmdo itself, of which this test is part."""


class Shell:
    """One shell for all of the README: where a block leaves it, the next one begins."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.errors = (folder.parent / "stderr").open("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            ["bash", "--norc"],
            cwd=folder,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate("exit\n", timeout=20)
        self.errors.close()

    def run(self, command: str) -> tuple[str, int]:
        """What a command prints, and its exit code."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{{ {command}\n}} </dev/null\nprintf '\\n\\0%s\\n' \"$?\"\n")
        self.process.stdin.flush()
        lines: list[str] = []
        while not (line := self.process.stdout.readline()).startswith("\0"):
            assert line, f"the shell ended in `{command}`"
            lines.append(line)
        return "".join(lines).removesuffix("\n").rstrip("\n"), int(line[1:])

    def errors_so_far(self) -> str:
        """What was printed as an error so far."""
        return Path(self.errors.name).read_text(encoding="utf-8")


def clone(folder: Path) -> Path:
    """A clone with what the README works on, in which llmdo is installed."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns(*LEFT_OVER))
    shutil.copytree(ROOT / "examples/claude_agents", folder / "examples/claude_agents", dirs_exist_ok=True)
    for name in ("Makefile", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
    programs = folder / ".venv/bin"
    programs.mkdir(parents=True)
    for name, line in (
        ("llmdo", f'exec {sys.executable} -m llmdo "$@"'),
        ("pip", "exit 0"),
        ("python", "exit 0"),
    ):
        (programs / name).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    (folder / ".venv/.installed").touch()
    return folder


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """The blocks of the README in their order, each with its kind."""
    for indented in re.finditer(r"^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield indented[1], indented[2]


CONCEPTS = (
    "toolset",
    "path map",
    "manifest",
    "lock",
    "gate",
    "evaluator",
    "worker",
    "ceiling",
    "flow rule",
    "entry",
)
"""What a reader has to know of to work with llmdo, by the words for it; `reach` and `agent` come first of all."""


def test_the_first_output_comes_before_the_concepts_and_the_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 130
    before = text[: text.index("$ llmdo ")].lower()
    assert [word for word in CONCEPTS if re.search(rf"\b{word}", before)] == []


@pytest.mark.long
def test_the_readme_is_followed_in_one_shell_from_top_to_bottom(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    root = clone(tmp_path / "clone")
    count = 0
    with Server({"nobody": [Say(ANSWERED)] * 9}).running() as server:
        environ = {**os.environ, **server.environment}
        with Shell(root, environ) as shell:
            for kind, block in blocks(text):
                for command, expected in sessions(f"```console\n{block}```") if kind == "console" else ():
                    if command.startswith(OUTSIDE):
                        continue
                    assert shell.run("pwd")[0].startswith(str(root))
                    out, code = shell.run(command)
                    refused = "error[" in expected
                    assert code == refused, (command, out, shell.errors_so_far())
                    assert not expected or out == expected, (command, shell.errors_so_far())
                    count += 1
            assert shell.run("pwd") == (str(root), 0)
        assert "Traceback" not in shell.errors_so_far()
        status = subprocess.run(
            ["git", "status", "--short", "examples/confused_deputy"], cwd=root, capture_output=True
        )
        assert status.stdout == b""
    assert count >= 15


@pytest.mark.long
def test_files_alone_run_as_they_are_shown(tmp_path: Path) -> None:
    section = (ROOT / "docs/worker.md").read_text(encoding="utf-8")
    section = section.split("## Without a manifest")[1]
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
