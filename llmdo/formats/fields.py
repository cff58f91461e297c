"""The parts of the file formats: kinds of text, and the statements of a field about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, MinLen

from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from pydantic import ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

STRICT: ConfigDict = {"extra": "forbid", "strict": True, "allow_inf_nan": False}
"""Nothing is converted, nothing is dropped, and a number is a finite one: as the schemas judge."""

EMPTIABLE: ConfigDict = {**STRICT, "json_schema_extra": {"type": ["object", "null"]}}
"""The same of a table with no required key: in YAML, `NAME:` without more means the same as `NAME: {}`."""


@dataclass(frozen=True, slots=True)
class Doc:
    """The description of a field: the schema's `description`, which editors show."""

    text: str

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The field's JSON Schema with this description."""
        return {**handler(core), "description": self.text}


@dataclass(frozen=True, slots=True)
class Matches:
    """A text field matches this pattern: anchored, without look-around, and `$` is the very end."""

    pattern: str
    meaning: str
    """The kind of such a text, to follow "is not": the schema's `title`."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The field's JSON Schema with the meaning as its title."""
        return {**handler(core), "title": self.meaning}

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The field's validator with this pattern."""
        return {**handler(source), "pattern": self.pattern}


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a table are texts of this type; its config says so to the schema as well."""

    type: object

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The table's validator, which judges each key as well."""
        from pydantic_core import core_schema

        keys = core_schema.dict_schema(handler.generate_schema(self.type), core_schema.any_schema())
        return core_schema.chain_schema([handler(source), keys])


_SPECIAL = r"*?\[\]\\:\x00-\x1f\x7f"


def _segment(special: str, first: str = "./") -> str:
    """A name in a path, without these characters; `first` are those that it does not begin with."""
    rest = rf"[^/{special}]*"
    return rf"(?:[^{first}{special}]{rest}|\.[^./{special}]{rest}|\.\.[^/{special}]+)"


def _scope(special: str) -> str:
    return rf"(?:\*\*|{_path(special)}(?:/\*\*)?)"


def _path(special: str) -> str:
    return rf"{_segment(special, '~./')}(?:/{_segment(special)})*"  # `~` first would look like a home folder


_SEGMENT = _segment(_SPECIAL)
_PATH = _path(_SPECIAL)
_SCOPE = _scope(_SPECIAL)
_SCOPE_IN_FLOW = _scope(rf"{_SPECIAL}&>")  # else nobody could tell where a flow's next part begins
_CAPABILITY = r"[a-z][a-z0-9]*(?:\.[A-Za-z0-9_-]+)*"

NAME = Matches(
    r"^[A-Za-z][A-Za-z0-9_-]{0,63}$", "a name (a letter, then up to 63 letters, digits, `_` and `-`)"
)
Name = Annotated[str, NAME]
NameOfAgent = Annotated[
    str,
    Matches(
        r"^[A-Za-z][A-Za-z0-9_-]{0,63}(?:/[^\x00-\x1f\x7f]{1,150})?$",
        "a name (a letter, then up to 63 letters, digits, `_` and `-`), nor FORMAT/NAME of an agent of another tool",
    ),
]
Variable = Annotated[str, Matches(r"^[A-Za-z_][A-Za-z0-9_]{0,127}$", "the name of an environment variable")]
_LABEL = r"[A-Za-z_][A-Za-z0-9_]*"
_DOTTED_NAME = rf"{_LABEL}(?:\.{_LABEL})*"
_CLASS = r"[A-Za-z][A-Za-z0-9_]{0,63}"
USED = Matches(
    rf"^(?:[A-Za-z][A-Za-z0-9_-]{{0,63}}|{_PATH}\.py:{_CLASS}|{_DOTTED_NAME}[.:]{_CLASS})$",
    "a name (a letter, then up to 63 letters, digits, `_` and `-`), nor the path of a class inside the workspace "
    "(FILE.py:CLASS or package.module.CLASS)",
)
ToolsetUsed = Annotated[str, USED]
ToolsetName = Annotated[
    str,
    Matches(
        r"^[A-Za-z][A-Za-z0-9_-]{0,63}(?:\.tools)?$", "the name of a toolset, or of an agent with `.tools`"
    ),
]
Path = Annotated[str, Matches(rf"^{_PATH}$", "a path inside the workspace")]
PathOrFolder = Annotated[str, Matches(rf"^{_PATH}/?$", "a path inside the workspace")]
Root = Annotated[
    str,
    Matches(
        rf"^(?:\.\.(?:/\.\.)*(?:/{_SEGMENT})*|{_PATH})/?$",
        "a folder relative to this file, such as `../site`, where `..` stands first",
    ),
]
Scope = Annotated[str, Matches(rf"^{_SCOPE}$", "a path inside the workspace or `folder/**`")]
ScopedCapability = Annotated[
    str,
    Matches(
        rf"^{_CAPABILITY}(?::{_SCOPE})?$",
        "a capability, perhaps with `:path` or `:folder/**` inside the workspace",
    ),
]
_FLOWING = rf"{_CAPABILITY}(?::{_SCOPE_IN_FLOW})?"
FLOW = Matches(
    rf"^(?:preset|max-bits|{_FLOWING}(?: & {_FLOWING})* -> {_FLOWING})$",
    "`preset`, `max-bits`, nor of the form `FROM -> TO` or `FROM & FROM -> TO`, each a capability, with `:path` or "
    "`:folder/**` of the workspace where it is about no more",
)
FlowKey = Annotated[str, FLOW]
FileAttribute = Annotated[
    str, Matches(rf"^{_PATH}\.py:[A-Za-z_][A-Za-z0-9_]*$", "of the form FILE.py:NAME, inside the workspace")
]
Attribute = Annotated[
    str,
    Matches(
        rf"^(?:{_PATH}\.py|{_DOTTED_NAME}):{_LABEL}$",
        "of the form FILE.py:NAME, inside the workspace, or package.module:NAME",
    ),
]
Prefix = Annotated[
    str,
    Matches(
        r"^[A-Za-z][A-Za-z0-9_-]{0,31}$", "a prefix (a letter, then up to 31 letters, digits, `_` and `-`)"
    ),
]
Distribution = Annotated[
    str,
    Matches(r"^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$", "the name of an installed distribution"),
]
FindingCode = Annotated[str, Matches(r"^LDO[0-9]{3}$", "a code such as LDO510")]
Suffix = Annotated[str, Matches(r"^\.[A-Za-z0-9]+$", "a file name ending such as .pdf")]
Retry = Literal["safe", "ask"]
Text = Annotated[str, MinLen(1)]
Positive = Annotated[int, Ge(1)]
Truncation = Literal["warn", "error"]
"""The handling of an answer that was cut off."""

Decision = Literal["allowed", "needs_approval", "blocked"]
StricterDecision = Literal["needs_approval", "blocked"]
Digest = Annotated[str, Matches(r"^sha256:[0-9a-f]{64}$", "a digest")]
ToolName = Annotated[
    str,
    Matches(r"^[A-Za-z][A-Za-z0-9_-]{0,63}\.[A-Za-z_][A-Za-z0-9_.-]{0,127}$", "of the form TOOLSET.TOOL"),
]
Callee = Annotated[
    str,
    Matches(
        r"^[A-Za-z][A-Za-z0-9_-]{0,63}(?:\.[A-Za-z_][A-Za-z0-9_.-]{0,127})?$",
        "the name of a worker, or a tool of the form TOOLSET.TOOL",
    ),
]
TitleTemplate = Annotated[
    str,
    Matches(
        r"^(?:[^{}\n]|\{\{|\}\}|\{[A-Za-z_][A-Za-z0-9_-]*\})+$",
        "a line in which fields stand in braces, such as `{subject}`; braces that stand for themselves are doubled",
    ),
]
NativeTool = Literal["code_execution", "web_fetch", "web_search", "x_search"]
"""The provider-side tools that need no configuration and answer in words."""
Chain = str | Annotated[list[str], MinLen(1)]
