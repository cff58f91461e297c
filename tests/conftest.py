"""What every test starts from: an environment that says nothing about llmdo or the person who runs it."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import typer.main
from hypothesis import HealthCheck, settings

from tests.support import forking, postgres

# What a law is tried with is the same on every machine, however slow; with `explore` it is new in each run.
USUAL = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
settings.register_profile("brief", USUAL, derandomize=True, max_examples=8)
settings.register_profile("usual", USUAL, derandomize=True, max_examples=60)
settings.register_profile("thorough", USUAL, derandomize=True, max_examples=400)
settings.register_profile("explore", USUAL, max_examples=400)
settings.load_profile("brief")


@cache
def bubblewrap_works() -> bool:
    """Whether this machine can isolate a command at all."""
    bwrap = shutil.which("bwrap")
    words = [bwrap or "", "--unshare-all", "--ro-bind", "/", "/", "true"]
    return bwrap is not None and subprocess.run(words, capture_output=True).returncode == 0


def pytest_configure() -> None:
    """Lets signals through to the tests and to what they start: `nohup` and shells that start them behind do not."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGHUP", "SIGQUIT"):
        if number := getattr(signal, name, None):
            signal.signal(number, signal.SIG_DFL)
    # With Python's own numbers, looking for garbage takes a sixteenth of a worker's time.
    gc.set_threshold(10_000, 20, 20)
    # To make all commands again takes half of the time of one in the process of its test.
    typer.main.get_command = cache(typer.main.get_command)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test that hypothesis tries is a law; of cases that are alike a few are quick, and the others long.

    What needs a browser or a database server comes first: one worker has all of it, and the others start none.
    """
    items.sort(key=lambda item: not (item.get_closest_marker("browser") or item.get_closest_marker("fleet")))
    alike: dict[str, list[pytest.Item]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and getattr(item.obj, "is_hypothesis_test", False):
            item.add_marker("law")
        if item.get_closest_marker("few") and not item.get_closest_marker("long"):
            alike.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in alike.values():
        (few,) = {mark.args[0] for mark in cases[0].iter_markers("few")}
        quick = {number * len(cases) // few for number in range(few)}
        for number, item in enumerate(cases):
            if number not in quick:
                item.add_marker("long")


def pytest_collection_finish() -> None:
    """What there is by now stays until the end: no search for garbage looks at it again, as pytest's own last ones would."""
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests that need bubblewrap are skipped without it, unless this machine is said to have it."""
    if item.get_closest_marker("needs_bwrap") and not bubblewrap_works():
        (pytest.fail if os.environ.get("LLMDO_TEST_BWRAP") else pytest.skip)("bubblewrap does not work here")


@pytest.fixture(autouse=True)
def _silent_environment(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    for name in ("CI", "NO_COLOR", "LLMDO_LOCKED", "LLMDO_MODEL", "LLMDO_PROJECT", "LLMDO_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LLMDO_NO_CACHE", "1")
    # Nobody is asked about the code of a test's workspace, and no test answers for this person.
    monkeypatch.setenv("LLMDO_TRUST", "1")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))
    # Neither what the person at this machine forbids everywhere, nor how they have set up git.
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    # No other test asks anybody beyond this machine, and to read the certificates of all takes 20 ms for each client.
    if not request.node.get_closest_marker("registry"):
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
        monkeypatch.setenv("SSL_CERT_DIR", "/nonexistent")
    for name in ("CI_PROJECT_DIR", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _inspections_are_forked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of workspaces is imported in a process of its own, but Python is not started again for it."""
    if forking.AVAILABLE and not request.node.get_closest_marker("real_start"):
        monkeypatch.setattr(subprocess, "Popen", forking.Inspecting)


@pytest.fixture(autouse=True)
def _forgets_workspaces() -> Iterator[None]:
    """Runs in this process import from their workspaces: no test finds what another one's were."""
    path, before = [*sys.path], {*sys.modules}
    yield
    added = tuple(f"{path_entry}{os.sep}" for path_entry in {*sys.path}.difference(path))
    sys.path[:] = path
    for name in {*sys.modules}.difference(before) if added else ():
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(added):
            del sys.modules[name]


@pytest.fixture
def without_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine where Debian's bubblewrap may not be executed, by whichever name."""
    may = os.access

    def denies(path: Any, *how: Any, **more: Any) -> bool:
        return os.path.realpath(path) != "/usr/bin/bwrap" and may(path, *how, **more)

    monkeypatch.setattr(os, "access", denies)


@pytest.fixture(scope="session")
def cluster() -> Iterator[postgres.Cluster]:
    """A database server, for all tests of this process."""
    if lacking := postgres.lacking():
        (pytest.fail if os.environ.get("LLMDO_TEST_POSTGRES") else pytest.skip)(lacking)
    with postgres.cluster() as server:
        yield server


@pytest.fixture
def store(cluster: postgres.Cluster) -> str:
    """The address of a store without a run."""
    from llmdo.journal.opening import migrate

    address = cluster.new_database()
    migrate(address)
    return address
