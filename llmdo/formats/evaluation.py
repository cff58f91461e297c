"""The content of an eval, `evals/NAME.yaml`: an entry, its cases, and their judges."""
# ruff: noqa: UP013  # one form for all tables of the formats

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from annotated_types import Ge, Le, MinLen
from typing_extensions import TypedDict

from llmdo.formats.fields import (
    STRICT,
    Callee,
    Chain,
    Decision,
    Doc,
    FileAttribute,
    Matches,
    Name,
    Path,
    ScopedCapability,
    Text,
)

CASE_NAME = Matches(
    r"^[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9_-])?$",
    "the name of a case (letters, digits, blanks, `.`, `_` and `-`, at most 64)",
)
Called = Annotated[
    str,
    Matches(
        r"^(?:\*|[A-Za-z_][A-Za-z0-9_-]{0,63}(?:\.[A-Za-z_][A-Za-z0-9_.-]{0,127})?)$",
        "the name of a tool, TOOLSET.TOOL, or `*`",
    ),
]
Endings = Literal["completed", "failed", "waiting"]
Capabilities = ScopedCapability | list[ScopedCapability]
Decided = Annotated[
    str,
    Matches(r"^(?:allowed|needs_approval|blocked)$", "`allowed`, `needs_approval` or `blocked`"),
]
Count = Annotated[int, Ge(0)]

EvaluatorsTable = TypedDict(
    "EvaluatorsTable",
    {
        "equals": NotRequired[Annotated[Any, Doc("The output is this, as data where it is typed.")]],
        "equals_expected": NotRequired[
            Annotated[bool, Doc("Whether the output has to be what the case has as `expected`.")]
        ],
        "contains": NotRequired[Annotated[Chain, Doc("Texts that are all in the output.")]],
        "contains_expected": NotRequired[
            Annotated[bool, Doc("Whether what the case has as `expected` has to be in the output.")]
        ],
        "regex": NotRequired[
            Annotated[Chain, Doc("Regular expressions of Python that each match somewhere in the output.")]
        ],
        "json_schema": NotRequired[
            Annotated[dict[str, Any], Doc("The JSON Schema that the output fits, read as JSON.")]
        ],
        "function": NotRequired[
            Annotated[
                FileAttribute | Annotated[list[FileAttribute], MinLen(1)],
                Doc("FILE.py:NAME of functions of the workspace that judge a case."),
            ]
        ],
        "evaluator": NotRequired[
            Annotated[
                Name | Annotated[list[Name], MinLen(1)],
                Doc("Names of evaluators that extensions of the workspace bring."),
            ]
        ],
        "judge": NotRequired[
            Annotated[
                dict[Name, Chain],
                Doc("Workers that judge the output, each with the question or questions that it answers."),
            ]
        ],
        "ends": NotRequired[
            Annotated[Endings, Doc("How the run ends: completed where left out, failed or waiting.")]
        ],
        "raised": NotRequired[Annotated[Capabilities, Doc("What a call that was let through raised.")]],
        "never_raised": NotRequired[
            Annotated[Capabilities, Doc("What no call raised that was let through.")]
        ],
        "asked_before": NotRequired[
            Annotated[Capabilities, Doc("What no call raised before somebody was asked about it.")]
        ],
        "delegates_at_most": NotRequired[
            Annotated[Count, Doc("Calls of workers by workers, in the whole run.")]
        ],
        "requests_at_most": NotRequired[Annotated[Count, Doc("Requests that models answered.")]],
        "cost_at_most": NotRequired[
            Annotated[float, Ge(0), Doc("US dollars; a request without a known price is a failure.")]
        ],
        "tools": NotRequired[
            Annotated[
                list[Called],
                Doc("The tools that the entry calls, in this order; `*` is any number of calls."),
            ]
        ],
        "decisions": NotRequired[
            Annotated[
                dict[Callee, Decided | list[Decision]],
                Doc("Tool to what is decided on each of its calls, or on one after the other."),
            ]
        ],
    },
)

CaseTable = TypedDict(
    "CaseTable",
    {
        "name": Annotated[str, CASE_NAME, Doc("Its name, unique in this file.")],
        "input": NotRequired[
            Annotated[
                str | dict[str, Any],
                Doc("What the entry is given; a mapping as JSON. The entry's own where left out."),
            ]
        ],
        "attachments": NotRequired[
            Annotated[list[Path], Doc("Files of the workspace that are handed to the entry.")]
        ],
        "refuse": NotRequired[
            Annotated[
                Capabilities,
                Doc("Questions about these are answered with no in this case, whatever the flags approve."),
            ]
        ],
        "expected": NotRequired[Annotated[Any, Doc("What evaluators compare the output with.")]],
        "metadata": NotRequired[
            Annotated[dict[str, Any], Doc("Free for functions that judge, and for readers.")]
        ],
        "evaluators": NotRequired[
            Annotated[EvaluatorsTable, Doc("What judges this case, beside what judges all.")]
        ],
    },
)

EvalFile = TypedDict(
    "EvalFile",
    {
        "schema": Annotated[int, Ge(1), Le(1), Doc("The version of this file's format.")],
        "description": NotRequired[Annotated[Text, Doc("What it is about, in a sentence.")]],
        "entry": Annotated[Name, Doc("The entry that is run.")],
        "evaluators": NotRequired[Annotated[EvaluatorsTable, Doc("What judges every case.")]],
        "cases": Annotated[list[CaseTable], MinLen(1), Doc("What it is run with.")],
    },
)
"""`evals/NAME.yaml`."""

for _table in (EvaluatorsTable, CaseTable, EvalFile):
    _table.__pydantic_config__ = STRICT  # type: ignore[union-attr]
