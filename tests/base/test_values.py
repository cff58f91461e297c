"""Our dataclasses are dataclasses: the same class, made by the standard library, does the same."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from llmdo.base import values
from llmdo.base.source import Source, Span
from llmdo.graph.worker import Worker
from tests.support.graphs import NOWHERE


def plain(field: Callable[..., Any]) -> type:
    """A class with every kind of field, new each time."""

    class Plain:
        name: str
        at: object = field(compare=False, repr=False)
        more: tuple[str, ...] = field(default=(), metadata={"word": "more"})
        table: dict[str, int] = field(default_factory=dict)

    Plain.__qualname__ = "Plain"
    return Plain


OPTIONS = [
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True, "order": True},
    {"frozen": True, "slots": True, "eq": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_class_does_what_the_standard_one_does(options: dict[str, bool]) -> None:
    ours = values.dataclass(plain(values.field), **options)
    theirs = dataclasses.dataclass(plain(dataclasses.field), **options)
    for cls in (ours, theirs):
        value, same = cls(name="a", at=1), cls(name="a", at=2)
        other = cls(name="b", at=1, more=("x",), table={"y": 1})
        assert (value == same) == options.get("eq", True)
        assert value != other
        assert value != "a"
        assert value.table == {}
        assert value.table is not same.table
        assert repr(other) == "Plain(name='b', more=('x',), table={'y': 1})"
        assert dataclasses.is_dataclass(cls)
        assert dataclasses.replace(value, name="b", more=("x",), table={"y": 1}) == other or not options.get(
            "eq", True
        )
        assert [field.name for field in dataclasses.fields(value)] == ["name", "at", "more", "table"]
        fields = values.fields(cls) if cls is ours else dataclasses.fields(cls)
        assert [dict(field.metadata) for field in fields] == [{}, {}, {"word": "more"}, {}]
        assert dataclasses.asdict(other) == {"name": "b", "at": 1, "more": ("x",), "table": {"y": 1}}
        assert cls.__match_args__ == (() if options.get("kw_only") else ("name", "at", "more", "table"))
        assert hasattr(value, "__dict__") == (not options.get("slots"))
        if options.get("order"):
            assert value < other <= other
            assert other > value >= value
        if options.get("frozen"):
            with pytest.raises(AttributeError, match="cannot assign to field"):
                value.name = "c"
            with pytest.raises(AttributeError, match="cannot delete field"):
                del value.name
        else:
            value.name = "c"
            with pytest.raises(TypeError, match="unhashable"):
                hash(value)
        with pytest.raises(TypeError):
            cls(name="a", at=1, unknown=1)
        with pytest.raises(TypeError):
            cls(at=1)
        if options.get("kw_only"):
            with pytest.raises(TypeError):
                cls("a", 1)


def test_equal_values_have_equal_hashes() -> None:
    assert hash(Span(1, 2, 3, 4)) == hash(Span(1, 2, 3, 4))
    assert len({Source("a", "b"), Source("a", "b"), Source("a", "c")}) == 2


def test_a_value_can_be_copied_and_pickled() -> None:
    span = Span(1, 2, 3, 4)
    assert copy.deepcopy(span) == span
    assert pickle.loads(pickle.dumps(span)) == span


def test_a_copy_with_changes_is_a_new_value() -> None:
    worker = Worker(name="a", at=NOWHERE, path="a.worker", config="", prompt="")
    changed = values.replace(worker, name="b")
    assert (worker.name, changed.name, changed.path) == ("a", "b", "a.worker")
    assert [field.name for field in values.fields(worker)] == [
        field.name for field in dataclasses.fields(worker)
    ]
    with pytest.raises(TypeError):
        values.replace(worker, nmae="b")
