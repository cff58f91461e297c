"""The JSON of a value follows from its fields, and every outcome of a service has such JSON."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from datetime import date
from decimal import Decimal
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from llmdo.base import values
from llmdo.base.jsonable import as_json, document, keys_of, record
from llmdo.base.values import also_in_json, in_json

PACKAGE = Path(__file__).parents[2] / "llmdo"

UNDERIVED = {
    "features/evaluation/document.py": "is read again, so its schema is compared; its keys are those of the fields",
    "journal/recorded.py": "is read again, so its schema is compared, and sorted; its keys are those of the fields",
    "render/inbox.py": "draws what a stranger wrote, so that nothing in it hides or passes for another",
}
"""The modules that name the schema of a document which `jsonable.document` does not write, each with the reason."""

SCHEMA = re.compile(r"llmdo\.[a-z.]+/[0-9]+")


class Colour(StrEnum):
    red = "red"


@values.dataclass(frozen=True, slots=True)
class Leaf:
    path: str
    line: int | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A value with a field of every kind."""

    name: str = dataclasses.field(metadata=in_json("title"))
    secret: str = dataclasses.field(default="", metadata=in_json(part=None))
    leaf: Leaf | None = dataclasses.field(
        default=None, metadata=in_json(flat=True, by=lambda leaf: leaf or {})
    )
    leaves: tuple[Leaf, ...] = ()
    note: str = dataclasses.field(default="", metadata=in_json(sparse=True))
    whole: str = dataclasses.field(default="", metadata=in_json(part="in full"))
    colour: Colour = dataclasses.field(default=Colour.red, metadata=in_json(after="title"))
    sizes: dict[int, Decimal] = dataclasses.field(default_factory=dict)
    among: frozenset[str] = frozenset()
    since: date = date(2026, 11, 26)
    root: Path = Path("a/b")

    @property
    @also_in_json(after=None)
    def status(self) -> str:
        return "big" if self.leaves else "small"

    @property
    @also_in_json("root")
    def shown_root(self) -> str:
        return f"/{self.root}"


class Named:
    def __str__(self) -> str:
        return "by its name"


def test_every_kind_of_field_becomes_plain_data_in_its_order() -> None:
    tree = Tree(
        name="oak",
        secret="x",
        leaf=Leaf("p", 1),
        leaves=(Leaf("q"),),
        sizes={1: Decimal("0.10")},
        among=frozenset("ba"),
    )
    assert list(record(tree).items()) == [
        ("status", "big"),
        ("title", "oak"),
        ("colour", "red"),
        ("path", "p"),
        ("line", 1),
        ("leaves", [{"path": "q", "line": None}]),
        ("sizes", {"1": "0.10"}),
        ("among", ["a", "b"]),
        ("since", "2026-11-26"),
        ("root", "/a/b"),
    ]


def test_a_part_is_in_documents_that_ask_for_it_and_a_sparse_key_where_it_has_a_value() -> None:
    tree = Tree(name="oak", note="n", whole="w")
    assert "whole" not in record(tree)
    assert record({"trees": [tree]}, "in full")["trees"] == [{**record(tree), "note": "n", "whole": "w"}]
    assert "note" not in record(Tree(name="oak"))


def test_a_shape_replaces_the_fields_of_a_class_at_every_depth() -> None:
    tree = Tree(name="oak", leaves=(Leaf("q", 2),))
    shapes: Any = {Leaf: lambda leaf: {"at": Path(leaf.path)}}
    assert record(tree, shapes=shapes)["leaves"] == [{"at": "q"}]


def test_what_writes_itself_is_its_text() -> None:
    assert as_json([Named(), None, True, 1.5]) == ["by its name", None, True, 1.5]
    with pytest.raises(TypeError, match="Named has no keys"):
        record(Named())


def test_a_document_has_its_schema_first_and_only_ascii_where_that_is_asked_for() -> None:
    text = document("llmdo.tree/1", {"name": "ö"}, {"more": 1})
    assert text == '{\n  "schema": "llmdo.tree/1",\n  "name": "ö",\n  "more": 1\n}\n'
    assert document("llmdo.tree/1", {"name": "ö"}, in_ascii=True).isascii()


def test_in_a_folded_document_what_fits_on_a_line_stands_on_one() -> None:
    rows = [{"name": f"{number} {'x' * 100}", "path": [number]} for number in range(3)]
    text = document("llmdo.tree/1", {"rows": rows, "path": list(range(200))}, is_folded=True)
    lines = text.splitlines()
    assert json.loads(text) == {"schema": "llmdo.tree/1", "rows": rows, "path": list(range(200))}
    assert lines[3] == f"    {json.dumps(rows[0])},"
    assert lines[-2] == f'  "path": {json.dumps(list(range(200)))}'


def test_every_document_but_the_named_ones_is_made_of_fields() -> None:
    by_hand = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if SCHEMA.search(text):
            nodes = list(ast.walk(ast.parse(text)))
            made = {id(node.args[0]) for node in nodes if isinstance(node, ast.Call) and _writes(node.func)}
            if any(_names_a_schema(node) and id(node) not in made for node in nodes):
                by_hand.add(path.relative_to(PACKAGE).as_posix())
    of_what_is_there = {
        name for name in UNDERIVED if (PACKAGE / name).parent.is_dir()
    }  # features can be taken out
    assert by_hand == of_what_is_there


def _writes(function: ast.expr) -> bool:
    """Whether a call of that writes a document."""
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name == "document"


def _names_a_schema(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(SCHEMA.fullmatch(node.value))
    )


def test_every_outcome_of_a_service_has_json_of_its_fields() -> None:
    outcomes: set[Any] = {
        value
        for path in (PACKAGE / "services").glob("*.py")
        for name, value in vars(import_module(f"llmdo.services.{path.stem}")).items()
        if name.endswith("Outcome") and dataclasses.is_dataclass(value)
    }
    assert len(outcomes) > 5
    for outcome in outcomes:
        assert keys_of(outcome)


def test_two_fields_cannot_have_one_key() -> None:
    @values.dataclass(frozen=True)
    class Two:
        a: int
        b: int = values.field(metadata=in_json("a"))

    two: Any = Two
    with pytest.raises(TypeError, match="two fields of Two have one key"):
        keys_of(two)
