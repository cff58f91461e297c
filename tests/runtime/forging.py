"""Journals as somebody else might have written them: edits of one on disk, as SQL."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from llmdo.journal import Runs
from tests.support.forging import forging

_COPY = (
    "INSERT INTO entry (head, path, kind, step, outcome, digest, body, at) "
    "SELECT head, ?, ?, ?, outcome, digest, body, at FROM entry WHERE path = ? AND kind = ? AND step = 1"
)


def opened(root: Path, run: str = "r") -> AbstractContextManager[sqlite3.Connection]:
    """The journal of a run, whose edits are there, and whose chains hold, when the block is over."""
    return forging(Runs(root).path(run))


def cut(root: Path, *kinds: str, requests: int = 1) -> None:
    """As if the run had been killed after so many requests of each worker, and before these kinds of entries."""
    with opened(root) as journal:
        named = ", ".join(f"'{kind}'" for kind in ("return", "end", *kinds))
        journal.execute(
            f"DELETE FROM entry WHERE kind IN ({named}) OR kind = 'request' AND step > ?", (requests,)
        )


def edit(root: Path, kind: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Puts what `change` makes of the body of every entry of `kind` in its place."""
    with opened(root) as journal:
        rows = journal.execute("SELECT seq, body FROM entry WHERE kind = ?", (kind,)).fetchall()
        for seq, body in rows:
            changed = json.dumps(change(json.loads(body))).encode()
            journal.execute("UPDATE entry SET body = ? WHERE seq = ?", (changed, seq))


def raising(*capabilities: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Makes of a decision one that let a call through which raised these."""
    allowed = {"decision": "allowed", "allowed": True, "by": "rules", "refusal": None, "changed": None}
    return lambda body: {**body, **allowed, "raised": list(capabilities), "declared": list(capabilities)}


def allow_twice(root: Path) -> None:
    """Lets every call through by two decisions of which each is like the first."""
    edit(root, "decision", lambda body: {**body, **raising(*body["raised"])(body)})
    with opened(root) as journal:
        journal.execute("DELETE FROM entry WHERE kind = 'decision' AND step > 1")
        for (path,) in journal.execute("SELECT path FROM entry WHERE kind = 'decision'").fetchall():
            journal.execute(_COPY, (path, "decision", 2, path, "decision"))


def add(
    root: Path, path: str, kind: str, body: dict[str, Any], outcome: str = "success", step: int = 1
) -> None:
    """Puts one more entry into the journal."""
    with opened(root) as journal:
        journal.execute(
            "INSERT INTO entry (head, path, kind, step, outcome, digest, body, at) VALUES ('', ?, ?, ?, ?, '', ?, 0)",
            (path, kind, step, outcome, json.dumps(body).encode()),
        )
