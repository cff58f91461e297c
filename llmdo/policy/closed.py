"""Closed types: the values that a JSON Schema leaves to the writer, the bits that those carry, and a test for them.

A schema may differ from the values that the type takes or writes: code of a model may say anything. So each answer is
checked as well.
"""

from __future__ import annotations

from fractions import Fraction
from math import log2
from typing import TYPE_CHECKING, Any, cast

from llmdo.base.values import dataclass, field, replace
from llmdo.policy.authority import MOST_BITS
from llmdo.syntax.models import ONE_OF

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.base.values import Json

MOST_ITEMS = 10**6
MOST_COUNTED = 1e9
"""The highest number of bits that is told from more."""
MOST_PROBLEMS = 20
"""The most open parts of a type that are kept."""


@dataclass(frozen=True, slots=True)
class Closure:
    """The freedom that a type leaves."""

    bits: float
    """The most that a value may carry, as far as the type is closed."""
    problems: tuple[tuple[str, str], ...] = ()
    """The place of each part that is open, and the reason, in words that follow it."""
    lists: frozenset[tuple[str, int]] = frozenset()
    """The fields of the typed input that the values are items of."""

    @property
    def is_closed(self) -> bool:
        """Whether each of its values is one that the type lists or bounds."""
        return not self.problems and self.bits <= MOST_BITS


OPEN = Closure(0, (("", "may be anything"),))


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a part of a schema."""

    name: str = ""
    in_list: bool = False
    """Whether it may be there several times: numbers would then spell a text."""
    through: tuple[str, ...] = ()
    """The definitions that it is part of."""


def closure_of(schema: Mapping[str, Json], takes: Mapping[str, Json] | None = None) -> Closure:
    """The freedom that `schema` leaves, for the forms that pydantic writes; any other form is open.

    `takes` is the schema of the typed input of the answering worker.
    """
    definitions = cast("Mapping[str, Mapping[str, Json]]", schema.get("$defs", {}))
    try:
        return _Judge(definitions, _lists_of(takes or {})).of(schema, _Place())
    except RecursionError:
        return OPEN


def _lists_of(schema: Mapping[str, Json]) -> Mapping[str, int]:
    """The fields of a typed input that are bounded lists, to the most items."""
    if isinstance(reference := schema.get("$ref"), str):
        definitions = cast("Mapping[str, Mapping[str, Json]]", schema.get("$defs", {}))
        schema = definitions.get(reference.rpartition("/")[2], {})
    fields = cast("Mapping[str, Mapping[str, Json]]", schema.get("properties", {}))
    return {
        name: most
        for name, its in fields.items()
        if its.get("type") == "array" and isinstance(most := its.get("maxItems"), int)
    }


def is_one_of(value: Json, schema: Mapping[str, Json], given: Mapping[str, Json] | None = None) -> bool:
    """Whether a value, read from JSON, is one that a closed `schema` lists or bounds.

    `given` is the typed input of the answering worker.
    """
    return _Values(cast("Mapping[str, Json]", schema.get("$defs", {})), given or {}).have(value, schema)


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of one closed schema."""

    definitions: Mapping[str, Json]
    given: Mapping[str, Json]

    def have(self, value: Json, part: Any) -> bool:
        """Whether `value` is one of those of a part."""
        match part:
            case dict() if ONE_OF in part:
                items = self.given.get(part[ONE_OF])
                is_item = isinstance(items, list) and any(_is_same(value, each) for each in items)
                return is_item or (value is None and _may_be_null(part))
            case {"$ref": str(reference)}:
                return self.have(value, self.definitions[reference.rpartition("/")[2]])
            case {"const": only}:
                return _is_same(value, only)
            case {"enum": [*values]}:
                return any(_is_same(value, each) for each in values)
            case {"anyOf": [*parts]} | {"oneOf": [*parts]}:
                return any(self.have(value, each) for each in parts)
            case {"allOf": [*parts]}:
                return all(self.have(value, each) for each in parts)
            case {"type": "boolean"}:
                return isinstance(value, bool)
            case {"type": "null"}:
                return value is None
            case {"type": "integer" | "number"}:
                return _is_number_of(value, part)
            case {"type": "array"}:
                return isinstance(value, list) and self._have_list(value, part)
            case {"type": "object"}:
                return isinstance(value, dict) and self._have_object(value, part)
        return False

    def _have_object(self, value: Mapping[str, Json], part: Mapping[str, Json]) -> bool:
        fields = cast("Mapping[str, Json]", part.get("properties", {}))
        needed = cast("list[str]", part.get("required", []))
        return value.keys() >= {*needed} and all(
            name in fields and self.have(its, fields[name]) for name, its in value.items()
        )

    def _have_list(self, value: list[Json], part: Mapping[str, Json]) -> bool:
        if len(value) > cast("int", part.get("maxItems", 0)):
            return False
        parts = cast("list[Json]", part.get("prefixItems", [part.get("items")] * len(value)))
        return len(value) == len(parts) and all(map(self.have, value, parts))


def _is_same(value: Json, other: Json) -> bool:
    return type(value) is type(other) and value == other


def _is_number_of(value: Json, part: Mapping[str, Json]) -> bool:
    kinds = (int,) if part.get("type") == "integer" else (int, float)
    if not isinstance(value, kinds) or isinstance(value, bool):
        return False
    low = part.get("minimum", part.get("exclusiveMinimum"))
    high = part.get("maximum", part.get("exclusiveMaximum"))
    if not cast("float", low) <= cast("float", value) <= cast("float", high):
        return False
    # Exactly, where pydantic takes what is nearly a multiple: the rest would carry more than the type says.
    return Fraction(str(value)) % Fraction(str(part.get("multipleOf", 1))) == 0


def _may_be_null(part: Mapping[str, Json]) -> bool:
    return any(each.get("type") == "null" for each in cast("list[dict[str, Json]]", part.get("anyOf", [])))


@dataclass(slots=True)
class _Judge:
    """Judges the parts of one schema, each definition once."""

    definitions: Mapping[str, Mapping[str, Json]]
    lists: Mapping[str, int]
    """The lists that the worker is given, to the most items."""
    _known: dict[tuple[str, bool], Closure] = field(default_factory=dict)
    """Definitions, by name and by whether they are in a list, as if they stood at the top."""

    def of(self, part: Mapping[str, Json], place: _Place) -> Closure:
        """The freedom that one part leaves."""
        if ONE_OF in part:
            return self._item(part, place)
        if isinstance(reference := part.get("$ref"), str):
            return self._referred(reference, place)
        if isinstance(values := part.get("enum", [part["const"]] if "const" in part else None), list):
            return Closure(log2(max(1, len(values))))
        for key in ("anyOf", "oneOf", "allOf"):
            if isinstance(several := part.get(key), list):
                return _either(self.of(cast("Mapping[str, Json]", each), place) for each in several)
        match part.get("type"):
            case "boolean":
                return Closure(1)
            case "null":
                return Closure(0)
            case "integer" | "number":
                return _number(part, place)
            case "array":
                return self._list(part, place)
            case "object":
                return self._object(part, place)
            case "string":
                return _open(place, "is free text")
        return _open(place, "may be anything")

    def _item(self, part: Mapping[str, Json], place: _Place) -> Closure:
        name = str(part[ONE_OF])
        most = self.lists.get(name)
        if most is None:
            return _open(place, f"is an item of `{name}`, which is no list with an end of the typed input")
        return Closure(log2(max(1, most + _may_be_null(part))), lists=frozenset({(name, most)}))

    def _referred(self, reference: str, place: _Place) -> Closure:
        name = reference.rpartition("/")[2]
        if name in place.through or name not in self.definitions:
            return _open(place, "is a part of itself")
        key = name, place.in_list
        if (known := self._known.get(key)) is None:
            within = _Place(in_list=place.in_list, through=(*place.through, name))
            known = self._known[key] = self.of(self.definitions[name], within)
        problems = tuple((f"{place.name}.{inner}".strip("."), why) for inner, why in known.problems)
        return replace(known, problems=problems)

    def _list(self, part: Mapping[str, Json], place: _Place) -> Closure:
        inside = _Place(f"{place.name}[]", in_list=True, through=place.through)
        if isinstance(first := part.get("prefixItems"), list) and part.get("maxItems") == len(first):
            return _all([self.of(cast("Mapping[str, Json]", each), inside) for each in first])
        most, items = part.get("maxItems"), part.get("items")
        if not isinstance(most, int) or most < 0 or not isinstance(items, dict):
            return _open(place, "is a list without an end (`max_length`)")
        if most > MOST_ITEMS:
            return _open(place, "is too long a list")
        each = self.of(items, inside)
        return Closure(min(most * each.bits + log2(most + 1), MOST_COUNTED), each.problems, each.lists)

    def _object(self, part: Mapping[str, Json], place: _Place) -> Closure:
        if part.get("additionalProperties", False) is not False or "patternProperties" in part:
            return _open(place, "has keys that are free text")
        properties = cast("Mapping[str, Mapping[str, Json]]", part.get("properties", {}))
        required = cast("list[str]", part.get("required", []))
        closures = []
        for name, its in properties.items():
            at = _Place(f"{place.name}.{name}".lstrip("."), place.in_list, place.through)
            own = self.of(its, at)
            closures.append(own if name in required else _either([own, Closure(0)]))
        return _all(closures)


def _number(part: Mapping[str, Json], place: _Place) -> Closure:
    if place.in_list:
        return _open(place, "is a list of numbers, which spells a text")
    low = part.get("minimum", part.get("exclusiveMinimum"))
    high = part.get("maximum", part.get("exclusiveMaximum"))
    step = part.get("multipleOf", 1 if part.get("type") == "integer" else None)
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        return _open(place, "is a number without bounds (`ge`, `le`)")
    if not isinstance(step, int | float) or step <= 0:
        return _open(place, "is a number without a step (`multiple_of`)")
    try:
        return Closure(log2(max(1, (high - low) / step + 1)))
    except OverflowError:
        return _open(place, "has too many values")


def _open(place: _Place, why: str) -> Closure:
    return Closure(0, ((place.name, why),))


def _either(closures: Iterable[Closure]) -> Closure:
    closures = [*closures]
    most = max((each.bits for each in closures), default=0)
    choices = sum(2 ** (each.bits - most) for each in closures)
    return _joined(most + log2(max(1, choices)), closures)


def _all(closures: Iterable[Closure]) -> Closure:
    closures = [*closures]
    return _joined(sum(each.bits for each in closures), closures)


def _joined(bits: float, closures: list[Closure]) -> Closure:
    problems = tuple(problem for each in closures for problem in each.problems)[:MOST_PROBLEMS]
    return Closure(min(bits, MOST_COUNTED), problems, frozenset().union(*(each.lists for each in closures)))
