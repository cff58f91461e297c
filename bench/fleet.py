"""What a fleet promises, counted over real workers and a real PostgreSQL: `python -m bench.fleet`, `make bench-fleet`.

Workers are processes that are killed at random, each followed by another; leases and beats are as long as `--lease`
says, so that a take-over is not waited for half a minute, but for `housekeeping`, whose workers are as they are in use.
`--full` takes the numbers that are asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from bench import housekeeping as house
from tests.support import postgres

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:rules"

[toolsets.effects]
python = "tools.py:effects"
capabilities = { effect = ["x.effects.write"] }

[approvals.rules]
"x.effects.write" = "allowed"

[entries.main]
worker = "main"
"""
TOOLS = """\
import asyncio
import os
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

effects = FunctionToolset(id="effects")
LOG = Path(__file__).parent / "effects.log"


@effects.tool_plain
async def effect(name: str) -> str:
    file = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{name}\\n".encode())
    os.close(file)
    await asyncio.sleep(0.05)
    return f"did {name}"
"""
MODELS = """\
import asyncio
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


async def answer(messages, info):
    content = messages[0].parts[-1].content
    text = content if isinstance(content, str) else " ".join(map(str, content))
    word, _, name = text.partition(" ")
    returns = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if word == "effect" and not returns:
        return ModelResponse(parts=[ToolCallPart("effect", {"name": name})])
    if word == "sleep" or returns:
        await asyncio.sleep(float(name) if word == "sleep" else 0.05)
    return ModelResponse(parts=[TextPart(str(returns[-1].content) if returns else text)])


rules = FunctionModel(answer)
"""
WORKER = """
import sys
from llmdo.journal import workers
from llmdo.features.postgres.runs import PostgresRuns
from llmdo.features.fleet import presence, reaping

seconds = workers.ALIVE = float(sys.argv.pop(1))
reaping.PAUSE = seconds / 3
for made in (PostgresRuns, presence.Presence):
    made.__init__.__kwdefaults__["seconds"] = seconds
from llmdo.__main__ import main
raise SystemExit(main())
"""
ENTRIES = "SELECT * FROM llmdo.entry ORDER BY run, seq"
ITEMS = "SELECT * FROM llmdo.item ORDER BY run"
AT_WORK = "SELECT executor_id, workflow_uuid FROM llmdo_queue.workflow_status WHERE status = 'PENDING'"
OVER = "SELECT count(*) FROM llmdo.item WHERE state IN ('queued', 'running')"


class Fleet:
    """A workspace, a database and workers."""

    def __init__(self, root: Path, server: postgres.Cluster, seconds: float) -> None:
        self.root, self.seconds = root, seconds
        for name, text in {"llmdo.toml": MANIFEST, "tools.py": TOOLS, "models.py": MODELS}.items():
            (root / name).write_text(text)
        (root / "main.worker").write_text("---\nname: main\ntoolsets: [effects]\n---\nGo.\n")
        self.address = server.new_database()
        self.environ = {**os.environ, "LLMDO_STORE": self.address, "LLMDO_TRUST": "1"}
        self.llmdo("lock")
        self.llmdo("store", "migrate")
        self.workers: list[subprocess.Popen[bytes]] = []
        self.ended_themselves = 0

    def llmdo(self, *words: str) -> str:
        command = [sys.executable, "-m", "llmdo", *words]
        ended = subprocess.run(command, cwd=self.root, env=self.environ, capture_output=True, text=True)
        if ended.returncode not in (0, 1):
            raise SystemExit(f"{words}: {ended.stderr}")
        return ended.stdout

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.address, autocommit=True) as connection:
            cursor = connection.execute(query.encode())
            return cursor.fetchall() if cursor.description else []

    def worker(self, jobs: int) -> subprocess.Popen[bytes]:
        words = ["worker", "--fleet", "-", "--jobs", str(jobs)]
        command = [sys.executable, "-c", WORKER, str(self.seconds), *words]
        process = subprocess.Popen(command, cwd=self.root, env=self.environ, stderr=subprocess.DEVNULL)
        self.workers.append(process)
        return process

    def put_in(self, inputs: list[str]) -> subprocess.Popen[bytes]:
        (self.root / "in.jsonl").write_text("".join(f"{json.dumps(text)}\n" for text in inputs))
        command = [sys.executable, "-m", "llmdo", "batch", "main", "--inputs", "in.jsonl", "--fleet", "-"]
        before = self.rows("SELECT count(*) FROM llmdo.item")[0][0]
        process = subprocess.Popen(command, cwd=self.root, env=self.environ, stderr=subprocess.DEVNULL)
        until(
            lambda: (
                self.rows("SELECT count(*) FROM llmdo_queue.workflow_status")[0][0] >= before + len(inputs)
            )
        )
        return process

    def ready(self, number: int) -> None:
        until(lambda: self.rows("SELECT count(*) FROM llmdo.worker")[0][0] >= number)

    def is_over(self, number: int, jobs: int) -> bool:
        """Whether all items are; while some are not, there are `number` workers, as one may have ended itself."""
        if not self.rows(OVER)[0][0]:
            return True
        gone = [process for process in self.workers if process.poll() is not None]
        for process in gone:
            self.ended_themselves += process.returncode == 2
            self.workers.remove(process)
        while len(self.workers) < number:
            self.worker(jobs)
        return False

    def stop(self) -> None:
        for process in self.workers:
            if process.poll() is None:
                process.kill()
            process.wait()
        self.workers.clear()


def until(holds: Callable[[], object], most: float = 600) -> None:
    end = time.monotonic() + most
    while not holds():
        if time.monotonic() > end:
            raise SystemExit("nothing happens any more")
        time.sleep(0.05)


@contextmanager
def fleet_of(server: postgres.Cluster, seconds: float) -> Iterator[Fleet]:
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder), server, seconds)
        try:
            yield fleet
        finally:
            fleet.stop()


def kills(server: postgres.Cluster, seconds: float, items: int, times: int) -> None:
    """Workers that are killed while they carry out runs with effects."""
    with fleet_of(server, seconds) as fleet:
        for _ in range(3):
            fleet.worker(4)
        fleet.ready(3)
        followed = fleet.put_in([f"effect {number}" for number in range(items)])
        held: set[str] = set()
        killed = cut = 0
        while killed < times and not fleet.is_over(3, 4):
            time.sleep(random.uniform(0.2, 1.0))
            known = {row[1]: row[0] for row in fleet.rows("SELECT id, pid FROM llmdo.worker")}
            busy = {row[0] for row in fleet.rows(AT_WORK)}
            alive = [
                process
                for process in fleet.workers
                if process.poll() is None and known.get(process.pid) in busy
            ]
            if not alive:
                continue
            process = random.choice(alive)
            process.send_signal(signal.SIGSTOP)  # so that what it has is known
            had = [name for owner, name in fleet.rows(AT_WORK) if owner == known[process.pid]]
            held |= {name.partition("@")[0] for name in had}
            cut += len(had)
            process.kill()
            process.wait()
            killed += 1
        until(lambda: fleet.is_over(3, 4))
        followed.wait(60)
        items_now = fleet.rows("SELECT run, input, state, result FROM llmdo.item ORDER BY number")
        states = Counter(state for _, _, state, _ in items_now)
        done = [
            (run, bytes(text).decode(), json.loads(result))
            for run, text, state, result in items_now
            if state == "completed"
        ]
        logged = Counter((fleet.root / "effects.log").read_text().split())
        twice = fleet.rows(
            "SELECT count(*) FROM (SELECT run FROM llmdo.entry WHERE kind = 'end' AND outcome = 'completed' "
            "GROUP BY run HAVING count(*) > 1) AS a"
        )
        print(f"{killed} kills -9 over {items} runs with effects, leases of {seconds:g} s: {dict(states)}")
        print(f"  runs that a worker had which was killed: {cut}")
        print(f"  workers that ended themselves beside: {fleet.ended_themselves}")
        print(f"  lost: {items - states['completed'] - states['unsure']}")
        print(f"  ended twice: {twice[0][0]}")
        print(f"  effects twice: {sum(1 for count in logged.values() if count > 1)}")
        print(
            f"  effects lacking of completed: {sum(1 for _, text, _ in done if not logged[text.split()[1]])}"
        )
        print(f"  swapped: {sum(1 for _, text, row in done if row['output'] != f'did {text.split()[1]}')}")
        unsure = {run for run, _, state, _ in items_now if state == "unsure"}
        print(f"  unsure: {len(unsure)}, of which not at work at a kill: {len(unsure - held)}")


def housekeeping(
    server: postgres.Cluster, items: int, times: int, restarts: int, most: float, seed: int
) -> bool:
    """Whether workers came to what they should that are killed while runs are pruned and the server fails."""
    chance = random.Random(seed)  # moments, not secrets
    with fleet_of(server, 30) as fleet:
        campaign = house.Campaign(fleet.root, items, times, time.monotonic() + most)
        return house.over_fleet(campaign, fleet, server, restarts, chance)


def fenced(server: postgres.Cluster, seconds: float, tries: int) -> None:
    """Workers that are stopped, taken over, and woken."""
    with fleet_of(server, seconds) as fleet:
        woken = written = changed = 0
        while woken < tries:
            sleeper = fleet.worker(1)
            fleet.ready(1)
            followed = fleet.put_in([f"sleep {seconds / 2}"])
            its_own = f"SELECT 1 FROM llmdo.run WHERE split_part(owner, ':', 2) = '{sleeper.pid}'"
            until(lambda: fleet.rows(its_own) or sleeper.poll() is not None)  # noqa: B023
            sleeper.send_signal(signal.SIGSTOP)
            is_at_work = sleeper.poll() is None and fleet.rows(its_own)
            until(lambda: fleet.is_over(2, 1))
            before = fleet.rows(ENTRIES), fleet.rows(ITEMS)
            sleeper.send_signal(signal.SIGCONT)
            try:
                sleeper.wait(seconds)
            except subprocess.TimeoutExpired:
                sleeper.send_signal(signal.SIGTERM)
                sleeper.wait(60)
            after = fleet.rows(ENTRIES), fleet.rows(ITEMS)
            if is_at_work:  # else it was through, or had ended itself, before it was stopped
                woken += 1
                written += len(after[0]) - len(before[0])
                changed += after[1] != before[1]
            followed.wait(60)
            fleet.stop()
            fleet.rows("DELETE FROM llmdo.worker")
        print(
            f"{woken} workers stopped, taken over and woken: {written} entries written, {changed} items changed"
        )


def throughput(server: postgres.Cluster, items: int, sleep: float) -> None:
    """How much more four workers do than one, where runs wait for their models."""
    took = {}
    for workers in (1, 4):
        with fleet_of(server, 30) as fleet:
            for _ in range(workers):
                fleet.worker(4)
            fleet.ready(workers)
            time.sleep(2)  # the engine looks for queues once a second
            followed = fleet.put_in([f"sleep {sleep}"] * items)
            until(lambda fleet=fleet: not fleet.rows(OVER)[0][0])  # type: ignore[misc]
            ended = time.time()
            [(began,)] = fleet.rows("SELECT min(started_at_epoch_ms) FROM llmdo_queue.workflow_status")
            took[workers] = ended - began / 1000
            followed.wait(60)
    print(
        f"4 workers to 1, {items} runs of {sleep:g} s, 4 at a time each, from the first start to the last end: "
        f"{took[1]:.1f} s to {took[4]:.1f} s, "
        f"{took[1] / took[4]:.2f} times the throughput"
    )


def latency(server: postgres.Cluster, times: int) -> None:
    """From put in to started, in polls of an idle fleet."""
    from llmdo.features.fleet.queue import POLL

    with fleet_of(server, 30) as fleet:
        fleet.worker(4)
        fleet.ready(1)
        for _ in range(times):
            fleet.put_in(["hello"]).wait(60)
        waits = sorted(
            (started - created) / 1000 / POLL
            for started, created in fleet.rows(
                "SELECT started_at_epoch_ms, created_at FROM llmdo_queue.workflow_status"
            )
        )
        median = waits[len(waits) // 2]
        print(f"idle, {times} times, from put in to started, in polls: {median:.2f}, at most {waits[-1]:.2f}")


def imports(server: postgres.Cluster) -> None:
    """What of a fleet `check` and `run` load."""
    libraries = "{'dbos', 'psycopg', 'sqlalchemy'}"
    script = f"import sys; from llmdo.__main__ import main; main(); print(*{libraries} & {{*sys.modules}})"
    with fleet_of(server, 30) as fleet:
        environ = {name: value for name, value in fleet.environ.items() if name != "LLMDO_STORE"}
        for words in (["check"], ["run", "main", "hello"]):
            ended = subprocess.run(
                [sys.executable, "-c", script, *words],
                cwd=fleet.root,
                env=environ,
                capture_output=True,
                text=True,
                check=True,
            )
            print(f"fleet libraries loaded by `llmdo {words[0]}`: {ended.stdout.splitlines()[-1] or 'none'}")


def main() -> int:
    """Prints what each part counted; the exit code says whether housekeeping came to what it should."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="1,000 runs and 200 kills, 30 tries")
    parser.add_argument("--runs", type=int, help="over which workers are killed; 80, or 1,000 with --full")
    parser.add_argument("--kills", type=int, help="8, or 200 with --full")
    parser.add_argument("--tries", type=int, help="of a worker that is fenced off; 2, or 30 with --full")
    parser.add_argument(
        "--lease", type=float, default=4.0, help="how long leases and beats hold, for all else"
    )
    parser.add_argument("--restarts", type=int, default=3, help="of the server, while it keeps house")
    parser.add_argument("--seconds", type=float, default=3600.0, help="how long it keeps house at most")
    parser.add_argument("--seed", type=int, default=1)
    default = ["imports", "latency", "kills", "housekeeping", "fenced", "throughput"]
    parser.add_argument("--only", nargs="*", default=default)
    options = parser.parse_args()
    if lacking := postgres.lacking():
        raise SystemExit(lacking)
    with postgres.cluster() as server:
        parts: dict[str, Callable[[], bool | None]] = {
            "imports": lambda: imports(server),
            "latency": lambda: latency(server, 20 if options.full else 6),
            "kills": lambda: kills(
                server,
                options.lease,
                options.runs or (1000 if options.full else 80),
                options.kills or (200 if options.full else 8),
            ),
            "housekeeping": lambda: housekeeping(
                server,
                options.runs or (300 if options.full else 40),
                options.kills or (100 if options.full else 6),
                options.restarts,
                options.seconds,
                options.seed,
            ),
            "fenced": lambda: fenced(server, options.lease, options.tries or (30 if options.full else 2)),
            "throughput": lambda: throughput(server, 64 if options.full else 32, 2.0),
        }
        is_right = True
        for name in options.only:
            is_right = parts[name]() is not False and is_right
            sys.stdout.flush()
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
