"""Sealed text: an answer that its caller's model sees by name and size alone, and may pass on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llmdo.policy.authority import Capability

_NUMBERED = r"[^\s()#/]+#[\w.~=%-]*\w"
_SEAL = re.compile(rf"sealed:((?:{_NUMBERED}/)*{_NUMBERED})(?: \(text, up to \d+ characters\))?")
_LEAST = 16  # characters that a size says at least


@dataclass(frozen=True, slots=True, eq=False)
class Seal:
    """One sealed text, made by the run alone."""

    name: str
    """Its origin, seen from the call that has it: the worker and the number of its call."""
    text: str
    labels: Mapping[Capability, str]
    """Its writer's."""

    def __str__(self) -> str:
        size = max(_LEAST, 1 << (len(self.text) - 1).bit_length() if self.text else 0)
        return f"sealed:{self.name} (text, up to {size} characters)"


class SealedText(str):
    """A sealed text for code: its name and size. It may be passed on as it is."""

    __slots__ = ("_carry", "_seal")

    _seal: Seal
    _carry: Callable[[Mapping[Capability, str]], None]

    @classmethod
    def of(cls, seal: Seal, carry: Callable[[Mapping[Capability, str]], None]) -> SealedText:
        """`seal` for code, which `carry` labels when it opens it."""
        sealed = cls(seal)
        sealed._seal, sealed._carry = seal, carry
        return sealed

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """A copy is its name and size alone."""
        return str, (str(self),)

    def open(self) -> str:
        """The text. From now on, the code has read it."""
        self._carry(self._seal.labels)
        return self._seal.text


@dataclass(slots=True)
class Opened:
    """Arguments with the texts of seals in their places."""

    arguments: dict[str, Any]
    seals: dict[str, list[Seal]] = field(default_factory=dict)
    """By the argument that contains each."""
    mixed: set[str] = field(default_factory=set)
    """Arguments in which one is only a part of a text."""

    @property
    def labels(self) -> dict[Any, str]:
        """The labels of all of them."""
        return {
            label: path
            for seals in self.seals.values()
            for seal in seals
            for label, path in seal.labels.items()
        }


def opened_in(arguments: Mapping[str, Any], seals: Mapping[str, Seal]) -> Opened:
    """`arguments` with the texts of the named `seals`, in one pass: inserted text is not searched."""
    opened = Opened({**arguments})
    for name, value in arguments.items() if seals else ():
        there: list[Seal] = []
        opened.arguments[name] = _opened(value, seals, there, name, opened.mixed)
        if there:
            opened.seals[name] = there
    return opened


def opened_text(text: str, seals: Mapping[str, Seal]) -> str:
    """`text` with the texts of the `seals` that it names, for a reader."""
    return str(_opened(text, seals, [], "", set())) if seals else text


def _opened(value: Any, seals: Mapping[str, Seal], there: list[Seal], name: str, mixed: set[str]) -> Any:
    if isinstance(value, str):
        return "".join(_pieces(value, seals, there, name, mixed))
    if isinstance(value, list | tuple):
        return [_opened(each, seals, there, name, mixed) for each in value]
    if isinstance(value, Mapping):
        return {key: _opened(each, seals, there, name, mixed) for key, each in value.items()}
    if isinstance(value, BaseModel) or is_dataclass(value):
        inside: list[Seal] = []
        opened = _opened(to_jsonable_python(value, by_alias=True, fallback=str), seals, inside, name, mixed)
        there.extend(inside)
        return opened if inside else value
    return value


def _pieces(
    text: str, seals: Mapping[str, Seal], there: list[Seal], name: str, mixed: set[str]
) -> Iterator[str]:
    at = 0
    for match in _SEAL.finditer(text):
        seal = seals.get(match[1])
        if seal is None:
            continue
        there.append(seal)
        if match[0] != text:
            mixed.add(name)
        yield text[at : match.start()]
        yield seal.text
        at = match.end()
    yield text[at:]
