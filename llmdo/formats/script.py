"""The content of a script, the FILE of `script:FILE.yaml`: the calls and answers of workers, in place of a model's."""
# ruff: noqa: UP013  # one form for all tables of the formats

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from annotated_types import MinLen
from typing_extensions import TypedDict

from llmdo.formats.fields import STRICT, Doc, NameOfAgent, Text

Calls = Text | dict[Text, dict[str, Any]]

ScriptStepTable = TypedDict(
    "ScriptStepTable",
    {
        "when": NotRequired[
            Annotated[Text, Doc("Passed over unless the worker's input holds this; case does not matter.")]
        ],
        "input": NotRequired[
            Annotated[str, Doc("Passed over unless the worker's input is this and nothing else.")]
        ],
        "after": NotRequired[
            Annotated[
                Text,
                Doc("Passed over unless the results of the last calls hold this; case does not matter."),
            ]
        ],
        "call": NotRequired[
            Annotated[
                Calls | Annotated[list[Calls], MinLen(1)],
                Doc("Tool to arguments, or a list of such calls, which are made at once."),
            ]
        ],
        "answer": NotRequired[
            Annotated[
                Any,
                Doc(
                    "The worker's answer: text, or data where it is typed; beside `call`, what is said before it. In "
                    "texts, also of calls, {input} is the worker's input, and {result} what its last calls returned."
                ),
            ]
        ],
    },
)

ScriptFile = dict[NameOfAgent, list[ScriptStepTable]]
"""Worker to its steps: each request takes the next one that is not passed over."""

ScriptStepTable.__pydantic_config__ = STRICT  # type: ignore[attr-defined]
