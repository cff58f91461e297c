"""A session of Claude Code in a project of two agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.features.hook.sessions import Session, write

MANIFEST = """\
[approvals.rules]
"fs.write:docs/**" = "needs_approval"
"fs.write:secret/**" = "blocked"

[entries.triage]
may = ["fs.read", "fs.list", "net", "agent.delegate"]
"""


@pytest.fixture
def session(tmp_path: Path) -> Session:
    root = write(tmp_path / "shop", MANIFEST, triage="", fixer="Read, Edit, Write, Bash")
    home = tmp_path / "home"
    home.mkdir()
    session = Session(root, home)
    session.start()
    return session
