"""Effects of many items, counted by lines on disk, while processes are killed, runs are pruned and a server fails.

`python -m bench.crash --items 300 --kills 100` works over files; `python -m bench.fleet --only housekeeping` over a
database whose server is restarted and of whose answers 3 % are lost with their connections. Workers have the leases
that they have in use: what was killed goes on after half a minute, and others work meanwhile.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmdo.journal import FileBatches, JournalError, Runs
from llmdo.journal.summary import unfinished
from tests.support import forking

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from bench.fleet import Fleet
    from tests.support.postgres import Cluster

TOOLS = """\
import os
import time
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

effects = FunctionToolset(id="effects")
LOG = Path(__file__).parent / "effects.log"


def note(line):
    file = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{line}\\n".encode())
    os.fsync(file)
    os.close(file)


@effects.tool_plain
def effect(name: str) -> str:
    note(f"before {name}")
    time.sleep(0.05)
    note(f"after {name}")
    return f"did {name}"
"""

THINKING = 2.0  # seconds that models of a fleet take for an answer at most, so that items outlast the kills
AHEAD = 5  # kills more than the share of the items that is over, so that they are spread over all of them
JOBS, WORKERS = 4, 3
TORN = 0.03
"""Of the answers of the server."""
_PATIENCE = 120.0  # seconds without a change of any item, after which the rest is given up
_SETTLED = 2.0  # seconds after which the server has carried out what a killed process had sent

_LEFT = "SELECT state, count(*) FROM llmdo.item GROUP BY state"
_OWNERS = """
SELECT split_part(owner, ':', 2)::int, count(*) FROM llmdo.run
WHERE owner IS NOT NULL AND until > clock_timestamp() AND status = 'running' GROUP BY 1
"""
_UNDER_WAY = """
SELECT item.input FROM llmdo.item JOIN llmdo.run USING (run)
WHERE split_part(owner, ':', 2)::int = {} AND EXISTS (SELECT FROM llmdo.entry AS a
  WHERE a.run = run.run AND kind = 'started' AND NOT EXISTS (SELECT FROM llmdo.entry AS b
    WHERE b.run = a.run AND b.path = a.path AND b.step = a.step AND b.kind = 'finished'))
"""


@dataclass
class Campaign:
    """What was done to the processes of a batch, and what it came to."""

    root: Path
    items: int
    kills: int
    """That are wanted."""
    deadline: float
    """By `time.monotonic`, after which nothing more is killed and nothing waited for."""
    began: float = field(default_factory=time.monotonic)
    killed: int = 0
    pruned: int = 0
    under_way: set[str] = field(default_factory=set)
    """Items with a call that was kept as started, and not as finished, when their process was killed."""
    in_tool: set[str] = field(default_factory=set)
    """Those of them whose tool had written its first line, and not its last."""
    _printed: float = 0.0

    @property
    def is_out_of_time(self) -> bool:
        """Whether the time is over that it may take."""
        return time.monotonic() > self.deadline

    @property
    def log(self) -> Path:
        """What the tool writes."""
        return self.root / "effects.log"

    def lines(self, word: str) -> Counter[str]:
        """How often the tool wrote this word, by the name of the item."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return Counter(line.partition(" ")[2] for line in lines if line.startswith(f"{word} "))

    def cut(self, names: set[str]) -> None:
        """Counts the items with a call under way when their process was killed."""
        self.under_way |= names
        self.in_tool |= names & set(self.lines("before") - self.lines("after"))

    def tell(self, states: Counter[str]) -> None:
        """Prints how far it is, twice a minute."""
        now = time.monotonic()
        if now > self._printed + 30:
            self._printed = now
            print(f"  after {now - self.began:.0f} s: {self.killed} kills, {dict(states)}", flush=True)

    def judged(self, rows: list[tuple[str, str, str | None]]) -> bool:
        """Prints what became of the items, whose name, state and error `rows` are; whether that is as it should be."""
        begun, ended = self.lines("before"), self.lines("after")
        states = Counter(state for _, state, _ in rows)
        left = sum(number for state, number in states.items() if state not in ("completed", "unsure"))
        failed = [f"{name}: {error}" for name, state, error in rows if state in ("failed", "refused")]
        unsure = {name for name, state, _ in rows if state == "unsure"}
        wrong = {
            "lost": [
                name for name, state, _ in rows if state not in ("completed", "unsure", "failed", "refused")
            ],
            "failed": failed,
            "effects twice": [name for name, number in begun.items() if number > 1],
            "effects lacking of completed": [
                name for name, state, _ in rows if state == "completed" and not ended[name]
            ],
            "unsure, and no call was under way at a kill": sorted(unsure - self.under_way),
        }
        if self.is_out_of_time and left > len(failed):
            print(f"  the time is over: {left} items are left, and are not judged")
            del wrong["lost"]
        print(f"  {time.monotonic() - self.began:.0f} s, {dict(states)}")
        for what, names in wrong.items():
            print(f"  {what}: {len(names)} {names[:3] or ''}")
        print(
            f"  calls under way at a kill: {len(self.under_way)}, {len(self.in_tool)} of them between the lines of the "
            f"tool; unsure: {len(unsure)}; under way and completed: {len(self.under_way - unsure)}"
        )
        return not any(wrong.values())


def over_files(campaign: Campaign, start: Callable[[Path, list[str]], int], chance: random.Random) -> bool:
    """Whether a batch in files came to what it should, whose process, which `start` begins, is killed again and again.

    It is killed a moment after it has its first runs, or after so many effects have begun since it did.
    """
    root = campaign.root
    names = (json.dumps(f"effect {number}") for number in range(campaign.items))
    (root / "in.jsonl").write_text("".join(f"{name}\n" for name in names))
    words = ["batch", "main", "--inputs", "in.jsonl", "--jobs", str(JOBS)]
    states: Counter[str] = Counter(queued=campaign.items)
    while (left := states["queued"] + states["running"]) and not campaign.is_out_of_time:
        is_due = _moment(campaign, chance, most=left // max(1, campaign.kills - campaign.killed))
        after, prunes_at = chance.uniform(0.0, 0.15), time.monotonic() + chance.uniform(0.0, 1.0)
        process, pruning = start(root, words), 0
        while not os.waitpid(process, os.WNOHANG)[0]:
            if campaign.killed < campaign.kills and is_due():
                time.sleep(after)
                os.kill(process, signal.SIGKILL)  # one that has ended waits for its parent
                campaign.killed += os.WIFSIGNALED(os.waitpid(process, 0)[1])
                break
            if not pruning and time.monotonic() > prunes_at:
                pruning = start(root, ["runs", "prune", "--keep", "0"])
            time.sleep(0.005)
        campaign.cut(_cut_in_files(root))
        pruning = pruning or start(root, ["runs", "prune", "--keep", "0"])
        campaign.pruned += os.waitpid(pruning, 0)[1] == 0
        states = Counter(state for _, state, _ in _items(root))
        if states:
            words = ["batch", "resume", "last", "--jobs", str(JOBS)]
        campaign.tell(states)
    print(
        f"{campaign.killed} kills -9 of a process that had runs of a batch of {campaign.items} items in files, "
        f"`runs prune` {campaign.pruned} times"
    )
    return campaign.judged(_items(root))


def _moment(campaign: Campaign, chance: random.Random, most: int) -> Callable[[], bool]:
    """Whether the next process has runs, and perhaps as many effects as are given by chance."""
    began, log, runs = time.time(), campaign.log, Runs(campaign.root).folder
    size = log.stat().st_size if log.exists() else 0
    if chance.random() < 0.5:
        return lambda: any(_touched(path) > began for path in runs.glob("*.lock"))
    grown = chance.randint(0, most) * len("before 123 ")
    return lambda: log.exists() and log.stat().st_size - size > grown


def _touched(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # it is gone by now
        return 0.0


def _items(root: Path) -> list[tuple[str, str, str | None]]:
    """Name, state and error of each item of the only batch."""
    batches = FileBatches(root)
    if not batches.names():
        return []
    with batches.open(batches.find("last")) as store:
        return [
            ((item.input or "").partition(" ")[2], item.state, item.result.error) for item in store.items()
        ]


def _cut_in_files(root: Path) -> set[str]:
    """The items that a killed process had, with a call under way."""
    batches, runs, names = FileBatches(root), Runs(root), set()
    if batches.names():
        with batches.open(batches.find("last")) as store:
            for item in store.items("running"):
                with suppress(JournalError), runs.read(item.run) as journal:
                    if unfinished(journal):
                        names.add((item.input or "").partition(" ")[2])
    return names


def over_fleet(
    campaign: Campaign, fleet: Fleet, server: Cluster, restarts: int, chance: random.Random
) -> bool:
    """Whether a batch came to what it should whose workers are killed while they have runs, and whose server fails."""
    (campaign.root / "tools.py").write_text(TOOLS)
    models = campaign.root / "models.py"
    thinking = f"    await asyncio.sleep(random.uniform(0, {THINKING}))\n    content = "
    models.write_text(f"import random\n{models.read_text().replace('    content = ', thinking, 1)}")
    fleet.llmdo("lock")
    fleet.put_in([f"effect {number}" for number in range(campaign.items)]).kill()
    between = Tearing(server.port, TORN, chance)
    torn = {**fleet.environ, "LLMDO_STORE": fleet.address.replace(f":{server.port}/", f":{between.port}/")}
    workers: list[subprocess.Popen[bytes]] = []
    gone: dict[int, float] = {}  # process to when it was
    ends: Counter[int] = Counter()
    restarted, changed, before = 0, time.monotonic(), None
    try:
        while not campaign.is_out_of_time and time.monotonic() < changed + _PATIENCE:
            states = Counter(dict(fleet.rows(_LEFT)))
            campaign.tell(states)
            if states != before:
                changed, before = time.monotonic(), states
            if not states["queued"] + states["running"] and not gone:
                break
            time.sleep(chance.uniform(0.2, 1.0))
            for process in [each for each in workers if each.poll() is not None]:
                workers.remove(process)
                ends[process.returncode] += 1
                gone[process.pid] = time.monotonic()
            while len(workers) < WORKERS:
                workers.append(_worker(campaign.root, torn))
            for process_id in [each for each, at in gone.items() if time.monotonic() > at + _SETTLED]:
                rows = fleet.rows(_UNDER_WAY.format(process_id))
                campaign.cut({bytes(text).decode().partition(" ")[2] for (text,) in rows})
                del gone[process_id]
            if restarted < restarts and chance.random() < 0.05:
                server.stop()
                server.start()
                restarted += 1
            if chance.random() < 0.05:
                command = [sys.executable, "-m", "llmdo", "runs", "prune", "--keep", "0"]
                pruned = forking.run(command, cwd=campaign.root, env=fleet.environ, capture_output=True)
                campaign.pruned += pruned.returncode == 0
            owners = dict(fleet.rows(_OWNERS))
            busy = [each for each in workers if each.poll() is None and owners.get(each.pid)]
            over = campaign.items - states["queued"] - states["running"]
            if campaign.killed < min(campaign.kills, campaign.kills * over / campaign.items + AHEAD) and busy:
                chance.choice(busy).kill()
                campaign.killed += 1
    finally:
        between.close()
        for process in workers:
            process.kill()
            process.wait()
    errors = Counter(re.sub(r"`[^`]*`|[0-9]+", "#", line) for line in _errors(campaign.root))
    print(
        f"{campaign.killed} kills -9 of workers that had runs, over {campaign.items} items of a fleet, `runs prune` "
        f"{campaign.pruned} times, {restarted} restarts of the server, {between.torn} answers lost of {TORN:.0%}; "
        f"workers by how they ended: {dict(ends)} {dict(errors) or ''}"
    )
    rows = fleet.rows("SELECT input, state, result FROM llmdo.item ORDER BY number")
    return campaign.judged(
        [
            (bytes(text).decode().partition(" ")[2], state, json.loads(result).get("error"))
            for text, state, result in rows
        ]
    )


def _worker(root: Path, environ: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "llmdo", "fleet", "worker", "--fleet", "-", "--jobs", str(JOBS)]
    with (root / "workers.log").open("ab") as log:
        return forking.Popen(command, cwd=root, env=environ, stdout=subprocess.DEVNULL, stderr=log)


def _errors(root: Path) -> list[str]:
    """What workers said that ended of themselves."""
    return [line for line in (root / "workers.log").read_text().splitlines() if line.startswith("error: ")]


class Tearing:
    """A way to a server on which some of its answers are lost, with their connections."""

    def __init__(self, port: int, share: float, chance: random.Random) -> None:
        self._server, self._share, self._chance = port, share, chance
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.torn = 0
        threading.Thread(target=self._accepting, daemon=True).start()

    def close(self) -> None:
        """Lets nobody through any more."""
        self._listening.close()

    def _accepting(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._carrying, args=(client,), daemon=True).start()

    def _carrying(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(("127.0.0.1", self._server)) as server:
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    content = ready.recv(65536)
                    if not content:
                        return
                    if ready is server and content[:1] != b"R" and self._chance.random() < self._share:
                        self.torn += 1
                        return
                    (server if ready is client else client).sendall(content)
