"""`llmdo check --watch` prints the findings again whenever a file changes, and nothing in between."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from tests.support.commands import llmdo, without

MANIFEST = 'schema = 1\n\n[workspace]\nname = "w"\nworkers = ["*.worker"]\nmodel = "openai:gpt-5"\n'
MAIN = "---\nname: main\nentry: true\n---\nGo on.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "llmdo.toml").write_text(MANIFEST)
    (tmp_path / "main.worker").write_text(MAIN)
    return tmp_path


def until(stream: IO[str], text: str) -> str:
    """What comes up to a line that holds `text`."""
    lines = []
    for line in stream:
        lines.append(line)
        if text in line:
            return "".join(lines)
    raise AssertionError("".join(lines))


def test_findings_are_printed_anew_after_a_change_until_ctrl_c(root: Path) -> None:
    words = [sys.executable, "-m", "llmdo", "check", "--watch", "--format", "concise"]
    with subprocess.Popen(
        words, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True
    ) as watching:
        assert "LDO402" in until(watching.stdout, "waiting for a change")
        (root / ".git").mkdir()
        (root / ".git" / "index").write_text("")
        (root / "main.worker").write_text(MAIN.replace("entry", "entri"))
        shown = until(watching.stdout, "waiting for a change")
        assert "LDO102" in shown
        assert "\x1b" not in shown
        (root / "llmdo.toml").unlink()
        (root / "llmdo.toml").write_text(MANIFEST)
        (root / "main.worker").write_text(MAIN)
        while "LDO402" not in until(watching.stdout, "waiting for a change"):
            pass
        watching.send_signal(signal.SIGINT)
        rest, _ = watching.communicate(timeout=30)
        assert watching.returncode == 0
        assert "Traceback" not in rest


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--format", "json"], "prints for people"),
        (["--fix"], "cannot be combined with `--watch`"),
        (["--from", "claude", "."], "cannot be combined with `--from`"),
    ],
)
def test_watch_refuses_what_it_cannot_mean(root: Path, words: list[str], reason: str) -> None:
    done = llmdo(root, "check", "--watch", *words)
    assert done.returncode == 2
    assert reason in done.stderr


def test_watch_says_what_to_install(root: Path) -> None:
    done = without(root, "watchfiles", "check", "--watch")
    assert done.returncode == 2
    assert f"`pip install -e '{Path(__file__).parents[2]}[lsp]'`" in done.stderr
