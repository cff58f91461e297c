"""Recorded sessions of other tools, which an extension reads: suggestions that rest on them, and their audits."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from llmdo.base.diagnostic import LlmdoError, near_or_all
from llmdo.base.values import dataclass, replace
from llmdo.extensions.registry import features, module_with
from llmdo.journal import audit as audits
from llmdo.journal.line_file import LineFile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from llmdo.reach.suggest import SessionUse, UsedCeiling
    from llmdo.services.root import Tell
    from llmdo.workspace.project import Project

MOST_IN_RECORD = 1024 * 1024  # bytes: arguments are kept in short
MOST_RECORDS = 250_000  # more than 64 MiB have room for


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSession:
    """A session of another tool in a project, whose decisions are kept as an audit."""

    name: str
    began: float
    """In seconds since 1970; of a session that cannot be read, the last change of its file."""
    path: str


class SessionReader(Protocol):
    """The reader of sessions, as a module of an extension."""

    def used(self, project: Project, paths: Sequence[str], environ: Mapping[str, str]) -> SessionUse:
        """The rights that sessions in a project used: those at `paths`, or all that are known."""

    def kept(self, root: Path, environ: Mapping[str, str]) -> Sequence[KeptSession]:
        """The sessions of a project whose decisions are kept, in the order in which they began."""


def kept_sessions(root: Path, environ: Mapping[str, str]) -> dict[str, KeptSession]:
    """The sessions of a project whose decisions are kept, by their names, in the order in which they began."""
    stated = [each.sessions for each in features() if each.sessions]
    readers = [cast("SessionReader", import_module(name)) for name in stated]
    return {each.name: each for reader in readers for each in reader.kept(root, environ)}


def session_audit(session: KeptSession, head: str | None = None) -> tuple[tuple[str, ...], audits.Audit]:
    """The lines of a session's audit, and what they say; what cannot be read is a fault of it."""
    file = LineFile(session.path, MOST_IN_RECORD, MOST_RECORDS)
    content = [*file.lines()]
    lines = tuple(line.decode("ascii", "replace") for line in content)
    read = audits.read(lines, head, is_open=file.is_open)
    faults = [fault for fault in read.faults if not fault.is_end]
    faults += [audits.Fault(0, f"the file {fault}") for fault in file.faults]
    return lines, replace(read, is_session=True, faults=(*faults,))


def suggested(
    project: Project, name: str | None, paths: Sequence[str], tell: Tell
) -> tuple[UsedCeiling, ...]:
    """The smallest ceiling of each agent, or of the one of this name, that covers what its sessions used.

    Raises:
        LlmdoError: There is no such agent, or nothing can be read.
    """
    workers = {each.name: each for each in project.graph.workers.values() if each.format is not None}
    if name is not None and name not in workers:
        raise LlmdoError(f"there is no agent `{name}`", hint=near_or_all(name, workers, "agent"))
    stated = (each.sessions for each in features())
    reader = cast("SessionReader", module_with(stated, "what reads sessions of other tools"))
    use = reader.used(project, paths, os.environ)
    for note in use.notes:
        tell(note)
    if not use.agents:
        tell("no call of an agent of this project is recorded in these sessions, so nothing is suggested")
    from llmdo.reach.suggest import suggest_used  # which what is kept does without

    return tuple(
        suggest_used(project.analysis, workers[agent], use.agents[agent], use.sessions)
        for agent in sorted(use.agents)
        if name in (None, agent)
    )
