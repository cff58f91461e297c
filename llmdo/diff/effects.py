"""What a change of one value does to what entries can do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from llmdo.base import parts
from llmdo.graph.keys import MAX_BITS, PRESET
from llmdo.policy.authority import STRICTNESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.base.values import Json
    from llmdo.diff.difference import Effect
    from llmdo.graph.described import Server

ISOLATIONS = ("require", "auto", "off")
"""From the strongest to the weakest."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)")
_VERSION = re.compile(r"(?<=.)@[^@/]+$")


def amount(before: Json, after: Json) -> Effect:
    """The effect of a limit that changed; without one there is no limit."""
    if isinstance(before, int | float) and isinstance(after, int | float):
        return "widens" if after > before else "narrows"
    return "narrows" if before is None and after is not None else "widens"


def more(before: Json, after: Json) -> Effect:
    """The effect of a list of what is vouched for that changed; without one nothing is."""
    return "widens" if {*parts.texts(after)} - {*parts.texts(before)} else "narrows"


def choice(before: Json, after: Json) -> Effect:
    """The effect of a list of what is admitted that changed; without one everything is."""
    if before is None or after is None:
        return "widens" if after is None else "narrows"
    return "narrows" if {*parts.texts(after)} <= {*parts.texts(before)} else "widens"


def flow(key: str, before: Json, after: Json) -> Effect:
    """The effect of a key of flow rules that changed: the less is asked or blocked, the more can be done."""
    if key == MAX_BITS:
        return amount(before, after)
    if key == PRESET:
        order = (None, "rule-of-two", "strict")
        return "widens" if order.index(after) < order.index(before) else "narrows"
    return "widens" if _strictness(after) < _strictness(before) else "narrows"


def family(key: str, before: Json, after: Json) -> Effect:
    """The effect of a change of what an extension says of a capability: what only reads is no effect for a preset."""
    if key == "reads":
        return "widens" if after else "narrows"
    if key == "decision":
        return "widens" if _strictness(after) < _strictness(before) else "narrows"
    return "none"


def source(before: Json) -> Effect:
    """The effect of a source's label that changed: one label less lets more go on."""
    return "narrows" if before is None else "widens"


def from_strangers(before: Json, after: Json) -> Effect:
    """The effect of a change of whether a stranger may have written an input; left out, it depends on who starts it."""
    order = (False, None, True)
    return "widens" if order.index(after) < order.index(before) else "narrows"


def sending(before: Json, after: Json) -> Effect:
    """The effect of a change of whether what runs say leaves the machine; where nothing is said, it does not."""
    return "widens" if after else "narrows" if before else "none"


def receiver(before: Json, after: Json) -> Effect:
    """The effect of a change of who is told of runs: another one is as good as unknown."""
    return "widens" if before is not None and after is not None else "none"


def isolation(before: Json, after: Json) -> Effect:
    """The effect of an isolation that changed; `auto` where left out."""
    weaker = [ISOLATIONS.index(parts.text(side) or "auto") for side in (before, after)]
    return "widens" if weaker[1] > weaker[0] else "narrows"


def confinement(before: Json, after: Json) -> Effect:
    """The effect of a sandbox around an agent that changed; without one nothing confines it."""
    if (before is None) == (after is None):
        return "none"
    return "widens" if after is None else "narrows"


def server(key: str, before: Json, after: Json) -> Effect:
    """The effect of a change of how an MCP server is reached: another one is as good as unknown, and so widens.

    So does one that is given variables of the environment which it was not given before.
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
    """The capabilities about which none of `others` says as much as the policy `before`; for the rest, nothing."""
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
    """What tells an MCP server from others, whatever its version and its options."""
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
