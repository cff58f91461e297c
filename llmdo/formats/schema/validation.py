"""The faults of data, by the JSON Schema of its format; and by one that a user wrote."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from llmdo.base import parts, resources
from llmdo.base.diagnostic import LlmdoError
from llmdo.formats.schema.acceptance import is_finite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

    from llmdo.base.values import Json
    from llmdo.formats.schema.acceptance import Format, JsonSchema
    from llmdo.syntax.document import Route


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaFault:
    """One way in which data breaks its schema."""

    route: Route
    """The place of the fault: a value, a key with its value, or the table that lacks a key."""
    keyword: str
    """The keyword of the schema that is broken."""
    schema: JsonSchema
    """The part of the schema that holds the keyword."""
    value: Json
    """The value judged: the key itself if a key is unknown, missing or misspelt."""
    of_key: bool = False
    """Whether the key at `route` is misspelt."""

    @property
    def text(self) -> str:
        """The value judged, if it is a text, such as a key; else empty."""
        return parts.text(self.value)


def faults(data: Json, form: Format) -> Iterator[SchemaFault]:
    """Everything in data that its format does not allow; nothing exactly if `acceptance` says yes."""
    errors: dict[tuple[Route, str], ValidationError] = {}
    for error in _validator(form).iter_errors(data):
        route = tuple(error.absolute_path)
        if "propertyNames" in error.schema_path:
            errors[(*route, str(error.instance)), "propertyNames"] = error
        else:
            errors.setdefault((route, str(error.validator)), error)
    for (route, keyword), error in errors.items():
        schema: Any = error.schema
        value: Any = error.instance
        if keyword == "propertyNames":
            yield SchemaFault(
                route=route, keyword=str(error.validator), schema=schema, value=value, of_key=True
            )
        elif keyword == "additionalProperties":
            for key in value:
                if key not in schema.get("properties", {}):
                    yield SchemaFault(route=(*route, key), keyword=keyword, schema=schema, value=key)
        elif keyword == "required":
            for key in schema["required"]:
                if key not in value:
                    yield SchemaFault(route=route, keyword=keyword, schema=schema, value=key)
        elif keyword == "type" or (route, "type") not in errors:
            # What is said about the type of a value is all there is to say.
            yield SchemaFault(route=route, keyword=keyword, schema=schema, value=value)


@cache
def _validator(form: Format) -> Validator:
    from jsonschema import Draft7Validator
    from jsonschema.validators import extend

    types = Draft7Validator.TYPE_CHECKER.redefine_many({"integer": _is_integer, "number": _is_number})
    schema = json.loads(resources.read("schemas", f"{form}.json"))
    definitions = schema.pop("definitions", {})
    judge = extend(Draft7Validator, {"pattern": _pattern}, type_checker=types)  # type: ignore[no-untyped-call]
    validator: Validator = judge(_expanded(schema, definitions))
    return validator


def _expanded(schema: Json, definitions: Mapping[str, Json]) -> Json:
    """The schema with every definition in the place of its `$ref`, which is twice as fast to follow."""
    if isinstance(schema, list):
        return [_expanded(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    named = parts.text(schema.get("$ref")).removeprefix("#/definitions/")
    whole = {**parts.table(definitions, named), **schema} if named else schema
    return {key: _expanded(part, definitions) for key, part in whole.items() if key != "$ref"}


def _is_integer(_: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(_: object, value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and is_finite(value)


def _pattern(_: Validator, pattern: str, value: object, __: object) -> Iterator[ValidationError]:
    from jsonschema import ValidationError

    # Every pattern is anchored; only `re` takes `$` for a place before a last line break as well.
    if isinstance(value, str) and re.fullmatch(pattern, value) is None:
        yield ValidationError("does not match")


def schema_problem(schema: Mapping[str, Json]) -> str | None:
    """The reason why this is not a JSON Schema; None if it is."""
    from jsonschema import SchemaError
    from jsonschema.validators import validator_for

    try:
        validator_for(schema).check_schema(dict(schema))
    except (SchemaError, RecursionError) as error:
        return getattr(error, "message", "it is nested too deeply")
    return None


def misfit(data: Json, schema: Mapping[str, Json]) -> str | None:
    """The reason why data does not fit a user's JSON Schema; None if it does. Nothing is fetched for a `$ref`.

    Raises:
        LlmdoError: It refers to something that is not in it.
    """
    from jsonschema import ValidationError
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        validator_for(schema)(schema, registry=Registry()).validate(data)
    except ValidationError as error:
        return f"{error.json_path}: {error.message}"
    except (Unresolvable, RecursionError) as error:
        raise LlmdoError(f"the JSON Schema cannot be followed: {error}") from error
    return None
