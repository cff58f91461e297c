"""Pydantic models read, not imported: as far as their text says it, the JSON Schema of a class.

What the text does not say plainly has the schema of anything.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from llmdo.syntax.tree import last_name, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.base.values import Json

    Schema = dict[str, Json]

_PLAIN: Mapping[str, str] = {"bool": "boolean", "float": "number", "int": "integer", "str": "string"}
_LIMITS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "max_length": "maxItems",
    "multiple_of": "multipleOf",
}
"""What `Field` calls a limit, to what JSON Schema calls it."""
_ENUMERATIONS = frozenset({"Enum", "IntEnum", "StrEnum"})
_PLAIN_DECORATORS = frozenset(
    {"classmethod", "field_validator", "model_validator", "property", "staticmethod"}
)
"""Of methods that change nothing of what a model is written as."""


def schema_of(text: str, name: str) -> Schema:
    """The JSON Schema of the class `name` of a module with this text; that of anything where it is not plain."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    bound = [*_bound(tree.body)]
    plain = {each for each in classes if bound.count(each) == 1} - _PLAIN.keys()
    if not _PLAIN.keys().isdisjoint(bound):  # then `int` and the like may be anything
        return {}
    definitions: dict[str, Json] = {each: _class(classes[each], plain) for each in sorted(plain)}
    return {"$ref": f"#/$defs/{name}", "$defs": definitions} if name in plain else {}


def _bound(body: Iterable[ast.stmt]) -> Iterable[str]:
    """The names that a module binds, as often as it does."""
    for node in body:
        for each in ast.walk(node) if not isinstance(node, ast.ClassDef | ast.FunctionDef) else (node,):
            if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield each.name
            elif isinstance(each, ast.alias):
                yield (each.asname or each.name).partition(".")[0]
            elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                yield each.id


def _class(node: ast.ClassDef, known: set[str]) -> Schema:
    bases = [last_name(base) for base in node.bases]
    if node.keywords or node.decorator_list:
        return {}
    if bases[-1:] and bases[-1] in _ENUMERATIONS:
        return _enumeration(node)
    if bases != ["BaseModel"]:
        return {}
    properties: dict[str, Json] = {}
    required: list[Json] = []
    schema: Schema = {"type": "object", "properties": properties, "required": required}
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            field = statement.target.id
            if not field.startswith("_") and field != "model_config":
                properties[field] = _annotated(statement.annotation, statement.value, known)
                if not _has_default(statement.value):
                    required.append(field)
        elif not _changes_nothing(statement):
            return {}
    return schema


def _has_default(value: ast.expr | None) -> bool:
    """Whether a field may be left out, which the schema of what is written says as well."""
    if not isinstance(value, ast.Call) or last_name(value.func) != "Field":
        return value is not None
    named = {keyword.arg for keyword in value.keywords}
    return bool(value.args or not named.isdisjoint({"default", "default_factory", None}))


def _changes_nothing(statement: ast.stmt) -> bool:
    """Whether a statement in a model leaves its fields, and how it is written, as they are."""
    match statement:
        case ast.Expr(value=ast.Constant()) | ast.Pass():
            return True
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            calls = [each.func if isinstance(each, ast.Call) else each for each in statement.decorator_list]
            decorators = {*map(last_name, calls)}
            return not statement.name.startswith(("__", "model_")) and decorators <= _PLAIN_DECORATORS
        case ast.Assign(targets=[ast.Name(id="model_config")], value=ast.Call() as config):
            stated = {each.arg: each.value for each in config.keywords}
            extra = stated.pop("extra", ast.Constant("ignore"))
            is_kept = isinstance(extra, ast.Constant) and extra.value in ("forbid", "ignore")
            return is_kept and not config.args and stated.keys() <= {"frozen", "strict", "title"}
    return False


def _enumeration(node: ast.ClassDef) -> Schema:
    values = []
    for statement in node.body:
        match statement:
            case ast.Assign(targets=[ast.Name()], value=value):
                values.append(ast.unparse(value))
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case _:
                return {}
    listed: list[Json] = [*values]
    return {"enum": listed}


def _annotated(annotation: ast.expr, default: ast.expr | None, known: set[str]) -> Schema:
    """The schema of a field; `Field` may stand in its annotation or as its default."""
    if isinstance(annotation, ast.Subscript) and last_name(annotation.value) == "Annotated":
        inner, *more = (
            annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        )
        limits = [limit for each in more for limit in _limits(each)]
        return {**_type(inner, known), **dict(limits), **dict(_limits(default))}
    return {**_type(annotation, known), **dict(_limits(default))}


def _limits(value: ast.expr | None) -> Iterable[tuple[str, Json]]:
    """The limits that a call of `Field` states in numbers; anything else that it is changes no type."""
    if not isinstance(value, ast.Call) or last_name(value.func) != "Field":
        return
    for keyword in value.keywords:
        try:
            number = ast.literal_eval(keyword.value)
        except (ValueError, TypeError, SyntaxError):
            continue
        if keyword.arg in _LIMITS and isinstance(number, int | float) and not isinstance(number, bool):
            yield _LIMITS[keyword.arg], number


def _type(node: ast.expr, known: set[str]) -> Schema:
    match node:
        case ast.Constant(value=None):
            return {"type": "null"}
        case ast.Constant(value=str() as text):
            return _quoted(text, known)
        case ast.Name(id=name):
            return {"type": _PLAIN[name]} if name in _PLAIN else _named(name, known)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return {"anyOf": [_type(left, known), _type(right, known)]}
        case ast.Subscript(value=value, slice=inside):
            parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
            return _generic(last_name(value), parts, known)
    return {}


def _quoted(text: str, known: set[str]) -> Schema:
    try:
        return _type(ast.parse(text, mode="eval").body, known)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}


def _named(name: str, known: set[str]) -> Schema:
    return {"$ref": f"#/$defs/{name}"} if name in known else {}


def _generic(name: str | None, parts: list[ast.expr], known: set[str]) -> Schema:
    match name:
        case "Literal":
            values: list[Json] = [ast.unparse(part) for part in parts if isinstance(part, ast.Constant)]
            return {"enum": values} if len(values) == len(parts) else {}
        case "Optional":
            return {"anyOf": [_type(parts[0], known), {"type": "null"}]}
        case "Union":
            return {"anyOf": [_type(part, known) for part in parts]}
        case "Annotated":
            return _annotated(ast.Subscript(ast.Name("Annotated"), ast.Tuple(parts)), None, known)
        case "list" | "List":
            return {"type": "array", "items": _type(parts[0], known)}
        case "tuple" | "Tuple":
            items: list[Json] = [_type(part, known) for part in parts]
            return {"type": "array", "prefixItems": items, "maxItems": len(items)}
    return {}
