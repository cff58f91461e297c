"""Prints the folder of a file system in memory, where there is one that can hold the folders of all tests.

`make test` keeps them there, since a folder on a disk takes several times as long to make and to remove. What the tests
observe there is the same: whoever kills a process leaves what it wrote, on a disk as in memory. The long tests use the
disk.
"""

from __future__ import annotations

import os
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = (
    2 << 30
)  # bytes: containers often have 64 MiB there, and the folders that exist at a time take some hundred


def is_fit(folder: Path) -> bool:
    """Whether there is room, and programs may be started from there."""
    if not hasattr(os, "statvfs") or not os.access(folder, os.W_OK | os.X_OK):
        return False
    system = os.statvfs(folder)
    return system.f_bavail * system.f_frsize >= ROOM and not system.f_flag & os.ST_NOEXEC


if __name__ == "__main__":
    print(MEMORY if is_fit(MEMORY) else "")
