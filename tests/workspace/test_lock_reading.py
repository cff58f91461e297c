"""A lock read beside a graph, and its sketch, say what the whole lock says."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.base.source import Source
from llmdo.base.values import replace
from llmdo.graph.resolved import Graph
from llmdo.workspace import lock
from llmdo.workspace.lock.layout import layout
from tests.support.laws import tried

EXAMPLES = Path(__file__).parents[2] / "examples"
LOCKS = sorted(path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*/llmdo.lock"))

texts = st.text("ab\"\\\n\t'=[]#. é\x00\x7f\u2028🔴", max_size=6)
keys = st.sampled_from(["a", "b", "a-b", "1", "a.b", "a b", 'a"b', "é", "a = b", ""]) | texts
plain = (
    texts | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)
)
values = plain | st.lists(texts, max_size=3)
tables = st.recursive(
    st.dictionaries(keys, values, max_size=3),
    lambda below: st.dictionaries(keys, values | below, max_size=3),
    max_leaves=6,
)
locks = st.builds(
    lambda table, items: {**table, **({"accept": items} if items else {})},
    tables,
    st.lists(st.dictionaries(keys, plain, min_size=1, max_size=2), max_size=2),
)


def filled(table: dict[str, Any]) -> dict[str, Any]:
    """The table without empty tables, which no lock has."""
    inner = {key: filled(value) if isinstance(value, dict) else value for key, value in table.items()}
    return {key: value for key, value in inner.items() if value != {}}


@tried(200)
@given(locks)
def test_what_is_laid_out_is_toml_and_says_the_same(data: dict[str, Any]) -> None:
    assert tomllib.loads(layout(data)) == filled(data)


ODD = [
    "", "\n", "]", "[", "[[", "x", "x = 1", 'x = "a"', "[x]", "[[accept]]", "[worker.main]", "[worker]", "    \"a\",",
    "x = [", "x = []", "x = 01", "x = 1.0", "x = 1e5", "x = inf", 'x = "\\u00e9"', 'x = "\\ud800"', 'x = "\\q"', "x.y = 1",
    'path = "again"', "# note", "x = 1 # note", "x = {}", "x = 'a'", "\t", "[a.b.c.d.e.f.g.h.i]", "[settings.x]", '["a"]',
    'x = """', "version = 2", "[accept]", "accept = []", "x = 2026-01-01", "x =1", "x= 1", " x = 1", "x = 1 ", "x = -0",
]  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A lock with a few lines taken out, doubled, moved or replaced."""
    lines = draw(st.sampled_from(LOCKS)).split("\n")
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["insert", "insert", "remove", "double", "move", "cut"])):
            case "insert":
                lines.insert(at, draw(st.sampled_from(ODD)))
            case "remove":
                del lines[at]
            case "double":
                lines.insert(at, lines[at])
            case "move":
                lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(at))
            case _:
                lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
        lines = lines or [""]
    return "\n".join(lines)


@pytest.mark.parametrize("text", LOCKS)
def test_a_lock_says_what_it_was_written_of_and_nothing_else(text: str) -> None:
    source = Source("llmdo.lock", text)
    graph = lock.read(source).graph
    assert graph is not None
    assert lock.says(lock.sketch(source), graph)
    for other in (text + "\n", text[:-1], text.replace("sha256:", "sha256:0", 1), ""):
        assert not lock.says(lock.sketch(Source("llmdo.lock", other)), graph)
    assert not lock.says(None, graph)


GRAPHS = [graph for text in LOCKS if (graph := lock.read(Source("llmdo.lock", text)).graph)]
HOSTILE = [
    "[worker]", '[worker."{name}"]', "[worker.{name}]", "[worker.{name}.filesystem]", "x = \"\"\"", "<<<<<<< HEAD",
    "version = 2", "revision = 99", "[[worker.{name}]]", "[worker.{name}] # again",
]  # fmt: skip


@st.composite
def beside(draw: st.DrawFn) -> tuple[str, Graph]:
    """The text of a lock, whole or damaged, and a graph that it may be stale for."""
    graph = draw(st.sampled_from(GRAPHS))
    text = draw(damaged() | st.sampled_from(LOCKS) | st.just(lock.dump(graph)))
    names = sorted(graph.workers)
    dropped = draw(st.sets(st.sampled_from(names), max_size=2))
    changed = draw(st.sets(st.sampled_from(names), max_size=2))
    workers = {
        name: replace(worker, description="It does something else.") if name in changed else worker
        for name, worker in graph.workers.items()
        if name not in dropped
    }
    if draw(st.booleans()):
        lines = text.split("\n")
        odd = draw(st.sampled_from(HOSTILE)).format(name=draw(st.sampled_from(names)))
        lines.insert(draw(st.integers(0, len(lines))), odd)
        text = "\n".join(lines)
    return text, replace(graph, workers=workers)


@pytest.mark.law
@tried(150)
@given(beside())
def test_a_lock_read_beside_a_graph_says_what_it_says_alone(stale: tuple[str, Graph]) -> None:
    text, graph = stale
    source = Source("llmdo.lock", text)
    alone, together = lock.read(source), lock.read_beside(source, graph)
    assert together == alone
    if alone.graph and together.graph:
        for name, worker in alone.graph.workers.items():
            if together.graph.workers[name] is not graph.workers.get(name):
                assert together.graph.workers[name].at.location == worker.at.location


def doubled(text: str, name: str) -> str:
    start = text.index(f"\n[worker.{name}]\n")
    end = text.find("\n[", start + 2)
    return text[:end] + text[start:end] + text[end:]


@pytest.mark.few(23)
@pytest.mark.parametrize(
    "damage",
    [
        doubled,
        lambda text, name: f'{text}\n[worker.{name}.filesystem]\nread = [\n    "**",\n]\n',
        lambda text, name: f'{text}\n[worker."{name}".configure]\nother = "{{}}"\n',
        lambda text, name: text.replace("\n[worker.", '\nx = """\n[worker.', 1) + '"""\n',
        lambda text, name: text.replace(f"\n[worker.{name}]\n", f"\n[worker.{name}]\nnew = 1\n"),
        lambda text, name: text.replace("revision = 1", "revision = 99\nnew = 1"),
        lambda text, name: text.replace("version = 1", "version = 99"),
        lambda text, name: f"<<<<<<< HEAD\n{text}",
    ],
)
@pytest.mark.parametrize("graph", GRAPHS)
def test_what_is_odd_about_a_stale_lock_is_noticed_beside_a_graph(
    graph: Graph, damage: Callable[[str, str], str]
) -> None:
    source = Source("llmdo.lock", damage(lock.dump(graph), max(graph.workers)))
    assert lock.read_beside(source, graph) == lock.read(source)


@pytest.mark.parametrize("graph", GRAPHS)
def test_of_a_stale_lock_only_the_workers_that_differ_are_read(graph: Graph) -> None:
    name = min(graph.workers)
    edited = replace(graph.workers[name], description="It does something else.")
    current = replace(graph, workers={**graph.workers, name: edited})
    locked = lock.read_beside(Source("llmdo.lock", lock.dump(graph)), current).graph
    assert locked is not None
    read = [other for other, worker in locked.workers.items() if worker is not current.workers[other]]
    assert read == [name]


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 131_072, 300_000])
def test_a_sketch_knows_its_text_however_that_is_cut_into_pieces(size: int) -> None:
    text = "0123456789é" * (size // 11) + "x" * (size % 11)
    sketched = lock.sketch(Source("llmdo.lock", text))
    for length in (7, 1_000, 65_536, 200_000):
        pieces = [text[at : at + length] for at in range(0, len(text), length)]
        assert sketched.is_of(pieces)
        assert sketched.is_of(["", *pieces, ""])
        assert not sketched.is_of([*pieces, "x"])
        assert not text or not sketched.is_of(["y", *pieces[1:]])
    assert not sketched.is_of([text, *["x" * 65_536] * 2])
