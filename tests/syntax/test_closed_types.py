"""What the text of a type says against the type itself: what is read as closed is closed in a run."""

from __future__ import annotations

import sys
from itertools import product
from types import ModuleType

from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from llmdo.policy.closed import closure_of, is_one_of
from llmdo.syntax.models import schema_of

MODULE = """\
from enum import Enum, IntEnum
from typing import Annotated, Any, ClassVar, List, Literal, Optional, Tuple, Union
from pydantic import (
    BaseModel, ConfigDict, Field, PlainSerializer, PrivateAttr, WithJsonSchema, computed_field, conint, field_validator,
    model_validator,
)

class Kind(str, Enum):
    BILL = "bill"
    SPAM = "spam"

class Number(IntEnum):
    ONE = 1
    UNO = 1
    TWO = 2

class Inner(BaseModel):
    kind: Kind
    is_urgent: bool = False

class A(BaseModel):
"""
TYPES = (
    "bool", "int", "float", "str", "Kind", "Number", "Inner", "Literal['a', 'b']", "Literal[1, None, True]",
    "Optional[bool]", "Optional[int]", "int | None", "Inner | None", "Union[bool, Kind]", "list[bool]", "List[Inner]",
    "tuple[bool, Kind]", "Tuple[Kind, int]", "'Kind | None'", "dict[str, bool]", "Any", "set[Kind]", "ClassVar[bool]",
    "Annotated[int, Field(ge=0, le=9)]", "Annotated[float, Field(ge=0, le=1, multiple_of=0.5)]",
    "Annotated[list[Kind], Field(max_length=3)]", "Annotated[bool, PlainSerializer(str, return_type=str)]",
    "Annotated[Literal['a'], WithJsonSchema({'type': 'string'})]", "conint(ge=0, le=9)", "list[list[bool]]",
    "Annotated[Optional[int], Field(ge=0, le=9)]",
)  # fmt: skip
DEFAULTS = (
    "", " = None", " = Field(max_length=3)", " = Field(ge=0, le=9)", " = Field(gt=0, lt=9, multiple_of=2)",
    " = Field(None, ge=0, le=5)", " = Field(json_schema_extra={'type': 'string'})", " = Field(alias='z')",
    " = Field(default_factory=list)", " = Field(exclude=True)", " = Field(description='x')",
)  # fmt: skip
MORE = (
    "    model_config = ConfigDict(extra='allow')\n",
    "    model_config = ConfigDict(extra='forbid')\n",
    "    model_config: ClassVar[ConfigDict] = ConfigDict(extra='allow')\n",
    "    @computed_field\n    @property\n    def more(self) -> str: return 'x'\n",
    "    @model_validator(mode='after')\n    def checked(self): return self\n",
    "    _own: str = PrivateAttr('x')\n",
    "    class Config:\n        extra = 'allow'\n",
)


def is_read_rightly(text: str) -> bool:
    """Whether the class `A` of a module is closed where its text was read so, and carries no more bits."""
    read = closure_of(schema_of(text, "A"))
    if not read.is_closed:
        return True
    module = sys.modules["closed_types"] = ModuleType("closed_types")
    try:
        exec(compile(text, "closed_types.py", "exec"), module.__dict__)  # the very text that was read
        real = closure_of(module.A.model_json_schema(mode="serialization"))
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError):
        return True  # which no run takes either
    return real.is_closed and read.bits >= real.bits


def test_what_is_read_as_closed_is_closed() -> None:
    fields = [f"    field: {kind}{default}\n" for kind, default in product(TYPES, DEFAULTS)]
    bodies = [*fields, *(f"{more}    field: bool\n" for more in MORE)]
    assert [body for body in bodies if not is_read_rightly(MODULE + body)] == []


def test_a_value_of_several_schemas_is_as_free_as_one_of_any_of_them() -> None:
    kinds = {"enum": ["bill", "spam"]}
    for key in ("anyOf", "oneOf", "allOf"):
        assert closure_of({key: [kinds]}) == closure_of(kinds)
        assert closure_of({key: [kinds, {"type": "boolean"}]}).bits == 2
        assert not closure_of({key: [kinds, {"type": "string"}]}).is_closed


def test_numbers_are_closed_alone_and_not_in_a_list() -> None:
    number = {"type": "integer", "minimum": 0, "maximum": 9}
    assert closure_of(number).is_closed
    assert not closure_of({"type": "array", "maxItems": 3, "items": number}).is_closed
    assert not closure_of({**number, "multipleOf": 0}).is_closed


def test_nothing_is_one_of_what_is_not_closed() -> None:
    assert not is_one_of("bill", {"type": "string"})
    assert not is_one_of("bill", {})
