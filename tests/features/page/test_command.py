"""`llmdo page` as a process: its link, its file for the browser, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from llmdo.features.page.opening import can_open
from tests.features.page.conftest import EXAMPLES
from tests.support.commands import llmdo
from tests.support.waiting import until

BROWSER = """#!/bin/sh
stat -c '%a' "${1#file://}" > "$SEEN.mode"
cat "${1#file://}" > "$SEEN"
echo "$@" > "$SEEN.words"
"""


pytestmark = pytest.mark.timeout(
    180
)  # a process that tests fork takes its time to be there on a machine that is busy


@contextmanager
def started(root: Path, *words: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "llmdo", "page", *words],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **environ},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def test_it_prints_one_link_serves_and_ends_with_an_interrupt() -> None:
    with started(EXAMPLES / "greeter", "--no-open") as process:
        assert process.stdout
        link = process.stdout.readline().strip()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#token=([\w-]{43})", link)
        assert match
        asked = urllib.request.Request(
            f"http://127.0.0.1:{match[1]}/api/project", headers={"Authorization": f"Bearer {match[2]}"}
        )
        with urllib.request.urlopen(asked) as response:
            assert b"greeter" in response.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert match[2] not in err


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_the_browser_is_handed_a_file_that_only_its_owner_reads_and_no_token(
    tmp_path: Path, number: int
) -> None:
    browser = tmp_path / "browser"
    browser.write_text(BROWSER, encoding="utf-8")
    browser.chmod(0o755)
    folder = tmp_path / "links"
    folder.mkdir()
    seen = {"BROWSER": f"{browser} %s", "SEEN": str(tmp_path / "seen"), "TMPDIR": str(folder)}
    with started(EXAMPLES / "greeter", **seen) as process:
        assert process.stdout
        token = process.stdout.readline().strip().partition("#token=")[2]
        until((tmp_path / "seen.words").exists)
        [link] = folder.iterdir()
        assert stat.S_IMODE(link.stat().st_mode) == 0o600
        assert token in link.read_text(encoding="utf-8")
        process.send_signal(number)
        process.communicate(timeout=60)
    assert list(folder.iterdir()) == []
    assert (tmp_path / "seen.mode").read_text(encoding="utf-8") == "600\n"
    assert token in (tmp_path / "seen").read_text(encoding="utf-8")
    assert token not in (tmp_path / "seen.words").read_text(encoding="utf-8")


def test_a_browser_in_the_terminal_is_not_started() -> None:
    assert not can_open({"TERM": "xterm", "BROWSER": ""})
    assert can_open({"WAYLAND_DISPLAY": "wayland-0"})
    assert can_open({"BROWSER": "w3m"})


@pytest.mark.long
def test_another_address_is_reported_as_such(tmp_path: Path) -> None:
    with started(EXAMPLES / "greeter", "--no-open", "--host", "0.0.0.0") as process:
        assert process.stdout
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert "others can connect to 0.0.0.0" in err


def test_what_stands_in_the_way_is_reported_at_the_terminal(tmp_path: Path) -> None:
    nothing = llmdo(tmp_path, "page", "--no-open")
    both = llmdo(tmp_path, "page", "--project", ".", "--from", "claude", ".")
    address = llmdo(EXAMPLES / "greeter", "page", "--no-open", "--host", "192.0.2.1")
    assert {nothing.returncode, both.returncode, address.returncode} == {2}
    assert "llmdo.toml" in nothing.stderr
    assert "cannot be combined" in both.stderr
    assert "cannot listen at 192.0.2.1" in address.stderr


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*sys.modules]:
        if name.split(".")[0] in ("starlette", "uvicorn") or name in (
            "llmdo.features.page.server",
            "llmdo.features.page.opening",
        ):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    done = llmdo(EXAMPLES / "greeter", "page", "--no-open")
    assert done.returncode == 2
    assert f"`pip install -e '{Path(__file__).parents[3]}[web]'`" in done.stderr


@pytest.mark.long
def test_no_other_command_loads_anything_of_the_page() -> None:
    script = (
        "import sys\nfrom llmdo.__main__ import main\n"
        "for words in (['reach'], ['graph'], ['page', '--help']):\n"
        "    sys.argv = ['llmdo', *words]\n    main()\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    words = [sys.executable, "-c", script]
    done = subprocess.run(words, cwd=EXAMPLES / "greeter", capture_output=True, text=True)
    assert not [
        name
        for name in done.stderr.split()
        if name.startswith(("llmdo.features.page.", "starlette", "uvicorn"))
    ]
    assert "llmdo.services.reach" in done.stderr


def test_a_file_is_written_without_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("starlette", "starlette.applications", "uvicorn"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("llmdo.features.page.server", "llmdo.features.page.opening"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    done = llmdo(EXAMPLES / "greeter", "page", "--export", str(tmp_path / "page.html"))
    assert done.returncode == 0, done.stderr
