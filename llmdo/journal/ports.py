"""The index of the runs of a workspace, as all but the stores see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from llmdo.journal.stored import JournalStore


Taker = Literal["person", "worker"]
"""Whose word it is that a run goes on: somebody's who named it, or nobody's, as its turn has come.

A worker takes no run that is over, or of which a person has to decide how it goes on.
"""


class RunIndex(Protocol):
    """The runs of one workspace that have a journal."""

    @property
    def title(self) -> str:
        """Where they are, in words for messages."""
        ...

    @property
    def folder(self) -> Path:
        """Where the journals are, and what belongs to several of them."""
        ...

    def path(self, run: str) -> Path:
        """The journal of the run of that id.

        Raises:
            LlmdoError: It is not an id.
        """
        ...

    def sources(self, run: str) -> Path:
        """The folder of the sources that the run of that id brought, where it brought some."""
        ...

    def names(self) -> list[str]:
        """The ids of the runs in the order in which they came into the folder, whatever the clock said then."""
        ...

    def has(self, run: str) -> bool:
        """Whether the run of that id has a journal."""
        ...

    def unbegun(self) -> list[str]:
        """The journals that hold no run: the process that made each was killed before it began."""
        ...

    def note(self, run: str) -> None:
        """Puts the run of that id at the end of the runs."""
        ...

    def find(self, reference: str) -> str:
        """The id that `reference` is, ends with or begins, where only one does; `last` is the last run that began.

        Raises:
            LlmdoError: None is, or several are.
        """
        ...

    def prepare(self) -> Path:
        """The folder of the journals, which is there and can be written.

        Raises:
            JournalError: It cannot be made, or is reached through a link.
        """
        ...

    def create(self, run: str) -> JournalStore:
        """A new journal for the run of that id.

        Raises:
            JournalError: It cannot be made.
        """
        ...

    def adopt(self, run: str, file: Path) -> None:
        """Has the exported run in `file` be the run of that id, the last of the runs; the file may be gone then.

        Raises:
            JournalError: It cannot be kept, or there is such a run.
        """
        ...

    def open(self, run: str) -> JournalStore:
        """The journal of that run, to read and to add to."""
        ...

    def read(self, run: str, *, whole: bool = False) -> JournalStore:
        """The journal of that run, to read; `whole` holds all of it against its chains first."""
        ...

    def each(self) -> Iterator[JournalStore]:
        """The journals of all runs, one after the other, each open until the next one is asked for."""
        ...

    def claim(self, run: str, by: Taker = "person") -> AbstractContextManager[object]:
        """The right to work on that run, for as long as the block runs.

        Raises:
            ClaimedError: Another process has it.
            NotOpenError: A worker asks, and the run is over or waits for a person.
        """
        ...

    def is_claimed(self, run: str) -> bool:
        """Whether a process works on that run."""
        ...

    def remove(self, run: str) -> None:
        """Removes the journal of that run and what belongs to it.

        Raises:
            JournalError: A process works on it, or it cannot be removed.
        """
        ...

    def remove_all(self, runs: Iterable[str]) -> None:
        """Removes the same of several, and what processes left that were killed as they made a journal.

        Raises:
            JournalError: A process works on one, or something cannot be removed.
        """
        ...

    def discard(self, run: str) -> None:
        """Removes the same for the process that works on that run.

        Raises:
            JournalError: It cannot be removed.
        """
        ...
