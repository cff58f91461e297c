"""Facts that differ between two locks, in a line each; mere changes are grouped."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base import parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from llmdo.base.values import Json
    from llmdo.diff import Change

    Quote = Callable[[str], str]
    """The marking of a name that somebody else chose."""

_SUBJECTS = {
    "rules": "rule",
    "paths": "path map",
    "model": "model alias",
    "python-model": "model",
    "schema-source": "schema",
    "module": "toolset module",
}
_UNLIMITED = frozenset({"may", "suffixes", "compatible-models"})
"""Lists whose absence differs from an empty list."""

MAX_NAMES = 5  # of those whom one fact concerns: JSON has them all
MAX_VALUE = 200  # characters of a text such as an input
_FOLDED = {
    "prompt": "prompts changed",
    "description": "descriptions changed",
    "model": "models changed",
    "path": "files moved",
    "config": "headers changed",
    "source": "sources changed",
    "input": "inputs changed",
}
"""Keys of an item in the lock, and the wording if several of one kind differ there."""
_PLURALS = {"entry": "entries"}


def phrase(change: Change, quote: Quote) -> str:
    """A fact that differs, in one line."""
    kind, *names = change.route
    if names[1:2] == ["started-by"]:
        return _start(change, quote)
    subject = _SUBJECTS.get(kind, kind)
    item = names[:1] if kind not in ("settings", "notify", "accept") else []
    rest = names[len(item) :]
    if kind == "toolset" and rest[:1] == ["tool"] and len(rest) > 1:
        subject, item, rest = "tool", [f"{names[0]}.{rest[1]}"], rest[2:]
    words = " ".join([subject, *map(quote, item), *map(quote, rest)])
    return f"{words}{_values(change, quote)}{_concerned(change, quote)}"


def _start(change: Change, quote: Quote) -> str:
    """The people who may cause an event that starts an entry, in words."""
    name, event = quote(change.route[1]), quote(change.route[3])
    before, after = parts.text(change.before), parts.text(change.after)
    if not after:
        return f"{event} no longer starts {name}; it did by {before}"
    return f"{after} can start {name} by {event}{f', before {before}' if before else ''}"


def _concerned(change: Change, quote: Quote) -> str:
    if change.route[0] == "entry":
        return ""
    sides = (("used by", change.workers), ("reached by", change.entries))
    words = [f"{verb} {some(names, quote)}" for verb, names in sides if names]
    return f" ({', '.join(words)})" if words else ""


def some(names: Sequence[str], quote: Quote, most: int = MAX_NAMES) -> str:
    """At most so many of the names, and the number of the others."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    *others, last = [*map(quote, names[:most]), *more]
    return f"{', '.join(others)} and {last}" if others else last


def phrases(
    changes: Iterable[Change], quote: Quote, *, verbose: bool = False
) -> Iterator[tuple[Sequence[Change], str]]:
    """Each fact in one line; several items with the same change and nothing widened, all in one.

    That is a count with a few names; if `verbose`, with all of them.
    """
    groups: dict[object, list[Change]] = {}
    for change in changes:
        groups.setdefault(_alike(change), []).append(change)
    for group in groups.values():
        if len(group) == 1:
            yield group, phrase(group[0], quote)
        else:
            names = [change.route[1] for change in group]
            most = len(names) if verbose else MAX_NAMES
            yield group, f"{len(names)} {_together(group[0])}: {some(names, quote, most)}"


def _alike(change: Change) -> object:
    """The shared property of changes that are shown together; the place of one that is shown alone."""
    kind, *rest = change.route
    if change.effect == "none" and not change.accepted:
        if len(rest) == 1 and (isinstance(change.before, dict) or isinstance(change.after, dict)):
            return kind, change.before is None
        if len(rest) == 2 and rest[1] in _FOLDED:
            return kind, rest[1]
    return change.route


def _together(change: Change) -> str:
    kind, *rest = change.route
    subject = _SUBJECTS.get(kind, kind)
    if len(rest) == 1:
        return f"{_PLURALS.get(kind, f'{subject}s')} are {'new' if change.before is None else 'gone'}"
    return f"{subject} {_FOLDED[rest[1]]}"


def _values(change: Change, quote: Quote) -> str:
    before, after = change.before, change.after
    if isinstance(before, dict) or isinstance(after, dict):
        return " is new" if before is None else " is gone"
    if isinstance(before, list) or isinstance(after, list):
        absence = " (there was none)" if before is None else " (there is none now)" if after is None else ""
        return f": {_items(before, after, quote)}{absence if change.route[-1] in _UNLIMITED else ''}"
    if any(isinstance(value, str) and value.startswith("sha256:") for value in (before, after)):
        return " changed" if before and after else " is new" if after else " is gone"
    old, new = (quote(_cut(_item(value))) for value in (before, after))
    if before is None:
        return f": {new}"
    return f": gone, it was {old}" if after is None else f": {new}, it was {old}"


def _items(before: Json, after: Json, quote: Quote) -> str:
    old, new = ([_item(item) for item in parts.items(side)] for side in (before, after))
    words = [f"+{quote(item)}" for item in new if item not in old]
    words += [f"-{quote(item)}" for item in old if item not in new]
    if not words and (before is None or after is None):
        return "an empty list"  # which of a ceiling admits nothing, where no list admits everything
    return " ".join(words) or "another order"


def _item(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(value: str) -> str:
    return value if len(value) <= MAX_VALUE else f"{value[:MAX_VALUE]}… ({len(value)} characters)"
