"""The messages that a run starts from: in its own journal, or those of the runs that it continues."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, cast

from pydantic_ai.messages import ModelRequest, ModelResponse

from llmdo.base.values import dataclass
from llmdo.journal import JournalError
from llmdo.journal.conversation import goes_on_from, messages_at
from llmdo.journal.summary import ending
from llmdo.runtime.recording.encoding import Decoding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic_ai.messages import ModelMessage

    from llmdo.journal.conversation import Earlier
    from llmdo.journal.entries import JournalEntry
    from llmdo.journal.secrets import Known
    from llmdo.journal.stored import JournalStore

Messages = tuple["ModelMessage", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The input, output and messages of one run that another continues."""

    end: Earlier
    input: str
    output: str | None
    messages: Messages


def history_of(journal: JournalStore, known: Known) -> Messages:
    """The messages that the run of `journal` starts from; `known` are the secrets that may occur in them.

    Raises:
        LlmdoError: The journal of a run that it continues is missing or was changed.
    """
    with ExitStack() as opened:
        first, turns = _back(journal, known, opened)
    return (*first, *(message for turn in turns for message in turn.messages))


def earlier_turns(journal: JournalStore, end: Earlier, known: Known) -> tuple[Messages, tuple[Turn, ...]]:
    """The first messages of the conversation of the run of `journal`, and its turns up to the `end` of that run.

    Raises:
        LlmdoError: As `history_of`.
    """
    with ExitStack() as opened:
        first, turns = _back(journal, known, opened)
        return first, (*turns, _turn(journal, end, known))


def _back(journal: JournalStore, known: Known, opened: ExitStack) -> tuple[Messages, tuple[Turn, ...]]:
    """The first messages of a conversation, and the turns before the run of `journal`."""
    turns: list[Turn] = []
    while (own := next(journal.entries("history"), None)) is None:
        end = goes_on_from(journal)
        if end is None:
            return (), tuple(reversed(turns))
        journal = opened.enter_context(_before(journal, end))
        turns.append(_turn(journal, end, known))
    return _messages_in(journal, own, known), tuple(reversed(turns))


def _turn(journal: JournalStore, end: Earlier, known: Known) -> Turn:
    messages = _messages_in(journal, messages_at(journal, end), known)
    first, last = next(journal.entries("run")), ending(journal)
    output = last.data.get("output") if last is not None else None
    return Turn(end=end, input=str(first.data["input"]), output=output, messages=messages)


def require_messages(messages: Iterable[object]) -> tuple[ModelMessage, ...]:
    """`messages`, if they are messages of pydantic-ai.

    Raises:
        TypeError: They are something else.
    """
    checked = tuple(messages)
    if odd := next(
        (message for message in checked if not isinstance(message, ModelRequest | ModelResponse)), None
    ):
        raise TypeError(
            f"`message_history` holds pydantic-ai's messages, such as `outcome.messages`, and no {type(odd).__name__}"
        )
    return cast("tuple[ModelMessage, ...]", checked)


def new_messages(journal: JournalStore, known: Known) -> Messages:
    """The messages that came in the run of `journal`."""
    last = journal.last("messages")
    return () if last is None else _messages_in(journal, last, known)


def _before(journal: JournalStore, end: Earlier) -> JournalStore:
    """The journal, in the same folder, of the run continued by that of `journal`."""
    before = journal.sibling(end.run)
    if before is None:
        raise JournalError(
            f"run `{journal.run}` goes on from run `{end.run}`, whose journal is not here any more",
            hint="it was pruned or not brought along: `llmdo runs export` writes a run with what it goes on from",
        )
    return before


def _messages_in(journal: JournalStore, entry: JournalEntry, known: Known) -> Messages:
    """The messages in an entry, with the secrets that were cut out of them.

    Raises:
        LlmdoError: An export took secrets out, or a variable no longer has the value that they held.
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
