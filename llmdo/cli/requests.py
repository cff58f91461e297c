"""Commands whose options follow from the fields of their requests."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Container, Sequence
from enum import Enum
from inspect import Parameter, Signature, signature
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.request_fields import RequestField


_WORDS: Any = Enum  # which typer takes where one of a few words is meant


class _Option(NamedTuple):
    """A parameter of a command, and the way back from what typer gives for it."""

    parameter: Parameter
    read: Callable[[Any], object]
    is_last: bool = False


def add(
    app: typer.Typer,
    function: Callable[..., int],
    name: str | None = None,
    *,
    also: Sequence[Parameter] = (),
    without: Container[str] = (),
) -> None:
    """Makes a command of a function that takes requests, and of its docstring what `--help` says.

    Every parameter that is a request stands for the fields of that which are asked for; any other says in its
    annotation what it is. `also` are options with an effect of their own, which the function is not given, and
    `without` are fields of its requests that keep their defaults.
    """
    hints = get_type_hints(function, include_extras=True)
    requests: dict[str, tuple[type, list[_Option]]] = {}
    own: list[_Option] = []
    options: list[_Option] = []
    for parameter in signature(function).parameters.values():
        hint = hints[parameter.name]
        if hasattr(hint, "__dataclass_fields__"):
            asked = [field for field in _fields(hint) if field.parameter.name not in without]
            requests[parameter.name] = hint, asked
            options += requests[parameter.name][1]
        else:
            kind, stated = get_args(hint)
            own.append(_option(parameter.name, kind, stated["option"], parameter.default))
            options.append(own[-1])
    options.sort(key=lambda option: option.is_last)

    def command(**given: Any) -> int:
        values: dict[str, Any] = _read(own, given)
        values |= {each: cls(**_read(fields, given)) for each, (cls, fields) in requests.items()}
        return function(**values)

    command.__doc__ = function.__doc__
    command.__annotations__ = {}  # all is in the signature
    command.__dict__["__wrapped__"] = function
    command.__dict__["__signature__"] = Signature([*(option.parameter for option in options), *also])
    app.command(name or function.__name__)(command)


def info_of(cls: type, field: str) -> Any:
    """What typer is told of one field of a request, for a parameter of its own."""
    return next(
        get_args(each.parameter.annotation)[1] for each in _fields(cls) if each.parameter.name == field
    )


def _read(options: list[_Option], given: dict[str, Any]) -> dict[str, object]:
    names = [option.parameter.name for option in options]
    return {name: option.read(given[name]) for name, option in zip(names, options, strict=True)}


def _fields(cls: type) -> Iterator[_Option]:
    """The fields of a request that are asked for."""
    standard = {each.name: each for each in dataclasses.fields(cls)}
    for stated in getattr(cls, "__fields__", standard.values()):
        if asking := stated.metadata.get("option"):
            default = standard[stated.name].default
            is_required = default is dataclasses.MISSING
            kind = _kind(cls, stated.name)
            yield _option(stated.name, kind, asking, Parameter.empty if is_required else default)


def _kind(cls: type, field: str) -> object:
    """The type of a field, whose annotation is read where it is stated."""
    owner = next(above for above in cls.__mro__ if field in vars(above).get("__annotations__", ()))
    written = vars(owner)["__annotations__"][field]
    return eval(written, vars(sys.modules[owner.__module__]))  # noqa: S307  # an annotation of ours


def _option(name: str, kind: Any, asking: RequestField, default: object) -> _Option:
    """The parameter for a value of that kind."""
    read: Callable[[Any], object] = _same
    is_required = default is Parameter.empty
    if asking.by:
        kind, default, read = str | None, None, asking.by
    elif literal := next((each for each in (kind, *get_args(kind)) if get_origin(each) is Literal), None):
        words = _WORDS(name, {word: word for word in get_args(literal)}, type=str)
        kind, read = words if kind is literal else words | None, _value
        default = default if is_required or default is None else words(default)
    elif get_args(kind)[1:] == (...,) or get_origin(kind) is Sequence:
        kind, default, read = (
            (list[str], default, _tuple) if is_required else (list[str] | None, None, _tuple)
        )
    annotation = Annotated[kind, info(name, {"option": asking})]
    parameter = Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    return _Option(parameter, read, asking.is_last)


def info(name: str, stated: Mapping[str, RequestField]) -> Any:
    """What typer is told of a field of that name."""
    asking = stated["option"]
    if asking.is_argument:
        return typer.Argument(metavar=asking.metavar, help=asking.help)
    names = asking.names or (f"--{name.replace('_', '-')}",)
    return typer.Option(
        *names,
        metavar=asking.metavar,
        help=asking.help,
        min=asking.least,
        max=asking.most,
        count=asking.is_counted,
        hidden=asking.is_hidden,
        show_default=not asking.is_counted,
    )


def _same(value: object) -> object:
    return value


def _value(word: Enum | None) -> object:
    return word and word.value


def _tuple(values: list[str] | None) -> tuple[str, ...]:
    return tuple(values or ())
