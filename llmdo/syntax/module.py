"""A Python module to `Outline`: its names, its toolsets and its imports, read with `ast` and never run.

The outline holds only facts of the text. If a module could do more when it runs, it says so: `open` for its names,
`complete` for the tools of a toolset.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, TypeGuard

from llmdo.base.diagnostic import Diagnostic, excerpt, finding
from llmdo.base.source import Span
from llmdo.base.values import dataclass, field
from llmdo.syntax.functions import functions
from llmdo.syntax.tool_metadata import TARGETS, declared, is_silent, may_state, other_keys, probe
from llmdo.syntax.tree import Function, Notes, Places, last_name, parse
from llmdo.syntax.workers import workers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.base.source import Source
    from llmdo.syntax.functions import FunctionOutline
    from llmdo.syntax.workers import WorkerOutline

_REGISTERING = frozenset({"tool", "tool_plain", "add_function"})
_WRAPPING = frozenset(
    {
        "approval_required", "defer_loading", "filtered", "include_return_schemas", "prefixed", "prepared",
        "renamed", "with_metadata",
    }
)  # fmt: skip
_ENCODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_TOKEN = re.compile(r"\w+|[^\w\s]")

MAX_TOKENS = 40_000  # about 5,000 lines: the tree of a module takes up to 2 KB for each
MAX_PARTS = 64  # of a dotted name: Python's parser takes a square of them

_DOTTED = re.compile(rf"(?<!\w)(?:\w++[\s\\]*+\.[\s\\]*+){{{MAX_PARTS}}}")

_QUOTED = re.compile(r"(?<!\w)'([^']*)'(?!\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutline:
    """A tool that the text of a module shows."""

    span: Span
    """Of its function's name, or of the place that offers the function."""
    capabilities: tuple[str, ...] | None
    """The capabilities in its metadata; None if there are none, or not in plain text."""
    is_plain: bool = True
    """Whether the text shows its declaration, also an empty one."""
    probe: tuple[str, Span] | None = None
    """The probe function that its metadata names in plain text, and its place."""
    other_keys: tuple[tuple[str, Span], ...] = ()
    """The keys of its metadata that llmdo does not know."""
    arguments: tuple[str, ...] | None = None
    """Those of its arguments that may hold a text; None if the text does not show them all."""
    takes_context: bool = True
    """Whether it may take the context of the run, by which its code calls workers."""
    states_targets: bool = True
    """Whether its metadata names the targets among them, or may, as far as the text shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsetOutline:
    """A toolset, or a class of one, that the text of a module shows."""

    is_class: bool
    span: Span
    tools: Mapping[str, ToolOutline]
    complete: bool
    """Whether it has no tools but these."""
    hook: bool
    """Whether it has `get_capabilities`, as far as the text shows."""
    other_keys: tuple[tuple[str, Span], ...] = ()
    """The keys that llmdo does not know of the metadata that all its tools have."""

    @property
    def tells_all(self) -> bool:
        """Whether the text shows all its tools and their declarations."""
        return self.complete and all(tool.is_plain for tool in self.tools.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The names and needs of a module, as far as its text shows."""

    names: frozenset[str] = frozenset()
    """Bound at the top level, perhaps only under a condition."""
    open: bool = True
    """Whether it may have other names than these."""
    toolsets: Mapping[str, ToolsetOutline] = field(default_factory=dict)
    """Those with a public name, in the order of the text."""
    workers: Mapping[str, WorkerOutline] = field(default_factory=dict)
    """Workers written in Python, those with a public name, in the order of the text."""
    functions: Mapping[str, FunctionOutline] = field(default_factory=dict)
    """Those whose text alone shows how to call them, in the order of the text."""
    imports: tuple[str, ...] = ()
    """Dotted names, sorted. `from x import y` gives `x` and `x.y`, as `y` may be a module; relative ones keep their
    dots. Imports for type checkers only are left out.
    """
    spans: Mapping[str, Span] = field(default_factory=dict)
    """The place of each name's first binding."""
    problems: tuple[Diagnostic, ...] = ()


def outline(source: Source) -> Outline:
    """The outline of a module; empty and open if the text is not Python."""
    if problem := _unfit(source):
        return Outline(problems=(problem,))
    try:
        tree = parse(source.text)
    except SyntaxError as error:
        return Outline(problems=(_syntax_problem(source, error),))
    except (RecursionError, MemoryError):
        message = "the code is nested too deeply to be read"
        return Outline(problems=(finding("LDO101", source.location(), message),))
    notes = Notes(source.text, tree)
    return Outline(
        names=frozenset(notes.spans),
        open=notes.open or "__getattr__" in notes.spans,
        toolsets=_Toolsets(notes).public(),
        workers=workers(notes, source),
        functions=functions(notes),
        imports=tuple(sorted(notes.imports)),
        spans=notes.spans,
    )


def _unfit(source: Source) -> Diagnostic | None:
    """The problem of a text that Python reads differently from us."""
    text = source.text
    if len(text) > MAX_TOKENS and sum(1 for _ in _TOKEN.finditer(text)) > MAX_TOKENS:
        message = f"the module has more than {MAX_TOKENS:,} words and signs"
        return finding("LDO101", source.location(), message, hint="split it into modules")
    if dotted := _DOTTED.search(text):
        place = source.location(source.span_between(dotted.start(), dotted.start() + 1))
        return finding("LDO101", place, f"a name has more than {MAX_PARTS} parts")
    for character, name in (("\0", "a null character"), ("\r", "a carriage return in the middle of a line")):
        if (at := text.find(character)) >= 0:
            place = source.location(source.span_between(at, at + 1))
            return finding("LDO101", place, f"{name} is not allowed in a module")
    for number, line in enumerate(text.split("\n", 2)[:2], 1):
        coding = _ENCODING.match(line)
        if coding and coding[1].lower().replace("_", "-") not in ("utf-8", "utf8", "ascii", "us-ascii"):
            place = source.location(Span(number, coding.start(1) + 1, number, coding.end(1) + 1))
            return finding("LDO101", place, f"a module is UTF-8, not `{excerpt(coding[1])}`")
    return None


def _syntax_problem(source: Source, error: SyntaxError) -> Diagnostic:
    lines = source.text.split("\n")
    line = min(max(error.lineno or 1, 1), len(lines))
    column = min(max(error.offset or 1, 1), len(lines[line - 1]) + 1)
    span = Span(line, column, line, column)
    if error.end_lineno and error.end_offset and (error.end_lineno, error.end_offset) > (line, column):
        span = Span(line, column, min(error.end_lineno, len(lines)), error.end_offset)
    message = _QUOTED.sub(r"`\1`", error.msg)
    if message.startswith("Exceeds the limit"):
        message = "an integer is too long"
    return finding("LDO101", source.location(span), f"this is not valid Python: {message}")


_HIDING = ("exec", "eval", "globals", "locals", "vars", "__import__")
"""Functions by which code changes a toolset without a word of its name."""


@dataclass(slots=True, kw_only=True)
class _ToolsetSketch:
    """A toolset while its outline is drawn."""

    span: Span
    is_class: bool = False
    complete: bool = False
    hook: bool = False
    inherited: tuple[str, ...] | None = None
    """The capabilities of tools that declare none themselves."""
    tools: dict[str, ToolOutline] = field(default_factory=dict)
    is_plain: bool = True
    """Whether the text shows the declaration for tools without one of their own."""
    probe: tuple[str, Span] | None = None
    """The probe of tools that name none themselves."""
    states_targets: bool = False
    """Whether the metadata of all its tools names the targets among arguments, or may."""
    other_keys: tuple[tuple[str, Span], ...] = ()


class _Toolsets:
    """Draws the outlines of a module's toolsets from the notes."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._functions = {function.name: function for function, in_module in notes.functions if in_module}
        self._sketches: dict[str, _ToolsetSketch] = {}
        self._understood: set[int] = set()
        """The ids of the nodes that mention a toolset in a way that changes nothing unseen."""
        for definition in notes.classes:
            self._note_class(definition)
        for target, value, annotation in notes.assignments:
            self._note_assignment(target, value, annotation)
        for function, in_module in notes.functions:
            if in_module:
                self._note_decorators(function)
        for statement in notes.calls:
            self._note_registration(statement)
        for owner in notes.hooked:
            if owner.id in self._sketches:
                self._sketches[owner.id].hook = True
                self._understood.add(id(owner))
        self._doubt()

    def public(self) -> Mapping[str, ToolsetOutline]:
        """The outlines of those with a public name, in the order of the text."""
        return {
            name: ToolsetOutline(
                is_class=sketch.is_class,
                span=sketch.span,
                tools=sketch.tools,
                complete=sketch.complete,
                hook=sketch.hook,
                other_keys=sketch.other_keys,
            )
            for name, sketch in sorted(self._sketches.items(), key=lambda item: item[1].span)
            if not name.startswith("_")
        }

    def _note_class(self, definition: ast.ClassDef) -> None:
        bases = [self._original(base) for base in definition.bases]
        known = [self._sketches[base] for base in bases if base in self._sketches]
        if known or any(base.endswith("Toolset") for base in bases):
            methods = {node.name for node in definition.body if isinstance(node, Function)}
            self._sketches[definition.name] = _ToolsetSketch(
                span=self._notes.spans[definition.name],
                is_class=True,
                hook="get_capabilities" in methods or any(base.hook for base in known),
            )

    def _note_assignment(self, target: ast.expr, value: ast.expr, annotation: ast.expr | None) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for element, its_value in zip(target.elts, value.elts, strict=False):
                self._note_assignment(element, its_value, None)
        if not isinstance(target, ast.Name) or target.id in self._sketches:
            return
        sketch = _ToolsetSketch(span=self._notes.spans[target.id])
        if self._makes_toolset(value, sketch) or last_name(annotation).endswith("Toolset"):
            self._sketches[target.id] = sketch

    def _makes_toolset(self, value: ast.expr, sketch: _ToolsetSketch) -> bool:
        """Whether `value` is a toolset; its hook and the tools that it shows go into `sketch`."""
        is_wrapped = False
        while isinstance(value, ast.Call) and _is_wrapper(value.func):
            value = value.func.value
            is_wrapped = True
        if isinstance(value, ast.Name) and (known := self._sketches.get(value.id)) and not known.is_class:
            if is_wrapped:
                self._understood.add(id(value))
            else:
                sketch.hook = known.hook
            return True
        if not isinstance(value, ast.Call):
            return False
        maker = self._original(value.func)
        if (known := self._sketches.get(maker)) and known.is_class:
            sketch.hook = known.hook and not is_wrapped
            return True
        if maker == "FunctionToolset" and not is_wrapped:
            self._note_arguments(value, sketch)
        factory = self._functions.get(maker)
        return maker.endswith("Toolset") or (
            factory is not None and last_name(factory.returns).endswith("Toolset")
        )

    def _note_arguments(self, call: ast.Call, sketch: _ToolsetSketch) -> None:
        options = {keyword.arg: keyword.value for keyword in call.keywords}
        metadata = options.get("metadata")
        sketch.inherited = declared(metadata, None)
        sketch.other_keys = other_keys(metadata, self._notes.places)
        sketch.probe = probe(metadata, self._notes.places)
        sketch.states_targets = may_state(metadata, TARGETS)
        sketch.is_plain = sketch.inherited is not None or is_silent(metadata)
        offered = call.args[0] if call.args else options.get("tools", ast.List([]))
        sketch.complete = None not in options and len(call.args) <= 1
        if not isinstance(offered, ast.List | ast.Tuple):
            sketch.complete = False
            return
        for function in offered.elts:
            if (
                isinstance(function, ast.Call)
                and last_name(function.func) == "Tool"
                and len(function.args) == 1
            ):
                self._offer(sketch, function.args[0], function.keywords)
            else:
                self._offer(sketch, function, ())

    def _note_decorators(self, function: Function) -> None:
        for position, decorator in enumerate(function.decorator_list):
            owner = self._owner(decorator)
            if owner is None or (isinstance(decorator, ast.Call) and decorator.args):
                continue
            self._understood.add(id(owner))
            below = function.decorator_list[position + 1 :]
            sketch = self._sketches[owner.id]
            is_itself = all(self._owner(other) for other in below)
            if id(function) not in self._notes.certain or not is_itself:
                sketch.complete = False
            keywords = decorator.keywords if isinstance(decorator, ast.Call) else ()
            span = self._notes.places.defined(function)
            _add(self._notes.places, sketch, function.name, span, keywords, function if is_itself else None)

    def _note_registration(self, statement: ast.Expr) -> None:
        call = statement.value
        owner = self._owner(call)
        if owner is None or not isinstance(call, ast.Call) or len(call.args) != 1:
            return
        self._understood.add(id(owner))
        sketch = self._sketches[owner.id]
        sketch.complete &= id(statement) in self._notes.certain
        self._offer(sketch, call.args[0], call.keywords)

    def _offer(self, sketch: _ToolsetSketch, function: ast.expr, keywords: Iterable[ast.keyword]) -> None:
        """Adds the tool that `function`, given to a toolset by its name, becomes."""
        name = definition = None
        span = self._notes.places.span(function)
        if isinstance(function, ast.Name):
            definition = self._functions.get(function.id)
            name = definition.name if definition else self._notes.originals.get(function.id)
            if definition:
                span = self._notes.places.defined(definition)
            if (
                definition is None
                or function.id in self._notes.uncertain
                or not all(self._owner(decorator) for decorator in definition.decorator_list)
            ):
                sketch.complete, definition = False, None
        _add(self._notes.places, sketch, name, span, keywords, definition)

    def _owner(self, registration: ast.expr) -> ast.Name | None:
        """The toolset's name in `NAME.tool`, `NAME.add_function(...)` and their like."""
        method = registration.func if isinstance(registration, ast.Call) else registration
        if not isinstance(method, ast.Attribute) or method.attr not in _REGISTERING:
            return None
        owner = method.value
        if isinstance(owner, ast.Name) and (sketch := self._sketches.get(owner.id)) and not sketch.is_class:
            return owner
        return None

    def _original(self, node: ast.expr) -> str:
        """The last name in `node`, by which the module that it comes from knows it."""
        name = last_name(node)
        return name if isinstance(node, ast.Attribute) else self._notes.originals.get(name, name)

    def _doubt(self) -> None:
        """Withdraws `complete` from every toolset that something else may change."""
        is_hidden = not self._notes.references.keys().isdisjoint(_HIDING)
        for name, sketch in self._sketches.items():
            mentions = self._notes.references.get(name, ())
            if (
                is_hidden
                or name in self._notes.uncertain
                or any(id(node) not in self._understood for node in mentions)
            ):
                sketch.complete = False


def _is_wrapper(method: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(method, ast.Attribute) and method.attr in _WRAPPING


def _add(
    places: Places,
    sketch: _ToolsetSketch,
    name: str | None,
    span: Span,
    keywords: Iterable[ast.keyword],
    function: Function | None,
) -> None:
    """Adds a tool to `sketch`, under the name that `keywords` give, or else under `name`.

    Its arguments are those of `function`; None if the text does not show it as it is called.
    """
    options = {keyword.arg: keyword.value for keyword in keywords}
    match options.get("name", ast.Constant(None)):
        case ast.Constant(value=str(text)):
            name = text
        case ast.Constant(value=None):
            pass
        case _:
            name = None
    if name is None or None in options:
        sketch.complete = False
    if name is not None:
        metadata = options.get("metadata")
        capabilities = None if None in options else declared(metadata, sketch.inherited)
        is_plain = capabilities is not None or (
            is_silent(metadata) and sketch.is_plain and None not in options
        )
        unknown_keys = other_keys(metadata, places)
        sketch.tools.setdefault(
            name,
            ToolOutline(
                span=span,
                capabilities=capabilities,
                is_plain=is_plain,
                probe=probe(metadata, places) or sketch.probe,
                other_keys=unknown_keys,
                arguments=_arguments(function) if function else None,
                takes_context=function is None or CONTEXT in _types(function).values(),
                states_targets=sketch.states_targets or None in options or may_state(metadata, TARGETS),
            ),
        )


CONTEXT = "RunContext"
"""The type of the argument that is the context of the run."""

_WITHOUT_TEXT = frozenset({"bool", "float", "int", CONTEXT})


def _arguments(function: Function) -> tuple[str, ...] | None:
    """The arguments of a tool that may hold a text; None if it takes unnamed ones.

    The context of the run is none. Without a written type, it counts as one.
    """
    if function.args.vararg or function.args.kwarg:
        return None
    return tuple(name for name, kind in _types(function).items() if kind not in _WITHOUT_TEXT)


def _types(function: Function) -> dict[str, str]:
    """The last name of the type of each argument that has a name."""
    stated = function.args
    every = (*stated.posonlyargs, *stated.args, *stated.kwonlyargs)
    return {argument.arg: last_name(argument.annotation) for argument in every}
