"""What the rest of llmdo asks of a store of batches: the ports that files and a database stand behind.

An item's run and its journal say how far it came; a batch says which items there are, who took which, and what became
of them. So nothing that a batch loses is done twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from llmdo.journal.naming import Named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import Any, Self

    from llmdo.journal.items import Batch, BatchItem, BatchUsage, InputFile, NewItem, Result, Retry, State

BATCHES = Named("batch", "batches", "`llmdo batch list` lists them", "there is none in this workspace")


class BatchStore(Protocol):
    """The items of one batch. Several processes may work on it, on several machines where the store allows."""

    @property
    def batch(self) -> Batch:
        """The batch as a whole."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def close(self) -> None:
        """Closes it."""
        ...

    def items(self, *states: State) -> Iterator[BatchItem]:
        """The items in these states, or all, in their order."""
        ...

    def counts(self) -> dict[State, int]:
        """How many items there are in each state that has some."""
        ...

    def spent(self) -> BatchUsage:
        """What all runs of its items used, as far as they ended."""
        ...

    def take(self, run: str | None = None) -> BatchItem | None:
        """The next item that is queued, which is running from now on; None where there is none.

        With `run`, the item of the run of that id, where that one is queued.
        """
        ...

    def end(self, item: BatchItem, result: Result) -> BatchItem | None:
        """An item that this process took, with what became of it; None where somebody else has taken or ended it.

        What its run had used by then stays, where this result does not say. One that is queued again keeps what a
        person decided: its run only stopped on the way.
        """
        ...

    def queue(self, items: Iterable[BatchItem], retry: Retry = "") -> int:
        """Has items be taken once more, unless their state changed meanwhile; how many."""
        ...

    def note_begun(self, item: BatchItem, *, has_begun: bool = True) -> bool:
        """Keeps whether the run of an item that this process took may have begun; whether it still has the item.

        Kept before the first entry of the run is: so that no journal is never taken for a run that did not begin.
        """
        ...

    def begin_anew(self, item: BatchItem) -> BatchItem | None:
        """An item that this process took, with a run of its own in the place of the one that it had.

        None where somebody else has taken it since. What the earlier run used stays on the account of the batch.
        """
        ...

    def cancel(self) -> int:
        """Takes what is queued or waits out of the batch; how many items that were."""
        ...

    def rebind(self, lock: str) -> None:
        """Has what has not begun run with another lock."""
        ...

    def keep(self, settings: Mapping[str, Any]) -> None:
        """Has its items run with these settings from now on."""
        ...

    def path_of(self, file: InputFile) -> Path:
        """Where the content of a file is kept on this machine, under its name, which says of what kind it is.

        Raises:
            LlmdoError: It cannot be brought there.
        """
        ...


class Batches(Protocol):
    """The batches of one workspace."""

    def names(self) -> list[str]:
        """The ids of all, in the order in which they were put in."""
        ...

    def find(self, reference: str) -> str:
        """The id that `reference` is, ends with or begins, where only one does; `last` is the latest.

        Raises:
            LlmdoError: None is, or several are.
        """
        ...

    def of_run(self, run: str) -> str | None:
        """The batch that has an item with the run of that id; None where none has."""
        ...

    def open_runs(self) -> frozenset[str]:
        """The runs that items rest on which are not over, of all batches; that the others are is on disk.

        Raises:
            LlmdoError: A batch cannot be read, so that nobody knows.
        """
        ...

    def unfinished(self) -> list[str]:
        """The batches with items that are queued or at work, in the order in which they were put in."""
        ...

    def create(self, batch: Batch, items: Iterable[NewItem], new_run: Callable[[], str]) -> BatchStore:
        """The batch with all these items, or none at all; `new_run` gives an id that no run has.

        Raises:
            LlmdoError: It cannot be written, or an item cannot be put in.
        """
        ...

    def remove(self, batch: str) -> bool:
        """Removes the batch of that id, where none of its items is open; whether it did.

        Raises:
            LlmdoError: It cannot be removed.
        """
        ...

    def sweep(self) -> None:
        """Removes what processes left a day ago or earlier that were killed as they put a batch in."""
        ...

    def open(self, batch: str) -> BatchStore:
        """The batch of that id.

        Raises:
            LlmdoError: It cannot be read.
        """
        ...
