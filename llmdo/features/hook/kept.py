"""The sessions of a project whose decisions are kept: what each was, and whether its chain holds.

Their files are in the person's state folder. Whatever is wrong with one is named; no link is followed.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.request_fields import option
from llmdo.base.values import dataclass, field, in_json, utc_text
from llmdo.features.hook.clients import NAMES
from llmdo.features.hook.session import NoSessionError, SessionFile, folder_of
from llmdo.journal.audit import record_in
from llmdo.journal.line_file import LineFile
from llmdo.render.audit import word_of
from llmdo.services.root import ROOT
from llmdo.services.sessions import MOST_IN_RECORD, KeptSession, session_audit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmdo.journal.audit import Audit
    from llmdo.reach.suggest import SessionUse
    from llmdo.services.root import Tell
    from llmdo.workspace.project import Project

_JOURNAL = ".jsonl"
MOST_NOTES = 20
MOST_AGENTS = 50
"""Agents of a session that are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsRequest:
    """Which sessions are listed."""

    root: Path = field(metadata=ROOT)
    limit: int = field(
        default=20, metadata=option("How many of the latest sessions to list; 0 for all.", least=0)
    )
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """One session in a line."""

    name: str = field(metadata=in_json("session"))
    """By which `llmdo runs audit` knows it: the client, and the id that this gave the session."""
    client: str
    began: float = field(metadata=in_json(by=utc_text))
    """When its first call was decided."""
    agents: tuple[str, ...]
    """Those that made calls, in the order of their first ones."""
    allowed: int
    asked: int
    denied: int
    chain: str
    """`holds` or `broken`."""
    is_open: bool = field(metadata=in_json("unfinished"))
    """Whether its last record is still being written."""
    faults: tuple[str, ...]
    """What is wrong with its chain, each with its line."""


def used(project: Project, paths: Sequence[str], environ: Mapping[str, str]) -> SessionUse:
    """The rights that sessions in a project used: those of the files and folders at `paths`, or all that are known.

    Raises:
        LlmdoError: No client of the project is one that llmdo hooks into, or there is nothing at a path.
    """
    from llmdo.features.hook import usage  # which what is kept does without

    return usage.used(project, paths, environ)


def kept(root: Path, environ: Mapping[str, str]) -> Sequence[KeptSession]:
    """The sessions of a project whose decisions are kept, in the order in which they began."""
    return _kept(root, environ, lambda _: None)


def listed(request: SessionsRequest, tell: Tell) -> list[SessionSummary]:
    """The sessions of a project, the last one first; tells of files that cannot be read."""
    sessions = _kept(request.root, request.environ, tell)[::-1]
    return [summary(session, session_audit(session)[1]) for session in sessions[: request.limit or None]]


def summary(session: KeptSession, audit: Audit) -> SessionSummary:
    """One session in a line, by its audit."""
    decided = [record for record in audit.records if record.get("kind") == "decided"]
    words = Counter(map(word_of, decided))
    agents = dict.fromkeys(str(record.get("worker"))[:200] for record in decided)
    return SessionSummary(
        name=session.name,
        client=session.name.partition("-")[0],
        began=session.began,
        agents=tuple(agents)[:MOST_AGENTS],
        allowed=words["allowed"],
        asked=words["asks"],
        denied=words["denied"],
        chain=audit.status,
        is_open=audit.is_open,
        faults=tuple(
            f"line {fault.line:,}: {fault.message}" if fault.line else fault.message for fault in audit.faults
        ),
    )


def _kept(root: Path, environ: Mapping[str, str], tell: Tell) -> list[KeptSession]:
    try:
        folder = folder_of(environ)
        status = os.lstat(folder)
    except OSError:
        return []
    notes: list[str] = []
    sessions = []
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        notes.append(f"`{excerpt(folder, 200)}` is no folder that only you can write to, and was not read")
    else:
        real = os.path.realpath(root)
        paths = sorted(path.name for path in Path(folder).iterdir())
        names = [name.removesuffix(_JOURNAL) for name in paths if name.endswith(_JOURNAL)]
        for name in names:
            try:
                is_here = _root_of(name, environ) == real
            except NoSessionError as error:
                notes.append(f"`{excerpt(name + _JOURNAL, 200)}` was left out: {error}")
                continue
            if is_here:
                path = f"{folder}/{name}{_JOURNAL}"
                sessions.append(KeptSession(name=name, path=path, began=_began(path)))
    _tell_of(notes, tell)
    return sorted(sessions, key=lambda session: (session.began, session.name))


def _tell_of(notes: Sequence[str], tell: Tell) -> None:
    for note in notes[:MOST_NOTES]:
        tell(note)
    if len(notes) > MOST_NOTES:
        tell(f"and {len(notes) - MOST_NOTES:,} more such files")


def _root_of(name: str, environ: Mapping[str, str]) -> str | None:
    """The project of a session, by the state beside its journal; None if that names no folder.

    Raises:
        NoSessionError: It has no state that could be read, or is none of ours.
    """
    client, _, session = name.partition("-")
    file = SessionFile(client, session, environ)
    if client not in NAMES or Path(file.path).name != f"{name}.json":
        raise NoSessionError("it is no session of a client that llmdo knows")
    root = file.read().root
    return os.path.realpath(root) if root.startswith("/") and "\0" not in root else None


def _began(path: str) -> float:
    """When the first decision of a session was made; if that cannot be read, when its file changed."""
    first = next(LineFile(path, MOST_IN_RECORD).lines(), b"")
    record = record_in(first.decode("ascii", "replace")) or {}
    with suppress(ValueError, OverflowError, OSError):
        return datetime.fromisoformat(str(record.get("time"))).astimezone(UTC).timestamp()
    with suppress(ValueError, OverflowError, OSError):
        changed = os.lstat(path).st_mtime
        return datetime.fromtimestamp(changed, UTC).timestamp()  # which not every time of a file is
    return 0
