"""The decisions on an item that only a person can make: calls that may have taken effect, and stuck runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.entries import UNCALLED
from llmdo.journal.items import BEHIND, GO_ON_BEHIND, Result
from llmdo.journal.summary import failed
from llmdo.journal.unsettled import in_words, probing, unsettled
from llmdo.services.basis import DriftError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.journal.items import BatchItem
    from llmdo.journal.location import ElsewhereError
    from llmdo.journal.stored import JournalStore

SHOWN = 5  # calls in a message

UNBOUND = "what would run is not what the batch was put in with"
REBIND = "go back to what it was, or `--rebind` runs what has not begun with what is there now"


class StuckRunError(LlmdoError):
    """A run that has begun cannot go on."""

    def __init__(self, why: LlmdoError, effects: tuple[str, ...] | None) -> None:
        """`effects` are the calls that have taken effect in it; None if its journal cannot say."""
        super().__init__(why.message, hint=why.hint)
        self.result = Result(
            state="refused" if isinstance(why, DriftError) else "failed", error=why.message, hint=why.hint
        )
        """The result of its item if no decision follows."""
        self.effects = ("it is not known which calls",) if effects is None else effects


def effects_of(journal: JournalStore) -> tuple[str, ...]:
    """The calls of a run that may have taken effect: all that were started and are not safe to run twice."""
    uncalled = {
        (entry.path, entry.step) for entry in journal.entries("finished") if entry.outcome == UNCALLED
    }
    started = journal.entries("started")
    return tuple({entry.path: None for entry in started if (entry.path, entry.step) not in uncalled})


def asked_before(stuck: StuckRunError, run: str) -> Result:
    """The result of an item before `run` is started in place of a stuck run that had effects."""
    return Result(
        state="unsure",
        error=f"its run cannot go on: {stuck.message}; it has taken effect by {_listed(stuck.effects)}, and a run "
        "in its place may do that again",
        hint=f"look, then `llmdo batch retry BATCH --unsure again` begins run `{run}`, or `--unsure give-up` leaves it",
    )


def elsewhere(error: ElsewhereError) -> Result:
    """The result of an item whose run has written files on another machine."""
    hint = "`llmdo batch retry BATCH --unsure again` there, or say that all machines see one folder"
    return Result(state="unsure", error=error.message, hint=f"{hint}: `[workspace] shared = true`")


def unsettled_result(item: BatchItem, journal: JournalStore, *, were_asked: bool = False) -> Result | None:
    """The result of an item with undecided calls that may have taken effect.

    None as long as probes can settle them: `were_asked` says that these were asked just now.
    """
    if item.retry != "again" and (item.is_behind or journal.last("imported") is not None):
        return _earlier(journal, is_behind=item.is_behind, is_given_up=item.retry == "give-up")
    if item.retry in ("again", "give-up") and not were_asked:
        return None
    look = "look, then `llmdo batch retry BATCH --unsure again`, or `--unsure give-up`"
    asks_again = bool(item.retry) and not were_asked
    if calls := unsettled(journal, asks_again=asks_again):
        listed = _listed(in_words(journal, calls))
        return Result(
            state="unsure",
            error=f"{listed}: started and not finished when the run stopped, so it may have taken effect",
            hint=look,
        )
    started = {(entry.path, entry.step) for entry in journal.entries("started")}
    ended = {entry.path: entry.step for entry in journal.entries("finished")}
    crashed = {path: tool for path, tool in failed(journal).items() if (path, ended[path]) in started}
    for path in probing(journal, asks_again=asks_again):
        crashed.pop(path, None)
    if not crashed or not item.retry:
        return None
    listed = _listed(in_words(journal, crashed))
    return Result(
        state="unsure",
        error=f"{listed}: ended the run with an error, and may have taken effect before that",
        hint=look,
    )


def _earlier(journal: JournalStore, *, is_behind: bool, is_given_up: bool) -> Result:
    """The result of an item whose journal may be an earlier state: the run may have gone on from there."""
    from_file = (
        f"run `{journal.run}` came from a file, and what it did after that file was written is not in it"
    )
    return Result(
        state="failed" if is_given_up else "unsure",
        error=BEHIND if is_behind else from_file,
        hint=None if is_given_up else GO_ON_BEHIND,
    )


def _listed(texts: Iterable[str]) -> str:
    first = list(texts)
    more = f" and {len(first) - SHOWN} more" if len(first) > SHOWN else ""
    return ", ".join(first[:SHOWN]) + more
