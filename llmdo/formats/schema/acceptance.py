"""Whether data is valid in its format: no reasons, no places, no library.

A schema becomes a tree of small functions, one for each part. They alone judge a file without a fault; `validation` has
the reasons for a refusal.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal

from llmdo.base import resources

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    JsonSchema = TypedDict(
        "JsonSchema",
        {
            "$ref": str,
            "title": str,
            "type": str | list[str],
            "enum": list[str],
            "const": int,
            "pattern": str,
            "minLength": int,
            "minimum": float,
            "exclusiveMinimum": float,
            "items": "JsonSchema",
            "minItems": int,
            "properties": dict[str, "JsonSchema"],
            "required": list[str],
            "additionalProperties": "bool | JsonSchema",
            "propertyNames": "JsonSchema",
        },
        total=False,
    )
    """A part of our schemas, with the keywords that are in them."""

Format = Literal["manifest", "worker", "team", "lock", "policy", "eval", "script"]

Judge = Callable[[object], bool]


def accepts(data: object, form: Format) -> bool:
    """Whether data is valid in its format."""
    return _judge_of(form)(data)


def accepts_part(data: object, form: Format, key: str) -> bool:
    """Whether data is valid at this key of a whole document."""
    return _judge_of(form, key)(data)


@cache
def _judge_of(form: Format, key: str = "") -> Judge:
    """The function that judges a whole document of this format, or the value at a key of it."""
    schema = json.loads(resources.read("schemas", f"{form}.json"))
    compiler = _Compiler(schema.pop("definitions", {}))
    return compiler.compile(schema["properties"][key] if key else schema)


def _anything(_: object) -> bool:
    return True


class _Compiler:
    """Makes the functions of one schema, those of a definition once."""

    def __init__(self, definitions: Mapping[str, JsonSchema]) -> None:
        self._definitions = definitions
        self._known: dict[str, Judge] = {}

    def compile(self, schema: JsonSchema) -> Judge:
        """The function that judges data by this part of the schema."""
        if reference := schema.get("$ref"):
            name = reference.removeprefix("#/definitions/")
            if name not in self._known:
                self._known[name] = self.compile(self._definitions[name])
            return self._known[name]
        kinds = schema.get("type", [])
        judges = [self._compile_as(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
        if len(judges) == 1:
            return judges[0]
        return _either(judges) if judges else _anything

    def _compile_as(self, kind: str, schema: JsonSchema) -> Judge:
        match kind:
            case "object":
                return self._table(schema)
            case "array":
                return self._list(schema)
            case "string":
                return _text(schema)
            case "null":
                return lambda value: value is None
            case "boolean":
                return lambda value: isinstance(value, bool)
        return _number(schema, whole=kind == "integer")

    def _table(self, schema: JsonSchema) -> Judge:
        required = schema.get("required", ())
        known = {key: self.compile(part) for key, part in schema.get("properties", {}).items()}
        others = schema["additionalProperties"]
        free = self.compile({} if isinstance(others, bool) else others) if others is not False else None
        names = self.compile({"type": "string", **schema.get("propertyNames", {})})
        # Their pattern is only compiled where a file has such a key.
        is_known_fit = "propertyNames" not in schema

        def judge(table: object) -> bool:
            if not isinstance(table, dict):
                return False
            for key in required:
                if key not in table:
                    return False
            for key, value in table.items():
                part = known.get(key, free)
                if part is None or not part(value):
                    return False
                if not (is_known_fit and key in known) and not names(key):
                    return False
            return True

        return judge

    def _list(self, schema: JsonSchema) -> Judge:
        item, least = self.compile(schema["items"]), schema.get("minItems", 0)

        def judge(values: object) -> bool:
            if not isinstance(values, list) or len(values) < least:
                return False
            for value in values:  # noqa: SIM110  # a generator costs as much as the judging
                if not item(value):
                    return False
            return True

        return judge


def _either(judges: Sequence[Judge]) -> Judge:
    def judge(value: object) -> bool:
        for each in judges:  # noqa: SIM110  # a generator costs as much as the judging
            if each(value):
                return True
        return False

    return judge


@cache
def _text_matching(pattern: str) -> Judge:
    # A pattern is compiled when a text needs it: most files have no use for most of them.
    matcher = cache(lambda: re.compile(pattern).fullmatch)
    return lambda value: isinstance(value, str) and matcher()(value) is not None


def _text(schema: JsonSchema) -> Judge:
    if "pattern" in schema:
        return _text_matching(schema["pattern"])
    if "enum" in schema:
        words = frozenset(schema["enum"])
        return lambda value: isinstance(value, str) and value in words
    least = schema.get("minLength", 0)
    return lambda value: isinstance(value, str) and len(value) >= least


def _number(schema: JsonSchema, *, whole: bool) -> Judge:
    only = schema.get("const")
    least, more_than = schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf)

    def judge(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            return False
        if only is not None:
            return bool(value == only)
        return value >= least and value > more_than and (whole or is_finite(value))

    return judge


def is_finite(value: float) -> bool:
    """Whether a number is finite and small enough to be a float."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
