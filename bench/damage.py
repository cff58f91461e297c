"""What a power failure or a failing disk leaves of a journal, and whether llmdo takes it for what it is."""

from __future__ import annotations

import os
import shutil
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmdo.journal import JournalError
from llmdo.journal.sqlite import store
from llmdo.journal.sqlite.anchor import anchored
from llmdo.journal.sqlite.store import open_journal, read_journal

if TYPE_CHECKING:
    import random
    from pathlib import Path

FORCED = "forced.txt"
"""The file in a workspace that says how many bytes of the log were forced to disk."""

LOG = "-wal"


@dataclass
class Tally:
    """What was done to journals, and what llmdo made of it."""

    power_losses: int = 0
    flips: int = 0
    refused: int = 0
    """Flips that were refused, every time."""
    accepted_damage: int = 0
    """Damaged journals that say something else than was recorded, or less than was anchored, and were opened."""
    refused_wrongly: int = 0
    """Journals that lost only what was not forced to disk, and were not opened."""


def note_forced(root: Path) -> None:
    """From now on this process notes in `root` how much of the log is forced to disk."""
    real = store.force

    def force(descriptor: int) -> None:
        size = os.fstat(descriptor).st_size
        real(descriptor)
        # Beside it first, so that a kill meanwhile leaves the number before, and not half of one.
        noted = root / f"{FORCED}.{threading.get_native_id()}.new"
        noted.write_text(str(size))
        noted.replace(root / FORCED)

    store.force = force


def cut_power(root: Path, journal: Path, chance: random.Random, tally: Tally) -> None:
    """Leaves of the log of a killed run what was forced to disk, some of the rest, and perhaps garbage after that."""
    log = journal.with_name(f"{journal.name}{LOG}")
    if not log.exists():
        return
    content = log.read_bytes()
    forced = min(int((root / FORCED).read_text()), len(content)) if (root / FORCED).exists() else 0
    size = chance.randint(forced, len(content))
    lost = len(content) - size
    log.write_bytes(content[:size] + chance.choice([b"", bytes(lost), chance.randbytes(lost)]))
    tally.power_losses += 1
    try:
        with read_journal(journal, whole=True):
            pass
    except JournalError as error:
        tally.refused_wrongly += 1
        print(f"refused after a power loss: {error}")


def flip(journal: Path, folder: Path, chance: random.Random, tally: Tally) -> None:
    """Flips a bit in a copy of a journal, of its log or of its anchor, and opens that twice."""
    with read_journal(journal, whole=True) as read:
        recorded = list(read.entries())
    files = [
        file
        for file in journal.parent.glob(f"{journal.name}*")
        if not file.name.endswith("-shm") and file.stat().st_size
    ]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for file in files:
        shutil.copy(file, folder)
    struck = folder / chance.choice(files).name
    content = bytearray(struck.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    struck.write_bytes(content)
    tally.flips += 1
    verdicts = []
    for _ in range(2):
        try:
            with open_journal(folder / journal.name) as opened:
                entries = list(opened.entries())
        except JournalError:
            verdicts.append("refused")
            continue
        heads = anchored(journal)
        least = heads.entries.number if heads else 0
        is_part = entries == recorded[: len(entries)] and len(entries) >= least
        verdicts.append("opened" if is_part else "accepted damage")
    tally.refused += verdicts == ["refused", "refused"]
    if "accepted damage" in verdicts or len(set(verdicts)) > 1:
        tally.accepted_damage += 1
        print(f"a flipped bit in {struck.name}: {verdicts}")
