"""Helix itself, in a terminal of tmux, with the settings that docs/editor.md gives and nothing besides."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.features.editor.workspace import FILES, bait, settings
from tests.support.waiting import until

SECONDS = 40.0  # until a test gives up on what it waits to see
LINGER = 0.3  # seconds: Helix takes in a key, and Escape with a key right after it would be Alt and that key


class Terminal:
    """What a person sees and types."""

    def __init__(self, tmux: list[str]) -> None:
        self._tmux = tmux

    def text(self) -> str:
        words = [*self._tmux, "capture-pane", "-p", "-t", "editor"]
        return subprocess.run(words, capture_output=True, text=True).stdout

    def sees(self, *texts: str) -> None:
        until(
            lambda: all(text in self.text() for text in texts),
            lambda: f"{texts} on the screen\n{self.text()}",
            SECONDS,
        )

    def press(self, *keys: str) -> None:
        for each in keys:
            self._send("-t", "editor", each)

    def type(self, text: str) -> None:
        self._send("-l", "-t", "editor", text)

    def _send(self, *words: str) -> None:
        subprocess.run([*self._tmux, "send-keys", *words], check=True)
        time.sleep(LINGER)

    def does(self, command: str) -> None:
        self.type(f":{command}")
        self.press("Enter")

    def has_ended(self) -> bool:
        return (
            subprocess.run([*self._tmux, "has-session", "-t", "editor"], capture_output=True).returncode != 0
        )


@contextmanager
def terminal(words: list[str], root: Path, environ: dict[str, str], where: Path) -> Iterator[Terminal]:
    tmux = ["tmux", "-f", "/dev/null", "-S", str(where / "tmux")]
    session = [*tmux, "new-session", "-d", "-s", "editor", "-x", "110", "-y", "40", shlex.join(words)]
    subprocess.run(session, cwd=root, env=environ, check=True)
    try:
        yield Terminal(tmux)
    finally:
        subprocess.run([*tmux, "kill-server"], capture_output=True)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_helix_shows_what_the_server_finds_and_renames_by_it(tmp_path: Path) -> None:
    program = shutil.which("hx") or shutil.which("helix")
    if program is None or shutil.which("tmux") is None:
        pytest.skip("there is no `hx` here, or no `tmux` to show it in")
    root = tmp_path / "w"
    root.mkdir()
    for path, text in FILES.items():
        (root / path).write_text(text, encoding="utf-8")
    bait(root)
    (tmp_path / "config" / "helix").mkdir(parents=True)
    (tmp_path / "config" / "helix" / "languages.toml").write_text(settings("toml"), encoding="utf-8")
    environ = {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    with terminal(
        [program, "main.worker", "notes.worker.md", "llmdo.toml"], root, environ, tmp_path
    ) as person:
        person.sees("name: main")
        person.type("4Gghlllli")
        person.type("x")
        person.press("Escape")
        person.sees("otxher", "did you mean `other`?")
        person.type(" a")
        person.sees("Write `other` for `otxher`")
        person.press("Enter")
        person.sees("  other: {}")
        person.type("2Ggl k")
        person.sees("worker main", "x.kit.read | needs approval")
        person.press("Escape")
        person.type("4Ggs r")
        person.sees("rename-to:")
        person.press("C-u")
        person.type("helper")
        person.press("Enter")
        person.sees("  helper: {}")
        person.does("wa")
        person.does("open notes.worker.md")
        person.sees("name: notes")
        person.type("2Ggh")
        person.type("ix")
        person.press("Escape")
        person.sees("unknown key `xname`")
        person.does("open llmdo.toml")
        person.sees("schema = 1")
        person.type("ge")
        person.type("omodl = 1")
        person.press("Escape")
        person.sees("unknown key")
        person.does("qa!")
        until(person.has_ended, person.text, SECONDS)
    assert (root / "main.worker").read_text(encoding="utf-8") == FILES["main.worker"].replace(
        "other", "helper"
    )
    assert (root / "other.worker").read_text(encoding="utf-8") == FILES["other.worker"].replace(
        "other", "helper"
    )
    assert not (root / "executed").exists()
