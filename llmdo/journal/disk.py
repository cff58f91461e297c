"""What makes the names of files last."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def force_folder(path: Path) -> None:
    """Returns when the names in the folder are on disk, where the system can say that.

    Raises:
        OSError: It cannot be opened.
    """
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
