"""How often a minute models are asked by all processes that share a store."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.support import forking, postgres

if lacking := postgres.lacking():
    if os.environ.get("LLMDO_TEST_POSTGRES"):
        pytest.fail(lacking, pytrace=False)
    pytest.skip(lacking, allow_module_level=True)

import psycopg

from llmdo.features.postgres.database import Database
from llmdo.features.postgres.store import PostgresPace
from llmdo.journal import JournalError
from llmdo.journal.opening import migrate
from tests.support.commands import llmdo
from tests.support.locks import locked
from tests.support.waiting import until

pytestmark = pytest.mark.fleet

MODELS = """\
import time
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

def answer(messages, info):
    with open("asked.log", "a") as log:
        log.write(f"{time.monotonic()}\\n")
    return ModelResponse(parts=[TextPart("done")])

rules = FunctionModel(answer)
"""
ENTRIES = """\
import asyncio
import os
from pathlib import Path

async def many(runtime, input):
    Path(f"{os.getpid()}.ready").touch()
    while not Path("go").exists():
        await asyncio.sleep(0.01)
    await asyncio.gather(*(runtime.call_agent("main", "x", key=str(n)) for n in range(int(input))))
    return "done"
"""
MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:rules"

[entries.many]
function = "entries.py:many"
calls = ["main"]
limits = {{ requests-per-minute = {}, seconds = {} }}
"""
PROCESSES, EACH, INTERVAL = 4, 6, 0.05


def workspace(root: Path, per_minute: int, seconds: int = 60) -> Path:
    texts = {
        "llmdo.toml": MANIFEST.format(per_minute, seconds),
        "models.py": MODELS,
        "entries.py": ENTRIES,
        "main.worker": "---\nname: main\n---\nWork.\n",
    }
    for name, text in texts.items():
        (root / name).write_text(text)
    return locked(root)


def asked(root: Path) -> list[float]:
    """When models were asked, by a clock that all processes share."""
    return sorted(map(float, (root / "asked.log").read_text().split()))


@pytest.mark.long
def test_four_processes_together_ask_no_more_often_than_their_entry_allows(store: str, root: Path) -> None:
    workspace(root, round(60 / INTERVAL))
    words = [sys.executable, "-m", "llmdo", "run", "many", str(EACH), "--store", store]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    children = [forking.Popen(words, cwd=root, text=True, **pipes) for _ in range(PROCESSES)]
    until(
        lambda: (
            [child for child in children if child.poll() is not None]
            or len([*root.glob("*.ready")]) == PROCESSES
        )
    )
    assert all(child.poll() is None for child in children)
    began = time.monotonic()
    (root / "go").touch()
    outputs = [child.communicate()[0] for child in children]
    assert [child.returncode for child in children] == [0] * PROCESSES, outputs
    times = asked(root)
    assert len(times) == PROCESSES * EACH
    late = [at - began - number * INTERVAL for number, at in enumerate(times)]
    assert min(late) > -0.005, "a request left before its turn"
    with psycopg.connect(store) as connection:
        assert connection.execute("SELECT key FROM llmdo.pace").fetchall() == [("requests of many",)]


@pytest.mark.long
def test_runs_of_one_after_the_other_share_the_limit_too(store: str, root: Path) -> None:
    workspace(root, 1, seconds=2)
    (root / "go").touch()
    assert llmdo(root, "run", "many", "1", "--store", store).returncode == 0
    waited = llmdo(root, "run", "many", "1", "--store", store)
    assert (waited.returncode, "the run took longer than 2 seconds" in waited.stderr) == (1, True), waited
    assert len(asked(root)) == 1
    assert llmdo(root, "run", "many", "1").returncode == 0, "without a store each run has its own limit"


@pytest.mark.long
def test_turns_outlive_a_restart_of_the_server(own_cluster: postgres.Cluster) -> None:
    store = own_cluster.new_database()
    migrate(store)
    pace, waits = PostgresPace(Database(store)), []
    waits.append(pace.turn("a", 1000.0))
    own_cluster.stop()
    thread = threading.Thread(target=lambda: waits.append(pace.turn("a", 1000.0)))
    thread.start()
    own_cluster.start()
    thread.join()
    assert waits[0] == 0.0
    assert 900 < waits[1] <= 1000
    assert pace.turn("b", 1000.0) == 0.0, "each key has its own turns"


@pytest.mark.long
def test_a_run_whose_store_is_gone_stops_before_it_asks(own_cluster: postgres.Cluster, root: Path) -> None:
    store = own_cluster.new_database()
    migrate(store)
    workspace(root, 60)
    words = [sys.executable, "-m", "llmdo", "run", "many", "1", "--store", store]
    with forking.Popen(words, cwd=root, text=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        until(lambda: [*root.glob("*.ready")])
        own_cluster.stop()
        (root / "go").touch()
        errors = run.communicate()[1]
    own_cluster.start()
    assert run.returncode == 2
    assert "cannot be reached" in errors or "could not be renewed" in errors, errors
    assert "Traceback" not in errors
    assert not (root / "asked.log").exists()
    with pytest.raises(JournalError):
        PostgresPace(Database(store.replace("127.0.0.1", "127.0.0.2"))).turn("a", 1.0)
