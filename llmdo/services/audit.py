"""`audit`: the decisions of a run as its audit has them, and how the audit of a run ends."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass, replace
from llmdo.journal import SUFFIX, read_journal
from llmdo.journal import audit as audits
from llmdo.journal.entries import JournalError
from llmdo.journal.opening import runs_of
from llmdo.services.root import root_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.journal.stored import JournalStore
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.services.root import Tell

LINES = ".jsonl"
"""Of a file with the lines of an audit, as `--format jsonl` prints them."""


@contextmanager
def auditing(recorder: Recorder | None, tell: Tell) -> Iterator[None]:
    """Around the work of a run that keeps a journal, if it does: tells how its audit ends then."""
    try:
        yield
    finally:
        if recorder and recorder.has_begun:
            try:
                last = audits.read(recorder.journal.lines()).last
            except JournalError as error:  # the run has ended all the same
                tell(f"audit: {error.message}")
            else:
                tell(f"audit: {last.number} records, head {last.head}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """Which audit is read, and what it is held against."""

    run: str
    """An id, an exported run, or the lines of an audit in a file."""
    project: str | None = None
    verify: bool = False
    head: str | None = None
    """What the chain has to end with; that it does is verified as well."""

    @property
    def verifies(self) -> bool:
        """Whether the chain and its journal are compared."""
        return self.verify or self.head is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOutcome:
    """An audit that was read."""

    run: str
    lines: tuple[str, ...]
    """Without their ends."""
    audit: audits.Audit


def audit(request: AuditRequest) -> AuditOutcome:
    """The decisions of a run, held against its journal where that was asked for.

    Raises:
        LlmdoError: There is no such run, or it cannot be read.
    """
    path = Path(request.run)
    if path.suffix == LINES:
        try:
            lines = path.read_text("ascii", "replace").splitlines()
        except OSError as error:
            raise LlmdoError(f"cannot read `{path}`: {error.strerror}") from error
        name = path.name.removesuffix(LINES)
        return AuditOutcome(run=name, lines=tuple(lines), audit=audits.read(lines, request.head))
    if path.suffix == SUFFIX:
        opened: JournalStore = read_journal(path)
    else:
        runs = runs_of(root_folder(request.project))
        opened = runs.read(runs.find(request.run))
    with opened as journal:
        run = journal.run
        lines, faults = [], []
        try:
            lines.extend(journal.lines())
        except JournalError as error:
            if not request.verifies:
                raise
            faults.append(error.message)
        read = audits.read(lines, request.head)
        if request.verifies:
            faults.extend(journal.faults())
            read = replace(
                read,
                faults=(*read.faults, *(audits.Fault(0, message) for message in dict.fromkeys(faults))),
                entries=journal.entry_link,
                redacted=journal.redacted(),
            )
    return AuditOutcome(run=run, lines=tuple(lines), audit=read)
