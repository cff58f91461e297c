"""The limits of a conversation, shared by its runs: a run reserves its use before it asks anything.

An ended run counts with the use in its journal, and so does one whose process died. One that a process works on counts
with all of its reservation, as it may still use that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass, field, replace
from llmdo.journal.conversation import goes_on_from
from llmdo.journal.entries import CANCELLED, JournalError, ReservedError
from llmdo.journal.shares import Counted, Share
from llmdo.journal.spent import spent
from llmdo.journal.summary import summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from llmdo.journal.conversation import Earlier
    from llmdo.journal.shares import Amounts, ConversationShares
    from llmdo.journal.stored import JournalStore, Result, RunIndex

NAMES = ("requests", "tool_calls", "input_tokens", "output_tokens", "total_tokens", "cost_usd", "seconds")
"""The counted amounts, by the names of the limits."""

_DIGITS = 9  # beyond them, what is left is an error of binary fractions

_NOTHING: Amounts = dict.fromkeys(NAMES, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """The use and the reservations of a conversation, as one run finds them."""

    used: Amounts = field(default_factory=lambda: _NOTHING)
    """Used by all other runs of the conversation."""
    own: Amounts = field(default_factory=lambda: _NOTHING)
    """Used by earlier processes of the run itself."""
    held: Mapping[str, Amounts] = field(default_factory=dict)
    """Reserved and unused by other runs in progress, by their ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allotment:
    """The share of a run, and the use of its conversation by then."""

    share: Amounts
    """The most of each limit for the run and its earlier processes."""
    spent: Amounts
    """Used by the runs of the conversation so far."""


def shared_out(
    limits: Amounts, wanted: Mapping[str, float | None], claims: Claims, *, is_new: bool
) -> Amounts:
    """The share of a run: the wanted part of each limit, at most the free part. None wants all of it.

    Raises:
        ReservedError: Other runs hold the rest of a limit.
        LlmdoError: A limit is reached, and the run `is_new`; a resumed one may be about to end.
    """
    share: dict[str, float] = {}
    for name, most in limits.items():
        left = round(most - claims.used.get(name, 0), _DIGITS)
        holders = {run: amounts[name] for run, amounts in claims.held.items() if amounts.get(name, 0) > 0}
        free = round(left - sum(holders.values()), _DIGITS)
        key, own, want = name.replace("_", "-"), claims.own.get(name, 0), wanted.get(name)
        if left <= 0 and is_new and name != "tool_calls":  # a run without them may still answer
            raise LlmdoError(
                f"the conversation's limit `{key} = {most:g}` is reached",
                hint=f"begin another one, or raise `{key}` in the entry's `conversation-limits`",
            )
        if free <= own < left:
            raise ReservedError(
                f"{_named(holders)} reserved all that is left of the conversation's limit `{key} = {most:g}`",
                hint=f"wait until that is over; `{key}` in the entry's `limits` leaves the rest to others",
            )
        granted = max(0, free if want is None else min(free, want))
        share[name] = int(granted) if isinstance(most, int) else granted
    return share


def _named(runs: Iterable[str]) -> str:
    *others, last = [f"`{run}`" for run in runs]
    return f"runs {', '.join(others)} and {last} have" if others else f"run {last} has"


def allot(
    journal: JournalStore,
    entry: str,
    earlier: Earlier | None,
    limits: Amounts,
    wanted: Mapping[str, float | None],
) -> Allotment:
    """The share of a run of `entry`, reserved if other runs may share the limits.

    `earlier` is the end of the run that it continues, `wanted` its own limits, None for those it lacks.

    Raises:
        ReservedError: As of `shared_out`.
        LlmdoError: As there, or a journal cannot be read.
    """
    index, is_new = journal.index, journal.last("run") is None
    if index is None or (earlier is None and is_new):
        before = _NOTHING if earlier is None else earlier.spent
        return Allotment(share=shared_out(limits, wanted, Claims(used=before), is_new=is_new), spent=before)
    first = journal.run if earlier is None else earlier.first

    def reserve(shares: ConversationShares) -> Allotment:
        _take_in(index, shares, entry)
        claims = _claims(index, shares, journal)
        share = shared_out(limits, wanted, claims, is_new=is_new)
        shares.put(Share(run=journal.run, conversation=first, reserved=share))
        return Allotment(share=share, spent=_sum(claims.used, claims.own))

    return index.sharing(first, reserve)


def _take_in(index: RunIndex, shares: ConversationShares, entry: str) -> None:
    """Keep the conversation of each run of `entry` that has no share yet."""
    for run in shares.lacking(entry):
        if (conversation := _read(index, run, _conversation)) is not None:
            shares.put(Share(run=run, conversation=conversation))


def _read(index: RunIndex, run: str, look: Callable[[JournalStore], Result]) -> Result | None:
    """The result of `look` on that journal; None if it is removed meanwhile.

    Raises:
        JournalError: Cannot be read.
    """
    try:
        with index.read(run) as journal:
            return look(journal)
    except JournalError:
        if index.has(run):
            raise
        return None


def _conversation(journal: JournalStore) -> str | None:
    """The first run of a run's conversation; None if the run never began."""
    if journal.last("run") is None:
        return None
    before = goes_on_from(journal)
    return before.first if before else journal.run


def _claims(index: RunIndex, shares: ConversationShares, journal: JournalStore) -> Claims:
    """The use and the reservations for the run of `journal`.

    The use of removed runs is in the journals of later ones.
    """
    own = _counted(journal)
    used, together, held = _NOTHING, own.together, {}
    for share in shares.of_conversation():
        if share.run == journal.run:
            continue
        is_at_work = index.is_claimed(share.run)  # before its journal is read: what is used later is reserved
        if (counted := share.counted) is None:
            if (looked := _read(index, share.run, lambda other: (_counted(other), _is_over(other)))) is None:
                continue
            counted, is_over = looked
            if is_over:
                shares.put(replace(share, counted=counted))
            elif is_at_work:
                held[share.run] = {
                    name: max(0, most - counted.used[name]) for name, most in share.reserved.items()
                }
        used = _sum(used, counted.used)
        together = {name: max(together[name], counted.together[name]) for name in NAMES}
    used = {name: max(used[name], together[name] - own.used[name]) for name in NAMES}
    return Claims(used=used, own=own.used, held=held)


def _sum(amounts: Amounts, others: Amounts) -> Amounts:
    return {name: amounts[name] + others[name] for name in NAMES}


def _is_over(journal: JournalStore) -> bool:
    """Whether the run is complete or cancelled, so that it can never be resumed."""
    last = journal.last("end")
    return last is not None and last.outcome in ("completed", CANCELLED)


def _counted(journal: JournalStore) -> Counted:
    """The use of one run so far, however it ended."""
    line, spending = summary(journal, is_running=False), spent(journal)
    if line is None:
        return Counted(used=_NOTHING, together=_NOTHING)
    sent, received = line.input_tokens or 0, line.output_tokens or 0
    used: Amounts = {
        "requests": line.requests,
        "tool_calls": len(spending.tool_calls),
        "input_tokens": sent,
        "output_tokens": received,
        "total_tokens": sent + received,
        "cost_usd": float(line.cost_usd or 0),
        "seconds": spending.seconds,
    }
    before = goes_on_from(journal)
    return Counted(used=used, together=_sum(used, {**_NOTHING, **before.spent} if before else _NOTHING))
