"""The journal of a run that was started from the command line."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from llmdo.journal import Runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from llmdo.runtime.recording.recorder import Recorder


@contextmanager
def keeping(root: Path, run: str, *, keeps: bool, environ: Mapping[str, str]) -> Iterator[Recorder | None]:
    """The journal of the new run of that id while the block runs; None where it keeps none.

    Raises:
        JournalError: It cannot be written.
    """
    if not keeps:
        yield None
        return
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.runtime.telemetry.redaction import Redaction

    runs = Runs(root)
    runs.prepare()
    with runs.claim(run), runs.create(run) as journal:
        try:
            yield Recorder(journal, Redaction.of(environ))
        finally:
            is_empty = next(journal.entries(), None) is None
            journal.close()
            if is_empty:  # the run never began
                journal.path.unlink(missing_ok=True)
