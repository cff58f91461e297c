"""`dataclass`, `field`, `fields` and `replace` as the standard library has them, made for a quick start; `Json`.

`in_json` and `also_in_json` are what a field or a property says about its key in JSON, which `base.jsonable` makes.

The standard library compiles six functions for every class: for the sixty classes that a check loads, a third of its
time. Here only `__init__` is compiled, and the others are shared. To a type checker, and to the functions of
`dataclasses`, the classes are dataclasses. Only features that this package uses are offered: no `__post_init__`, no
`InitVar`, no field left out of `__init__`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` alone would cost a quarter of what `llmdo hook` may
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from dataclasses import dataclass, field, fields, replace
    from typing import Any, TypeAlias, TypeVar

    Getter = TypeVar("Getter", bound=Callable[..., object])

    Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
    """The values of JSON, TOML and YAML, as far as our formats use them."""
else:
    from operator import attrgetter

    Json = object  # for annotations alone

    _MISSING = object()
    _NO_METADATA = {}

    class _Field:
        __slots__ = ("annotation", "compare", "default", "default_factory", "metadata", "name", "repr")

        def __init__(self, default, default_factory, *, compare, repr, metadata):  # noqa: A002
            self.default = default
            self.default_factory = default_factory
            self.compare = compare
            self.repr = repr
            self.metadata = metadata

    def field(
        *,
        default=_MISSING,
        default_factory=_MISSING,
        compare=True,
        repr=True,  # noqa: A002
        metadata=_NO_METADATA,
    ):
        """The properties of a field beyond its name and its type."""
        return _Field(default, default_factory, compare=compare, repr=repr, metadata=metadata)

    def fields(value):
        """The fields of a class or of a value of it."""
        return value.__fields__

    def replace(value, /, **changes):
        """A copy of a value with some of its fields changed."""
        kept = {
            attribute.name: getattr(value, attribute.name)
            for attribute in value.__fields__
            if attribute.name not in changes
        }
        return value.__class__(**kept, **changes)

    def dataclass(cls=None, /, *, frozen=False, slots=False, kw_only=False, order=False, eq=True):
        """The class with the methods that follow from its fields: `__init__`, `__eq__`, `__hash__` and `__repr__`."""

        def build(cls):
            own = _own_fields(cls)
            inherited = [
                attribute for attribute in getattr(cls, "__fields__", ()) if attribute.name not in own
            ]
            whole = (*inherited, *own.values())
            members = _members(cls, whole, frozen=frozen, kw_only=kw_only, order=order, eq=eq)
            if slots:
                taken = {attribute.name for attribute in inherited}
                members["__slots__"] = tuple(name for name in own if name not in taken)
                cls = _with_slots(cls, own, members)
            else:
                for name, value in members.items():
                    setattr(cls, name, value)
                for attribute in own.values():
                    if attribute.default is not _MISSING:
                        setattr(cls, attribute.name, attribute.default)
                    elif attribute.name in cls.__dict__:
                        delattr(cls, attribute.name)
            cls.__init__ = _initializer(cls, whole, frozen=frozen, slots=slots, kw_only=kw_only)
            return cls

        return build if cls is None else build(cls)

    def _own_fields(cls):
        own = {}
        annotations = cls.__dict__.get("__annotations__", {})  # noqa: RUF063  # `inspect` costs more than all this
        for name, annotation in annotations.items():
            if str(annotation).startswith("ClassVar"):
                continue
            default = cls.__dict__.get(name, _MISSING)
            stated = default if isinstance(default, _Field) else field(default=default)
            stated.name = name
            stated.annotation = annotation
            own[name] = stated
        return own

    def _members(cls, whole, *, frozen, kw_only, order, eq):
        members = {
            "__fields__": whole,
            "__dataclass_fields__": _StandardFields(kw_only),
            "__match_args__": () if kw_only else tuple(attribute.name for attribute in whole),
        }
        if "__repr__" not in cls.__dict__:
            members["__repr__"] = _represent
        if frozen:
            members |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
            members |= {"__getstate__": _state, "__setstate__": _restore}
        if eq:
            compared = tuple(attribute.name for attribute in whole if attribute.compare)
            members |= _comparison(compared, order=order)
            if frozen and "__hash__" not in cls.__dict__:
                key = members["__eq__"].key
                members["__hash__"] = lambda self: hash(key(self))
            members.setdefault("__hash__", cls.__dict__.get("__hash__"))
        return members

    def _comparison(names, *, order):
        if len(names) > 1:
            key = attrgetter(*names)
        else:
            # One name alone would not be wrapped, and an empty list is none at all.
            def key(value):
                return tuple([getattr(value, name) for name in names])

        def __eq__(self, other):  # noqa: N807
            return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

        def __lt__(self, other):  # noqa: N807
            return key(self) < key(other) if other.__class__ is self.__class__ else NotImplemented

        def __le__(self, other):  # noqa: N807
            return key(self) <= key(other) if other.__class__ is self.__class__ else NotImplemented

        def __gt__(self, other):  # noqa: N807
            return key(self) > key(other) if other.__class__ is self.__class__ else NotImplemented

        def __ge__(self, other):  # noqa: N807
            return key(self) >= key(other) if other.__class__ is self.__class__ else NotImplemented

        __eq__.key = key
        ordered = {"__lt__": __lt__, "__le__": __le__, "__gt__": __gt__, "__ge__": __ge__} if order else {}
        return {"__eq__": __eq__, **ordered}

    def _with_slots(cls, own, members):
        retained = {
            name: value
            for name, value in cls.__dict__.items()
            if name not in own and name not in ("__dict__", "__weakref__")
        }
        rebuilt = type(cls)(cls.__name__, cls.__bases__, retained | members)
        rebuilt.__qualname__ = cls.__qualname__
        return rebuilt

    def _initializer(cls, whole, *, frozen, slots, kw_only):
        known = {"_missing": _MISSING}
        parameters = ["self", "*"] if kw_only and whole else ["self"]
        lines = [] if whole else ["    pass"]
        if frozen and not slots:
            lines.append("    inside = self.__dict__")
        for attribute in whole:
            name = value = attribute.name
            if attribute.default_factory is not _MISSING:
                known[f"make_{name}"] = attribute.default_factory
                parameters.append(f"{name}=_missing")
                value = f"make_{name}() if {name} is _missing else {name}"
            elif attribute.default is not _MISSING:
                known[f"default_{name}"] = attribute.default
                parameters.append(f"{name}=default_{name}")
            else:
                parameters.append(name)
            if frozen and slots:
                known[f"set_{name}"] = getattr(cls, name).__set__
                lines.append(f"    set_{name}(self, {value})")
            else:
                lines.append(f"    inside[{name!r}] = {value}" if frozen else f"    self.{name} = {value}")
        source = f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines)
        exec(source, known)  # noqa: S102  # of names that stand in our own classes
        initializer = known["__init__"]
        initializer.__qualname__ = f"{cls.__qualname__}.__init__"
        initializer.__module__ = cls.__module__
        initializer.__annotations__ = {attribute.name: attribute.annotation for attribute in whole} | {
            "return": "None"
        }
        return initializer

    def _represent(self):
        shown = ", ".join(
            f"{attribute.name}={getattr(self, attribute.name)!r}"
            for attribute in self.__fields__
            if attribute.repr
        )
        return f"{self.__class__.__qualname__}({shown})"

    def _refuse_to_set(_self, name, _value):
        raise AttributeError(f"cannot assign to field {name!r}")

    def _refuse_to_delete(_self, name):
        raise AttributeError(f"cannot delete field {name!r}")

    def _state(self):
        return [getattr(self, attribute.name) for attribute in self.__fields__]

    def _restore(self, state):
        for attribute, value in zip(self.__fields__, state, strict=True):
            object.__setattr__(self, attribute.name, value)

    class _StandardFields:
        """The fields as `dataclasses` describes them, made when it first asks: that takes a millisecond."""

        def __init__(self, kw_only):
            self._kw_only = kw_only
            self._by_class = {}

        def __get__(self, value, cls):
            if cls not in self._by_class:
                self._by_class[cls] = self._made(cls)
            return self._by_class[cls]

        def _made(self, cls):
            from dataclasses import MISSING, make_dataclass
            from dataclasses import field as standard_field

            described = []
            for attribute in cls.__fields__:
                default = MISSING if attribute.default is _MISSING else attribute.default
                factory = MISSING if attribute.default_factory is _MISSING else attribute.default_factory
                standard = standard_field(
                    default=default,
                    default_factory=factory,
                    compare=attribute.compare,
                    repr=attribute.repr,
                )  # without its metadata, which pydantic would take for arguments of its own
                described.append((attribute.name, attribute.annotation, standard))
            return make_dataclass(cls.__name__, described, kw_only=self._kw_only).__dataclass_fields__


def in_json(
    name: str = "",
    *,
    by: Callable[[Any], object] | None = None,
    part: str | None = "",
    flat: bool = False,
    sparse: bool = False,
    after: str | None = "",
) -> Mapping[str, Mapping[str, object]]:
    """The metadata of a field whose key in JSON differs: in its name, or in what `by` makes of the value.

    A key is only in documents with its `part`, or in none for None. Instead of a `flat` key stand those of its
    value; a `sparse` one is left out where it is false. It follows the key `after`, or is the first for None.
    """
    return {
        "json": {"name": name, "by": by, "part": part, "flat": flat, "sparse": sparse, "after": after},
    }


def utc_text(at: float | None, timespec: str = "auto") -> str | None:
    """A time in seconds since 1970, in ISO 8601."""
    from datetime import UTC, datetime

    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec=timespec)


def utc_milliseconds(at: float | None) -> str | None:
    """The same with three digits of the second, whatever the time."""
    return utc_text(at, "milliseconds")


def unenforced(read_from: str | None) -> Mapping[str, Json]:
    """The keys of a document about a foreign project, whose format is `read_from`; none for a workspace."""
    return {"read_from": read_from, "enforced": False} if read_from else {}


def also_in_json(
    name: str = "",
    *,
    after: str | None = "",
    by: Callable[[Any], object] | None = None,
    part: str = "",
    flat: bool = False,
    sparse: bool = False,
) -> Callable[[Getter], Getter]:
    """Makes a property a key in JSON as well, below `property`; in place of the field whose key has its name."""

    def mark(getter: Getter) -> Getter:
        stated = in_json(name or getter.__name__, by=by, part=part, flat=flat, sparse=sparse, after=after)
        getter.__dict__.update(stated)
        return getter

    return mark


__all__ = [
    "Json",
    "also_in_json",
    "dataclass",
    "field",
    "fields",
    "in_json",
    "replace",
    "unenforced",
    "utc_milliseconds",
    "utc_text",
]
