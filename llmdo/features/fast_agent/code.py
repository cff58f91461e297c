"""Agents of fast-agent in Python, by the literals of their decorators: a file is read and never run.

A decorator such as `@fast.agent("writer", servers=["notes"])` is read as the card with these keys.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, finding
from llmdo.base.values import replace
from llmdo.features.fast_agent.card import KEYS, TYPES, Card
from llmdo.syntax.document import Document
from llmdo.syntax.module import outline
from llmdo.syntax.tree import Places, last_name, parse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source, Span
    from llmdo.base.values import Json
    from llmdo.syntax.document import Route
    from llmdo.syntax.tree import Function

    Index = dict[Route, tuple[Span, Span]]

MAKER = "FastAgent"
"""The class whose instance has the decorators."""
_KINDS = frozenset({*TYPES, "custom"}) - {"a2a"}
_DECORATOR = re.compile(rf"^[ \t]*@[\w.]+\.(?:{'|'.join(sorted(_KINDS))})\(", re.MULTILINE)
_CONFIGURATION = "json_config"
"""What gives an application its configuration in code, as forks of fast-agent have it."""
_CUSTOM = "custom"
_TOOL = "tool"
_FUNCTIONS = "function_tools"
_DECISIVE = frozenset({
    "agents", "evaluator", "fan_in", "fan_out", _FUNCTIONS, "generator", "harness_tools", "sequence", "servers",
    "shell", "skills", "worker",
})  # fmt: skip
"""The keys that say what an agent reaches."""
_TELLING = _DECISIVE | {"instruction"}
_OF_CODE = frozenset({"None", "SKILLS_DEFAULT"})
_UNKNOWN = {"**": "options"}
"""The name of what only code knows, where its key is no name: nothing is known of it."""
_UNNAMED = "default"
"""The name of an agent whose decorator has none."""
_POSITIONAL = ("name", "instruction")


class _UnreadCodeError(Exception):
    """A value that only code knows."""


def may_declare(source: Source) -> bool:
    """Whether a file names the class, or has such a decorator of an instance that it has from elsewhere."""
    return MAKER in source.text or _DECORATOR.search(source.text) is not None


def unread(source: Source) -> Iterator[Diagnostic]:
    """The note about a file with agents that cannot be read, as it may be in the Python of a later release."""
    problem = next(iter(outline(source).problems), None) if _DECORATOR.search(source.text) else None
    if problem:
        yield finding("LDO154", problem.at, f"its agents are not read: {excerpt(problem.message, 200)}")


def cards_in(source: Source) -> Iterator[Card]:
    """The agents that a file declares; none if it is not Python, or none of fast-agent."""
    if not may_declare(source) or outline(source).problems:
        return
    is_sure = MAKER in source.text
    tree = parse(source.text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    declared = [
        (function, call)
        for function in functions
        for call in function.decorator_list
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _KINDS
        if is_sure or _is_own(call)
    ]
    makers = {_maker(call) for _, call in declared}
    configured = {_assigned(each) for each, _ in _configured(tree)}
    are_apart = len(makers & _instances(tree)) > 1
    tools = _tools(functions)
    names = {
        statement.targets[0].id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }
    places = Places(source.text)
    outer = {
        id(inner): function.name
        for function in functions
        for inner in ast.walk(function)
        if inner is not function and isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    counts = Counter(function.name for function, _ in declared)
    repeated = {name for name, count in counts.items() if count > 1}
    for function, call in declared:
        reader = _DecoratorReader(source, names, places, repeated)
        own = [_maker(call)] if are_apart else sorted(makers)
        given = [name for each in (*own, function.name) for name in tools.get(each, ())]
        scope = "/".join(filter(None, (outer.get(id(function)), _maker(call) if are_apart else "")))
        in_code = _maker(call) in configured if are_apart else bool(configured)
        yield replace(reader.card(function, call, given), scope=scope, is_configured_in_code=in_code)


def configurations_in(source: Source) -> Iterator[Diagnostic]:
    """The notes about configurations that a file with agents gives in code."""
    places = Places(source.text)
    for _, value in _configured(parse(source.text)):
        message = (
            f"`{_CONFIGURATION}` of `{MAKER}` is worked out in code, so nothing is known of the servers in it"
        )
        yield finding("LDO154", source.location(places.span(value)), message)


def _is_own(call: ast.Call) -> bool:
    """Whether a decorator is one of fast-agent by its instance or arguments: other packages have an `agent` as well."""
    return "fast" in _maker(call).lower() or any(keyword.arg in _TELLING for keyword in call.keywords)


def _maker(call: ast.Call) -> str:
    """The name of the instance whose decorator it is."""
    return last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _instances(tree: ast.Module) -> set[str]:
    """The names to which a module assigns an application, each of which it runs apart."""
    return {
        node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and last_name(node.value.func) == MAKER
    }


def _configured(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.expr]]:
    """The statements that make an application with a configuration in code, each with that."""
    for statement in ast.walk(tree):
        made = (
            getattr(statement, "value", None) if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        )
        if isinstance(made, ast.Call) and last_name(made.func) == MAKER:
            for keyword in made.keywords:
                if keyword.arg == _CONFIGURATION and getattr(keyword.value, "value", ...) is not None:
                    yield statement, keyword.value


def _assigned(statement: ast.AST) -> str:
    """The name to which a statement assigns."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    return last_name(target) if isinstance(target, ast.expr) else ""


def _of_function(function: Function) -> str:
    return f"an agent of the function `{function.name}`"


def _tools(functions: list[Function]) -> dict[str, list[str]]:
    """The functions that are tools, by the name of the agent's function or of the application."""
    tools: dict[str, list[str]] = {}
    for function in functions:
        for decorator in function.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if isinstance(called, ast.Attribute) and called.attr == _TOOL:
                tools.setdefault(last_name(called.value), []).append(function.name)
    return tools


class _DecoratorReader:
    """The reading of one decorator."""

    def __init__(
        self, source: Source, names: Mapping[str, ast.expr], places: Places, repeated: Collection[str]
    ) -> None:
        self._source = source
        self._names = names
        """The values of the names in the module's own scope."""
        self._places = places
        self._repeated = repeated
        """The functions of whose name there are several."""
        self._index: Index = {}
        self._unread: list[tuple[str, Span]] = []
        self._is_partial = False
        """Whether a list of the last value has an item that only code knows."""

    def card(self, function: Function, call: ast.Call, tools: list[str]) -> Card:
        """The agent as a card."""
        kind = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        data: dict[str, Json] = {"type": "agent" if kind == _CUSTOM else kind}
        known = TYPES["agent" if kind == _CUSTOM else kind]
        positional = call.args[1:] if kind == _CUSTOM else call.args
        pairs = [*zip(_POSITIONAL, positional, strict=False)]
        pairs += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
        whole = self._places.span(call)
        for key, node in pairs:
            if key not in known or key not in KEYS:
                continue
            place = self._places.span(node)
            self._index[(key,)] = (place, place)
            self._is_partial = False
            try:
                value = self._value(node, (key,))
            except _UnreadCodeError:
                value, self._is_partial = None, last_name(node) not in _OF_CODE
            if self._is_partial and key in _DECISIVE:
                self._unread.append((key, place))
            if value is not None:
                data[key] = value
        if any(keyword.arg is None for keyword in call.keywords):
            self._unread.append(("**", whole))
        if kind == _CUSTOM:
            tools = [*(last_name(node) for node in call.args[:1]), *tools]
        tools = [*tools, *(_UNKNOWN.get(key, key) for key, _ in self._unread)]
        listed = data.get(_FUNCTIONS)
        if tools and _FUNCTIONS in known:
            data[_FUNCTIONS] = [*(listed if isinstance(listed, list) else ()), *tools]
        name = data.get("name")
        if not isinstance(name, str):
            data["name"] = self._otherwise(function, call, is_given=any(key == "name" for key, _ in pairs))
        self._index.setdefault(("name",), (whole, whole))
        shown = f"the agent `{excerpt(name)}`" if isinstance(name, str) else _of_function(function)
        problems = tuple(self._notes(shown))
        index = self._index
        prompt = data.get("instruction")
        return Card(
            path=self._source.path,
            document=Document(self._source, data, lambda: index, problems),
            prompt=prompt if isinstance(prompt, str) else "",
            is_tool=False,
        )

    def _notes(self, agent: str) -> Iterator[Diagnostic]:
        """The findings about what was not read of an agent, named as a sentence has it."""
        for key, place in self._unread:
            message = f"`{key}` of {agent} is worked out in code, so it was not read"
            yield finding("LDO154", self._source.location(place), message)

    def _otherwise(self, function: Function, call: ast.Call, *, is_given: bool) -> str:
        """The name of an agent without one that can be read; with its line if only code knows it and none tells."""
        is_plain = isinstance(call.func, ast.Attribute) and call.func.attr in ("agent", _CUSTOM)
        is_hidden = any(keyword.arg is None for keyword in call.keywords) and not is_given
        if is_hidden or (is_given and function.name in self._repeated):
            return f"{function.name}:{call.lineno}"
        return _UNNAMED if is_plain and not is_given else function.name

    def _value(self, node: ast.expr, route: Route, depth: int = 0) -> Json:
        """The value of a literal, or of a name of the module that has one.

        Raises:
            _UnreadCodeError: Only code knows it.
        """
        match node:
            case ast.Constant(value=str() | bool() | None as value):
                return value
            case ast.List(elts=items) | ast.Tuple(elts=items):
                values: list[Json] = []
                for number, item in enumerate(items):
                    place = self._places.span(item)
                    self._index[(*route, number)] = (place, place)
                    try:
                        values.append(self._value(item, (*route, number), depth))
                    except _UnreadCodeError:
                        self._is_partial = True
                return values
            case ast.Name(id=name) if depth == 0 and name in self._names:
                return self._value(self._names[name], route, depth + 1)
            case ast.Name() | ast.Attribute() if route[0] == _FUNCTIONS and len(route) > 1:
                return last_name(node)
        raise _UnreadCodeError
