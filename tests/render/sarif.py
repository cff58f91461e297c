"""The part of the SARIF 2.1.0 format that llmdo writes, as a strict JSON Schema: nothing else may stand in a log."""

from __future__ import annotations

from typing import Any


def table(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def items(schema: dict[str, Any], **limits: Any) -> dict[str, Any]:
    return {"type": "array", "items": schema, **limits}


TEXT = {"type": "string", "minLength": 1}
POSITIVE = {"type": "integer", "minimum": 1}
LEVEL = {"enum": ["error", "warning", "note"]}
MESSAGE = table({"text": TEXT})
URI = {"type": "string", "pattern": r"^(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+$", "not": {"pattern": "^/"}}
ARTIFACT = table({"uri": URI, "uriBaseId": {"const": "%SRCROOT%"}})
REGION = table({"startLine": POSITIVE}, startColumn=POSITIVE, endLine=POSITIVE, endColumn=POSITIVE)
PHYSICAL = table({"artifactLocation": ARTIFACT, "region": REGION})
REPLACEMENT = table({"deletedRegion": REGION}, insertedContent=table({"text": {"type": "string"}}))
CHANGE = table({"artifactLocation": ARTIFACT, "replacements": items(REPLACEMENT, minItems=1)})
RULE = table(
    {"id": TEXT, "name": TEXT, "shortDescription": MESSAGE, "fullDescription": MESSAGE, "help": MESSAGE},
    defaultConfiguration=table({"level": LEVEL}),
)
RESULT = table(
    {
        "ruleId": TEXT,
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "message": MESSAGE,
        "locations": items(table({"physicalLocation": PHYSICAL}), minItems=1, maxItems=1),
        "partialFingerprints": {"type": "object", "additionalProperties": TEXT, "minProperties": 1},
    },
    relatedLocations=items(
        table({"id": {"type": "integer", "minimum": 0}, "physicalLocation": PHYSICAL, "message": MESSAGE}),
        uniqueItems=True,
    ),
    fixes=items(table({"artifactChanges": items(CHANGE, minItems=1)}), uniqueItems=True),
)
RUN = table(
    {
        "tool": table(
            {
                "driver": table(
                    {"name": {"const": "llmdo"}, "version": TEXT, "rules": items(RULE, uniqueItems=True)}
                )
            }
        ),
        "columnKind": {"const": "unicodeCodePoints"},
        "originalUriBaseIds": table({"%SRCROOT%": table({"description": MESSAGE})}),
        "invocations": items(
            table(
                {"executionSuccessful": {"type": "boolean"}},
                toolExecutionNotifications=items(table({"level": LEVEL, "message": MESSAGE})),
            )
        ),
    },
    results=items(RESULT),
)
SCHEMA = table(
    {
        "$schema": {"type": "string", "pattern": "sarif-schema-2.1.0.json$"},
        "version": {"const": "2.1.0"},
        "runs": items(RUN, minItems=1),
    }
)
