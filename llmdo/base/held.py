"""A folder that one process at a time works in."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if os.name == "posix":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def held(folder: Path, *, alone: bool) -> Iterator[None]:
    """A lock on `folder` while this is open; others who are not `alone` may share it.

    No lock on systems and file systems that have none.

    Raises:
        OSError: The folder cannot be opened.
    """
    descriptor = os.open(folder, os.O_RDONLY) if os.name == "posix" else -1
    try:
        if descriptor >= 0:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)
