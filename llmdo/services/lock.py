"""`lock`: the resolved graph written, or compared with the present lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo import checks
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import option
from llmdo.base.values import dataclass, field
from llmdo.checks.acceptance import ACCEPTABLE
from llmdo.checks.lock import OVERWRITTEN, UNREAD, drifted
from llmdo.reach import Analysis
from llmdo.services import locking
from llmdo.services.invalid import require_extensions
from llmdo.services.root import root_folder
from llmdo.workspace import lock as lockfile
from llmdo.workspace import project as projects
from llmdo.workspace.trust import Consent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.services.root import Tell
    from llmdo.workspace.lock import Drift
    from llmdo.workspace.project import Project


OVERWRITTEN_ANYWAY = OVERWRITTEN | ACCEPTABLE.keys()
"""The codes that never hinder a new lock: a finding about authority is a reason to look at the diff."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockRequest:
    """The mode of deriving the lock, and whether to write it."""

    project: str | None = None
    check: bool = field(default=False, metadata=option("Derive everything again and compare; write nothing."))
    refresh: bool = field(
        default=False,
        metadata=option("Import every toolset module again: its libraries may have changed."),
    )
    offline: bool = field(
        default=False, metadata=option("Ask no MCP server; keep what the lock knows of them.")
    )
    allow_downgrade: bool = field(
        default=False, metadata=option("Overwrite even a lock that a newer llmdo wrote.")
    )

    @property
    def anew(self) -> bool:
        """Whether every toolset module is imported, also unchanged ones."""
        return self.check or self.refresh

    @property
    def overwritten(self) -> frozenset[str]:
        """The codes that do not hinder a new lock."""
        return OVERWRITTEN_ANYWAY | {"LDO404"} if self.allow_downgrade else OVERWRITTEN_ANYWAY


@dataclass(frozen=True, slots=True, kw_only=True)
class LockOutcome:
    """The result of locking."""

    root: Path
    status: Literal["hindered", "current", "differs", "written"]
    findings: tuple[Diagnostic, ...] = ()
    """The findings that hinder a lock, or how it differs."""
    changes: tuple[Drift, ...] = ()
    """The differences that were written."""

    @property
    def is_newer(self) -> bool:
        """Whether the hindrance is that a newer llmdo wrote it."""
        return any(finding.code == "LDO404" for finding in self.findings)


def lock(request: LockRequest, tell: Tell, consent: Consent | None = None) -> LockOutcome:
    """Writes the lock, or compares it.

    Raises:
        UntrustedError: `consent` refuses an import or a start.
        LlmdoError: A toolset module cannot be imported or a server asked; or a newer llmdo wrote the lock.
    """
    root = root_folder(request.project)
    consent = consent or Consent()
    project = projects.read(root)
    require_extensions(project.workspace.problems)
    read, findings = _judged(project, request, consent)
    if hindering := _hindering(findings, request):
        return LockOutcome(root=root, status="hindered", findings=tuple(hindering))
    derivation = locking.derive_with_servers(
        read, anew=request.anew, offline=request.offline, consent=consent
    )
    for note in derivation.notes:
        tell(note)
    before = read.locked.graph
    is_downgrade = read.locked.is_newer and not request.check
    if is_downgrade and not request.allow_downgrade:
        raise LlmdoError(
            read.locked.problems[0].message, hint="use a newer llmdo; `--allow-downgrade` overwrites it"
        )
    if before == derivation.graph and not is_downgrade:
        return LockOutcome(root=root, status="current")
    if request.check:
        locked = read.locked_analysis
        stale = tuple(drifted(locked, Analysis(derivation.graph))) if locked else ()
        others = (finding for finding in findings if finding.code in request.overwritten)
        return LockOutcome(root=root, status="differs", findings=stale or tuple(others))
    changes = lockfile.drift(before, derivation.graph) if before else ()
    lockfile.write(root, derivation.graph)
    return LockOutcome(root=root, status="written", changes=tuple(changes))


def _judged(read: Project, request: LockRequest, consent: Consent) -> tuple[Project, Sequence[Diagnostic]]:
    """The workspace with its findings; if only unread modules hinder, the findings after importing them."""
    findings = checks.check(read, locked=True)
    hindering = _hindering(findings, request)
    if hindering and UNREAD.issuperset(finding.code for finding in hindering):
        read = locking.read_by_importing(read, anew=request.anew, consent=consent)
        findings = checks.check(read, locked=True)
    return read, findings


def _hindering(findings: Sequence[Diagnostic], request: LockRequest) -> list[Diagnostic]:
    return [
        finding
        for finding in findings
        if finding.severity == "error" and finding.code not in request.overwritten
    ]
