"""The functions of a module as code entries need them: the way to call them, and the workers that they call."""

from __future__ import annotations

import ast
from functools import cache, partial
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.syntax.tree import Function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from llmdo.base.source import Span
    from llmdo.syntax.tree import Notes

_CALLING = ("call_agent", "call_tool")
MAX_FOLLOWED = 64  # functions that one hands its argument on to, near and far

Call = tuple[str, "Span"]
"""A worker, or a tool as TOOLSET.TOOL, and its place."""
Step = tuple[str, int]
"""A function and the position of one of its parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionOutline:
    """A function at the top level of a module, bound once and without decorators."""

    span: Span
    """Of its name."""
    is_async: bool
    """Whether a call of it can be awaited: an async generator's cannot."""
    takes_two: bool
    """Whether it can be called with two arguments."""
    calls: tuple[Call, ...]
    """The workers and tools asked for through its first argument, by it or by functions that it passes that to."""


def functions(notes: Notes) -> Mapping[str, FunctionOutline]:
    """The outlines of such functions, in the order of the text."""
    known = {
        node.name: node
        for node, in_module in notes.functions
        if in_module
        and id(node) in notes.certain
        and node.name not in notes.uncertain
        and not node.decorator_list
    }
    lookup = cache(partial(_callees_of, notes, known))
    return {
        name: FunctionOutline(
            span=notes.places.defined(node),
            is_async=isinstance(node, ast.AsyncFunctionDef) and not _yields(node),
            takes_two=_takes_two(node.args),
            calls=tuple(_calls(name, lookup)),
        )
        for name, node in known.items()
    }


def _takes_two(arguments: ast.arguments) -> bool:
    positional = len(arguments.posonlyargs) + len(arguments.args)
    required = positional - len(arguments.defaults)
    return (
        required <= 2
        and (positional >= 2 or arguments.vararg is not None)
        and all(default is not None for default in arguments.kw_defaults)
    )


def _yields(function: Function) -> bool:
    """Whether it is a generator; functions inside of it do not count."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, Function | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def _calls(name: str, lookup: Callable[[str, int], tuple[Sequence[Call], Sequence[Step]]]) -> Iterator[Call]:
    """The workers asked for by the function `name`, and by those to which it passes its first argument."""
    waiting = [(name, 0)]
    seen = set(waiting)
    for function, position in waiting:  # which grows meanwhile
        calls, handed = lookup(function, position)
        yield from calls
        new = [step for step in dict.fromkeys(handed) if step not in seen][: MAX_FOLLOWED - len(seen)]
        seen.update(new)
        waiting.extend(new)


def _callees_of(
    notes: Notes, known: Mapping[str, Function], name: str, position: int
) -> tuple[Sequence[Call], Sequence[Step]]:
    """The workers that a function asks an argument for itself, and the calls that pass it on."""
    parameters = _own(known[name])
    if position >= len(parameters) or _is_rebound(known[name], parameters[position].arg):
        return (), ()
    runtime = parameters[position].arg
    named_calls: list[Call] = []
    handed: list[Step] = []
    for call in ast.walk(known[name]):
        if not isinstance(call, ast.Call):
            continue
        if _is_method(call.func, runtime) and (worker := _named(call)):
            named_calls.append((str(worker.value), notes.places.span(worker)))
        elif isinstance(call.func, ast.Name) and call.func.id in known:
            handed.extend(_handed(call, call.func.id, runtime))
    return named_calls, handed


def _handed(call: ast.Call, function: str, name: str) -> Iterator[tuple[str, int]]:
    """The positions at which a call passes `name` to `function`."""
    for position, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred):
            return
        if isinstance(argument, ast.Name) and argument.id == name:
            yield function, position


def _is_method(method: ast.expr, owner: str) -> bool:
    return (
        isinstance(method, ast.Attribute)
        and method.attr in _CALLING
        and isinstance(method.value, ast.Name)
        and method.value.id == owner
    )


def _named(call: ast.Call) -> ast.Constant | None:
    """The name of the worker, if a call spells it out."""
    names = call.args[:1] or [keyword.value for keyword in call.keywords if keyword.arg == "name"]
    match names:
        case [ast.Constant(value=str()) as name]:
            return name
    return None


def _is_rebound(function: Function, name: str) -> bool:
    """Whether `name` may be something else than its parameter anywhere inside."""
    return any(
        (isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.arg) and node.arg == name and node not in _own(function))
        for node in ast.walk(function)
    )


def _own(function: Function) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args]
