"""The command that made `audited.sqlite` here: a run whose audit the llmdo of that day kept as lines of its own.

    git worktree add ../before 6945ec15
    PYTHONPATH=../before:. python tests/journal/earlier/make.py tests/journal/earlier/audited.sqlite

An llmdo of later days keeps no such lines, so that it cannot make the file.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.building import script

MANIFEST = """
schema = 1
[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:main"
[approvals.rules]
"fs.write:a.txt" = "allowed"
"""
MAIN = "---\nname: main\nentry: true\ntoolsets: {helper: {}, filesystem: {write: ['**']}}\n---\nGo.\n"
HELPER = "---\nname: helper\ndescription: Helps.\nmodel: python:models.py:helper\n---\nHelp.\n"


def make(target: Path) -> None:
    """Writes the run, of two processes, to `target`: a call allowed, one that waited, a delegate, one that failed."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
        (root / "main.worker").write_text(MAIN, encoding="utf-8")
        (root / "helper.worker").write_text(HELPER, encoding="utf-8")
        first = [("write_file", {"path": "a.txt", "content": "x"}), ("helper", {"input": "y"})]
        then = [("read_file", {"path": "none"})]
        later = [("write_file", {"path": "b.txt", "content": "z"})]
        script(root, main=[first, then, later, "{results}"], helper=["{prompt}"])
        for words in (
            ["run", "--approvals", "later", "main", "x"],
            ["approve", "last", "--yes", "main/write_file#2"],
            ["resume", "last"],
            ["runs", "export", "last", str(target.absolute())],
        ):
            environ = {**os.environ, "XDG_CONFIG_HOME": "/nonexistent", "LLMDO_TRUST": "1"}
            done = subprocess.run(
                [sys.executable, "-m", "llmdo", *words], cwd=root, env=environ, capture_output=True, text=True
            )
            print(words, done.returncode, done.stdout[-500:], done.stderr[-1500:])


if __name__ == "__main__":
    make(Path(sys.argv[1]))
