"""The JSON Schema of Pydantic models, from their text alone, without an import.

Parts that the text does not say plainly have the schema of anything.
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
"""The names of limits in `Field`, to those in JSON Schema."""
ONE_OF = "x-llmdo-one-of"
"""The key of a schema whose values are the items of a list: the named field of a worker's typed input."""
_EXTRA = "json_schema_extra"
_ALIASES = ("serialization_alias", "alias")
_OTHERS = frozenset(
    {"alias", "default", "default_factory", "description", "frozen", "min_length", "serialization_alias", "strict",
     "title", "validation_alias"}
)  # fmt: skip
"""Other arguments of `Field`, which change no type."""
_ENUMERATIONS = frozenset({"Enum", "IntEnum", "StrEnum"})
_PLAIN_DECORATORS = frozenset(
    {"classmethod", "field_validator", "model_validator", "property", "staticmethod"}
)
"""Of methods that do not change the written form of a model."""
_HOMES = frozenset({"enum", "pydantic", "typing", "typing_extensions"})
_FROM_HOME = frozenset(
    {"Annotated", "BaseModel", "ConfigDict", "Field", "List", "Literal", "Optional", "Tuple", "Union",
     "field_validator", "model_validator", *_ENUMERATIONS}
)  # fmt: skip
_WORDS = _FROM_HOME | _PLAIN.keys() | {"classmethod", "list", "property", "staticmethod", "tuple"}
"""The names that are read here, each of which a module may redefine."""


def schema_of(text: str, name: str) -> Schema:
    """The JSON Schema of the class `name` of a module with this text; that of anything if it is not plain."""
    try:
        return _schema(parse(text), name)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}


def _schema(tree: ast.Module, name: str) -> Schema:
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    bound = [*_bound(tree.body)]
    plain = {each for each in classes if bound.count(each) == 1}
    if _redefines(tree):
        return {}
    definitions: dict[str, Json] = {each: _class(classes[each], plain) for each in sorted(plain)}
    return {"$ref": f"#/$defs/{name}", "$defs": definitions} if name in plain else {}


def _redefines(tree: ast.Module) -> bool:
    """Whether the module redefines some name that is read here."""
    homes = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name in _HOMES
    }
    return any(_redefines_here(node, homes) for node in ast.walk(tree))


def _redefines_here(node: ast.AST, homes: set[str]) -> bool:
    match node:
        case ast.ImportFrom(module=module, names=names, level=level):
            is_home = level == 0 and module in _HOMES
            return any(
                alias.name == "*"
                or (
                    (alias.asname or alias.name) in _WORDS
                    and not (is_home and alias.asname in (None, alias.name))
                )
                for alias in names
            )
        case ast.Import(names=names):
            return any((alias.asname or alias.name) in _WORDS for alias in names)
        case ast.Name(id=name, ctx=ast.Store()) | ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            return name in _WORDS or name in homes
        case ast.Attribute(value=value, attr=name):
            return name in _FROM_HOME and not (isinstance(value, ast.Name) and value.id in homes)
    return False


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
            elif isinstance(each, ast.Attribute | ast.Subscript) and isinstance(each.ctx, ast.Store):
                yield ast.unparse(each).partition(".")[0]  # which is changed by that


def _class(node: ast.ClassDef, known: set[str]) -> Schema:
    bases = [last_name(base) for base in node.bases]
    if node.keywords or node.decorator_list:
        return {}
    if bases[-1:] and bases[-1] in _ENUMERATIONS and _PLAIN.keys() >= {*bases[:-1]}:
        return _enumeration(node)
    if bases != ["BaseModel"]:
        return {}
    properties: dict[str, Json] = {}
    required: list[Json] = []
    schema: Schema = {"type": "object", "properties": properties, "required": required}
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if statement.target.id == "model_config" or statement.target.id.startswith("_"):
                return {}  # of a private attribute nothing is written, and code may read it
            field = _written_name(statement)
            properties[field] = _annotated(statement.annotation, statement.value, known)
            if not _has_default(statement.value):
                required.append(field)
        elif not _changes_nothing(statement):
            return {}
    return schema


def _written_name(field: ast.AnnAssign) -> str:
    """The name of a field in the JSON of its model; empty if its text does not say it plainly."""
    named = {
        keyword.arg: keyword.value
        for call in ast.walk(field)
        if isinstance(call, ast.Call) and last_name(call.func) == "Field"
        for keyword in call.keywords
    }
    match next((named[alias] for alias in _ALIASES if alias in named), field.target):
        case ast.Name(id=name, ctx=ast.Store()) | ast.Constant(value=str(name)):
            return name
    return ""


def _has_default(value: ast.expr | None) -> bool:
    """Whether a field may be left out, also by the schema of the written form."""
    if not isinstance(value, ast.Call) or last_name(value.func) != "Field":
        return value is not None
    named = {keyword.arg for keyword in value.keywords}
    return bool(value.args or not named.isdisjoint({"default", "default_factory", None}))


def _changes_nothing(statement: ast.stmt) -> bool:
    """Whether a statement in a model leaves its fields and its written form unchanged."""
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
            case ast.Assign(targets=[ast.Name(id=member)], value=value) if not member.startswith("_"):
                values.append(ast.unparse(value))
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case _:
                return {}
    listed: list[Json] = [*values]
    return {"enum": listed}


def _annotated(annotation: ast.expr, default: ast.expr | None, known: set[str]) -> Schema:
    """The schema of a field; `Field` may stand in its annotation or as its default."""
    calls = [default] if _only_limits(default) else []
    if isinstance(annotation, ast.Subscript) and last_name(annotation.value) == "Annotated":
        parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        if not parts:
            return {}
        annotation, *more = parts
        calls = [*more, *calls]
    if not all(map(_only_limits, calls)) or not _is_plain_default(default):
        return {}
    limits = [limit for each in calls for limit in _limits(each)]
    # One that is said twice is none that pydantic writes.
    return _limited(_type(annotation, known), dict(limits)) if len(dict(limits)) == len(limits) else {}


def _limited(schema: Schema, limits: Schema) -> Schema:
    """A schema with the limits of its field; that of anything if its type has no such limits."""
    match schema:
        case {"anyOf": [dict(inner), {"type": "null"}]} if limits:
            return {"anyOf": [_limited(inner, limits), {"type": "null"}]}
        case {"type": "array"}:
            return {**schema, **limits} if limits.keys() <= {"maxItems"} else {}
        case {"type": "string"}:
            return {**schema, **limits} if limits.keys() <= {ONE_OF} else {}
        case {"type": "integer" | "number"}:
            return {**schema, **limits} if limits.keys().isdisjoint({"maxItems", ONE_OF}) else {}
    return {} if limits else schema


def _is_plain_default(value: ast.expr | None) -> bool:
    """Whether a field's default changes nothing of its type."""
    if value is None or _only_limits(value):
        return True
    parts = [*ast.walk(value)]
    return not isinstance(value, ast.Name) and not any(isinstance(part, ast.Call) for part in parts)


def _only_limits(value: ast.expr | None) -> bool:
    """Whether this is a call of `Field` that says no more of a type than its limits."""
    if not isinstance(value, ast.Call) or last_name(value.func) != "Field":
        return False
    return all(
        each.arg in _LIMITS or each.arg in _OTHERS or (each.arg == _EXTRA and _list_named(each.value))
        for each in value.keywords
    )


def _list_named(value: ast.expr) -> str | None:
    """The field whose items are the values, if `json_schema_extra` says that and no more."""
    match value:
        case ast.Dict(keys=[ast.Constant(value=key)], values=[ast.Constant(value=str(field))]) if (
            key == ONE_OF
        ):
            return field
    return None


def _limits(value: ast.expr | None) -> Iterable[tuple[str, Json]]:
    """The limits in a call of `Field`, as a schema has them; any other expression changes no type."""
    if not isinstance(value, ast.Call) or last_name(value.func) != "Field":
        return
    for keyword in value.keywords:
        if keyword.arg == _EXTRA and (name := _list_named(keyword.value)):
            yield ONE_OF, name
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
    match name if parts else None:
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
