"""Workers written in Python, `NAME = llmdo.Worker(...)`: their headers as documents, read with `ast` and never run.

A header decides authority, so its values have to be plain. Only `instructions`, the prompt, may be any expression.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Diagnostic, finding
from llmdo.base.source import Span
from llmdo.base.values import dataclass
from llmdo.syntax.document import Document
from llmdo.syntax.tree import last_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.source import Source
    from llmdo.base.values import Json
    from llmdo.syntax.document import Route
    from llmdo.syntax.tree import Notes, Places

_NAME = "Worker"
_MAX_LEVELS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOutline:
    """A worker that the text of a module shows."""

    header: Document
    """As of a worker file; a value that is not plain is missing and among its problems."""
    instructions: str | None
    """None if only running the module would tell."""


class _UnreadError(Exception):
    """A value that is not written out."""

    def __init__(self, node: ast.expr) -> None:
        super().__init__()
        self.node = node


def workers(notes: Notes, source: Source) -> Mapping[str, WorkerOutline]:
    """The workers that a module binds to public names, by these names, in the order of the text."""
    if not {"llmdo", f"llmdo.{_NAME}"} & notes.imports:
        return {}
    texts = dict(_texts(notes))
    outlines: dict[str, WorkerOutline] = {}
    names: dict[str, str] = {}
    for target, value, _ in notes.assignments:
        if isinstance(target, ast.Name) and isinstance(value, ast.Call) and _makes_worker(value.func, notes):
            reader = _CallReader(notes.places, source, texts, names)
            outline = reader.outline(value, certain=target.id not in notes.uncertain)
            if isinstance(name := outline.header.data.get("name"), str):
                names[target.id] = name
            if not target.id.startswith("_"):
                outlines[target.id] = outline
    return outlines


def _makes_worker(maker: ast.expr, notes: Notes) -> bool:
    if isinstance(maker, ast.Attribute):
        return maker.attr == _NAME and last_name(maker.value) == "llmdo"
    imported = f"llmdo.{_NAME}" in notes.imports
    return imported and isinstance(maker, ast.Name) and notes.originals.get(maker.id) == _NAME


def _texts(notes: Notes) -> Iterator[tuple[str, str]]:
    """The names of the module that are bound to one text and to nothing else."""
    for target, value, _ in notes.assignments:
        if isinstance(target, ast.Name) and target.id not in notes.uncertain:
            match value:
                case ast.Constant(value=str(text)):
                    yield target.id, text


class _CallReader:
    """Reads the arguments of one call as a header."""

    def __init__(
        self, places: Places, source: Source, texts: Mapping[str, str], workers: Mapping[str, str]
    ) -> None:
        """`workers` are those read before, by the names that the module binds them to."""
        self._places = places
        self._source = source
        self._texts = texts
        self._workers = workers
        self._index: dict[Route, tuple[Span, Span]] = {}
        self._problems: list[Diagnostic] = []

    def outline(self, call: ast.Call, *, certain: bool) -> WorkerOutline:
        data: dict[str, Json] = {}
        instructions: str | None = None
        has_prompt = False
        if not certain:
            self._problem(call, "the name of a worker in Python is bound more than once")
        for positional in call.args:
            self._problem(positional, "an argument of a worker in Python has no name")
        for keyword in call.keywords:
            if keyword.arg == "instructions":
                has_prompt = True
                instructions = self._text(keyword.value)
            elif keyword.arg is None:
                self._problem(keyword.value, "the arguments of a worker in Python are not written out")
            else:
                self._read_into(data, keyword.arg, keyword)
        if not any(keyword.arg == "name" for keyword in call.keywords):
            self._problem(call.func, "missing key `name`", code="LDO104")
        if not has_prompt:
            self._problem(call.func, "missing key `instructions`", code="LDO104")
        index = self._index
        header = Document(self._source, data, lambda: index, tuple(self._problems))
        return WorkerOutline(header=header, instructions=instructions)

    def _text(self, node: ast.expr) -> str | None:
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Constant():
                self._problem(node, "the `instructions` of a worker are text")
            case ast.Name(id=name):
                return self._texts.get(name)
        return None

    def _read_into(self, data: dict[str, Json], key: str, keyword: ast.keyword) -> None:
        whole = self._places.span(keyword.value)
        line, column = keyword.lineno, self._places.column(keyword.lineno, keyword.col_offset)
        self._index[(key,)] = (Span(line, column, line, column + len(key)), whole)
        try:
            value = self._value(keyword.value, (key,))
        except _UnreadError as unread:
            message = f"`{key}` of a worker in Python is not written out, and nothing is run to know it"
            self._problem(unread.node, message)
            return
        if value is not None:
            data[key] = value

    def _value(self, node: ast.expr, route: Route) -> Json:
        if len(route) > _MAX_LEVELS:
            raise _UnreadError(node)
        match node:
            case ast.Constant(value=str() | bool() | int() | float() | None as value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return -number
            case ast.Name(id=name) if name in self._texts:
                return self._texts[name]
            case ast.Name(id=name) if name in self._workers:
                return self._workers[name]
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self._item(item, (*route, number)) for number, item in enumerate(items)]
            case ast.Dict():
                return dict(self._pairs(node, route))
        raise _UnreadError(node)

    def _item(self, node: ast.expr, route: Route) -> Json:
        span = self._places.span(node)
        self._index[route] = (span, span)
        return self._value(node, route)

    def _pairs(self, node: ast.Dict, route: Route) -> Iterator[tuple[str, Json]]:
        seen: set[str] = set()
        for key, value in zip(node.keys, node.values, strict=True):
            name = None if key is None else self._value(key, route)
            if key is None or not isinstance(name, str) or name in seen:
                raise _UnreadError(value if key is None else key)
            seen.add(name)
            self._index[(*route, name)] = (self._places.span(key), self._places.span(value))
            yield name, self._value(value, (*route, name))

    def _problem(self, node: ast.expr, message: str, *, code: str = "LDO103") -> None:
        self._problems.append(finding(code, self._source.location(self._places.span(node)), message))
