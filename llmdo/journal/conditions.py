"""Conditions on past runs, as a person writes them: `cost > 0.1 and title ~ refund`."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, did_you_mean, excerpt
from llmdo.base.values import dataclass
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import OWN, VOCABULARY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from llmdo.journal.stored import JournalStore
    from llmdo.journal.summary import Summary

STATUSES = (
    "completed", "truncated", "failed", "cancelled", "interrupted", "waiting", "running", "stopped",
)  # fmt: skip
"""Those of a run."""

_TEXTS: Mapping[str, Callable[[Summary], Iterable[str | None]]] = {
    "run": lambda run: (run.run,),
    "entry": lambda run: (run.entry,),
    "title": lambda run: (run.title,),
    "status": lambda run: (run.status,),
    "batch": lambda run: (run.item.batch,) if run.item else (),
    "item": lambda run: (run.item.key, run.item.name) if run.item else (),
    "eval": lambda run: (run.item.eval, run.item.evaluation) if run.item else (),
    "case": lambda run: (run.item.case,) if run.item else (),
    "error": lambda run: (run.error,),
}
_NUMBERS: Mapping[str, Callable[[Summary], Decimal | int | None]] = {
    "cost": lambda run: run.cost_usd,
    "requests": lambda run: run.requests,
    "denied": lambda run: run.denied,
    "questions": lambda run: run.questions,
}
LABEL = "label"
KEYS = (*_TEXTS, LABEL, *_NUMBERS)
_ALIASES = {"state": "status"}
_SEARCHED = ("title", "item", "entry", "run")
"""The keys of which one holds a text that is no condition."""

_COMPARED: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    "=": lambda now, wanted: now == wanted,
    "!=": lambda now, wanted: now != wanted,
    "<": lambda now, wanted: now < wanted,
    "<=": lambda now, wanted: now <= wanted,
    ">": lambda now, wanted: now > wanted,
    ">=": lambda now, wanted: now >= wanted,
}
_OF_TEXTS = ("=", "!=", "~", "!~")
_CONDITION = re.compile(
    r"""\s*(?:(?P<key>[\w-]+)\s*(?P<operator>!=|!~|<=|>=|=|<|>|~)\s*)?(?P<value>"[^"]*"|.*?)\s*(?:\sand\s|$)""",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCondition:
    """A condition that one run meets or does not."""

    key: str
    """Empty: any of the keys that a search looks into."""
    operator: str
    value: str

    def holds(self, run: Summary, journal: JournalStore) -> bool:
        """Whether the run meets it. An unknown cost is neither more nor less than any other."""
        if self.key in _NUMBERS:
            now = _NUMBERS[self.key](run)
            return now is not None and _COMPARED[self.operator](Decimal(now), _number(self.key, self.value))
        is_wanted = not self.operator.startswith("!")
        return self._is_in(run, journal) is is_wanted

    def _is_in(self, run: Summary, journal: JournalStore) -> bool:
        if self.key == LABEL and not self.operator.endswith("~"):
            wanted = Capability.parse(self.value)
            return any(
                wanted.name in label.names and wanted.scope in (None, label.scope)
                for label in map(Capability.parse, _labels(journal))
            )
        if self.key == LABEL:
            texts: Iterable[str | None] = _labels(journal)
        else:
            keys = (self.key,) if self.key else _SEARCHED
            texts = [text for key in keys for text in _TEXTS[key](run)]
        if self.operator.endswith("~"):
            return any(self.value.casefold() in text.casefold() for text in texts if text)
        return self.value in texts


def conditions(texts: Iterable[str]) -> Iterator[RunCondition]:
    """The conditions in texts, all of which a run has to meet; one without an operator is searched for.

    Raises:
        LlmdoError: One is none.
    """
    for text in texts:
        place = 0
        while text[place:].strip() and (match := _CONDITION.match(text, place)):
            key = (match["key"] or "").lower()
            yield condition_on(_ALIASES.get(key, key), match["operator"] or "~", match["value"].strip('"'))
            place = match.end()


def condition_on(key: str, operator: str, value: str) -> RunCondition:
    """The condition on that key.

    Raises:
        LlmdoError: It has another key, operator or value than there are.
    """
    if key and key not in KEYS:
        near = did_you_mean(key, KEYS)
        raise LlmdoError(
            f"runs have no `{excerpt(key)}` to choose them by",
            hint=f"{near} " * bool(near) + f"there are {', '.join(KEYS)}",
        )
    allowed = tuple(_COMPARED) if key in _NUMBERS else _OF_TEXTS
    if operator not in allowed:
        kind = "a number" if key in _NUMBERS else "text"
        raise LlmdoError(f"`{key}` is {kind}, which `{operator}` does not compare", hint=" ".join(allowed))
    if not value:
        raise LlmdoError("a condition lacks its value", hint="such as `title ~ refund and cost > 0.1`")
    if key in _NUMBERS:
        _number(key, value)
    if key == "status" and operator in ("=", "!=") and value not in STATUSES:
        near = did_you_mean(value, STATUSES)
        raise LlmdoError(
            f"no run is `{excerpt(value)}`", hint=f"{near} " * bool(near) + f"there are {', '.join(STATUSES)}"
        )
    if key == LABEL and operator in ("=", "!="):
        _require_label(value)
    return RunCondition(key=key, operator=operator, value=value)


def _require_label(text: str) -> None:
    """Check that a flow rule may speak of it; the capabilities of workspaces and extensions are not known here."""
    label = Capability.parse(text)
    known = {above for name in VOCABULARY for above in Capability(name).names}
    if label.name in known or label.name.startswith(f"{OWN}."):
        return
    near = did_you_mean(label.name, known)
    if near or not label.is_of_extension:
        raise LlmdoError(
            f"`{excerpt(label.name)}` is not a capability, so no label of a flow rule", hint=near
        )


def _number(key: str, value: str) -> Decimal:
    try:
        number = Decimal(value.removeprefix("$"))
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise LlmdoError(f"`{excerpt(value)}` is no number to compare `{key}` with")
    return number


def _labels(journal: JournalStore) -> set[str]:
    """The labels of flow rules under which calls of a run were decided, or that its entry's worker had read."""
    labels = {str(label) for entry in journal.entries("decision") for label in entry.data.get("labels") or ()}
    for entry in journal.entries("end"):
        labels.update(map(str, (entry.data.get("labels") or {}).get("carried") or ()))
    return labels
