"""The decision on a call: one value for the gate, the event, the journal, the audit and its reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, field, in_json
from llmdo.journal.entries import JournalError
from llmdo.policy.authority import STRICTNESS, Capability

if TYPE_CHECKING:
    from llmdo.policy.vocabulary import Decision

_PLAIN = ("worker", "toolset", "tool", "decision", "allowed", "by", "asks", "answer", "refusal", "changed")
"""The fields that a record holds unchanged."""

IN_FULL = "in full"
"""The part of a call's JSON that only its whole document has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedCall:
    """A call of a tool and the decision on it."""

    path: str = field(metadata=in_json(part=None))
    """The call path."""
    worker: str
    toolset: str
    tool: str
    decision: Decision
    """The decision of the rules; `blocked` if a policy is against it."""
    allowed: bool
    by: str
    """Who had the last word: `rules`, `policy`, `lock`, or the approver that was asked."""
    asks: bool = False
    """Whether somebody was to be asked whatever the rules say."""
    answer: str = ""
    """Why not, in the words of whoever was asked."""
    refusal: str | None = None
    """The refusal for the model."""
    changed: Mapping[str, object] | None = None
    """Other arguments that a person wants: that call is decided on next."""
    raised: tuple[Capability, ...]
    """The capabilities of the call, as far as the gate can tell."""
    declared: tuple[Capability, ...]
    """The most that it could have raised."""
    reasons: tuple[str, ...]
    """The reasons of the rules or a policy, a sentence each."""
    labels: tuple[str, ...] = field(default=(), metadata=in_json(sparse=True))
    """The labels its caller had read, in terms of flow rules, sorted."""
    arguments: Mapping[str, object] = field(compare=False, metadata=in_json(part=IN_FULL))
    """Those decided on. No record repeats them: the response that made the call has them."""

    @property
    def why(self) -> tuple[str, ...]:
        """The reasons for the user, a sentence each."""
        return (*self.reasons, self.answer) if self.answer else self.reasons


def record_of(call: DecidedCall) -> dict[str, object]:
    """`call` as the journal keeps it, which encodes what is in arguments itself, without its path and its own."""
    return {
        **{name: getattr(call, name) for name in _PLAIN},
        "raised": list(map(str, call.raised)),
        "declared": list(map(str, call.declared)),
        "reasons": list(call.reasons),
        **({"labels": list(call.labels)} if call.labels else {}),
    }


def decided_in(path: str, record: Mapping[str, object], arguments: Mapping[str, object]) -> DecidedCall:
    """The call at `path`, with its decision in `record`, made by `record_of`.

    Raises:
        JournalError: `record` lacks it.
    """
    changed = record.get("changed")
    try:
        return DecidedCall(
            path=path,
            worker=_text(record["worker"]),
            toolset=_text(record["toolset"]),
            tool=_text(record["tool"]),
            arguments=arguments,
            raised=tuple(map(Capability.parse, _texts(record["raised"]))),
            declared=tuple(map(Capability.parse, _texts(record["declared"]))),
            labels=_texts(record.get("labels", [])),
            asks=_flag(record["asks"]),
            decision=next(decision for decision in STRICTNESS if decision == record["decision"]),
            allowed=_flag(record["allowed"]),
            by=_text(record["by"]),
            reasons=_texts(record["reasons"]),
            answer=_text(record["answer"]),
            refusal=None if record["refusal"] is None else _text(record["refusal"]),
            changed=changed if isinstance(changed, Mapping) else None,
        )
    except (KeyError, StopIteration, TypeError) as error:
        raise JournalError(f"{path}: the journal does not say what was decided") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(map(_text, value))


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value
