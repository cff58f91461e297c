"""The entries of a journal, each one thing that happened at one place of a run, and their places in its chain."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.journal.audit import Link
from llmdo.journal.spans import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmdo.journal.spans import SecretSpan

Kind = Literal[
    "run", "session", "call", "request", "invalid", "decision", "asked", "answered", "started", "finished", "files",
    "return", "end", "sources", "attempt", "imported", "sent", "kept", "history", "messages", "refused", "ended",
    "probed",
]  # fmt: skip
"""What an entry is about.

`kept`: the list of the Python files that the workspace had when the run began, by its digest. `run`: what was
started, and the digests of everything that runs. `session`: a process begins to
work on the run. `call`: a worker begins. `request`: a model answered. `invalid`: a call's arguments did not fit.
`decision`: the gate decided. `asked`, `answered`: a question and its answer. `started`, `finished`: a tool's
execution; with the outcome `uncalled`, that it did not begin after all. `files`: what a worker was handed. `return`: a
worker's call ended. `end`: a session ended. `sources`: the Python files that an exported run brings, by path, as
contents. `attempt`: a request that a model did not answer. `imported`: the run came from a file, and which answers
came with it. `sent`: a request leaves. `history`: the messages that the run starts from, where it does not read them
from the journals of earlier runs. `messages`: those that came in this run, of the entry's own worker, as far
as a process came. `refused`: a call was not let through, which counts for nobody who goes on with the run: the lock
refused it, or a person ended the run. `ended`: how a call ended for its model, where no `finished` says so.
`probed`: the probe of a tool was asked about a call that did not finish.
"""


HANDED = "(attachments)"
"""What the path of the decision on the attachments of an entry ends with."""


CANCELLED = "cancelled"
"""The outcome of a run that somebody called off."""

UNCALLED = "uncalled"
"""The outcome of an execution that was kept as started, and whose tool was not called: the run stopped in between."""

BEGUN_AGAIN = ("asks", "error", UNCALLED)
"""The outcomes of executions after which the same call may be executed once more."""

PROBE = "probe"
"""The outcome of a `started` entry whose tool offers a probe."""

NOT_KNOWN = "not known"
"""The outcome of a `probed` entry where the probe had no answer: a person decides."""


RECORDED_COST = "recorded_cost_usd"
"""What an answer had cost that a recording gave, among the details of a response; None where nobody knew."""


class JournalError(LlmdoError):
    """A journal cannot be opened, read or written."""


class DamagedError(JournalError):
    """What a journal holds is not what was written."""


class StoreError(JournalError):
    """The store failed, whatever run it was about: the same may work later."""


class OtherTablesError(JournalError):
    """The store has other tables than this llmdo reads and writes."""


class PutBackError(StoreError):
    """The store is an earlier one than this machine saw: what is open in it may have gone on since."""


class ClaimedError(JournalError):
    """Another process works on the run."""


class ReservedError(ClaimedError):
    """Other runs of the conversation hold all that is left of a limit, and may give some of it back."""


class NotOpenError(JournalError):
    """A run does not go on by itself: it is over, or a person has to decide how it does."""

    def __init__(self, run: str, status: str) -> None:
        """`status` is `completed`, `failed`, `waiting`, or `unsure` where a call may have taken effect."""
        super().__init__(f"run `{run}` is {status}, so it does not go on by itself")
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One thing that happened. No two have the same path, kind and step."""

    path: str
    """The call path."""
    kind: Kind
    step: int
    """Which one of its kind at this path, from 1."""
    outcome: str = ""
    """How it ended, in a word; what the words are depends on the kind."""
    digest: str = ""
    """Of what was asked, called or handed over: going on with another one is a divergence."""
    body: bytes = b"{}"
    """All else, as JSON; in a journal without the secrets of the environment."""
    at: float = 0.0
    """Seconds since 1970."""
    is_redacted: bool = False
    """Whether an export took a secret out of its body."""
    spans: tuple[SecretSpan, ...] = ()
    """Where secrets of the environment were cut out of its body."""

    @property
    def data(self) -> dict[str, Any]:
        """The body as it may be shown: the name of its variable for a secret, and nothing that looks like a token.

        What goes on with a run needs `Journal.whole`.

        Raises:
            JournalError: It is not what `pack` makes.
        """
        return self.understood(lambda body: shown(body, self.spans))

    def understood(self, read: Callable[[bytes], object]) -> dict[str, object]:
        """What `read` makes of the body.

        Raises:
            JournalError: It cannot, or it is no object.
        """
        try:
            data = read(self.body)
        except (ValueError, RecursionError) as error:
            raise DamagedError(f"{self.path}: the entry `{self.kind}` is damaged: {error}") from error
        if not isinstance(data, dict):
            raise DamagedError(f"{self.path}: the entry `{self.kind}` is damaged")
        return data


@dataclass(frozen=True, slots=True)
class Heads:
    """Where the two chains of a journal are: that of its entries, and that of its audit."""

    entries: Link = Link()
    records: Link = Link()

    def cover(self, wanted: Heads) -> bool:
        """Whether both chains go as far as those of `wanted`."""
        return self.entries.number >= wanted.entries.number and self.records.number >= wanted.records.number


@dataclass(frozen=True, slots=True)
class ChainedRow:
    """An entry as the file has it."""

    number: int
    head: str
    """What the chain is at it."""
    original: str | None
    """The digest of its body before an export took a secret out of it; None where none did."""
    body_digest: str
    """That of the body that it has."""
    entry: JournalEntry


def shown_word(outcome: str) -> str:
    """How a call ended for its model, of the outcome of its `finished`."""
    return "retried" if outcome == "invalid" else outcome


def pack(data: object) -> bytes:
    """`data` as the body of an entry."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def lineage(path: str) -> list[str]:
    """`path`, and all that it is below."""
    paths = []
    while path:
        paths.append(path)
        path = path.rpartition("/")[0]
    return paths
