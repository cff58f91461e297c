"""The machine and the folder in which a run wrote files: it resumes only there, unless all machines see one folder.

Only runs in a store of several machines can be resumed elsewhere. The decisions on calls tell their effects, and an
effect not known to leave files alone counts as writing.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Self

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.journal.entries import JournalError
from llmdo.policy.vocabulary import facts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.graph.resolved import Graph
    from llmdo.journal.entries import JournalEntry
    from llmdo.journal.stored import JournalStore

MACHINE_ID = Path("/etc/machine-id")


class ElsewhereError(LlmdoError):
    """The run wrote files that are not here."""


@dataclass(frozen=True, slots=True)
class MachineFolder:
    """A folder of a machine."""

    host: str
    """The machine's name, for people."""
    place: str
    """A digest of its id, its name and the folder."""

    @classmethod
    def of(cls, folder: Path) -> Self:
        """`folder` on this machine. Containers of one image share an id, and have names of their own."""
        host = socket.gethostname()
        return cls(host, digest.of_data(["llmdo", _machine_id(), host, str(folder.resolve())]))

    @property
    def data(self) -> dict[str, str]:
        """As an entry of a journal holds it."""
        return {"host": self.host, "place": self.place}


def _machine_id() -> str:
    try:
        return MACHINE_ID.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def require_here(journal: JournalStore, folder: Path, graph: Graph) -> None:
    """Checks that all files written by the run are in `folder`, as far as known.

    `graph` tells which of its servers are elsewhere anyway.

    Raises:
        ElsewhereError: Some are not; gives the reason and advice.
    """
    if not journal.is_shared:
        return
    current = MachineFolder.of(folder)
    for call, recorded in _writing(journal, graph):
        if recorded is not None and recorded.place == current.place:
            continue
        run = journal.run
        hint = f"`llmdo resume {run}` there, or `[workspace] shared = true` where all machines see one folder"
        raise ElsewhereError(
            f"run `{run}` has written files{_where(recorded, current)}, or may have: {call}", hint=hint
        )


def _where(recorded: MachineFolder | None, current: MachineFolder) -> str:
    if recorded is None:
        return " on a machine that is not on record"
    return (
        f" in another folder of `{current.host}`"
        if recorded.host == current.host
        else f" on `{recorded.host}`"
    )


def _writing(journal: JournalStore, graph: Graph) -> Iterator[tuple[str, MachineFolder | None]]:
    """Every allowed call that may have written files, in words, and its location."""
    recorded: MachineFolder | None = None
    for entry in journal.entries("session", "decision"):
        if entry.kind == "session":
            recorded = _location_in(entry)
        elif (tool := _writer(entry, graph)) is not None:
            yield f"`{tool}` at {entry.path}", recorded


def _location_in(session: JournalEntry) -> MachineFolder | None:
    """The recorded location of that process, if any."""
    match session.data.get("location"):
        case {"host": str() as host, "place": str() as place}:
            return MachineFolder(host, place)
    return None


def _writer(entry: JournalEntry, graph: Graph) -> str | None:
    """The allowed tool of that decision, if it may have written files.

    Raises:
        JournalError: It does not say.
    """
    record = entry.data
    match record:
        case {"allowed": False}:
            return None
        case {"allowed": True, "raised": list(raised), "toolset": str() as toolset, "tool": str() as tool}:
            is_remote = _is_remote(toolset, graph)
            return tool if any(_may_write(str(name), is_remote=is_remote) for name in raised) else None
    raise JournalError(f"{entry.path}: the journal does not say what was decided")


def _may_write(raised: str, *, is_remote: bool) -> bool:
    name = raised.partition(":")[0]
    if name.startswith("x."):
        return name.endswith(".any")  # nobody has declared what the tool does
    facts = facts_of(name)
    return facts is not None and (facts.writes == "here" or (facts.writes is not None and not is_remote))


def _is_remote(toolset: str, graph: Graph) -> bool:
    known = graph.toolsets.get(toolset)
    return known is not None and known.server is not None and known.server.url is not None
