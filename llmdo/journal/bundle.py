"""A run as one file: carried to another machine, and back among the runs of a workspace."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from llmdo.journal.entries import JournalError
from llmdo.journal.store import SUFFIX, open_journal, read_journal

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.journal.folder import Runs


def export(runs: Runs, run: str, target: Path) -> None:
    """Writes the run of that id to `target`, where no file may be.

    Raises:
        JournalError: It cannot be read or written.
    """
    if not target.name.endswith(SUFFIX):
        raise JournalError(f"`{target}` does not end in `{SUFFIX}`", hint="`replay` knows a run by that")
    with runs.read(run) as journal:
        journal.copy_to(target)


def take_in(runs: Runs, source: Path) -> str:
    """The id of the run in `source`, which is among `runs` from now on.

    Raises:
        JournalError: It is no journal, is damaged, or the run is there already.
    """
    with read_journal(source) as journal:
        first = next(journal.entries("session"), None)
        if first is None:
            raise JournalError(f"`{source}` holds no run")
        name = first.data.get("run") or journal.run
        runs.prepare()
        target = runs.path(str(name))
        if target.exists():
            raise JournalError(f"run `{name}` is here already", hint="`llmdo runs show` tells what it did")
        temporary = target.with_suffix(".part")
        with suppress(FileNotFoundError):
            temporary.unlink()
        journal.copy_to(temporary)
    try:
        open_journal(temporary).close()
        os.link(temporary, target)  # never over a file that has come there meanwhile
    except OSError as error:
        raise JournalError(f"cannot write `{target}`: {error.strerror}") from error
    finally:
        for path in target.parent.glob(f"{temporary.name}*"):
            path.unlink(missing_ok=True)
    return str(name)
