"""The JSON Schemas of the file formats, generated from the types in `formats`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonRef, JsonSchemaValue

from llmdo.formats.documents import ManifestFile, PolicyFile
from llmdo.formats.evaluation import EvalFile
from llmdo.formats.locked import LockFile
from llmdo.formats.script import ScriptFile
from llmdo.formats.team import TeamFile
from llmdo.formats.worker import WorkerHeader

if TYPE_CHECKING:
    from pydantic_core import core_schema

    from llmdo.formats.schema.acceptance import Format

COMMENT = "Generated from llmdo/formats by `python -m llmdo.formats.schema --write`. Do not edit."

_FORMATS: dict[Format, tuple[Any, str]] = {
    "manifest": (ManifestFile, "llmdo.toml"),
    "worker": (WorkerHeader, "The header of a .worker file"),
    "team": (TeamFile, "team.yaml"),
    "lock": (LockFile, "llmdo.lock"),
    "policy": (PolicyFile, "policy.toml"),
    "eval": (EvalFile, "evals/NAME.yaml"),
    "script": (ScriptFile, "The FILE of script:FILE.yaml"),
}


def generate(form: Format) -> str:
    """The text of the JSON Schema of a format.

    Draft 7, the limit of editors' TOML tools. A key is described at its use, next to its `$ref`: editors show that, and
    validators may ignore it.
    """
    table, title = _FORMATS[form]
    schema = TypeAdapter(table).json_schema(ref_template="#/definitions/{model}", schema_generator=_Generator)
    definitions = schema.pop("$defs", {})
    top = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$comment": COMMENT,
        "title": title,
        "definitions": definitions,
    }
    return json.dumps(top | schema, indent=2, sort_keys=True) + "\n"


class _Generator(GenerateJsonSchema):
    """Pydantic's generator, without its own titles and without `anyOf` and `patternProperties`.

    Those two would hide the exact fault of a value that fits no branch or a key that fits no pattern.
    """

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
        """Whether a field gets its prettified name as title: only `Matches` gives titles."""
        return False

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        """The schema of a table, without the name of our type."""
        table = super().typed_dict_schema(schema)
        del table["title"]
        return table

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """The schema of a table with free keys: that of its keys and that of its values."""
        keys = self.generate_inner(schema["keys_schema"])
        table = {"type": "object", "additionalProperties": self.generate_inner(schema["values_schema"])}
        if names := {keyword: limit for keyword, limit in keys.items() if keyword != "type"}:
            table["propertyNames"] = names
        return table

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        """The schema of listed texts, also of a single one."""
        texts = super().literal_schema(schema)
        if "const" not in texts:
            return texts
        return {"type": "string", "enum": [texts["const"]]}

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        """The schema of a whole number; a single possible one becomes a value that editors can offer."""
        number = super().int_schema(schema)
        if number.get("minimum") == number.get("maximum", object()):
            return {"type": "integer", "const": number["minimum"]}
        return number

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """The schema of a table that may be left empty; a definition says so itself, by `EMPTIABLE`."""
        value = self.generate_inner(schema["schema"])
        return value if "$ref" in value else {**value, "type": [value["type"], "null"]}

    def union_schema(self, schema: core_schema.UnionSchema) -> JsonSchemaValue:
        """The schema of a value of several JSON types: one schema, since each keyword is about one type only."""
        branches = [
            self._resolved(self.generate_inner(choice[0] if isinstance(choice, tuple) else choice))
            for choice in schema["choices"]
        ]
        union: JsonSchemaValue = {"type": [branch.pop("type") for branch in branches]}
        for branch in branches:
            assert not union.keys() & branch.keys(), "two branches of a union share a keyword"  # noqa: S101
            union |= branch
        return union

    def _resolved(self, schema: JsonSchemaValue) -> JsonSchemaValue:
        reference = schema.get("$ref")
        definition = self.get_schema_from_definitions(JsonRef(reference)) if reference else schema
        assert definition is not None, "pydantic defines what it refers to"  # noqa: S101
        return dict(definition)
