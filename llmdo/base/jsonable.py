"""The JSON of frozen values, which follows from their fields.

A field is a key of its name, in its order; where that differs, `in_json` says so at the field, and `also_in_json` at
a property that is a key as well. What is no plain data becomes it: an enum its value, a tuple a list, a set a sorted
one, and any other value its text: a date that of ISO 8601, a capability or a reason the one that it writes itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmdo.base.values import Json

    Shapes = Mapping[type, Callable[[Any], object]]
    """What is written of the values of a class in one document, instead of their fields."""

_NONE: Shapes = MappingProxyType({})


class JsonKey(NamedTuple):
    """A key of the JSON of a class."""

    name: str
    of: Callable[[object], Any]
    by: Callable[[Any], object] | None = None
    part: str | None = ""
    flat: bool = False
    sparse: bool = False


def document(
    schema: str,
    *values: object,
    part: str = "",
    shapes: Shapes = _NONE,
    in_ascii: bool = False,
    is_folded: bool = False,
) -> str:
    """The text of the document of that schema, with the keys of each of the values; `in_ascii` if of that alone.

    With `is_folded` all that fits on a line stands on one: for documents with many rows.
    """
    keys: dict[str, Json] = {"schema": schema}
    for value in values:
        keys |= record(value, part, shapes)
    return (_folded(keys) if is_folded else json.dumps(keys, indent=2, ensure_ascii=in_ascii)) + "\n"


ROOM = 300  # characters of a line


def _folded(value: object, indent: str = "") -> str:
    """A value of plain data as JSON, in which all that fits on a line stands on one, and every list of plain values."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) <= ROOM or not isinstance(value, dict | list):
        return line
    if isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        return line
    inner = f"{indent}  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {_folded(each, inner)}" for name, each in value.items()]
        return f"{{\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}}}"
    return f"[\n{inner}" + f",\n{inner}".join(_folded(each, inner) for each in value) + f"\n{indent}]"


def record(value: object, part: str = "", shapes: Shapes = _NONE) -> dict[str, Any]:
    """The keys of one value: of a mapping, or of a class with fields, also of one that writes itself as text."""
    has_fields = hasattr(value.__class__, "__dataclass_fields__") and value.__class__ not in shapes
    made = _object(value, part, shapes) if has_fields else as_json(value, part, shapes)
    if not isinstance(made, dict):
        raise TypeError(f"{type(value).__name__} has no keys in JSON")
    return made


def as_json(value: Any, part: str = "", shapes: Shapes = _NONE) -> Json:
    """A value as plain data, with the keys of `part`."""
    cls = value.__class__
    if shape := shapes.get(cls):
        value = shape(value)
        cls = value.__class__
    if value is None or cls in (str, int, bool, float):
        return value  # type: ignore[no-any-return]
    if isinstance(value, Enum):
        return value.value  # type: ignore[no-any-return]
    if isinstance(value, Mapping):
        return {str(name): as_json(each, part, shapes) for name, each in value.items()}
    if isinstance(value, set | frozenset):
        return [as_json(each, part, shapes) for each in sorted(value)]
    if hasattr(cls, "__dataclass_fields__") and cls.__str__ is object.__str__:
        return _object(value, part, shapes)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [as_json(each, part, shapes) for each in value]
    return value.isoformat() if hasattr(cls, "isoformat") else str(value)


def _object(value: Any, part: str, shapes: Shapes) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for key in keys_of(value.__class__):
        if key.part and key.part != part:
            continue
        own = key.of(value)
        if key.by:
            own = key.by(own)
        if key.flat:
            made |= record(own, part, shapes)
        elif own or not key.sparse:
            made[key.name] = as_json(own, part, shapes)
    return made


@cache
def keys_of(cls: type) -> tuple[JsonKey, ...]:
    """The keys of a class, in their order: those of its fields, then those of properties, which may replace one."""
    keys: list[JsonKey] = []
    stated = getattr(cls, "__fields__", None)
    if stated is None:
        from dataclasses import fields  # which takes longer than all this

        stated = fields(cls)
    for each in stated:
        _insert(keys, each.name, each.metadata.get("json", {}))
    if len({key.name for key in keys}) < len(keys):
        raise TypeError(f"two fields of {cls.__name__} have one key in JSON")
    for above in reversed(cls.__mro__):
        for name, member in vars(above).items():
            if how := getattr(getattr(member, "fget", None), "json", None):
                _insert(keys, name, how, replaces=True)
    return tuple(key for key in keys if key.part is not None)


_KEPT = ("by", "part", "flat", "sparse")


def _insert(keys: list[JsonKey], name: str, stated: Mapping[str, Any], *, replaces: bool = False) -> None:
    """Adds the key that a field or a property states, at its place."""
    kept = (stated[each] for each in _KEPT if each in stated)
    key = JsonKey(stated.get("name") or name, attrgetter(name), *kept)
    names = [each.name for each in keys]
    if replaces and key.name in names:
        keys[names.index(key.name)] = key
    else:
        after = stated.get("after", "")
        keys.insert(0 if after is None else names.index(after) + 1 if after else len(keys), key)
