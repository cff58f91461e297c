"""The progress of a batch on a terminal: a bar with the done, failed, waiting and unsure items, and the cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from llmdo.features.batch.rendering import states, used

if TYPE_CHECKING:
    from types import TracebackType

    from llmdo.journal.batches import BatchStore


class BatchBar:
    """A progress bar of a batch."""

    def __init__(self, stream: TextIO, store: BatchStore) -> None:
        """The bar, visible once entered."""
        self._store = store
        self._progress = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
            console=Console(file=stream, markup=False, highlight=False, emoji=False),
            transient=True,
        )
        self._task = self._progress.add_task("", total=1)

    def __enter__(self) -> Self:
        self.refresh()
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def refresh(self) -> None:
        """Redraws the bar."""
        counts = self._store.counts()
        left = counts.get("queued", 0) + counts.get("running", 0)
        total = sum(counts.values())
        over = {state: number for state, number in counts.items() if state not in ("queued", "running")}
        self._progress.update(
            self._task,
            total=total,
            completed=total - left,
            description=f"{states(over)}; {used(self._store.spent())}",
        )
