"""`audit`: the decisions of a run as its audit has them."""

from __future__ import annotations

from pathlib import Path

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass, replace
from llmdo.journal import SUFFIX
from llmdo.journal import audit as audits
from llmdo.journal.entries import JournalError
from llmdo.journal.opening import read_run
from llmdo.services.root import root_folder

LINES = ".jsonl"
"""Of a file with the lines of an audit, as `--format jsonl` prints them."""


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
    root = Path() if path.suffix == SUFFIX else root_folder(request.project)
    with read_run(root, request.run) as journal:
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
