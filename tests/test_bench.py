"""The generated workspaces are what the benchmarks say they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.generate import Shape, files, generate, headers
from llmdo import project
from llmdo.reach import Analysis


@pytest.mark.parametrize("shape", [Shape(workers=60), Shape(workers=60, seed=5, recursive=True)], ids=str)
def test_a_generated_workspace_is_clean_and_its_lock_is_the_one_that_lock_writes(
    shape: Shape, tmp_path: Path
) -> None:
    generate(tmp_path, shape)
    graph = project.read(tmp_path).graph
    assert len(graph.workers) == 60
    assert max(len(delegates) for delegates in Analysis(graph).edges.values()) == 3
    assert any(worker.recursive for worker in graph.workers.values()) == shape.recursive
    before = (tmp_path / "llmdo.lock").read_bytes()
    (tmp_path / "llmdo.lock").unlink()
    subprocess.run([sys.executable, "-m", "llmdo", "lock"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "llmdo.lock").read_bytes() == before


def test_the_same_shape_is_the_same_files_and_another_seed_is_not() -> None:
    assert files(Shape(workers=40)) == files(Shape(workers=40))
    assert files(Shape(workers=40)) != files(Shape(workers=40, seed=1))
    assert len(headers(Shape(workers=40))) == 40
