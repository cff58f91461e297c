"""Closed types: which values a JSON Schema leaves to whoever writes them, how many bits those carry, and which are it.

What a schema says of a type is not always what the type takes, or what is written of it: code of a model may say
anything. So each answer is looked at as well.
"""

from __future__ import annotations

from decimal import Decimal
from math import log2
from typing import TYPE_CHECKING, Any, cast

from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.base.values import Json

MOST_BITS = 256
"""The most that a closed type may carry: more could be put together again to a text."""

_NUMBERS = ("integer", "number")


@dataclass(frozen=True, slots=True)
class Closure:
    """What a type leaves open."""

    bits: float
    """The most that a value may carry, as far as the type is closed."""
    problems: tuple[tuple[str, str], ...] = ()
    """The place of each part that is open, and why, in words that follow it."""

    @property
    def is_closed(self) -> bool:
        """Whether each of its values is one that the type lists or bounds."""
        return not self.problems and self.bits <= MOST_BITS


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a part of a schema stands."""

    name: str = ""
    in_list: bool = False
    """Whether it may be there several times: numbers would then spell a text."""
    through: tuple[str, ...] = ()
    """The definitions that it is part of."""


def closure_of(schema: Mapping[str, Json]) -> Closure:
    """What `schema` leaves open, of the forms that pydantic writes; any other form is open."""
    return _Judge(cast("Mapping[str, Mapping[str, Json]]", schema.get("$defs", {}))).of(schema, _Place())


def is_one_of(value: Json, schema: Mapping[str, Json]) -> bool:
    """Whether a value, as it was read from JSON, is one of those that a closed `schema` lists or bounds."""
    return _is_one_of(value, schema, cast("Mapping[str, Json]", schema.get("$defs", {})))


def _is_one_of(value: Json, part: Any, definitions: Mapping[str, Json]) -> bool:
    match part:
        case {"$ref": str(reference)}:
            return _is_one_of(value, definitions[reference.rpartition("/")[2]], definitions)
        case {"const": only}:
            return _is_same(value, only)
        case {"enum": [*values]}:
            return any(_is_same(value, each) for each in values)
        case {"anyOf": [*parts]} | {"oneOf": [*parts]}:
            return any(_is_one_of(value, each, definitions) for each in parts)
        case {"allOf": [*parts]}:
            return all(_is_one_of(value, each, definitions) for each in parts)
        case {"type": "boolean"}:
            return isinstance(value, bool)
        case {"type": "null"}:
            return value is None
        case {"type": "integer" | "number"}:
            return _is_number_of(value, part)
        case {"type": "array" | "object"}:
            return _is_made_of(value, part, definitions)
    return False


def _is_made_of(value: Json, part: Mapping[str, Json], definitions: Mapping[str, Json]) -> bool:
    """Whether a list or an object has such parts, and no others."""
    if part["type"] == "object":
        fields = cast("Mapping[str, Json]", part.get("properties", {}))
        needed = cast("list[str]", part.get("required", []))
        return (
            isinstance(value, dict)
            and value.keys() >= {*needed}
            and all(
                name in fields and _is_one_of(its, fields[name], definitions) for name, its in value.items()
            )
        )
    if not isinstance(value, list) or len(value) > cast("int", part.get("maxItems", 0)):
        return False
    parts = cast("list[Json]", part.get("prefixItems", [part.get("items")] * len(value)))
    return len(value) == len(parts) and all(
        _is_one_of(each, its, definitions) for each, its in zip(value, parts, strict=True)
    )


def _is_same(value: Json, other: Json) -> bool:
    return type(value) is type(other) and value == other


def _is_number_of(value: Json, part: Mapping[str, Json]) -> bool:
    kinds = (int,) if part.get("type") == "integer" else (int, float)
    if not isinstance(value, kinds) or isinstance(value, bool):
        return False
    low = part.get("minimum", part.get("exclusiveMinimum"))
    high = part.get("maximum", part.get("exclusiveMaximum"))
    # Exactly, where pydantic takes what is nearly a multiple: the rest would carry more than the type says.
    is_multiple = Decimal(str(value)) % Decimal(str(part.get("multipleOf", 1))) == 0
    return cast("float", low) <= cast("float", value) <= cast("float", high) and is_multiple


@dataclass(frozen=True, slots=True)
class _Judge:
    """Judges the parts of one schema."""

    definitions: Mapping[str, Mapping[str, Json]]

    def of(self, part: Mapping[str, Json], place: _Place) -> Closure:
        """What one part leaves open."""
        if isinstance(reference := part.get("$ref"), str):
            return self._referred(reference, place)
        if "const" in part:
            return Closure(0)
        if isinstance(values := part.get("enum"), list):
            return Closure(log2(max(1, len(values))))
        for key in ("anyOf", "oneOf", "allOf"):
            if isinstance(several := part.get(key), list):
                parts = [self.of(cast("Mapping[str, Json]", each), place) for each in several]
                return parts[0] if key == "allOf" and len(parts) == 1 else _either(parts)
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

    def _referred(self, reference: str, place: _Place) -> Closure:
        name = reference.rpartition("/")[2]
        if name in place.through or name not in self.definitions:
            return _open(place, "is a part of itself")
        return self.of(self.definitions[name], _Place(place.name, place.in_list, (*place.through, name)))

    def _list(self, part: Mapping[str, Json], place: _Place) -> Closure:
        inside = _Place(f"{place.name}[]", in_list=True, through=place.through)
        if isinstance(first := part.get("prefixItems"), list) and part.get("maxItems") == len(first):
            return _all([self.of(cast("Mapping[str, Json]", each), inside) for each in first])
        most, items = part.get("maxItems"), part.get("items")
        if not isinstance(most, int) or not isinstance(items, dict):
            return _open(place, "is a list without an end (`max_length`)")
        each = self.of(items, inside)
        return Closure(most * each.bits + log2(most + 1), each.problems)

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
    return Closure(log2(max(1, (high - low) / step + 1)))


def _open(place: _Place, why: str) -> Closure:
    return Closure(0, ((place.name, why),))


def _either(closures: Iterable[Closure]) -> Closure:
    closures = [*closures]
    most = max((each.bits for each in closures), default=0)
    choices = sum(2 ** (each.bits - most) for each in closures)
    return Closure(most + log2(max(1, choices)), tuple(p for each in closures for p in each.problems))


def _all(closures: Iterable[Closure]) -> Closure:
    closures = [*closures]
    return Closure(sum(each.bits for each in closures), tuple(p for each in closures for p in each.problems))
