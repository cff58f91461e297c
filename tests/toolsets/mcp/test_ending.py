"""An MCP server ends with the process of its run, however that ends: no process of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from llmdo.journal import Runs
from llmdo.services.run_processes import ResumeProcesses
from tests.support import commands, forking
from tests.support.building import script
from tests.support.mcp_workspaces import workspace
from tests.support.waiting import until
from tests.toolsets.mcp.test_running import go, locked, processes_with

ECHO = [("echo", {"text": "a"})]
FORKING = """
import os, time
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="own")


@tools.tool_plain
def fork() -> str:
    child = os.fork()
    if child == 0:
        time.sleep(600)
        os._exit(0)
    open("forked", "w").write(str(child))
    return "forked"
"""


def asking(root: Path, tool: str) -> Path:
    """A workspace whose `main` uses its server, and then may call `tool` of it only if a person allows it."""
    table = f'timeout-s = 60\ncapabilities = {{ {tool} = ["x.raw.ask"] }}'
    locked(
        workspace(root, f"name={root.name}", table=table, rules='"mcp" = "allowed"\n"x" = "needs_approval"')
    )
    script(root, main=[ECHO, [(tool, {})], "{results}"])
    return root


def is_gone(root: Path) -> bool:
    return not processes_with(root.name)


@contextmanager
def running(root: Path) -> Iterator[forking.Popen]:
    words = [sys.executable, "-m", "llmdo", "run", "main", "go"]
    quiet = subprocess.DEVNULL
    with forking.Popen(words, cwd=root, stdin=quiet, stdout=quiet, stderr=quiet) as run:
        try:
            yield run
        finally:
            run.kill()


def test_a_run_that_stops_for_a_person_leaves_no_server(tmp_path: Path) -> None:
    root = asking(tmp_path, "fail")
    done = commands.process(root, "run", "main", "go", "--approvals", "later")
    assert done.returncode == 3, done.stderr
    assert until(lambda: is_gone(root))


def test_a_run_that_fails_leaves_no_server_where_its_process_goes_on(tmp_path: Path) -> None:
    root = locked(workspace(tmp_path, f"name={tmp_path.name}"))
    outcome = go(root, ECHO)  # its model has no second answer
    assert outcome.status == "failed"
    assert is_gone(root)


@pytest.mark.long
def test_a_run_that_is_gone_on_with_ends_its_server(tmp_path: Path) -> None:
    root = asking(tmp_path, "fail")
    assert commands.process(root, "run", "main", "go", "--approvals", "later").returncode == 3
    [run] = Runs(root).names()
    assert commands.process(root, "approve", run, "--yes", "main/fail#1").returncode == 0
    with ResumeProcesses(root=root) as processes:
        processes.start(run)
        processes.wait(run, 60)
        assert processes.fault(run) is None
    assert until(lambda: is_gone(root))


def test_a_run_that_the_page_stops_ends_its_server(tmp_path: Path) -> None:
    root = asking(tmp_path, "hang")
    assert commands.process(root, "run", "main", "go", "--approvals", "later").returncode == 3
    [run] = Runs(root).names()
    assert commands.process(root, "approve", run, "--yes", "main/hang#1").returncode == 0
    with ResumeProcesses(root=root) as processes:
        processes.start(run)
        assert until(lambda: processes_with(root.name))
        assert processes.stop(run)
        processes.wait(run, 60)
    assert until(lambda: is_gone(root))


def test_a_killed_run_leaves_no_server_though_its_code_forked(tmp_path: Path) -> None:
    own = '[toolsets.own]\npython = "own.py:tools"\ncapabilities = { fork = ["x.own.fork"] }\n'
    table = f"timeout-s = 60\n{own}"
    root = workspace(
        tmp_path, f"name={tmp_path.name}", table=table, rules='"mcp" = "allowed"\n"x" = "allowed"'
    )
    (root / "own.py").write_text(FORKING, encoding="utf-8")
    (root / "main.worker").write_text("---\nname: main\nentry: true\ntoolsets: [raw, own]\n---\nGo.\n")
    locked(root)
    script(root, main=[ECHO, [("fork", {})], [("hang", {})], "x"])
    with running(root) as run:
        child = int(until(lambda: (root / "forked").exists() and (root / "forked").read_text()))
        assert processes_with(root.name)
        run.send_signal(signal.SIGKILL)
        run.wait()
    try:
        assert until(lambda: is_gone(root))
    finally:
        os.kill(child, signal.SIGKILL)  # it was there, with all that the run had open
