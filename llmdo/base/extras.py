"""The extras of this package: how one that is lacking is installed."""

from __future__ import annotations

import os

PACKAGE = "llmdo-workspace"

_HOME = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120


def installing(extra: str, home: str = _HOME) -> str:
    """The command that installs an extra: of the clone at `home` that is in use, else of the published package."""
    if not os.path.isfile(f"{home}/pyproject.toml"):  # noqa: PTH113
        return f"`pip install '{PACKAGE}[{extra}]'`"
    try:
        is_here = os.path.samefile(home, os.curdir)  # noqa: PTH121
    except OSError:  # the current folder is gone
        is_here = False
    return f"`pip install -e '{'.' if is_here else home}[{extra}]'`"
