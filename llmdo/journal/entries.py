"""The entries of a journal, each one event at one place of a run, and their chain."""

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
"""The subject of an entry.

`kept`: the list of the Python files that the workspace had when the run began, by its digest. `run`: the entry that was
started, and the digests of everything that runs. `session`: a process begins to work on the run. `call`: a worker
begins. `request`: a model answered. `invalid`: a call's arguments did not fit. `decision`: the gate decided. `asked`,
`answered`: a question and its answer. `started`, `finished`: a tool's execution; with the outcome `uncalled`, that it
did not begin after all. `files`: the files given to a worker. `return`: a worker's call ended. `end`: a session ended.
`sources`: the Python files of an exported run, by path, as contents. `attempt`: a request that a model did not answer.
`imported`: the run came from a file, and which answers came with it. `sent`: a request leaves. `history`: the messages
that the run starts from, if it does not read them from the journals of earlier runs. `messages`: those of this run, of
the entry's own worker, as far as a process came. `refused`: a call was not let through, which does not count when the
run is resumed: the lock refused it, or a person ended the run. `ended`: how a call ended for its model, if no
`finished` says so. `probed`: the probe of a tool was asked about a call that did not finish.
"""


HANDED = "(attachments)"
"""The path suffix of the decision on an entry's attachments."""


CANCELLED = "cancelled"

UNCALLED = "uncalled"
"""The outcome of a started execution whose tool was not called: the run stopped in between."""

BEGUN_AGAIN = ("asks", "error", UNCALLED)
"""The outcomes after which a call may be executed again."""

PROBE = "probe"
"""The outcome of `started` if the tool offers a probe."""

NOT_KNOWN = "not known"
"""The outcome of `probed` if a person has to decide."""


RECORDED_COST = "recorded_cost_usd"
"""The cost of an answer when it was recorded, among the details of a response, if known."""


class JournalError(LlmdoError):
    """A journal cannot be opened, read or written."""


class DamagedError(JournalError):
    """A journal's content has changed."""


class StoreError(JournalError):
    """The store failed, for any run: the same may work later."""


class OtherTablesError(JournalError):
    """The store has other tables than this llmdo."""


class PutBackError(StoreError):
    """The store is older than this machine saw: open runs may have advanced since."""


class ClaimedError(JournalError):
    """Another process works on the run."""


class ReservedError(ClaimedError):
    """Other runs of the conversation hold the rest of a limit, for now."""


class NotOpenError(JournalError):
    """A run does not continue by itself: it is over, or a person has to decide."""

    def __init__(self, run: str, status: str) -> None:
        """`status` is `completed`, `failed`, `waiting`, or `unsure` if a call may have taken effect."""
        super().__init__(f"run `{run}` is {status}, so it does not go on by itself")
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One event. Its path, kind and step are unique."""

    path: str
    """The call path."""
    kind: Kind
    step: int
    """Its number among its kind at this path, from 1."""
    outcome: str = ""
    """The end, in a word that depends on the kind."""
    digest: str = ""
    """The digest of its question, call or files: another one on resuming is a divergence."""
    body: bytes = b"{}"
    """All else, as JSON; in a journal, without the secrets of the environment."""
    at: float = 0.0
    """Seconds since 1970."""
    is_redacted: bool = False
    """Whether an export took a secret out of its body."""
    spans: tuple[SecretSpan, ...] = ()
    """The places of the secrets cut out of its body."""

    @property
    def data(self) -> dict[str, Any]:
        """The body as it may be shown: variable names for secrets, and no likely tokens.

        Resuming a run needs `Journal.whole`.

        Raises:
            JournalError: `pack` makes no such body.
        """
        return self.understood(lambda body: shown(body, self.spans))

    def understood(self, read: Callable[[bytes], object]) -> dict[str, object]:
        """The object that `read` makes of the body.

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
    """The ends of the chains of the entries and of the audit."""

    entries: Link = Link()
    records: Link = Link()

    def cover(self, wanted: Heads) -> bool:
        """Whether both chains reach `wanted`."""
        return self.entries.number >= wanted.entries.number and self.records.number >= wanted.records.number


@dataclass(frozen=True, slots=True)
class ChainedRow:
    """An entry as the file has it."""

    number: int
    head: str
    """The chain's digest at it."""
    original: str | None
    """The digest of its body before an export redacted it; None if none did."""
    body_digest: str
    """The digest of its present body."""
    entry: JournalEntry


def shown_word(outcome: str) -> str:
    """How a call ended for its model, from its `finished`."""
    return "retried" if outcome == "invalid" else outcome


def pack(data: object) -> bytes:
    """`data` as the body of an entry."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def lineage(path: str) -> list[str]:
    """`path`, and all paths above it."""
    paths = []
    while path:
        paths.append(path)
        path = path.rpartition("/")[0]
    return paths
