"""`llmdo runs show` and `prune`: looking into journals, and removing them."""

from __future__ import annotations

import sys
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.cli.console import FINE, put, say
from llmdo.journal import JournalError, Runs
from llmdo.journal.kept import sweep
from llmdo.journal.summary import summaries, summary, tree
from llmdo.render import runs as render

if TYPE_CHECKING:
    from collections.abc import Mapping

DAY = 24 * 60 * 60  # seconds

OVER = frozenset({"completed", "failed"})
"""The runs that nobody will miss: the others could go on."""


def list_runs(root: Path, *, entry: str | None, status: str | None, limit: int, as_json: bool) -> int:
    """Prints a line for each run, the last one first."""
    chosen = (
        one
        for one in summaries(Runs(root), _say_unreadable)
        if entry in (None, one.entry) and status in (None, one.status)
    )
    found = list(islice(chosen, min(limit, sys.maxsize) or None))
    if as_json:
        put(render.listed_as_json(found), end="", as_json=True)
    elif found:
        put(render.listed(found), end="")
    else:
        say("no such run has a journal here")
    return FINE


def list_as_asked(asked: Mapping[str, str]) -> int:
    """The same for words that `quick.listing` has read."""
    return list_runs(
        Path(asked["project"]),
        entry=asked.get("entry"),
        status=asked.get("status"),
        limit=int(asked.get("limit", "20")),
        as_json=asked.get("format") == "json",
    )


def _say_unreadable(error: JournalError) -> None:
    say(f"warning: {error.message}")


def show(root: Path, said: str, form: str) -> int:
    """Prints one run as a tree."""
    runs = Runs(root)
    name = runs.find(said)
    with runs.read(name, whole=True) as journal:
        found = summary(journal, is_running=runs.is_claimed(name))
        if found is None:
            raise JournalError(f"run `{name}` never began")
        write = {"text": render.as_text, "json": render.as_json, "markdown": render.as_markdown}[form]
        put(write(found, tree(journal)), end="", as_json=form == "json")
    return FINE


def prune(root: Path, *, keep: int, older_than: int | None, waiting: bool, dry_run: bool) -> int:
    """Removes the journals of runs that are over, but for the last ones."""
    runs = Runs(root)
    now = time.time()
    for name in runs.unbegun():
        if not dry_run:
            runs.remove(name)
        put(name)
    for one in list(summaries(runs, _say_unreadable))[keep:]:
        if one.status == "running" or (one.status not in OVER and not waiting):
            continue
        if older_than is not None and (now - one.began) / DAY < older_than:
            continue
        if not dry_run:
            runs.remove(one.run)
        put(one.run)
    if dry_run:
        say("nothing was removed")
        return FINE
    try:
        sweep(runs)
    except JournalError as error:
        say(f"warning: what runs began with is all kept: {error.message}")
    return FINE
