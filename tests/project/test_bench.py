"""The generated workspaces are what the benchmarks say they are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench import chat, delegation, mutants, streaming
from bench.clients import rpc
from bench.clients.cells import Cell, Kind, changes, table
from bench.clients.process import ClientEndedError
from bench.generate import Shape, files, generate, headers
from llmdo import checks
from llmdo.workspace import project
from tests.support import forking
from tests.support.work import calls_made


@pytest.mark.long
@pytest.mark.parametrize("shape", [Shape(workers=60), Shape(workers=60, seed=5, recursive=True)], ids=str)
def test_a_generated_workspace_is_clean_and_its_lock_is_the_one_that_lock_writes(
    shape: Shape, tmp_path: Path
) -> None:
    generate(tmp_path, shape)
    graph = project.read(tmp_path).graph
    assert len(graph.workers) == 60
    assert max(len(delegates) for delegates in graph.edges.values()) == 3
    assert any(worker.recursive for worker in graph.workers.values()) == shape.recursive
    before = (tmp_path / "llmdo.lock").read_bytes()
    (tmp_path / "llmdo.lock").unlink()
    forking.run([sys.executable, "-m", "llmdo", "lock"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "llmdo.lock").read_bytes() == before


def test_the_same_shape_is_the_same_files_and_another_seed_is_not() -> None:
    assert files(Shape(workers=40)) == files(Shape(workers=40))
    assert files(Shape(workers=40)) != files(Shape(workers=40, seed=1))
    assert len(headers(Shape(workers=40))) == 40


def test_a_recursive_shape_has_recursive_workers_whatever_its_seed() -> None:
    for seed in range(40):
        shape = Shape(workers=120, seed=seed, recursive=True)
        recursive = [header["name"] for header in headers(shape) if header.get("recursive")]
        assert recursive == ["worker_00000", "worker_00097"], seed


@pytest.mark.long
def test_four_times_the_workers_are_at_most_four_times_the_work(tmp_path: Path) -> None:
    counts = []
    for workers in (60, 250, 1_000):
        root = tmp_path / f"{len(counts)}"
        root.mkdir()
        generate(root, Shape(workers=workers))
        counts.append(calls_made(lambda root=root: checks.check(project.read(root), locked=True)))
    _, small, large = counts  # the first one imports what it needs
    assert large < 4 * small


@pytest.mark.long
def test_all_sides_of_the_delegation_benchmark_do_the_same() -> None:
    shape = delegation.Shape(delegations=8, depth=2, together=2)
    times = delegation.measure(shape, rounds=1)
    assert {side: len(taken) for side, taken in times.items()} == {
        "bare": 1,
        "the gate alone": 1,
        "governed": 1,
        "with flows": 1,
        "recording": 1,
        "with a journal": 1,
    }
    assert shape.steps == 2


@pytest.mark.long
def test_all_sides_of_the_streaming_benchmark_take_every_piece() -> None:
    times = streaming.measure(pieces=5, rounds=1)
    assert {manner: [*map(len, taken.values())] for manner, taken in times.items()} == {
        "iterated": [1, 1, 1],
        "called": [1, 1, 1],
        "text alone": [1, 1, 1],
    }


@pytest.mark.long
def test_a_later_turn_of_a_chat_stores_as_much_as_an_earlier_one() -> None:
    taken = chat.measure(turns=4)
    assert {side: len(each) for side, each in taken.items()} == {"bare": 4, "chat": 4, "bytes": 4}
    assert max(taken["bytes"][1:]) < 1.01 * min(taken["bytes"][1:])


def test_a_mutant_is_its_module_with_one_thing_changed() -> None:
    source = b"def most(ways: int = 1) -> bool:\n    if not ways and ways < 3:\n        return f'{ways > 2}'\n    return True\n"
    changes = [str(mutant).partition(": ")[2] for mutant in mutants.mutants_of("m.py", source)]
    assert changes == [
        "`1` -> `(2)`",
        "`not ways` -> `(ways)`",
        "`not ways and ways < 3` -> `((not ways) or (ways < 3))`",
        "`not ways and ways < 3` -> `(not (not ways and ways < 3))`",
        "`ways < 3` -> `(ways <= 3)`",
        "`3` -> `(4)`",
        "`f'{ways > 2}'` -> `None`",
        "`True` -> `(False)`",
    ]
    mended = mutants.mutants_of("m.py", source)[4].applied(source)
    assert mended == source.replace(b"ways < 3", b"(ways <= 3)")


def test_every_change_of_every_target_is_python() -> None:
    every = mutants.every_mutant()
    assert {mutant.module for mutant in every} > {"llmdo/policy/authority.py", "llmdo/runtime/labels.py"}
    for mutant in every[::50]:
        compile(mutant.applied((mutants.ROOT / mutant.module).read_bytes()), mutant.module, "exec")
    assert all(reason for reason in mutants.known().values())


@pytest.mark.parametrize("says", ["", 'print(\'{"id": "hello", "error": {"code": 1}}\', flush=True)'])
def test_a_client_that_ends_early_is_told_from_one_that_answers(says: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", f"{says}\nprint('not a message')"]
    with rpc.talking(words, {}, tmp_path, str) as talk:
        for _ in range(2):  # so that one of them meets a client that has ended
            with pytest.raises(ClientEndedError, match="hello"):
                talk.request("hello", {})


def test_another_version_of_a_client_is_compared_cell_by_cell() -> None:
    before = [Cell("p", agent, "read fs.read", "runs", "runs") for agent in ("a", "b")]
    after = [before[0], Cell("p", "b", "read fs.read", "asks", "runs")]
    assert list(changes(before, before)) == ["0 of 2 cells are others"]
    assert list(changes(before, after)) == [
        "1 of 2 cells are others",
        "  1 x read fs.read: runs before, asks now (p, b)",
    ]


def test_a_cell_is_equal_where_a_tool_is_denied_or_not_shown() -> None:
    cells = [Cell("p", "a", "read", "absent", "denied"), Cell("p", "a", "read", "asks", "runs")]
    known: dict[Kind, str] = {("read", "asks", "runs"): "as it must"}
    assert list(table(cells, known)) == [
        "2 cells, 1 equal, 1 differing",
        "  1 x read: asks, llmdo says runs (p, a): as it must",
    ]
