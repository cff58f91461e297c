"""The messages that a run starts from: in its own journal, or in those of the runs that it goes on from."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, cast

from pydantic_ai.messages import ModelRequest, ModelResponse

from llmdo.journal import SUFFIX, JournalError, Runs, read_journal
from llmdo.journal.conversation import goes_on_from, messages_at
from llmdo.runtime.recording.encoding import Decoding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic_ai.messages import ModelMessage

    from llmdo.journal.conversation import Earlier
    from llmdo.journal.entries import JournalEntry
    from llmdo.journal.ports import JournalStore
    from llmdo.journal.secrets import Known

Messages = tuple["ModelMessage", ...]


def history_of(journal: JournalStore, known: Known) -> Messages:
    """The messages that the run of `journal` starts from; `known` are the secrets that may stand in them.

    Raises:
        LlmdoError: The journal of a run that it goes on from is missing or was changed.
    """
    parts: list[Messages] = []
    with ExitStack() as opened:
        while True:
            own = next(journal.entries("history"), None)
            if own is not None:
                parts.append(_said(journal, own, known))
                break
            end = goes_on_from(journal)
            if end is None:
                break
            journal = opened.enter_context(_before(journal, end))
            parts.append(_said(journal, messages_at(journal, end), known))
    return tuple(message for part in reversed(parts) for message in part)


def require_messages(messages: Iterable[object]) -> tuple[ModelMessage, ...]:
    """`messages`, where they are messages of pydantic-ai.

    Raises:
        TypeError: They are something else.
    """
    given = tuple(messages)
    if odd := next(
        (message for message in given if not isinstance(message, ModelRequest | ModelResponse)), None
    ):
        raise TypeError(
            f"`message_history` holds pydantic-ai's messages, such as `outcome.messages`, and no {type(odd).__name__}"
        )
    return cast("tuple[ModelMessage, ...]", given)


def new_messages(journal: JournalStore, known: Known) -> Messages:
    """The messages that came in the run of `journal`."""
    last = journal.last("messages")
    return () if last is None else _said(journal, last, known)


def _before(journal: JournalStore, end: Earlier) -> JournalStore:
    """The journal of the run that the run of `journal` goes on from: it lies beside it."""
    Runs(journal.path.parent).path(end.run)  # a journal may come from anybody
    path = journal.path.with_name(f"{end.run}{SUFFIX}")
    if not path.exists():
        raise JournalError(
            f"run `{journal.run}` goes on from run `{end.run}`, whose journal is not here any more",
            hint="it was pruned or not brought along: `llmdo runs export` writes a run with what it goes on from",
        )
    return read_journal(path, whole=True)


def _said(journal: JournalStore, entry: JournalEntry, known: Known) -> Messages:
    """The messages in an entry, with the secrets that were cut out of them.

    Raises:
        LlmdoError: An export took them out, or a variable has not the value any more that stood in them.
    """
    if entry.is_redacted:
        raise JournalError(
            f"nothing goes on from run `{journal.run}`: its messages held a secret, which an export took out"
        )
    secrets = journal.know(known)
    messages = Decoding(journal.content).messages(journal.whole(entry))
    if variable := secrets.lacks(messages):
        raise secrets.missing(variable)
    return messages
