"""The effect of a changed value on the powers of entries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from llmdo.base import parts
from llmdo.graph.keys import MAX_BITS, PRESET
from llmdo.graph.start import OUTSIDERS, STARTERS
from llmdo.policy.authority import STRICTNESS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from llmdo.base.values import Json
    from llmdo.diff.difference import Effect
    from llmdo.graph.described import Server
    from llmdo.policy.authority import Capability

ISOLATIONS = ("require", "auto", "off")
"""From the strongest to the weakest."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)")
_VERSION = re.compile(r"(?<=.)@[^@/]+$")


def amount(before: Json, after: Json) -> Effect:
    """The effect of a changed limit; without one there is no limit."""
    if isinstance(before, int | float) and isinstance(after, int | float):
        return "widens" if after > before else "narrows"
    return "narrows" if before is None and after is not None else "widens"


def more(before: Json, after: Json) -> Effect:
    """The effect of a changed list of vouched items; without one nothing is vouched for."""
    return "widens" if {*parts.texts(after)} - {*parts.texts(before)} else "narrows"


def choice(before: Json, after: Json) -> Effect:
    """The effect of a changed list of admitted items; without one everything is admitted."""
    if before is None or after is None:
        return "widens" if after is None else "narrows"
    return "narrows" if {*parts.texts(after)} <= {*parts.texts(before)} else "widens"


def flow(key: str, before: Json, after: Json) -> Effect:
    """The effect of a changed key of flow rules: the less is asked or blocked, the more can be done."""
    if key == MAX_BITS:
        return amount(before, after)
    if key == PRESET:
        order = (None, "rule-of-two", "strict")
        return "widens" if order.index(after) < order.index(before) else "narrows"
    return "widens" if _strictness(after) < _strictness(before) else "narrows"


def family(key: str, before: Json, after: Json) -> Effect:
    """The effect of a changed fact about an extension's capability; no preset asks about one that only reads."""
    if key == "reads":
        return "widens" if after else "narrows"
    if key == "decision":
        return "widens" if _strictness(after) < _strictness(before) else "narrows"
    return "none"


def source(before: Json) -> Effect:
    """The effect of a source's changed label: one label less permits more."""
    return "narrows" if before is None else "widens"


def from_strangers(before: Json, after: Json) -> Effect:
    """The effect of a change in whether a stranger may have written an input; by default it depends on the starter."""
    order = (False, None, True)
    return "widens" if order.index(after) < order.index(before) else "narrows"


def start(before: Json, after: Json) -> Effect:
    """The effect of a change in who may cause an event. An event that only members cause gives nobody a new power."""
    old, new = (STARTERS.index(side) if side in STARTERS else -1 for side in (before, after))
    if -1 in (old, new) and max(old, new) < STARTERS.index(OUTSIDERS[0]):
        return "none"
    return "widens" if new > old else "narrows"


def sending(before: Json, after: Json) -> Effect:
    """The effect of a change in whether content of runs leaves the machine; by default it does not."""
    return "widens" if after else "narrows" if before else "none"


def receiver(before: Json, after: Json) -> Effect:
    """The effect of a changed receiver of notices about runs: another one is as good as unknown."""
    return "widens" if before is not None and after is not None else "none"


def isolation(before: Json, after: Json) -> Effect:
    """The effect of a changed isolation; `auto` by default."""
    weaker = [ISOLATIONS.index(parts.text(side) or "auto") for side in (before, after)]
    return "widens" if weaker[1] > weaker[0] else "narrows"


def confinement(before: Json, after: Json) -> Effect:
    """The effect of a changed sandbox around an agent; without one nothing confines it."""
    if (before is None) == (after is None):
        return "none"
    return "widens" if after is None else "narrows"


_STRICTER: Mapping[str, tuple[str, ...]] = {"allow": (), "ask": ("ask", "deny"), "deny": ("deny",)}
"""By the word of a rule, the words by which another one holds as well as it does."""


def permitting(
    words: Sequence[str], before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]
) -> Effect:
    """The effect of changed rules under these words, or under all, of which each decides about a part of a tool."""
    effects: set[Effect] = set()
    for word in words or _STRICTER:
        stricter = _STRICTER[word]
        more, less = (before, after) if stricter else (after, before)
        if _uncovered(more.get(word, ()), less, stricter or (word,)):
            effects.add("widens")
        if _uncovered(less.get(word, ()), more, stricter or (word,)):
            effects.add("narrows")
    return "widens" if "widens" in effects else "narrows" if effects else "none"


def _uncovered(rules: Iterable[str], others: Mapping[str, Sequence[str]], words: Iterable[str]) -> bool:
    """Whether one of the rules is in none of the others under `words`."""
    known = [other for word in words for other in others.get(word, ())]
    return any(not any(covers(other, rule) for other in known) for rule in rules)


_SHELLS = ("Bash", "Shell")
"""The tools whose parts are commands; those of others are paths and addresses."""


def covers(rule: str, other: str) -> bool:
    """Whether a rule is certainly about all that another one is about: its tool, its folder or its command."""
    if rule == other:
        return True
    tool, is_part, part = rule.removesuffix(")").partition("(")
    if is_part:
        return other.startswith(f"{tool}(") and _covers_part(
            tool, part, other[len(tool) + 1 :].removesuffix(")")
        )
    if rule.startswith("mcp__"):
        server = rule.removesuffix("__*")
        return other == server or other.startswith(f"{server}__")
    return other.startswith(f"{rule}(")


def _covers_part(tool: str, part: str, other: str) -> bool:
    if part.endswith((":*", " *")):  # the words of a command, of which the last one is whole
        return other == part[:-2] or other.startswith((f"{part[:-2]} ", f"{part[:-2]}:"))
    stem = part.rstrip("*")
    if stem == part or not other.startswith(stem):
        return False
    rest = other[len(stem) :]
    if tool in _SHELLS:
        return True
    is_below = ".." not in rest.split("/")
    return is_below and (part.endswith("**") or not ("/" in rest or "**" in rest))


def at_event(
    before: Mapping[str, Collection[Capability]], after: Mapping[str, Collection[Capability]]
) -> Effect:
    """The effect of a change of the commands that a client runs at an event, each with its capabilities."""
    old, new = ({each for raised in side.values() for each in raised} for side in (before, after))
    if len(after) > len(before) or any(not any(known.contains(each) for known in old) for each in new):
        return "widens"
    return "narrows" if after.keys() < before.keys() else "none"


def server(key: str, before: Json, after: Json) -> Effect:
    """The effect of a change in how an MCP server is reached: another one is as good as unknown, and so widens.

    So does a server that gets further variables of the environment.
    """
    match key:
        case "include":
            return choice(before, after)
        case "exclude":
            return more(after, before)
        case "command" | "url" | "args" if _identified(key, before) != _identified(key, after):
            return "widens"
    variables = [set(_variables(key, side)) for side in (before, after)]
    return "widens" if variables[1] - variables[0] else "narrows" if variables[0] - variables[1] else "none"


def lost_of_policy(before: Mapping[str, Json], others: Iterable[Mapping[str, Json]]) -> Iterator[str]:
    """The capabilities about which none of `others` is as strict as the policy `before`.

    An empty text for each of `approve-all` and `requires-trust` that none of them has as well.
    """
    policies = [*others]
    for capability, decision in parts.table(before, "rules").items():
        decisions = [parts.table(other, "rules").get(capability) for other in policies]
        if not any(_strictness(other) >= _strictness(decision) for other in decisions):
            yield capability
    for key in ("approve-all", "requires-trust"):
        if key in before and not any(other.get(key) == before[key] for other in policies):
            yield ""


def _strictness(decision: Json) -> int:
    return next((rank for name, rank in STRICTNESS.items() if name == decision), -1)


def identity(reached: Server) -> object:
    """The identity of an MCP server, whatever its version and its options."""
    return reached.command, _identified("args", list(reached.args)), _identified("url", reached.url)


def _identified(key: str, value: Json) -> object:
    if key == "url":
        try:
            address = urlsplit(parts.text(value))
        except ValueError:
            return value
        return address.scheme, address.netloc
    if key == "args":
        return tuple(_VERSION.sub("", word) for word in parts.texts(value) if not word.startswith("-"))
    return value


def _variables(key: str, value: Json) -> Iterator[str]:
    for text in (parts.text(value), *parts.texts(value)):
        yield from _VARIABLE.findall(text)
        if key == "env" and text:
            yield text.partition("=")[0]
