"""What `llmdo lock` says of what it changed stays as short as somebody reads."""

from __future__ import annotations

from llmdo.render.drift import FEW, MOST, lines
from llmdo.workspace.lock import Drift


def drift(kind: str, number: int) -> Drift:
    return Drift(kind, f"w{number:04}", ("its prompt changed",), None)


def test_few_items_have_a_line_each() -> None:
    changes = [drift("worker", number) for number in range(MOST)]
    assert next(iter(lines(changes))) == "worker w0000: its prompt changed"
    assert len(list(lines(changes))) == MOST


def test_many_items_are_counted_by_kind_and_all_are_named_on_request() -> None:
    changes = [drift("worker", number) for number in range(1_000)] + [drift("entry", 1)]
    assert list(lines(changes)) == [
        "entry w0001: its prompt changed",
        "worker: 1,000 changed, such as w0000, w0001, w0002 (-v names all)",
    ]
    assert len(list(lines(changes, whole=True))) == 1_001


def test_few_of_a_kind_are_named_beside_many_of_another() -> None:
    changes = [drift("worker", number) for number in range(MOST)] + [drift("entry", n) for n in range(FEW)]
    assert len(list(lines(changes))) == FEW + 1
