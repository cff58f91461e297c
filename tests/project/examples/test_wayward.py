"""Models that do not do what an example expects: each run ends with an outcome or a sentence, and nothing slips through.

Nobody answers questions, so whatever asks is refused. What a run may do then is what the rules of the example allow.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path

import pytest

from llmdo.journal import Runs
from tests.project.test_examples import ALL
from tests.support.commands import llmdo
from tests.support.examples import copied
from tests.support.laws import is_thorough

from .wayward import MODEL, ROUTES, Route, Wayward

FIRST = {
    "approvals_demo": "demo",
    "file_organizer": "organize",
    "stabilized": "prompted",
    "confused_deputy": "triage",
    "pitchdeck": "pitchdeck",
    "sealed_inbox": "inbox",
}
"""The entry that is run, of examples with several."""

OWN = {"x.post": "sent/**"}
"""Where the tools of an example's own capability write."""

ROUTE = {route.__name__: route for route in ROUTES}


def cases() -> Iterator[object]:
    """Every route with every example, half of them streamed; one of each route is quick to run.

    `make test-thorough` runs all of these, `make test-long` a third: each route with a third of the examples.
    """
    for at, route in enumerate(ROUTE):
        for number, name in enumerate(ALL):
            is_short = number == at % len(ALL) and name != "mcp_notes"
            if not is_short and (at + number) % 3 and not is_thorough():
                continue
            marks = () if is_short else (pytest.mark.long,)
            yield pytest.param(name, ROUTE[route], (at + number) % 2 == 0, marks=marks, id=f"{name}-{route}")


@pytest.mark.long
@pytest.mark.parametrize(("name", "route", "streams"), list(cases()))
def test_whatever_a_model_does_the_run_ends_in_order(
    name: str, route: Route, streams: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copied(name, tmp_path)
    limit_requests(root)
    assert llmdo(root, "lock").returncode == 0  # else the run would take its limits in
    allowed = writable(root)
    before = contents(tmp_path)
    log = ["--log-events", str(tmp_path / "events.jsonl")] if streams else []
    with Wayward(route).running() as server:
        for variable, value in server.environment.items():
            monkeypatch.setenv(variable, value)
        words = [FIRST.get(name) or entry_of(root), "--reject-all", "--model", MODEL, *log]
        done = llmdo(root, "run", *words)
    assert server.requests, done.stderr
    assert {bool(request.body.get("stream")) for request in server.requests} == {streams}
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode == 0 or "error: " in done.stderr
    assert bool(done.stdout) == (done.returncode == 0)
    verified = llmdo(root, "runs", "audit", "last", "--verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert_all_was_decided(root)
    changed = {path for path, digest in contents(tmp_path).items() if before.get(path) != digest}
    changed -= {
        path for path in changed if path == "events.jsonl" or ".llmdo" in path or "__pycache__" in path
    }
    strays = [path for path in changed if not any(fnmatch(path, f"{name}/{scope}") for scope in allowed)]
    assert not strays, done.stderr
    assert not before.keys() - contents(tmp_path).keys()
    replayed = llmdo(root, "runs", "replay", "last")
    assert replayed.stdout == done.stdout, replayed.stderr
    assert "Traceback" not in replayed.stderr


def limit_requests(root: Path) -> None:
    """Lowers how many requests the entries may take, for who takes all of them."""
    manifest = root / "llmdo.toml"
    manifest.write_text(re.sub(r"requests = \d{2,}", "requests = 12", manifest.read_text()))


def entry_of(root: Path) -> str:
    """The only entry of a workspace."""
    [entry] = tomllib.loads((root / "llmdo.toml").read_text())["entries"]
    return str(entry)


def writable(root: Path) -> list[str]:
    """What may be written without a question, as globs."""
    rules = tomllib.loads((root / "llmdo.toml").read_text()).get("approvals", {}).get("rules", {})
    allowed = [key for key, value in rules.items() if value == "allowed"]
    writes = [key.partition(":")[2] for key in allowed if key.startswith("fs.write:")]
    writes += [OWN[key] for key in allowed if key in OWN]
    return [scope.replace("**", "*") for scope in writes]


def contents(folder: Path) -> dict[str, str]:
    """The files below `folder`, each with its digest."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest() for path in files}


def assert_all_was_decided(root: Path) -> None:
    """Whatever was executed was let through by the rules before: nobody said yes to anything."""
    runs = Runs(root)
    with runs.read(runs.find("last")) as journal:
        decisions = {entry.path: journal.whole(entry)["decision"] for entry in journal.entries("decision")}
        executed = [
            entry.path for entry in journal.entries() if entry.kind in ("started", "finished", "call")
        ]
    assert {decisions.get(path) for path in executed if "/" in path} <= {"allowed"}
