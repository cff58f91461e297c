"""What the rest of llmdo asks of a journal and of the index of the runs: the ports that a store stands behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import Any, Self

    from llmdo.journal.audit import Link
    from llmdo.journal.chain import ChainedRow, Heads
    from llmdo.journal.entries import JournalEntry, Kind
    from llmdo.journal.secrets import Known, Secrets
    from llmdo.journal.shares import ConversationShares

Result = TypeVar("Result")

Hold = Literal["written", "forced", "anchored"]
"""How well entries are kept: they outlive the process; the machine as well; and their loss would be noticed."""

Taker = Literal["person", "worker"]
"""Whose word it is that a run goes on: somebody's who named it, or nobody's, as its turn has come.

A worker takes no run that is over, or of which a person has to decide how it goes on.
"""


class Pace(Protocol):
    """How often something is done by all processes of a store together."""

    def turn(self, key: str, interval: float) -> float:
        """The seconds until the next turn of `key`, which the caller has; the one after it is `interval` seconds later.

        Raises:
            JournalError: The store cannot be asked.
        """
        ...


class JournalStore(Protocol):
    """The entries of one run and its audit. Nothing in it is ever changed; what is added waits for `commit`."""

    path: Path
    """Where it is; what else belongs to its run is beside it."""
    written: Heads
    """What other processes see, whether it is forced to disk or not."""
    head: Link | None
    """The last record of the audit that is on disk; None where no record was added to it."""
    index: RunIndex | None
    """The runs that this one is among; None of a file alone."""

    @property
    def run(self) -> str:
        """The run's id."""
        ...

    @property
    def title(self) -> str:
        """Its name in messages."""
        ...

    @property
    def secrets(self) -> Secrets:
        """The secrets of the run, as far as the process knows any."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether processes of other machines may go on with the run."""
        ...

    @property
    def pace(self) -> Pace | None:
        """The turns that all processes of the store take; None where each process limits itself."""
        ...

    def know(self, known: Known) -> Secrets:
        """Cuts the secrets in `known` out of what is kept from here on, and puts them back into what was kept."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def close(self) -> None:
        """Closes it; what was not committed is lost."""
        ...

    def add(self, entry: JournalEntry, contents: Mapping[str, bytes] | None = None) -> JournalEntry:
        """Keeps `entry` for the next commit, with the binary contents that its body names as `name_of` does.

        Raises:
            JournalError: It is too large.
        """
        ...

    def keep(self, content: bytes) -> None:
        """Keeps content for the next commit that entries name as `name_of` does."""
        ...

    def name_of(self, content: bytes) -> str:
        """The digest under which content is kept: of what is left of it without secrets."""
        ...

    def chain(self, record: Mapping[str, object]) -> None:
        """Adds `record` to the audit with the next commit, bound to the entries that were added before it.

        Raises:
            JournalError: The audit that is there does not hold.
        """
        ...

    @property
    def entry_link(self) -> Link:
        """The last entry, whether committed or not."""
        ...

    @property
    def link(self) -> Link:
        """The last record of the audit, whether committed or not."""
        ...

    @property
    def has_uncommitted(self) -> bool:
        """Whether something was added since the last commit."""
        ...

    def commit(self, hold: Hold = "anchored") -> None:
        """Returns when all that was added is on disk and is kept so well.

        Raises:
            JournalError: It cannot be written; nothing of it is, and what was there before still is.
        """
        ...

    def needs_force(self, wanted: Heads, hold: Hold) -> bool:
        """Whether `wanted`, which was written, is not kept so well yet."""
        ...

    def force(self, hold: Hold) -> None:
        """Returns when all that was written is kept so well. Another thread may do it while this one writes.

        Raises:
            JournalError: It cannot be forced to disk.
        """
        ...

    def get(self, path: str, kind: Kind, step: int = 1) -> JournalEntry | None:
        """The entry at this place, whether committed or not.

        Raises:
            JournalError: An export took a secret out of it, so that nothing can go on from it.
        """
        ...

    def whole(self, entry: JournalEntry) -> dict[str, Any]:
        """The body of `entry` with the secrets that were cut out of it, for what goes on with the run."""
        ...

    def for_output(self, entry: JournalEntry) -> dict[str, object]:
        """The same for what is shown to somebody.

        Raises:
            LlmdoError: There was a secret in it that its variable has not any more.
        """
        ...

    def entries(
        self, *kinds: Kind, below: str | None = None, at: str | None = None
    ) -> Iterator[JournalEntry]:
        """The committed entries in the order in which they were added: of these kinds, below a path, at it, or all."""
        ...

    def after(self, number: int, *kinds: Kind) -> Iterator[ChainedRow]:
        """The committed entries of these kinds, or all, that were added after the one of that number."""
        ...

    def rows(self) -> Iterator[ChainedRow]:
        """All committed entries, with their places in the chain."""
        ...

    def last(self, kind: Kind) -> JournalEntry | None:
        """The last committed entry of that kind."""
        ...

    def count(self, path: str, kind: Kind) -> int:
        """How many committed entries of that kind there are at that path."""
        ...

    def counted(self) -> dict[str, int]:
        """How many committed entries there are of each kind."""
        ...

    def content(self, digest: str) -> bytes:
        """The binary content with that digest, whether committed or not.

        Raises:
            JournalError: It is not there, is not what it was, or an export took it out.
        """
        ...

    def lines(self) -> Iterator[str]:
        """The committed lines of the audit."""
        ...

    def redacted(self) -> int:
        """How many entries and contents an export took a secret out of."""
        ...

    def faults(self) -> Iterator[str]:
        """What shows that the entries are not those that were added: a sentence each. Looks at all of them."""
        ...

    def require_whole(self) -> None:
        """Nothing, where all of it is what was written.

        Raises:
            JournalError: It is not.
        """
        ...

    def beside(self, run: str) -> JournalStore | None:
        """The journal of another run, to read, where this one is; None where it is not there.

        Raises:
            LlmdoError: It is not the id of a run, or its journal is damaged.
        """
        ...

    def copy_to(
        self,
        path: Path,
        added: Sequence[JournalEntry] = (),
        contents: Mapping[str, bytes] | None = None,
        *,
        without_secrets: Callable[[bytes], bytes] = bytes,
    ) -> None:
        """Writes a copy of what is committed to the new file `path`, an exported run, with the entries `added`.

        What `without_secrets` changes in a body is changed in the copy, which says so; a content that it changes is
        not in the copy. Nothing is known of a secret there, so none is ever put back.

        Raises:
            JournalError: The journal is damaged, or the copy cannot be written.
        """
        ...


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

    def sharing(self, conversation: str, work: Callable[[ConversationShares], Result]) -> Result:
        """The result of `work`, during which no other process has the shares of that conversation.

        All that it keeps is kept, or nothing where it raises. It is done again where the connection to the store broke.

        Raises:
            JournalError: They cannot be read or written.
        """
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
