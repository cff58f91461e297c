"""The Python of a project of llm-do, read and never run: the toolsets that its text shows, and the agents it calls."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, field
from llmdo.syntax.module import outline
from llmdo.syntax.tree import last_name, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.source import Source

_CALLING = "call_agent"
_REGISTRIES = ("TOOLSETS", "TOOLS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The declarations in the text of one file."""

    toolsets: Mapping[str, str] = field(default_factory=dict)
    """Name to the Python expression for it, at the end of the file."""
    classes: frozenset[str] = frozenset()
    """The classes of toolsets."""
    tools: Mapping[str, str] = field(default_factory=dict)
    """The same for functions that are tools on their own."""
    functions: frozenset[str] = frozenset()
    """The async ones."""
    entry: str | None = None
    """The function that the file itself declares to be the start of a run."""
    calls: frozenset[str] | None = frozenset()
    """The names by which its code calls agents; None if the text does not tell them all."""


def shown(source: Source) -> Shown:
    """The declarations of a file; none if it is not Python."""
    outlined = outline(source)
    if outlined.problems:
        return Shown(calls=None)
    tree = parse(source.text)
    values = dict(_assignments(tree))
    functions = [
        statement for statement in tree.body if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    toolsets, tools = (_registered(name, values.get(name)) for name in _REGISTRIES)
    if "TOOLSETS" not in values:
        toolsets = {name: name for name, value in values.items() if _is_toolset(name, value)}
    if "TOOLS" not in values:
        offered = _texts(values.get("__all__"))
        tools = {function.name: function.name for function in functions if function.name in offered}
    entries = (_entry(value) for value in values.values())
    return Shown(
        toolsets=toolsets,
        classes=frozenset(name for name, toolset in outlined.toolsets.items() if toolset.is_class),
        tools=tools,
        functions=frozenset(
            function.name for function in functions if isinstance(function, ast.AsyncFunctionDef)
        ),
        entry=next(filter(None, entries), None),
        calls=_calls(tree),
    )


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


def _registered(registry: str, value: ast.expr | None) -> dict[str, str]:
    """The names in a registry in plain text: a table of texts, or a list of functions."""
    match value:
        case ast.Dict(keys=keys):
            names = [key.value for key in keys if isinstance(key, ast.Constant)]
            return {name: f"{registry}[{json.dumps(name)}]" for name in names if isinstance(name, str)}
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return {item.id: item.id for item in items if isinstance(item, ast.Name)}
    return {}


def _texts(value: ast.expr | None) -> frozenset[str]:
    items = value.elts if isinstance(value, ast.List | ast.Tuple) else ()
    return frozenset(
        item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)
    )


def _is_toolset(name: str, value: ast.expr) -> bool:
    maker = last_name(value.func) if isinstance(value, ast.Call) else ""
    return not name.startswith("_") and (maker.endswith("Toolset") or maker == "ToolsetSpec")


def _entry(value: ast.expr) -> str | None:
    if not (isinstance(value, ast.Call) and last_name(value.func) == "EntrySpec"):
        return None
    return next((last_name(keyword.value) for keyword in value.keywords if keyword.arg == "main"), None)


def _calls(tree: ast.Module) -> frozenset[str] | None:
    """The agents that are called by a name in plain text; None if one is called, or passed on, in another way."""
    mentions = sum(isinstance(node, ast.Attribute) and node.attr == _CALLING for node in ast.walk(tree))
    names = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="call_agent"), args=[ast.Constant(value=str(name)), *_]):
                names.append(name)
    return frozenset(names) if len(names) == mentions else None
