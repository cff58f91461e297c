"""The audit of a run that was started from the command line, and `llmdo audit`."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass, replace
from llmdo.cli.console import FINDINGS, FINE, put, root_folder, say
from llmdo.journal import Runs, audit
from llmdo.journal.agreement import disagreements
from llmdo.journal.store import SUFFIX, read_journal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmdo.runtime.recording.recorder import Recorder

LINES = ".jsonl"
"""Of a file with the lines of an audit, as `--format jsonl` prints them."""


@contextmanager
def auditing(recorder: Recorder | None) -> Iterator[None]:
    """Around the work of a run that keeps a journal, if it does: says how its audit ends then."""
    try:
        yield
    finally:
        if recorder and (last := recorder.journal.head):
            say(f"audit: {last.number} records, head {last.head}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """What `llmdo audit` was asked for."""

    run: str
    """An id, an exported run, or the lines of an audit in a file."""
    project: str | None = None
    verify: bool = False
    head: str | None = None
    format: Literal["text", "json", "jsonl"] = "text"


def show(options: AuditRequest) -> int:
    """Prints the decisions of a run, or whether their chain holds, and returns the exit code."""
    from llmdo.render import audit as render

    verifies = options.verify or options.head is not None
    run, lines, found = _read(options, verifies=verifies)
    if options.format == "jsonl":
        for line in lines:
            put(line, as_json=True)
    if options.format == "json":
        put(json.dumps(render.document(run, found), indent=2), as_json=True)
    elif options.format == "text":
        for line in render.verdict(found) if verifies else render.decisions(found):
            put(line)
    if found.faults and not verifies:
        say("warning: the chain does not hold; `--verify` says where")
    return FINDINGS if verifies and found.faults else FINE


def _read(options: AuditRequest, *, verifies: bool) -> tuple[str, Sequence[str], audit.Audit]:
    """What the audit is called, its lines without their ends, and what they say; held against its journal or not."""
    path = Path(options.run)
    if path.suffix == LINES:
        try:
            lines = path.read_text("ascii", "replace").splitlines()
        except OSError as error:
            raise LlmdoError(f"cannot read `{path}`: {error.strerror}") from error
        return path.name.removesuffix(LINES), lines, audit.read(lines, options.head)
    run = path.name.removesuffix(SUFFIX)
    if path.suffix != SUFFIX:
        runs = Runs(root_folder(options.project))
        run = runs.find(options.run)
        path = runs.path(run)
    with read_journal(path) as journal:
        lines = list(journal.lines())
        found = audit.read(lines, options.head)
        if verifies:
            odd = list(journal.faults()) or list(disagreements(journal, found.records))
            found = replace(
                found,
                faults=(*found.faults, *(audit.Fault(0, message) for message in odd)),
                entries=journal.entry_link,
                redacted=journal.redacted(),
            )
    return run, lines, found
