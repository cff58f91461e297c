"""However a page or its run ends, nothing of either is left: real processes, and the signals that end them."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from llmdo.journal import Runs
from llmdo.journal.questions import waiting
from tests.features.page.test_command import started
from tests.features.page.test_paged_run import running
from tests.support.asking import files, workspace
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]

PATIENCE = 60  # seconds that a process may take on a busy machine


def is_over(pid: int) -> bool:
    """Whether a process has ended, if nobody has taken note of it yet either."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def page_of(pid: int) -> int:
    """The process of the page beside a run."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    [page] = [int(each) for each in children if b"--beside" in Path(f"/proc/{each}/cmdline").read_bytes()]
    return page


def port_of(link: str) -> int:
    match = re.search(r":(\d+)/#token=", link)
    assert match
    return int(match[1])


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def has_asked(root: Path) -> bool:
    """Whether the run waits for an answer."""
    if not Runs(root).names():
        return False
    with Runs(root).read(Runs(root).names()[-1]) as journal:
        return bool(waiting(journal))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP])
def test_the_page_of_a_run_ends_with_it_whatever_ended_that(tmp_path: Path, number: int) -> None:
    root = workspace(tmp_path, number=1)
    with running(root) as (process, link):
        page = page_of(process.pid)
        until(lambda: has_asked(root))
        assert listens(port_of(link))
        os.kill(process.pid, number)
        until(lambda: is_over(process.pid))
        until(lambda: is_over(page))
        assert not listens(port_of(link))
    assert files(root) == {}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_whose_page_is_ended_waits_for_nobody(tmp_path: Path, number: int) -> None:
    root = workspace(tmp_path, number=1)
    with running(root) as (process, _):
        until(lambda: has_asked(root))
        page = page_of(process.pid)
        os.kill(page, number)
        until(lambda: is_over(page))
        assert process.wait(PATIENCE) != 0
        assert process.stderr
        stderr = process.stderr.read()
    assert "the page was closed while a question waited there" in stderr
    assert "Traceback" not in stderr
    assert files(root) == {}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_server_ends_though_somebody_watches_a_run(tmp_path: Path, number: int) -> None:
    root = workspace(tmp_path, number=1)
    with running(root) as (process, _):
        until(lambda: has_asked(root))
        with started(root, "--no-open") as server:
            assert server.stdout
            link = server.stdout.readline()
            connection = http.client.HTTPConnection("127.0.0.1", port_of(link), timeout=PATIENCE)
            headers = {"Authorization": f"Bearer {link.strip().partition('#token=')[2]}"}
            connection.request("GET", "/api/run/watch?run=last", headers=headers)
            assert connection.getresponse().readline()
            server.send_signal(number)
            try:
                _, stderr = server.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                pytest.fail("it goes on")
            assert "Traceback" not in stderr
            connection.close()
        process.kill()
