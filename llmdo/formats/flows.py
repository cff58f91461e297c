"""The flow rules and the labels of sources in files."""
# The forms with keys that are no names, as in `llmdo.formats.documents`.

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from annotated_types import Ge
from typing_extensions import TypedDict

from llmdo.formats.fields import FLOW, Doc, FlowKey, Keys, StricterDecision

FlowsTable = TypedDict(  # type: ignore[misc]  # mypy does not know extra_items yet
    "FlowsTable",
    {
        "preset": NotRequired[
            Annotated[
                Literal["rule-of-two", "strict"],
                Doc(
                    "rule-of-two: a stranger's text, private data and a way out never come together without a "
                    "question. strict: no effect after a stranger's text without a question."
                ),
            ]
        ],
        "max-bits": NotRequired[
            Annotated[
                int,
                Ge(0),
                Doc(
                    "The most bits that a closed answer may carry, up to 256; one that carries more is open."
                ),
            ]
        ],
    },
    extra_items=StricterDecision,
)
FlowsTable.__pydantic_config__ = {  # type: ignore[attr-defined]
    "extra": "allow",
    "strict": True,
    "json_schema_extra": {"propertyNames": {"pattern": FLOW.pattern, "title": FLOW.meaning}},
}

Flows = Annotated[FlowsTable, Keys(FlowKey)]
