"""`llmdo lock`: the resolved graph written, or compared with what is there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from llmdo import checks
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.checks.acceptance import ACCEPTABLE
from llmdo.checks.lock import OVERWRITTEN, UNREAD, drifted
from llmdo.cli.check import rendered
from llmdo.cli.console import CANNOT_GO_ON, FINDINGS, FINE, root_folder, say
from llmdo.render.drift import lines as drift_lines
from llmdo.services import locking
from llmdo.workspace import lock as lockfile
from llmdo.workspace import project as projects

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.graph.resolved import Graph
    from llmdo.workspace.project import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class LockRequest:
    """What the command line says."""

    project: str | None = None
    check: bool = False
    refresh: bool = False
    offline: bool = False
    allow_downgrade: bool = False
    verbose: bool = False

    @property
    def anew(self) -> bool:
        """Whether every toolset module is imported, also those that did not change."""
        return self.check or self.refresh

    @property
    def overwritten(self) -> frozenset[str]:
        """The codes of what does not hinder a new lock."""
        # A finding about authority is a reason to look at the diff.
        overwritten = OVERWRITTEN | ACCEPTABLE.keys()
        return frozenset(overwritten | {"LDO404"} if self.allow_downgrade else overwritten)


def run(options: LockRequest) -> int:
    """Writes the lock, or compares it; the exit code."""
    root = root_folder(options.project)
    read, found = _judged(projects.read(root), options)
    if hindering := _hindering(found, options):
        sys.stderr.write(rendered(hindering, root, "text"))
        return FINDINGS if all(one.code != "LDO404" for one in hindering) else CANNOT_GO_ON
    derivation = locking.derive_with_servers(read, anew=options.anew, offline=options.offline)
    for note in derivation.notes:
        say(note)
    downgrade = read.locked.is_newer and not options.check
    if downgrade and not options.allow_downgrade:
        raise LlmdoError(
            read.locked.problems[0].message, hint="use a newer llmdo; `--allow-downgrade` overwrites it"
        )
    if read.locked.graph == derivation.graph and not downgrade:
        say("llmdo.lock is up to date")
        return FINE
    if options.check:
        stale = list(drifted(read.locked.graph, derivation.graph)) if read.locked.graph else []
        problems = stale or [one for one in found if one.code in options.overwritten]
        sys.stdout.write(rendered(problems, root, "text"))
        return FINDINGS
    _write(root, read.locked.graph, derivation.graph, verbose=options.verbose)
    return FINE


def _judged(read: Project, options: LockRequest) -> tuple[Project, Sequence[Diagnostic]]:
    """The workspace with its findings; where only unread modules hinder, as importing them tells it."""
    found = checks.check(read, locked=True)
    hindering = _hindering(found, options)
    if hindering and UNREAD.issuperset(one.code for one in hindering):
        read = locking.read_by_importing(read, anew=options.anew)
        found = checks.check(read, locked=True)
    return read, found


def _hindering(found: Sequence[Diagnostic], options: LockRequest) -> list[Diagnostic]:
    return [one for one in found if one.severity == "error" and one.code not in options.overwritten]


def _write(root: Path, before: Graph | None, derived: Graph, *, verbose: bool) -> None:
    changes = lockfile.drift(before, derived) if before else ()
    lockfile.write(root, derived)
    for line in drift_lines(changes, whole=verbose):
        say(line)
    say("wrote llmdo.lock")
