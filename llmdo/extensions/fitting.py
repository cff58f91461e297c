"""Values made by an extension, held against the classes that they are to be of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from llmdo.base.codes import SEVERITIES
from llmdo.base.diagnostic import Diagnostic, excerpt
from llmdo.base.source import Location, Span

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    Names = tuple[tuple[str, object], ...]

OF_FINDINGS: Names = (("Location", Location), ("Severity", Literal[SEVERITIES]))
"""The names in the annotations of a `Diagnostic` that its module has only for a type checker."""

_WORDS: Mapping[object, str] = {
    str: "a text",
    bool: "`True` or `False`",
    int: "a whole number",
    tuple: "a tuple",
    Mapping: "a mapping",
}


def misfit(value: object, cls: type, names: Names = ()) -> str | None:
    """A clause about the first part of `value` that is not of its declared type; None if all are.

    An annotation is a class, one of them or None, a `Literal`, a mapping, a tuple of any length or a frozen set.
    Frozen values are gone through field by field if their class is of the module of `cls`, or of `llmdo.base`; no
    subclass stands in for a class. `names` are those in annotations that only a type checker imports.
    """
    return next(_Fitting(cls.__module__, names).misfits(value, cls, ""), None)


def finding_fault(value: Diagnostic, codes: Container[str]) -> str | None:
    """A clause about what hinders llmdo from showing a finding of an extension; None if nothing does."""
    if fault := misfit(value, Diagnostic, OF_FINDINGS):
        return fault
    if value.code not in codes:
        return f"`{excerpt(value.code)}` is not its code"
    if value.fix and not value.fix.at.span:
        return "`fix.at` has no span"
    fix = (value.fix.at,) if value.fix else ()
    return next((fault for at in (*value.places, *fix) if (fault := _place_fault(at))), None)


def _place_fault(at: Location) -> str | None:
    if not at.path or at.path.startswith("/") or ".." in at.path.split("/"):
        return f"`{excerpt(at.path)}` is not a path relative to the folder that is judged"
    if at.span is not None and not _is_stretch(at.span):
        return f"a span in `{excerpt(at.path)}` does not go forward from line 1 and column 1"
    return None


def _is_stretch(span: Span) -> bool:
    start, end = (span.line, span.column), (span.end_line, span.end_column)
    return min(*start, *end) >= 1 and start <= end


@cache
def _hints(cls: type, names: Names) -> dict[str, Any]:
    return get_type_hints(cls, localns={"Mapping": Mapping, **dict(names)})


class _Fitting:
    """The search for parts that are not of their declared types."""

    def __init__(self, home: str, names: Names) -> None:
        self._home = home
        self._names = names

    def misfits(self, value: object, kind: Any, at: str) -> Iterator[str]:
        """A clause for each of them; `at` is the way to the value."""
        origin, inner = get_origin(kind) or kind, get_args(kind)
        if origin in (Union, UnionType):  # of something and None alone
            if value is not None:
                yield from self.misfits(value, inner[0], at)
        elif origin is Literal:
            if type(value) is not str or value not in inner:
                yield f"{_way(at)} is not {' or '.join(f'`{each}`' for each in inner)}"
        elif origin is Mapping and isinstance(value, Mapping):
            for key, item in value.items():
                yield from self.misfits(key, inner[0], f"{at}, a key")
                yield from self.misfits(item, inner[1], f"{at}.{excerpt(str(key))}")
        elif origin is not object and type(value) is not origin:
            yield f"{_way(at)} is not {_WORDS.get(origin, f'of the class `{origin.__name__}`')}"
        elif origin in (tuple, frozenset):
            for number, item in enumerate(cast("Iterable[object]", value)):
                yield from self.misfits(item, inner[0], f"{at}[{number}]")
        elif self._goes_through(origin):
            for name, hint in _hints(kind, self._names).items():
                yield from self.misfits(getattr(value, name), hint, f"{at}.{name}")

    def _goes_through(self, cls: type) -> bool:
        is_of_us = cls.__module__ == self._home or cls.__module__.startswith("llmdo.base.")
        return is_of_us and hasattr(cls, "__fields__")


def _way(at: str) -> str:
    return f"`{at.removeprefix('.')}`" if at else "it"
