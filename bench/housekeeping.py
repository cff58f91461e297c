"""Effects of many items, each counted by a line before and one after, while processes are killed and runs are pruned.

A part of `python -m bench.crash --items 300` over files and of `python -m bench.fleet --only housekeeping` over a
database, whose server is restarted and whose answers are lost now and then.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmdo.journal import FileBatches

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable
    from pathlib import Path

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


@dataclass(frozen=True)
class Counted:
    """What became of the items, by what their tool wrote and how they stand."""

    states: Counter[str]
    repeated: list[str]
    """Whose effect began more than once."""
    lacking: list[str]
    """Which are completed without it."""
    unsure_at_rest: list[str]
    """Which are unsure, and whose tool neither began nor may have: no process was killed that had the item."""
    errors: list[str]
    """Of those that failed."""

    @property
    def is_wrong(self) -> bool:
        """Whether something was repeated or lost, failed, or is asked about for nothing."""
        return bool(self.repeated or self.lacking or self.errors or self.unsure_at_rest)

    def __str__(self) -> str:
        """In a few lines."""
        return (
            f"  {dict(self.states)}\n"
            f"  effects twice: {len(self.repeated)} {self.repeated[:3]}\n"
            f"  effects lacking of completed: {len(self.lacking)} {self.lacking[:3]}\n"
            f"  failed: {len(self.errors)} {self.errors[:3]}\n"
            f"  unsure although no process was killed with it: {len(self.unsure_at_rest)} {self.unsure_at_rest[:3]}"
        )


def counted(root: Path, rows: Iterable[tuple[str, str, str | None]], held: set[str]) -> Counted:
    """`rows` are name, state and error of each item; `held` the names of those that a killed process had."""
    lines = (root / "effects.log").read_text().splitlines() if (root / "effects.log").exists() else []
    begun = Counter(line.partition(" ")[2] for line in lines if line.startswith("before "))
    items = list(rows)
    return Counted(
        states=Counter(state for _, state, _ in items),
        repeated=[name for name, number in begun.items() if number > 1],
        lacking=[name for name, state, _ in items if state == "completed" and not begun[name]],
        unsure_at_rest=[name for name, state, _ in items if state == "unsure" and name not in held],
        errors=[f"{name}: {error}" for name, state, error in items if state in ("failed", "refused")],
    )


def over_files(
    root: Path, start: Callable[[Path, list[str]], int], items: int, kills: int, chance: random.Random
) -> Counted:
    """A batch of files whose process, which `start` begins, is killed again and again, and whose runs are pruned.

    It is killed once so many effects have begun since it began, and perhaps a moment later.
    """
    log = root / "effects.log"
    (root / "in.jsonl").write_text("".join(f"{json.dumps(f'effect {number}')}\n" for number in range(items)))
    words = ["batch", "main", "--inputs", "in.jsonl", "--jobs", "4"]
    held: set[str] = set()
    killed = pruned = 0
    known: list[tuple[str, str, str | None]] = []
    while not known or any(state in ("queued", "running") for _, state, _ in known):
        size = log.stat().st_size if log.exists() else 0
        grown, after = chance.randint(0, 6) * len("before 123 "), chance.uniform(0.0, 0.2)
        process = start(root, words)
        while not os.waitpid(process, os.WNOHANG)[0]:
            if killed < kills and log.exists() and log.stat().st_size - size > grown:
                time.sleep(after)
                os.kill(process, signal.SIGKILL)  # one that has ended waits for its parent
                os.waitpid(process, 0)
                killed += 1
                break
            time.sleep(0.005)
        held |= {name for name, state, _ in _items(root) if state == "running"}
        if chance.random() < 0.5:
            pruned += os.waitpid(start(root, ["runs", "prune", "--keep", "0"]), 0)[1] == 0
        known = _items(root)
        if known:
            words = ["batch", "resume", "last", "--jobs", "4"]
    print(f"{killed} kills -9 over a batch of {items} items in files, `runs prune` {pruned} times")
    return counted(root, known, held)


def _items(root: Path) -> list[tuple[str, str, str | None]]:
    """Name, state and error of each item of the only batch."""
    batches = FileBatches(root)
    if not batches.names():
        return []
    with batches.open(batches.find("last")) as store:
        return [
            ((item.input or "").partition(" ")[2], item.state, item.result.error) for item in store.items()
        ]


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


def wait_a_little(chance: random.Random) -> None:
    """Until the next thing goes wrong."""
    time.sleep(chance.uniform(0.2, 1.0))
