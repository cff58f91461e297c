"""`llmdo check` in several processes at once, and with a cache folder of every kind: what is printed is always true."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from llmdo.cli.sources import source_lines
from llmdo.syntax import discovery
from tests.support.commands import llmdo, unprivileged
from tests.support.waiting import aged, until

MANIFEST = 'schema = 1\n\n[workspace]\nname = "w"\nworkers = ["*.worker"]\nmodel = "openai:gpt-5"\n'
STATES = 30
PROCESSES = 8


def worker(state: int) -> str:
    """The worker in its nth state: each has findings of its own, but for every third, which is clean."""
    wrong = "" if state % 3 == 0 else f"toolsets: [nobody_{state}]\n"
    return f"---\nname: main\nentry: true\n{wrong}---\nGo on.\n"


NOTE = """\
note[LDO402]: there is no `llmdo.lock`
 --> llmdo.lock
  = hint: run `llmdo lock` and commit it

"""
ERROR = """\
error[LDO202]: `main` uses `{name}`, which is neither a toolset nor a worker
 --> main.worker:4:12
"""
FRAME = """\
  |
4 | toolsets: [{name}]
  |            {marks}
"""
"""Not shown where the file was written to between reading it and showing it."""


def shows(text: str, state: int, *, is_writing: bool = False) -> bool:
    """Whether a check printed just what is so in the nth state."""
    if state % 3 == 0:
        return text == f"{NOTE}1 note\n"
    name = f"nobody_{state}"
    error, frame = (part.format(name=name, marks="^" * len(name)) for part in (ERROR, FRAME))
    frames = [frame, ""] if is_writing else [frame]
    return text in [f"{NOTE}{error}{each}\n1 error, 1 note\n" for each in frames]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "llmdo.toml").write_text(MANIFEST)
    (folder / "main.worker").write_text(worker(0))
    return folder


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.delenv("LLMDO_NO_CACHE")
    return {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}


def check(root: Path, environ: dict[str, str], *, powerless: bool = False) -> tuple[int, str]:
    words = [sys.executable, "-m", "llmdo", "check"]
    done = subprocess.run(
        unprivileged(words) if powerless else words,
        cwd=root, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stderr == ""
    return done.returncode, done.stdout


def replaced(path: Path, text: str) -> None:
    """The file says `text` from one moment to the next, as editors that are careful do it."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(text)
    new.replace(path)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_every_answer_is_that_of_a_state_while_its_process_ran(root: Path, environ: dict[str, str]) -> None:
    history = [(0, 0.0)]
    """Each state with when it was begun to be written."""
    answers: list[tuple[float, float, int, str]] = []
    failures: list[BaseException] = []
    is_over = threading.Event()

    def ask() -> None:
        try:
            while not is_over.is_set():
                begun = time.monotonic()
                code, text = check(root, environ)
                answers.append((begun, time.monotonic(), code, text))
        except BaseException as failure:  # shown by the test
            failures.append(failure)

    def more_answers(number: int) -> None:
        wanted = len(answers) + number
        until(lambda: failures or len(answers) >= wanted)

    asking = [threading.Thread(target=ask) for _ in range(PROCESSES)]
    for each in asking:
        each.start()
    try:
        for state in range(1, STATES):
            # Sometimes so many that an answer is remembered.
            more_answers(2 * PROCESSES if state % 5 == 0 else 2)
            history.append((state, time.monotonic()))
            replaced(root / "main.worker", worker(state))
    finally:
        more_answers(PROCESSES)
        is_over.set()
        for each in asking:
            each.join()
    assert not failures, failures[0]
    ended = [*(begun for _, begun in history[1:]), float("inf")]
    for begun, end, code, text in answers:
        # A state holds until the next one is written, which takes a moment.
        possible = [
            state
            for (state, since), until in zip(history, ended, strict=True)
            if since <= end and until + 0.1 >= begun
        ]
        assert any(shows(text, state, is_writing=True) and code == (state % 3 != 0) for state in possible), (
            possible,
            code,
            text,
        )
    assert len({text for *_, text in answers}) > STATES // 6


def test_no_line_is_shown_of_a_file_that_was_written_to_since(root: Path) -> None:
    seen: dict[str, bytes] = {}
    discovery.read_source(root, "main.worker", seen=seen)
    assert source_lines(root, seen)("main.worker")[3] == "---"
    replaced(root / "main.worker", worker(1))
    assert source_lines(root, seen)("main.worker") == ()


def remembered(root: Path, environ: dict[str, str], tmp_path: Path) -> Path:
    """The file in which the answer about `root` is, once it is there."""
    aged(root)
    assert check(root, environ)[0] == 0
    (memory,) = (tmp_path / "cache/llmdo/check").iterdir()
    return memory


def _read_only(folder: Path) -> None:
    folder.chmod(0o500)


def _unreadable(folder: Path) -> None:
    folder.chmod(0o000)


def _others(folder: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a folder to another user")
    for path in (folder, *folder.iterdir()):
        os.chown(path, 4242, 4242)


def _file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("")


def _link(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


def _loop(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(folder)


@pytest.mark.long
@pytest.mark.parametrize("change", [_read_only, _unreadable, _others, _file, _link, _loop])
def test_whatever_the_cache_folder_is_the_answer_is_true(
    root: Path, environ: dict[str, str], tmp_path: Path, change: Callable[[Path], None]
) -> None:
    folder = remembered(root, environ, tmp_path).parent
    change(folder)
    try:
        for state in (0, 1, 3, 4):
            (root / "main.worker").write_text(worker(state))
            for _ in range(2):
                aged(root)
                code, text = check(root, environ, powerless=True)
                assert (code, shows(text, state)) == (int(state % 3 != 0), True), text
    finally:
        with contextlib.suppress(OSError):
            folder.chmod(0o700)


@pytest.mark.long
def test_a_memory_that_is_a_link_is_neither_followed_to_write_nor_lost(
    root: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    memory = remembered(root, environ, tmp_path)
    target = tmp_path / "precious"
    target.write_text("precious")
    memory.unlink()
    memory.symlink_to(target)
    (root / "main.worker").write_text(worker(1))
    for _ in range(3):
        aged(root)
        code, text = check(root, environ)
        assert (code, shows(text, 1)) == (1, True), text
    assert target.read_text() == "precious"


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_memory_that_is_cut_or_changed_anywhere_is_none(
    root: Path, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, as the answers of hundreds of damaged files are asked for."""
    monkeypatch.setenv("XDG_CACHE_HOME", environ["XDG_CACHE_HOME"])
    memory = remembered(root, environ, tmp_path)
    whole = memory.read_bytes()
    lengths = range(0, len(whole), max(1, len(whole) // 250))
    changed = [whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :] for at in lengths]
    (root / "main.worker").write_text(worker(1))
    aged(root)
    for damaged in [*(whole[:length] for length in lengths), *changed]:
        memory.write_bytes(damaged)
        done = llmdo(root, "check")
        assert (done.returncode, shows(done.stdout, 1)) == (1, True), done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize("left", [0, 1, 4096])
def test_on_a_full_disk_the_answer_is_true(
    root: Path, environ: dict[str, str], tmp_path: Path, left: int
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(cache)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no disk can be made here: {mounted.stderr}")
    try:
        with contextlib.suppress(OSError), (cache / "full").open("wb") as file:
            while True:
                file.write(b"x" * 4096)
                file.flush()
        os.truncate(cache / "full", max(0, (cache / "full").stat().st_size - left))
        for state in (0, 1, 3):
            (root / "main.worker").write_text(worker(state))
            for _ in range(2):
                aged(root)
                code, text = check(root, environ)
                assert (code, shows(text, state)) == (int(state % 3 != 0), True), text
    finally:
        subprocess.run(["umount", str(cache)], check=True)
