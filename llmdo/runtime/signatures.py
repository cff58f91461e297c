"""The input and output of workers: plain text and files, or pydantic models of the workspace."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, cast

from pydantic import BaseModel, ConfigDict, Field, RootModel, TypeAdapter, ValidationError, with_config
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import BinaryContent, TextContent
from pydantic_core import SchemaValidator, from_json, to_json
from typing_extensions import TypedDict

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.digest import canonical
from llmdo.policy.closed import OPEN, Closure, closure_of
from llmdo.toolsets.problems import Problems
from llmdo.toolsets.python import sentence_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic_ai.messages import UserContent

    from llmdo.base.values import Json
    from llmdo.graph.keys import Reference
    from llmdo.graph.resolved import Graph
    from llmdo.toolsets.python import Modules

FILES = "attachments"
"""The argument with the paths of files, in addition to a worker's own."""

MAX_NAMED = 5  # mistakes of one call that are named: more are of one kind
PROMPT_METHODS = ("input_parts", "prompt_messages")
"""Methods of a typed input that make its worker's prompt; the first that exists counts."""

_Files = Annotated[list[str], Field(description="Paths of files to hand over.", default=[])]
_Input = Annotated[str, Field(description="What the worker is to do, with all that it needs to know.")]


class _Text(TypedDict):
    """The arguments of a worker that takes plain text."""

    input: _Input


class _TextAndFiles(_Text):
    """The same with files."""

    attachments: NotRequired[_Files]


_FORBID_OTHERS = with_config(ConfigDict(extra="forbid"))
_PLAIN: dict[bool, TypeAdapter[object]] = {
    False: TypeAdapter(_FORBID_OTHERS(_Text)),
    True: TypeAdapter(_FORBID_OTHERS(_TextAndFiles)),
}
"""By whether files may be attached."""
_PLAIN_VALIDATORS = {files: SchemaValidator(adapter.core_schema) for files, adapter in _PLAIN.items()}
_PLAIN_SCHEMAS = {files: adapter.json_schema() for files, adapter in _PLAIN.items()}
_PATHS = TypeAdapter(list[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The checked input of a worker's call."""

    text: str
    """Canonical JSON if the input is typed."""
    parts: tuple[UserContent, ...]
    """The model's prompt, without the files."""
    attachments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlainInput:
    """Text, the input of a worker without a typed one."""

    def schema(self, *, files: bool) -> dict[str, object]:
        """The JSON Schema of its tool's arguments; `files` says whether the caller has some to attach."""
        return _PLAIN_SCHEMAS[files]

    def validator(self, *, files: bool) -> SchemaValidator:
        """The validator of its tool's arguments, used before anything else."""
        return _PLAIN_VALIDATORS[files]

    def arguments(self, value: object) -> dict[str, object]:
        """The arguments of a call by code: text, or data or a pydantic model, which becomes canonical JSON."""
        data = _plain(value)
        return {"input": data if isinstance(data, str) else canonical(data)}

    def order(self, arguments: Mapping[str, Any]) -> Order:
        """The order of a call with validated `arguments`."""
        text = arguments["input"]
        return Order(text=text, parts=(text,), attachments=_files_of(arguments))


@dataclass(frozen=True, slots=True)
class TypedInput:
    """The input of a worker whose header names a pydantic model."""

    worker: str
    model: type[BaseModel]

    def schema(self, *, files: bool) -> dict[str, Any]:
        """The model's JSON Schema, with an argument for `files` if the caller has some."""
        schema = self.model.model_json_schema()
        if reference := schema.pop("$ref", None):  # a model of itself; providers want an object at the top
            schema = {**schema, **schema["$defs"][reference.rpartition("/")[2]]}
        if files and not self._owns_files:
            own = schema.get("properties", {})
            schema["properties"] = {**own, FILES: _PLAIN_SCHEMAS[True]["properties"][FILES]}
        return schema

    def validator(self, *, files: bool) -> _Arguments:
        """The validator of its tool's arguments, used before anything else."""
        return _Arguments(self, files or self._owns_files)

    def arguments(self, value: object) -> dict[str, object]:
        """The arguments of a call by code: an instance of the model, or data or JSON that fits it.

        Raises:
            LlmdoError: It does not fit; says why.
        """
        names = ", ".join(f"`{name}`" for name in self.schema(files=False).get("properties", ()))
        hint = f"give a JSON object with what `{self.model.__name__}` has: {names}"
        data = _plain(value)
        if isinstance(data, str):
            try:
                data = json.loads(data)
            except (ValueError, RecursionError) as error:
                raise LlmdoError(f"the input of `{self.worker}` is not JSON: {error}", hint=hint) from error
        if wrong := self.problem(data):
            raise LlmdoError(f"the input of `{self.worker}` does not fit: {wrong}", hint=hint)
        return {**cast("dict[str, object]", data)}

    def order(self, arguments: Mapping[str, object]) -> Order:
        """The order of a call with validated `arguments`.

        Raises:
            LlmdoError: The model's own code fails, or returns no prompt.
        """
        value = self._value(arguments)
        text = canonical(value.model_dump(mode="json", by_alias=True))
        return Order(text=text, parts=_parts_of(value) or (text,), attachments=_files_of(arguments))

    def problem(self, value: object) -> str | None:
        """The fault of a call's arguments, in one sentence."""
        if not isinstance(value, dict):
            return "it is not an object"
        try:
            self._value(value)
        except ValidationError as error:
            return mistakes(error)
        except RecursionError:
            return "it is nested too deeply"
        return None

    @property
    def _owns_files(self) -> bool:
        """Whether the model itself has a field for file paths."""
        return FILES in self.model.model_fields

    def _value(self, arguments: Mapping[str, object]) -> BaseModel:
        own = {name: value for name, value in arguments.items() if name != FILES or self._owns_files}
        return self.model.model_validate_json(
            json.dumps(own)
        )  # as JSON, which strict models read more kindly


@dataclass(frozen=True, slots=True)
class _Arguments:
    """Validates the arguments of a typed worker's tool, and leaves them unchanged."""

    input: TypedInput
    takes_files: bool

    def validate_json(self, input: str | bytes | bytearray, **_: object) -> dict[str, object]:  # noqa: A002
        """The arguments in `input`."""
        try:
            return self.validate_python(from_json(input))
        except ValueError as error:
            raise ModelRetry(f"the arguments of `{self.input.worker}` are not JSON: {error}") from error

    def validate_python(self, input: object, **_: object) -> dict[str, object]:  # noqa: A002
        """`input`, if it fits the worker."""
        wrong = self._problem_with_files(input) or self.input.problem(input)
        if wrong:
            raise ModelRetry(f"`{self.input.worker}` was not called, its arguments do not fit: {wrong}")
        return cast("dict[str, object]", input)

    def _problem_with_files(self, value: object) -> str | None:
        if not isinstance(value, dict) or FILES not in value:
            return None
        if not self.takes_files:
            return f"`{FILES}`: it takes no files"
        try:
            _PATHS.validate_python(value[FILES] or [], strict=True)
        except ValidationError:
            return f"`{FILES}`: it is not a list of paths"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The input and output of one worker."""

    takes: PlainInput | TypedInput
    gives: type[BaseModel] | None
    """None is text."""
    closed: Mapping[str, Json] | None = None
    """Its answers' schema, if that lists or bounds each."""
    closure: Closure = OPEN
    """Its freedom: the bits, and the lists of its input from which values are chosen."""

    def given(self, text: str) -> Mapping[str, Json]:
        """The typed input in `text`; empty if its answers choose from no list."""
        if not self.closure.lists:
            return {}
        fields = json.loads(text)  # with a list that is longer than its type says, more could be chosen
        return {
            name: fields[name] for name, most in self.closure.lists if len(fields.get(name) or ()) <= most
        }


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a worker, function or tool."""

    value: object
    """For code: text, or a value of its type."""
    text: str
    """For models and people: JSON of anything but text."""
    cut: str | None = None
    """Why it is incomplete; None if it is complete."""

    @classmethod
    def of(cls, value: object) -> Output:
        """`value` as an output."""
        if isinstance(value, str):
            return cls(value, value)
        return cls(value, to_json(value, by_alias=True, fallback=str).decode())


def signatures_of(graph: Graph, workers: Iterable[str], modules: Modules) -> dict[str, Signature]:
    """The signatures of `workers`; their models are imported.

    Raises:
        LlmdoError: Some cannot be imported or used; all are reported at once.
    """
    signatures: dict[str, Signature] = {}
    problems: dict[str, LlmdoError] = {}
    for name in workers:
        worker = graph.workers[name]
        try:
            gives = _model(worker.schema_out, modules) if worker.schema_out else None
            model = _input_model(worker.schema_in, modules) if worker.schema_in else None
            closed, closure = _written(gives), OPEN
            if closed is not None:
                closure = closure_of(closed, _written(model))
            signatures[name] = Signature(
                takes=TypedInput(name, model) if model else PlainInput(),
                gives=gives,
                closed=closed if closure.is_closed else None,
                closure=closure,
            )
        except LlmdoError as error:
            problems.setdefault(f"{error.at} {error.message}", error)
    if problems:
        raise Problems(problems.values())
    return signatures


def _written(model: type[BaseModel] | None) -> Mapping[str, Json] | None:
    """The serialization schema of a model, if it has one."""
    if model is None:
        return None
    try:
        return model.model_json_schema(mode="serialization")
    except Exception:  # pydantic's own, and whatever the model's code raises
        return None


def _model(reference: Reference, modules: Modules) -> type[BaseModel]:
    model = modules.load(reference.name)
    if not (inspect.isclass(model) and issubclass(model, BaseModel)):
        raise LlmdoError(f"`{reference.name}` is not a pydantic model", at=reference.at.location)
    try:
        model.model_json_schema()
    except Exception as error:  # pydantic's own, and whatever the model's code raises
        raise LlmdoError(
            f"`{reference.name}` has no JSON Schema: {sentence_of(error)}", at=reference.at.location
        ) from error
    return model


def _input_model(reference: Reference, modules: Modules) -> type[BaseModel]:
    model = _model(reference, modules)
    if issubclass(model, RootModel):
        raise LlmdoError(
            f"`{reference.name}` has no fields, and the arguments of a tool need names",
            hint="make it a `BaseModel` with one field",
            at=reference.at.location,
        )
    field = model.model_fields.get(FILES)
    if field is not None:
        try:
            TypeAdapter(cast("type", field.annotation)).validate_python(["a.txt"])
        except ValidationError as error:
            raise LlmdoError(
                f"`{FILES}` of `{reference.name}` is not a list of paths, which is what the name stands for",
                hint="give the field another name, or the type `list[str]`",
                at=reference.at.location,
            ) from error
    return model


def _plain(value: object) -> object:
    return value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else value


def _files_of(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(arguments.get(FILES) or ())


def _parts_of(value: BaseModel) -> tuple[UserContent, ...]:
    """The prompt that a model itself makes; empty if none."""
    name = next((name for name in PROMPT_METHODS if callable(getattr(value, name, None))), None)
    if name is None:
        return ()
    where = f"`{name}` of `{type(value).__name__}`"
    try:
        content = getattr(value, name)()
        parts = (content,) if isinstance(content, str) else tuple(content)
    except Exception as error:  # from the workspace's own code: anything at all
        raise LlmdoError(f"{where} raised {sentence_of(error)}") from error
    for part in parts:
        if not isinstance(part, str | TextContent | BinaryContent):
            # A URL would be fetched by the provider, and a path read by nobody: neither passed the gate.
            raise LlmdoError(
                f"{where} returned a `{type(part).__name__}`: it may return text and `BinaryContent`"
            )
    if not parts:
        raise LlmdoError(f"{where} returned nothing")
    return parts


def mistakes(error: ValidationError) -> str:
    """All mistakes, each with its place, on one line."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    sentences = [_mistake(".".join(map(str, detail["loc"])), detail["msg"]) for detail in errors[:MAX_NAMED]]
    more = [f"and {len(errors) - MAX_NAMED} more"] if len(errors) > MAX_NAMED else []
    return "; ".join([*sentences, *more])


def _mistake(where: str, message: str) -> str:
    text = " ".join(message.removeprefix("Value error, ").split())
    text = text[:1].lower() + text[1:]
    return f"`{where}`: {text}" if where else text
