"""The environments in a workspace: folders of installed code, which llmdo or its child processes may execute."""

from __future__ import annotations

import os
import site
import sys
from pathlib import Path

from llmdo.syntax import discovery

_PACKAGES = ("node_modules", "__pypackages__")


def interpreter_folders() -> frozenset[str]:
    """The real folders of this interpreter, of its installed packages, and of llmdo itself."""
    interpreter = (sys.prefix, sys.exec_prefix, sys.base_prefix)
    installed = (*site.getsitepackages(), site.getusersitepackages(), str(Path(__file__).parents[1]))
    return frozenset(os.path.realpath(folder) for folder in (*interpreter, *installed))


def environments_in(root: Path) -> frozenset[str]:
    """The environments in the workspace at `root`: those at its top, and the one that runs this.

    No finding depends on them, so these look-ups are not recorded.
    """
    listed = discovery.names(root, "")
    at_top = {
        name for name in listed if name in _PACKAGES or discovery.exists(root, f"{name}/pyvenv.cfg") is None
    }
    real = os.path.realpath(root).rstrip(os.sep) + os.sep
    own = {
        folder.removeprefix(real).replace(os.sep, "/")
        for folder in interpreter_folders()
        if folder.startswith(real)
    }
    return frozenset(at_top | own)
