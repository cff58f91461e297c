"""A client as a process, for five minutes at most."""

from __future__ import annotations

import subprocess
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

SECONDS = 300
"""How long a client may take for a project."""


class ClientEndedError(Exception):
    """A client that ended, or was ended, before it had answered."""


@contextmanager
def started(
    words: Sequence[str], environ: Mapping[str, str], folder: Path
) -> Iterator[subprocess.Popen[str]]:
    """A client in a folder, with this environment alone; it is ended with the block, or when its time is over."""
    child = subprocess.Popen(
        words,
        env=environ,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    ending = threading.Timer(SECONDS, child.kill)
    ending.start()
    try:
        yield child
    finally:
        ending.cancel()
        child.kill()
        with suppress(BrokenPipeError), child:  # of what was said to a client that had ended
            pass
