"""The tree of a Python module, walked once: its bindings, its imports, its references."""

from __future__ import annotations

import ast
import re
import warnings
from threading import Lock
from typing import TYPE_CHECKING

from llmdo.base.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_OPENING_CALLS = frozenset({"exec", "setattr"})
"""Called in the module's own scope, these may bind any name."""
_DEFINITION = re.compile(r"(?:async[ \t\f]+)?(?:def|class)[ \t\f]+(\w+)")


_PARSING = Lock()


def parse(text: str) -> ast.Module:
    """The tree of a module.

    Before 3.11.9, Python counts the depth of the trees of all threads in one number, and raises SystemError if they
    mix. The filter of warnings is shared by threads as well: Python warns about odd escapes and comparisons of the
    module, which are not ours to repeat.

    Raises:
        SyntaxError, ValueError: The text is not Python.
        RecursionError, MemoryError: It is nested too deeply.
    """
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def last_name(node: ast.expr | None) -> str:
    """`C` of `C`, `a.b.C` and `C[T]`; empty for anything else."""
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


class Notes:
    """The notes of one pass over the tree of a module, all of it in the order of the text."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.places = Places(text)
        """The places of nodes in the text."""
        self.certain = {id(statement) for statement in tree.body}
        """The ids of the statements that no condition or loop surrounds."""
        self.spans: dict[str, Span] = {}
        """The place of the first binding of each name of the module."""
        self.uncertain: set[str] = set()
        """Names that are bound more than once, or together with another name."""
        self.open = False
        """Whether the module may bind names that no node shows."""
        self.imports: set[str] = set()
        """Dotted names."""
        self.originals: dict[str, str] = {}
        """The original names of imported names, in the module that they come from."""
        self.classes: list[ast.ClassDef] = []
        self.functions: list[tuple[Function, bool]] = []
        """With whether each is the module's own."""
        self.assignments: list[tuple[ast.expr, ast.expr, ast.expr | None]] = []
        """Target, value and annotation."""
        self.calls: list[ast.Expr] = []
        """Calls that are statements of the module."""
        self.references: dict[str, list[ast.Name]] = {}
        """Every node that mentions a name without binding it."""
        self.hooked: list[ast.Name] = []
        """The names whose `get_capabilities` is assigned."""
        for node, in_module in _walk(tree):
            self._note(node, in_module=in_module)

    def _note(self, node: ast.AST, *, in_module: bool) -> None:
        match node:
            case ast.Name():
                self._note_name(node, in_module=in_module)
            case ast.Import() | ast.ImportFrom():
                self._note_import(node, in_module=in_module)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.functions.append((node, in_module))
            case ast.Global():
                for name in node.names:
                    self._bind(name, self.places.span(node))
            case ast.Attribute(value=ast.Name(id="sys"), attr="modules"):
                self.open = True
            case ast.Attribute(value=ast.Name() as owner, attr="get_capabilities", ctx=ast.Store()):
                self.hooked.append(owner)
        if in_module:
            self._note_binding(node)

    def _note_name(self, node: ast.Name, *, in_module: bool) -> None:
        if not isinstance(node.ctx, ast.Store):
            self.references.setdefault(node.id, []).append(node)
            self.open |= node.id == "globals"
        elif in_module:
            self._bind(node.id, self.places.span(node))

    def _note_import(self, node: ast.Import | ast.ImportFrom, *, in_module: bool) -> None:
        origin = ""
        if isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            self.imports.add(origin)
            origin += "" if origin.endswith(".") else "."
        for alias in node.names:
            if alias.name == "*":
                self.open |= in_module
                continue
            self.imports.add(origin + alias.name)
            if in_module:
                name = alias.asname or (alias.name if origin else alias.name.partition(".")[0])
                if origin:
                    self.originals[name] = alias.name
                self._bind(name, self.places.span(alias))

    def _note_binding(self, node: ast.AST) -> None:
        """Notes the bindings of a node in the module's own scope."""
        match node:
            case ast.ClassDef():
                self.classes.append(node)
                self._bind(node.name, self.places.defined(node))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._bind(node.name, self.places.defined(node))
            case (
                ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name))
            ):
                self._bind(name, self.places.span(node))
            case ast.Assign():
                if len(node.targets) > 1:
                    self.uncertain.update(
                        target.id for target in node.targets if isinstance(target, ast.Name)
                    )
                self.assignments.extend((target, node.value, None) for target in node.targets)
            case ast.AnnAssign(value=ast.expr() as value):
                self.assignments.append((node.target, value, node.annotation))
            case ast.Expr(value=ast.Call()):
                self.calls.append(node)
            case ast.Call(func=ast.Name(id=name)):
                self.open |= name in _OPENING_CALLS or (name in ("vars", "locals") and not node.args)

    def _bind(self, name: str, span: Span) -> None:
        if name in self.spans:
            self.uncertain.add(name)
        self.spans.setdefault(name, span)


class Places:
    """Turns the places of `ast`, whose columns are UTF-8 bytes, into ours."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._line = 0
        self._bytes = b""
        self._offset = 0
        self._column = 0

    def span(self, node: ast.expr | ast.stmt | ast.alias | ast.pattern) -> Span:
        """The place of a whole node."""
        start = self._code_points(node.lineno, node.col_offset)
        end_line = node.end_lineno or node.lineno
        end = self._code_points(end_line, node.end_col_offset or node.col_offset)
        return Span(node.lineno, start + 1, end_line, end + 1)

    def column(self, line: int, offset: int) -> int:
        """The column of the byte at `offset` of a line."""
        return self._code_points(line, offset) + 1

    def defined(self, node: Function | ast.ClassDef) -> Span:
        """The place of the name that a definition binds."""
        start = self._code_points(node.lineno, node.col_offset)
        if match := _DEFINITION.match(self._lines[node.lineno - 1], start):
            return Span(node.lineno, match.start(1) + 1, node.lineno, match.end(1) + 1)
        return Span(node.lineno, start + 1, node.lineno, start + 1)

    def _code_points(self, line: int, offset: int) -> int:
        text = self._lines[line - 1]
        if text.isascii():
            return offset
        # Counted on from the last place: a file of one long line would cost its length for every name.
        if line != self._line or offset < self._offset:
            self._line, self._bytes, self._offset, self._column = line, text.encode(), 0, 0
        self._column += len(self._bytes[self._offset : offset].decode())
        self._offset = offset
        return self._column


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, bool]]:
    """Every node that runs, in the order of the text, and whether it runs in the module's own scope."""
    pending: list[tuple[ast.AST, bool]] = [(tree, True)]
    while pending:
        node, in_module = pending.pop()
        yield node, in_module
        inside = in_module and not isinstance(node, _SCOPES)
        pending.extend((child, inside) for child in reversed([*_children(node)]))


def _children(node: ast.AST) -> Iterable[ast.AST]:
    """The nodes right below `node`, without those that bind nothing outside of it and those that never run."""
    if isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING":
        return node.orelse
    if isinstance(node, ast.comprehension):
        return [node.iter, *node.ifs]
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return [node.annotation]
    return ast.iter_child_nodes(node)
