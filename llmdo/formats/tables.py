"""The tables of the file formats that hold the graph's fields, made from these fields' own statements.

Only the schema generator and judges by types import them; the check path has the schemas.
"""

from __future__ import annotations

from types import new_class
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired

from annotated_types import Ge, Gt
from pydantic import with_config
from typing_extensions import TypedDict

from llmdo.formats import fields
from llmdo.formats.fields import STRICT, Doc
from llmdo.graph.keys import written_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.graph.keys import FileKind, Key

_FORMS: Mapping[str, object] = {
    **vars(fields),
    "Annotated": Annotated,
    "Ge": Ge,
    "Gt": Gt,
    "Literal": Literal,
    "NotRequired": NotRequired,
}


def table(
    name: str,
    cls: type,
    kind: FileKind,
    known: Mapping[str, object],
    others: Mapping[str, object] | None = None,
) -> type:
    """The type of a table with the fields of a class in one kind of file, and `others` by their keys.

    `known` are the types, beyond those of `formats.fields`, that the keys may name.
    """
    return _strict(name, dict(_annotations(cls, kind, {**_FORMS, **known})) | dict(others or {}))


def derived(name: str, tables: Iterable[type], without: Iterable[str], others: Mapping[str, object]) -> type:
    """The type of a table with the keys of `tables`, but for those in `without`, and `others` by their keys."""
    left = {key: form for each in tables for key, form in each.__annotations__.items() if key not in without}
    return _strict(name, {**left, **others})


def _strict(name: str, annotations: Mapping[str, object]) -> type:
    table_type = new_class(
        name,
        (TypedDict,),
        exec_body=lambda body: body.update(__annotations__=annotations, __module__=__name__),
    )
    return with_config(STRICT)(table_type)


def _annotations(cls: type, kind: FileKind, known: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for stated in written_fields(cls).values():
        key: Key | None = getattr(stated, kind)
        if key:
            form = f"Annotated[{key.form}, DOC]"
            form = form if key.is_required else f"NotRequired[{form}]"
            yield key.name, eval(form, {**known, "DOC": Doc(key.doc)})  # noqa: S307  # texts of our own classes
        elif stated.codec.encode is None and stated.codec.table:
            yield from _annotations(stated.codec.table, kind, known)
