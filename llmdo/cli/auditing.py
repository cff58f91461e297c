"""The audit of a run that was started from the command line, and `llmdo audit`."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from llmdo import audit
from llmdo.cli.console import FINDINGS, FINE, root_folder, say
from llmdo.diagnostic import LlmdoError, shown
from llmdo.journal import Runs
from llmdo.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from llmdo.runtime.telemetry.events import Sink


@contextmanager
def auditing(
    root: Path, run: str, *, keeps: bool, mode: str, environ: Mapping[str, str]
) -> Iterator[tuple[Sink, ...]]:
    """The sinks that keep the audit of the run of that id while the block runs: none where it keeps none.

    Raises:
        LlmdoError: It cannot be written.
    """
    if not keeps:
        yield ()
        return
    from llmdo.runtime.telemetry.redaction import Redaction
    from llmdo.runtime.telemetry.trail import open_trail

    runs = Runs(root)
    runs.prepare()
    path = runs.audit(run)
    with open_trail(path, Redaction.of(environ), mode) as trail:
        try:
            yield (trail,)
        finally:
            if trail.failure:
                say(f"warning: the audit `{path}` is not complete: {shown(trail.failure)}")
            if trail.last.number:
                say(f"audit: {trail.last.number} records, head {trail.last.head}")
            else:
                path.unlink(missing_ok=True)  # the run never began


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `llmdo audit` was asked for."""

    run: str
    project: str | None = None
    verify: bool = False
    head: str | None = None
    json: bool = False


def show(options: Options) -> int:
    """Prints the decisions of a run, or whether their chain holds, and returns the exit code."""
    from llmdo.render import audit as render

    runs = Runs(root_folder(options.project))
    run = runs.find(options.run, audited=True)
    path = runs.audit(run)
    try:
        with path.open(encoding="ascii", errors="replace") as lines:
            found = audit.read((line.rstrip("\n") for line in lines), options.head)
    except OSError as error:
        raise LlmdoError(f"cannot read `{path}`: {error.strerror}") from error
    verifies = options.verify or options.head is not None
    if options.json:
        print(json.dumps(render.document(run, found), indent=2))
    else:
        for line in render.verdict(found) if verifies else render.decisions(found):
            sys.stdout.write(f"{line}\n")
        if found.faults and not verifies:
            say("warning: the chain does not hold; `--verify` says where")
    return FINDINGS if verifies and found.faults else FINE
